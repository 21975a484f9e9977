"""Near misses in blocks.py, SelfAttention and the checks of chapter 08."""

from mutations.mutation import Mutation

BLOCK = ("test_blocks.py::test_block_is_torchs_layer_forward_and_gradient",)
NETWORK = ("test_blocks.py::test_feed_forward_is_torchs_sequential",)
FORMULA = ("test_blocks.py::test_add_norm_is_its_formula",)
MULTIHEAD = ("test_self_attention.py::test_output_and_gradients_are_torchs",)

MUTATIONS = [
    Mutation("blocks.py", "self.down(self.activation(self.up(x)))",
             "self.activation(self.down(self.up(x)))", NETWORK),
    Mutation("blocks.py", "self.down(self.activation(self.up(x)))",
             "x + self.down(self.activation(self.up(x)))", NETWORK),
    Mutation("blocks.py", "hidden = 4 * width if", "hidden = width if",
             ("test_blocks.py::test_feed_forward_widens_by_four_unless_told",)),
    Mutation("blocks.py", "return kept + self.dropout(self.sublayer(self.norm(x)))",
             "return self.norm(x) + self.dropout(self.sublayer(self.norm(x)))", FORMULA),
    Mutation("blocks.py", "return self.norm(kept + self.dropout(self.sublayer(x)))",
             "return kept + self.norm(self.dropout(self.sublayer(x)))", FORMULA),
    Mutation("blocks.py", "kept = x if self.residual else 0.0", "kept = x", FORMULA),
    Mutation("blocks.py", "self.feed_forward(self.attention(x_BTC))",
             "self.attention(self.feed_forward(x_BTC))", BLOCK),
    Mutation("blocks.py", "self.feed_forward(self.attention(x_BTC))",
             "self.feed_forward(x_BTC) + self.attention(x_BTC) - x_BTC", BLOCK),
    Mutation("blocks.py", "SelfAttention(width, heads, causal=causal)",
             "SelfAttention(width, heads)",
             ("test_blocks.py::test_block_reads_ahead_only_when_it_may",)),
    Mutation("blocks.py", "FeedForward(width, activation=activation)", "FeedForward(width)",
             BLOCK),
    Mutation("blocks.py", "x.relu().square()", "x.square().relu()",
             ("test_blocks.py::test_squared_relu_is_its_formula",)),
    Mutation("attention.py", ".view(B, T, 3, self.heads, -1).permute(2, 0, 3, 1, 4)",
             ".view(B, T, self.heads, 3, -1).permute(3, 0, 2, 1, 4)", MULTIHEAD),
    Mutation("attention.py", "(weights_BHTT @ v_BHTD).transpose(1, 2).reshape(B, T, C)",
             "(weights_BHTT @ v_BHTD).reshape(B, T, C)", MULTIHEAD),
    Mutation("attention.py", "(q_BHTD / D**0.5)", "(q_BHTD / C**0.5)", MULTIHEAD),
    Mutation("attention.py", "keys - queries + 1 if self.causal else keys", "keys - queries + 1",
             ("test_self_attention.py::test_without_a_mask_everybody_reads_everybody",)),
    Mutation("attention.py", "keys - queries + 1 if self.causal", "keys - queries if self.causal",
             MULTIHEAD),
    Mutation("attention.py", "self.maps.append(weights_BHTT.detach())",
             "self.maps.append((weights_BHTT @ v_BHTD).detach())",
             ("test_self_attention.py::test_watching_notes_the_weights_of_each_layer",)),
    Mutation("exercises/chapter08.py", "away / np.sqrt(x.var(axis=axis, ddof=ddof, keepdims=True) "
             "+ eps)", "away / np.sqrt(x.var(axis=axis, ddof=1, keepdims=True) + eps)",
             ("test_exercises.py::test_right_answer_is_called_right[08.1]",)),
    Mutation("figures/residual.py", "np.clip(np.asarray(values_SL, dtype=float), *limits)",
             "np.asarray(values_SL, dtype=float)",
             ("test_figures_residual.py::test_levels_lie_on_the_page_and_keep_their_ends",)),
]  # fmt: skip
