"""Near misses in positions, self-attention's options and the GPT."""

from mutations.mutation import Mutation

ROTARY = ("test_positions.py::test_rotary_turns_each_pair_by_its_angle",)
SINES = ("test_positions.py::test_sinusoidal_is_the_formula_entry_by_entry",)
TILT = ("test_positions.py::test_alibi_falls_with_distance",)
TORCHS = ("test_gpt.py::test_logits_and_gradients_are_those_of_torchs_modules",)
CACHE = ("test_gpt.py::test_the_cache_changes_nothing",)
COUNT = ("test_gpt.py::test_parameters_are_counted_from_the_sizes",)
FLOPS = ("test_gpt.py::test_flops_are_those_that_torch_counts",)

MUTATIONS = [
    Mutation("positions.py", "base ** (-torch.arange(0, width, 2) / width)",
             "base ** (-torch.arange(width // 2) / width)", ROTARY),
    Mutation("positions.py", "[angles_TK.sin(), angles_TK.cos()]",
             "[angles_TK.cos(), angles_TK.sin()]", SINES),
    Mutation("positions.py", "dim=-1).flatten(1)", "dim=1).flatten(1)", SINES),
    Mutation("positions.py", "torch.arange(start, start + x.shape[-2]",
             "torch.arange(x.shape[-2]", ROTARY),
    Mutation("positions.py", "first * sin_TK + second * cos_TK",
             "second * cos_TK - first * sin_TK", ROTARY),
    Mutation("positions.py", "torch.arange(1, heads + 1)", "torch.arange(heads)",
             ("test_positions.py::test_alibi_slopes_are_those_of_the_paper",)),
    Mutation("positions.py", "torch.arange(keys - queries, keys)", "torch.arange(queries)", TILT),
    Mutation("attention.py", "keys - queries + 1 if self.causal", "1 if self.causal", CACHE),
    Mutation("attention.py", "start = 0 if self.memory is None else len(self.memory)",
             "start = 0", CACHE),
    Mutation("attention.py", "torch.cat([self.k, k], dim=-2)", "torch.cat([k, self.k], dim=-2)",
             CACHE),
    Mutation("gpt.py", "late if config.tied else [*late, gpt.head.weight]", "late",
             ("test_gpt.py::test_a_head_of_its_own_starts_at_zero",)),
    Mutation("gpt.py", "[table.weight for table in gpt.ngrams.tables]", "[]",
             ("test_gpt.py::test_tables_of_ngrams_start_as_if_they_were_not_there",)),
    Mutation("gpt.py", "self.ngrams(ids_BT)[:, start:]", "self.ngrams(ids_BT[:, start:])", CACHE),
    Mutation("gpt.py", "range(2, config.ngrams + 1)", "range(2, config.ngrams)", COUNT),
    Mutation("gpt.py", "config.width**-0.5 if config.tied else 1.0", "1.0",
             ("test_gpt.py::test_starts_have_their_sizes",)),
    Mutation("gpt.py", "residual=residual)", "residual=1.0)",
             ("test_gpt.py::test_starts_have_their_sizes",)),
    Mutation("gpt.py", "self.head(self.norm(x_BTC))", "self.head(x_BTC)", TORCHS),
    Mutation("gpt.py", "start=known if cache else 0", "start=0", CACHE),
    Mutation("gpt.py", "ids_BT[:, -context:], start", "ids_BT, start",
             ("test_gpt.py::test_generation_reads_the_last_context",)),
    Mutation("gpt.py", "logits_BV.float() / temperature", "logits_BV.float() * temperature",
             ("test_gpt.py::test_samples_follow_the_softmax_at_its_temperature",)),
    Mutation("gpt.py", "logits_BV < least_B1", "logits_BV > least_B1",
             ("test_gpt.py::test_temperature_0_and_top_1_take_the_likeliest",)),
    Mutation("gpt.py", "next_B.where(~ended_B, stop)", "next_B",
             ("test_gpt.py::test_a_row_that_stopped_stays_stopped",)),
    Mutation("gpt.py", "12 * C**2 + 9 * C +", "12 * C**2 + 8 * C +", COUNT),
    Mutation("gpt.py", "V * C * (1 if config.tied else 2)", "V * C * 2", COUNT),
    Mutation("gpt.py", "return 6 * (", "return 2 * (", FLOPS),
]  # fmt: skip
