"""Near misses planted in a copy of helpers: for each, the tests named beside it must fail.

A mutation is (file, text as it is, text as people mistakenly write it, tests). Each runs in a
process of its own, forked from one that has torch and pytest loaded already, so that it costs
about a second.
"""

import multiprocessing
import shutil
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest
from chapters import ROOT
from mutant import run_tests

AT_ONCE = 2
PRELOADED = ["torch", "numpy", "pytest", "hypothesis.extra.numpy", "beartype", "jaxtyping"]
PRELOADED += ["matplotlib.pyplot", "ipywidgets", "IPython.display"]


class Mutation(NamedTuple):
    """What is changed where, and which tests must notice."""

    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.file}: {self.old.strip()[:40]} → {self.new.strip()[:40]}"


ATTENTION = ("test_attention.py::test_output_and_gradients_are_torchs",)
BY_HAND = ("test_attention.py::test_by_hand",)
MASK = ("test_attention.py::test_causal_mask_is_what_it_says",)
STEPS = ("test_attention.py::test_each_step_follows_from_the_one_before",)

MUTATIONS = [
    Mutation("attention.py", "q.shape[-1] ** 0.5", "q.shape[-1]", BY_HAND),
    Mutation("attention.py", "q.shape[-1] ** 0.5", "k.shape[-2] ** 0.5", ATTENTION),
    Mutation("attention.py", "scores / q.shape[-1] ** 0.5", "scores", BY_HAND),
    Mutation("attention.py", "torch.softmax(masked, dim=-1)", "torch.softmax(masked, dim=-2)",
             ATTENTION),
    Mutation("attention.py", "output=weights @ v", "output=scaled @ v", ATTENTION),
    Mutation("attention.py", ".tril()", ".tril(-1)", MASK),
    Mutation("attention.py", ".tril()", ".tril(1)", MASK),
    Mutation("attention.py", ".tril()", ".triu()", MASK),
    Mutation("attention.py", "masked_fill(~allowed", "masked_fill(allowed", ATTENTION),
    Mutation("attention.py", 'float("-inf")', "0.0", ATTENTION),
    Mutation("attention.py", "return jacobian != 0", "return jacobian > 0",
             ("test_attention.py::test_a_projection_stays_in_its_token_and_attention_does_not",)),
    Mutation("numerics.py", "powers / _total(powers, axis)", "powers / _total(powers, -1)",
             ("test_numerics.py::test_softmax_family_is_torchs",)),
    Mutation("numerics.py", "np.exp(scores - largest)", "np.exp(scores)",
             ("test_numerics.py::test_softmax_of_huge_scores_and_integers",)),
    Mutation("numerics.py", "return n - ddof", "return n - 1",
             ("test_numerics.py::test_mean_and_variance_are_torchs",)),
    Mutation("numerics.py", "return n - ddof", "return n",
             ("test_numerics.py::test_variance_divides_by_n_unless_told",)),
    Mutation("numerics.py", "return -(p * np.log(", "return -(p * np.log2(",
             ("test_numerics.py::test_entropy_is_in_nats_and_takes_an_axis",)),
    Mutation("numerics.py", "/ math.sqrt(len(query))", "/ len(query)",
             ("test_numerics.py::test_attention_is_torchs",)),
    Mutation("bigram.py", "ids[:-1].astype(np.int64) * vocab_size + ids[1:]",
             "ids[1:].astype(np.int64) * vocab_size + ids[:-1]",
             ("test_bigram.py::test_row_is_the_current_token_and_column_the_next",)),
    Mutation("bigram.py", "added = counts + add", "added = counts + 0",
             ("test_bigram.py::test_smoothed_is_the_loops",)),
    Mutation("bigram.py", "keepdims=True)\n    return np.where(totals > 0, added /",
             "keepdims=True).T\n    return np.where(totals > 0, added /",
             ("test_bigram.py::test_smoothed_is_the_loops",)),
    Mutation("bigram.py", "rows @ numerics.entropy(seen / rows[:, None]) / rows.sum()",
             "numerics.entropy(seen / rows[:, None]).mean()",
             ("test_bigram.py::test_conditional_entropy_is_the_loops",)),
    Mutation("bigram.py", "torch.zeros(vocab_size, vocab_size)",
             "torch.eye(vocab_size)",
             ("test_bigram.py::test_model_is_a_table_from_zero",)),
    Mutation("bigram.py", "[:, -1].softmax", "[:, 0].softmax",
             ("test_bigram.py::test_generation_follows_the_table",)),
    Mutation("bigram.py", "table[i, seen] - log_p[i, seen]", "log_p[i, seen] - table[i, seen]",
             ("test_bigram.py::test_row_constants_are_found_again",)),
    Mutation("bigram.py", "np.isfinite(log_p)", "np.isfinite(table)",
             ("test_bigram.py::test_row_constants_are_found_again",)),
    Mutation("bigram.py", "log_p = np.log(probabilities[occurs])",
             "log_p = np.log2(probabilities[occurs])",
             ("test_bigram.py::test_cross_entropy_is_torchs_over_the_text",)),
    Mutation("bigram.py", "-(counts[occurs] @ log_p) / counts.sum()", "-log_p.mean()",
             ("test_bigram.py::test_cross_entropy_is_torchs_over_the_text",)),
    Mutation("bigram.py", "[self.table.T - np.eye", "[self.table - np.eye",
             ("test_bigram.py::test_abc_chain_is_known_exactly",)),
    Mutation("bigram.py", "states, state = [], -1", "states, state = [], 0",
             ("test_bigram.py::test_first_state_is_stationary",)),
    Mutation("bigram.py", "[self.table, self.stationary]), axis=1", "[self.table, "
             "self.stationary]), axis=0", ("test_bigram.py::test_samples_follow_the_table",)),
    Mutation("corpus.py", "return ids[:cut], ids[cut:]", "return ids[:cut], ids[cut + 1:]",
             ("test_corpus.py::test_split_is_contiguous_and_whole",)),
    Mutation("corpus.py", "ids[1 : whole * context + 1]", "ids[: whole * context]",
             ("test_corpus.py::test_windows_hold_each_target_once_in_order",)),
    Mutation("corpus.py", "ids[whole * context :]", "ids[whole * context + 1 :]",
             ("test_corpus.py::test_windows_hold_each_target_once_in_order",)),
    Mutation("corpus.py", "tuple(sorted({token for token, _ in self._tokens(text)}))",
             "tuple(dict.fromkeys(token for token, _ in self._tokens(text)))",
             ("test_corpus.py::test_characters_are_sorted_so_ids_are_known",)),
    Mutation("corpus.py", "if between != _usual_gap(previous, piece, quoted):", "if gap:",
             ("test_corpus.py::test_tokens_of_words",)),
    Mutation("exercises/verdict.py", "rtol=tolerance, atol=tolerance", "rtol=1, atol=1",
             ("test_exercises.py::test_wrong_answer_is_told_what_is_wrong[05.1-2]",)),
    Mutation("exercises/verdict.py", "return Verdict(\"Not right\", str(wrong))",
             "return Verdict(\"Not yet\", str(wrong))",
             ("test_exercises.py::test_wrong_answer_is_told_what_is_wrong[05.1-2]",)),
    Mutation("exercises/chapter05.py", "scores, root = k @ q[0], np.sqrt(width)",
             "scores, root = k @ q[0], width",
             ("test_exercises.py::test_right_answer_is_called_right[05.1]",)),
    Mutation("corpus.py", "yield ids[at_BT], ids[at_BT + 1]", "yield ids[at_BT], ids[at_BT]",
             ("test_corpus.py::test_batches_are_windows_and_their_successors",)),
    Mutation("corpus.py", "len(ids) - context,", "len(ids) - context - 1,",
             ("test_corpus.py::test_every_window_is_drawn_equally_often_and_no_other",)),
    Mutation("training.py", "            optimizer.zero_grad()\n", "",
             ("test_training.py::test_each_step_is_the_one_computed_by_hand",)),
    Mutation("training.py", "* target.numel()", "* 1",
             ("test_training.py::test_evaluate_weighs_by_targets_and_restores_modes",)),
    Mutation("worked.py", "/ np.sqrt(width)", "/ width",
             ("test_worked.py::test_scale_divides_by_the_root",)),
    Mutation("explore.py", "frames, \"sentences\"", "frames[::-1], \"sentences\"",
             ("test_explore.py::test_frames_are_what_draw_makes",)),
    Mutation("figures/attention_by_hand.py", "apart = np.sqrt(2) / length",
             "apart = 2 / length", ("test_figures.py::test_lines_join_equal_scores_one_apart",)),
]  # fmt: skip


