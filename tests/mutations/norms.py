"""Near misses in the norms, their figures and their exercises."""

from mutations.mutation import Mutation

ORACLE = ("test_norms.py::test_normalise_is_the_oracles",)
POINT = ("test_norms.py::test_each_point_is_what_the_loops_give",)
MEMORY = ("test_norms.py::test_running_statistics_are_torchs",)
MASKED = ("test_norms.py::test_masked_statistics_are_those_of_the_real_tokens",)
LEAKS = ("test_norms.py::test_leaks_finds_what_leaks",)
TORCHS = "test_norms.py::test_train_and_eval_are_torchs_with_gradients"
POKING = ("test_norms.py::test_reads_is_what_poking_finds",)

MUTATIONS = [
    Mutation("norms.py", "output = (x - mean) / torch.sqrt(variance + eps)",
             "output = (x - mean) / (torch.sqrt(variance) + eps)",
             ("test_norms.py::test_eps_stands_inside_the_root",)),
    Mutation("norms.py", "variance = (x - mean).square().mean(dim=axes, keepdim=True)",
             "variance = x.var(dim=axes, keepdim=True)", ORACLE),
    Mutation("norms.py", "variance = (x - mean).square()", "variance = x.square()", ORACLE),
    Mutation("norms.py", "    if not centred:\n", "    if centred:\n", ORACLE),
    Mutation("norms.py", "self.gamma.shape, self.gamma, self.beta, self.eps)",
             "self.gamma.shape, self.beta, self.gamma, self.eps)", (f"{TORCHS}[2.0-layer]",)),
    Mutation("norms.py", "self.gamma, self.beta, self.eps)", "self.gamma, self.beta, 0)",
             ("test_norms.py::test_modules_are_normalise_with_gamma_and_beta",)),
    Mutation("norms.py", "F.rms_norm(x, self.gamma.shape, self.gamma, self.eps)",
             "F.rms_norm(x, self.gamma.shape, self.gamma)",
             ("test_norms.py::test_modules_are_normalise_with_gamma_and_beta",)),
    Mutation("norms.py", "return F.rms_norm(x, self.gamma.shape, self.gamma, self.eps)",
             "return F.layer_norm(x, self.gamma.shape, self.gamma, None, self.eps)",
             (f"{TORCHS}[2.0-rms]",)),
    Mutation("norms.py", "normalise(x_BTC, (1,), eps", "normalise(x_BTC, (0, 1), eps",
             (f"{TORCHS}[2.0-instance]",)),
    Mutation("norms.py", 'Point(over="T", groups=groups)', 'Point(over="", groups=groups)',
             (f"{TORCHS}[2.0-group]",)),
    Mutation("norms.py", '"group": Point(over="T", groups=2)', '"group": Point(over="", groups=2)',
             ("test_norms.py::test_each_named_point_is_its_module[group]",)),
    Mutation("norms.py", "x_BTC.view(B, T, groups, C // groups)",
             "x_BTC.view(B, T, C // groups, groups).transpose(2, 3)", POINT),
    Mutation("norms.py", "normalise(parts_BTGF, (*axes, 3)", "normalise(parts_BTGF, (*axes, 2)",
             POINT),
    Mutation("norms.py", "variance_C.detach() * counted / (counted - 1)", "variance_C.detach()",
             MEMORY),
    Mutation("norms.py", "self.running_mean.lerp_(mean_C.detach(), self.momentum)",
             "self.running_mean.lerp_(mean_C.detach(), 1 - self.momentum)", MEMORY),
    Mutation("norms.py", "        if self.training:\n            mean_C",
             "        if True:\n            mean_C", (f"{TORCHS}[2.0-batch]",)),
    Mutation("norms.py", "torch.sqrt(variance_C + self.eps)", "(torch.sqrt(variance_C) + self.eps)",
             (f"{TORCHS}[0.003-batch]",)),
    Mutation("norms.py", "if real is None else x[real]", "if real is None else x[~real]", MASKED),
    Mutation("norms.py", "(rows_NC - mean_C).square().mean(dim=0)", "rows_NC.var(dim=0)", MASKED),
    Mutation("norms.py", "if real is None else real.sum()", "if real is None else real.numel()",
             ("test_norms.py::test_padding_does_not_count_where_it_is_masked",)),
    Mutation("norms.py", "found_BT[b, t + 1 :]", "found_BT[b, t:]", LEAKS),
    Mutation("norms.py", "found_BT[b, t + 1 :]", "found_BT[b, t + 2 :]", LEAKS),
    Mutation("norms.py", "        found_BT[b] = 0\n", "        found_BT[b, t] = 0\n", LEAKS),
    Mutation("norms.py", "abs().amax(dim=(0, 3))", "sum(dim=(0, 3)).abs()", POKING),
    Mutation("figures/norms.py", '"later" if t > at[1]', '"later" if t >= at[1] + 2',
             ("test_figures_norms.py::test_kinds_of_reading_tell_earlier_later_and_others",)),
    Mutation("figures/norms.py", "b * (T + 1) + t for b", "b * T + t for b",
             ("test_figures_norms.py::"
              "test_block_has_sentence_below_sentence_and_every_number",)),
    Mutation("exercises/chapter04.py", '"ε stands outside the root here; inside is asked for.": '
             '{"outside": True}', '"ε stands outside the root here; inside is asked for.": {}',
             ("test_exercises.py::test_wrong_answer_is_told_what_is_wrong[04.1-1]",)),
    Mutation("exercises/chapter04.py", "momentum, \"mean\")\n        if close",
             "momentum, \"mean\")\n        if False and close",
             ("test_exercises.py::test_wrong_answer_is_told_what_is_wrong[04.2-0]",)),
]  # fmt: skip
