"""Near misses planted in a copy of helpers: for each, the tests named beside it must fail.

The mutations stand in tests/mutations, a module a subject. Each runs in a process of its own,
forked from one that has torch and pytest loaded already, so that it costs about a second.
"""

import importlib
import multiprocessing
import pkgutil
import shutil
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import mutations
import pytest
from chapters import ROOT
from mutant import run_tests
from mutations.mutation import Mutation

AT_ONCE = 2
PRELOADED = ["torch", "numpy", "pytest", "hypothesis.extra.numpy", "beartype", "jaxtyping"]
PRELOADED += [
    "matplotlib.pyplot",
    "ipywidgets",
    "IPython.display",
    "torch._dynamo",
    "torch._inductor",
]

MUTATIONS = tuple(
    mutation
    for module in pkgutil.iter_modules(mutations.__path__, "mutations.")
    for mutation in getattr(importlib.import_module(module.name), "MUTATIONS", ())
)


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
def results(tmp_path_factory, request):
    """For each mutation chosen, and None for no mutation at all, the run of its tests to come."""
    calls = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    chosen = [call["mutation"] for call in calls if "mutation" in call]
    kind = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    context = multiprocessing.get_context(kind)
    if kind == "forkserver":
        context.set_forkserver_preload(PRELOADED)
    every = tuple(dict.fromkeys(test for mutation in chosen for test in mutation.tests))
    with ProcessPoolExecutor(AT_ONCE, mp_context=context, max_tasks_per_child=1) as pool:
        runs = {}
        plain = copy_of_the_house(tmp_path_factory.mktemp("plain"))
        runs[None] = pool.submit(run_tests, str(plain), every)
        for mutation in chosen:
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
