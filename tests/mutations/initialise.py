"""Near misses in the schemes, in starting a model, and in its figures and checks."""

from mutations.mutation import Mutation

FILE = "initialise.py"
DRAW = ("test_initialise.py::test_draw_is_distributed_as_torchs",)
FORMULA = ("test_initialise.py::test_spread_is_the_formula",)
ONCE = ("test_initialise.py::test_every_parameter_is_started_once_and_told",)
TIED = ("test_initialise.py::test_a_tied_table_is_an_embedding_whatever_the_order",)
PACKED = ("test_initialise.py::test_packed_weights_have_the_fans_of_their_parts",)
RESIDUAL = ("test_initialise.py::test_residual_projections_are_scaled_and_nothing_else",)
FIGURES = "test_figures_initialisation.py"

MUTATIONS = [
    Mutation(FILE, "fan_out: fan_in**-0.5,", "fan_out: fan_out**-0.5,", FORMULA),
    Mutation(FILE, "(2 / (fan_in + fan_out)) ** 0.5", "(1 / (fan_in + fan_out)) ** 0.5", FORMULA),
    Mutation(FILE, "(2 / fan_in) ** 0.5", "2 / fan_in", FORMULA),
    Mutation(FILE, "(3 * fan_in) ** -0.5,\n    family", "fan_in**-0.5,\n    family", FORMULA),
    Mutation(FILE, "* 2 - 1) * std * 3**0.5", "* 2 - 1) * std", DRAW),
    Mutation(FILE, "* 2 - 1) * std * 3**0.5", ") * std * 12**0.5", DRAW),
    Mutation(FILE, "return normal * std", "return normal * std**2", DRAW),
    Mutation(FILE, "scheme.std(fan_in, fan_out), (fan_out, fan_in), generator",
             "scheme.std(fan_out, fan_in), (fan_out, fan_in), generator", DRAW),
    Mutation(FILE, "    q = q * r.diagonal().sign()  # without the signs it is not uniform\n", "",
             ("test_initialise.py::test_orthogonal_weights_favour_no_direction",)),
    Mutation(FILE, "return (2 * blocks) ** -0.5", "return blocks**-0.5",
             ("test_initialise.py::test_residual_factor_counts_two_writes_a_block",)),
    Mutation(FILE, " and id(parameter) not in started", "", TIED),
    Mutation(FILE, "key=lambda named: not _is_embedding(named[1])", "key=lambda named: 0", TIED),
    Mutation(FILE, "        fan_out //= parts\n", "", PACKED),
    Mutation(FILE, 'yield self._weight(module.in_proj_weight, "weight", 3)',
             'yield self._weight(None, "weight", 3)', ONCE),
    Mutation(FILE, "table_VC[module.padding_idx] = 0.0", "pass",
             ("test_initialise.py::test_padding_row_stays_zero",)),
    Mutation(FILE, "torch.cat(drawn) * factor", "torch.cat(drawn) * factor**2", RESIDUAL),
    Mutation(FILE, 'self.residual if residual else 1.0', "self.residual", RESIDUAL),
    Mutation(FILE, "if bias is None or not self.scheme.drawn_bias:", "if bias is None:",
             ("test_initialise.py::test_torchs_scheme_draws_biases_as_linear_does",)),
    Mutation(FILE, "return drawn[:, 0].view_as(bias) * factor",
             "return drawn[:, 0].view_as(bias)",
             ("test_initialise.py::test_zero_start_makes_a_block_the_identity",)),
    Mutation("figures/initialisation.py", "np.exp(np.log(sizes_SL).mean(axis=0))",
             "sizes_SL.mean(axis=0)",
             (f"{FIGURES}::test_sizes_are_geometric_means_by_scheme",)),
    Mutation("exercises/chapter10.py", "(6 / (fan_in + fan_out)) ** 0.5",
             "(6 / fan_in) ** 0.5",
             ("test_exercises.py::test_right_answer_is_called_right[10.1]",)),
    Mutation("exercises/chapter10.py", '"step 2",\n        "What reaches it',
             '"step 1",\n        "What reaches it',
             ("test_exercises.py::test_right_answer_is_called_right[10.6]",)),
]  # fmt: skip
