"""Near misses in the first section of helpers/embeddings.py, in its figures and its checks."""

from mutations.mutation import Mutation


def _test(name: str) -> tuple[str, ...]:
    return (f"test_embeddings.py::{name}",)


FREQUENT = _test("test_frequent_keeps_what_is_frequent_and_nothing_else")
MODEL = _test("test_model_averages_rows_and_compares_them_with_each_output")
STARTS = _test("test_model_starts_from_its_generator_and_without_an_opinion")
ROUNDING = _test("test_rounding_is_within_half_a_scale_and_uses_the_whole_range")
MIGRATION = _test("test_migration_keeps_the_row_of_each_known_word")
NGRAMS = _test("test_ngrams_add_up_the_rows_of_the_last_tokens")

MUTATIONS = [
    Mutation("embeddings.py", "row, digit, place, total = ids + 1, ids + 1, 1, 0.0",
             "row, digit, place, total = ids, ids, 1, 0.0", NGRAMS),
    Mutation("embeddings.py", "F.pad(digit[..., :-1], (1, 0))", "F.pad(digit[..., 1:], (0, 1))",
             NGRAMS),
    Mutation("embeddings.py", "digit[..., :-1], (1, 0))", "(ids + 1)[..., :-1], (1, 0))", NGRAMS),
    Mutation("embeddings.py", "total = total + table(row)", "total = table(row)", NGRAMS),
    Mutation("embeddings.py", "counts >= at_least", "counts > at_least", FREQUENT),
    Mutation("embeddings.py", "torch.where(kept[place] == ids, place, len(kept))", "place",
             FREQUENT),
    Mutation("embeddings.py", "range(-reach, reach + 1) if step", "range(-reach, reach) if step",
             _test("test_surroundings_are_the_tokens_on_both_sides")),
    Mutation("embeddings.py", "return ids[at[:, None] + steps], ids[at]",
             "return ids[at[:, None] + steps], ids[at + 1]",
             _test("test_surroundings_are_the_tokens_on_both_sides")),
    Mutation("embeddings.py", "self.table(ids_BW).mean(dim=1)", "self.table(ids_BW).sum(dim=1)",
             MODEL),
    Mutation("embeddings.py", ".mean(dim=1) @ self.output.T",
             ".mean(dim=1) @ self.table.weight.T", MODEL),
    Mutation("embeddings.py", "from_pretrained(rows, freeze=False)", "from_pretrained(rows)",
             STARTS),
    Mutation("embeddings.py", "rows = 0.3 * torch.randn(", "rows = torch.randn(", STARTS),
    Mutation("embeddings.py", "torch.arange(vocab_size, device=ids.device)",
             "torch.arange(1, vocab_size + 1, device=ids.device)", _test("test_one_hot_is_torchs")),
    Mutation("embeddings.py", "-(-vocab_size * width * bits // 8)",
             "vocab_size * width * bits // 8", _test("test_bytes_of_four_bits_are_rounded_up")),
    Mutation("embeddings.py", "enumerate(old_words)}", "enumerate(new_words)}", MIGRATION),
    Mutation("embeddings.py", "largest / (2 ** (bits - 1) - 1)", "largest / (2**bits - 1)",
             ROUNDING),
    Mutation("embeddings.py", "table.abs().amax(dim=1, keepdim=True)", "table.abs().amax()[None, "
             "None].expand(len(table), 1)", ROUNDING),
    Mutation("embeddings.py", "table.abs().amax(dim=1, keepdim=True)",
             "table.amax(dim=1, keepdim=True)", ROUNDING),
    Mutation("embeddings.py", "(table / scale).round()", "(table / scale).floor()", ROUNDING),
    Mutation("figures/embeddings.py", "cell = (c, -b * step - t)", "cell = (t, -b * step - c)",
             ("test_figures_embeddings.py::test_block_fills_each_cell_by_its_mark",)),
    Mutation("exercises/chapter01.py", "np.add.at(right, ids, upstream)",
             "right[ids] += upstream",
             ("test_exercises.py::test_right_answer_is_called_right[01.2]",)),
    Mutation("exercises/chapter01.py", "a_reads, c_reads, d_reads = c, b * t, t * c",
             "a_reads, c_reads, d_reads = c, b * t, b * t * c",
             ("test_exercises.py::test_right_answer_is_called_right[01.4]",)),
]  # fmt: skip