def copy_of_the_house(to: Path) -> Path:
    """What the tests of helpers need, in a folder of its own."""
    ignored = shutil.ignore_patterns("__pycache__", "site")
    shutil.copytree(ROOT / "helpers", to / "helpers", ignore=ignored)
    shutil.copytree(ROOT / "tests", to / "tests", ignore=ignored)
    for name in ("pyproject.toml", "_config.yml"):
        shutil.copy(ROOT / name, to)
    (to / "notebooks").mkdir()
    shutil.copy(ROOT / "notebooks" / "execute.py", to / "notebooks")
    return to


def planted(mutation: Mutation, to: Path) -> Path:
    copy = copy_of_the_house(to)
    file = copy / "helpers" / mutation.file
    text = file.read_text("utf-8")
    assert text.count(mutation.old) == 1, (
        f"stale: {mutation.old!r} stands {text.count(mutation.old)} times"
    )
    file.write_text(text.replace(mutation.old, mutation.new), "utf-8")
    return copy


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """For each mutation, and None for no mutation at all, the run of its tests to come."""
    kind = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    context = multiprocessing.get_context(kind)
    if kind == "forkserver":
        context.set_forkserver_preload(PRELOADED)
    every = tuple(dict.fromkeys(test for mutation in MUTATIONS for test in mutation.tests))
    with ProcessPoolExecutor(AT_ONCE, mp_context=context, max_tasks_per_child=1) as pool:
        runs = {}
        plain = copy_of_the_house(tmp_path_factory.mktemp("plain"))
        runs[None] = pool.submit(run_tests, str(plain), every)
        for mutation in MUTATIONS:
            try:
                copy = planted(mutation, tmp_path_factory.mktemp("mutant"))
            except AssertionError as stale:
                runs[mutation] = str(stale)
            else:
                runs[mutation] = pool.submit(run_tests, str(copy), mutation.tests)
        yield runs


def test_without_a_mutation_they_all_pass(results):
    status, said = results[None].result()
    assert status == 0, said[-3000:]


@pytest.mark.parametrize("mutation", MUTATIONS, ids=str)
def test_mutation_is_caught(mutation, results):
    run = results[mutation]
    assert not isinstance(run, str), run
    status, said = run.result()
    assert status == pytest.ExitCode.TESTS_FAILED, said[-3000:]
