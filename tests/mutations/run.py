"""Plant near misses in copies of helpers and see whether a test falls: `make mutations`.

    python tests/mutations/run.py [--seed N] [--minutes N] [--count N] [--only GLOB …]

First the tests run once on a plain copy, which says how long each takes and which lines it meets.
Then each mutant has a process of its own, forked from this one, which has torch and pytest loaded,
and runs the tests that meet its lines, and those of its module, until one fails; what survives
these meets the slow tests of its module at the end. Those that people
write and no operator makes (near_misses.toml) come first, and must all be caught; then a sample of
the rest, in an order that the seed gives, until the time is over. A mutant that means the same as
the original (equivalent.toml) does not count.
"""

import argparse
import contextlib
import fnmatch
import importlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))

from mutations.operators import Mutant, mutants, near_miss  # noqa: E402

# What the operators are let loose on; texts, drawing and what a chapter owns have near misses only.
LEFT_OUT = (
    "*__init__.py",
    "chapters/*",
    "figures/*",
    "explore/*",
    "corrections/*",
    "exercises/*",
    "train.py",
    "generate.py",
)
FOLDERS = ("helpers", "tests", "benchmarks", "notebooks", "book", "homework", ".github")
FILES = (
    "pyproject.toml",
    "_config.yml",
    "_toc.yml",
    "requirements.txt",
    "README.md",
    "Makefile",
    "CONTRIBUTING.md",
)
CORE, CHAPTERS = "tests/core", "tests/chapters"  # the latter where a mutant is in a chapter's code
NOT_OF_CODE = ("test_notebooks.py", "test_prose.py", "test_layers.py")
LEAST_SCORE = 0.97
JOBS = 2
TOO_LONG_S = 8.0  # a test that takes longer is not run
ENOUGH_S = 30.0  # of tests for one mutant
LEAST_LIMIT_S, SLOWER = 30.0, 6.0  # a mutant may take so much longer than its tests do
PRELOADED = (
    "torch",
    "numpy",
    "hypothesis.extra.numpy",
    "beartype",
    "jaxtyping",
    "safetensors.torch",
    "matplotlib.pyplot",
    "ipywidgets",
    "IPython.display",
    "torch._dynamo",
    "tqdm.auto",
)
PLUGINS = [
    "-p",
    "no:cacheprovider",
    "-p",
    "_hypothesis_pytestplugin",
    "-q",
    "--tb=line",
    "--continue-on-collection-errors",
]


# --------------------------------------------------------------------------- what is to be planted


def every_mutant(helpers: Path) -> list[Mutant]:
    """All that the operators make of the core of helpers."""
    paths = sorted(path.relative_to(helpers).as_posix() for path in helpers.rglob("*.py"))
    chosen = [p for p in paths if not any(fnmatch.fnmatch(p, left) for left in LEFT_OUT)]
    return [mutant for path in chosen for mutant in mutants(path, (helpers / path).read_bytes())]


def near_misses(helpers: Path) -> tuple[list[Mutant], list[str]]:
    """Those in near_misses.toml, and what is stale there: each must stand in exactly one place."""
    found, stale = [], []
    for path, functions in tomllib.loads((HERE / "near_misses.toml").read_text("utf-8")).items():
        source = (helpers / path).read_bytes() if (helpers / path).is_file() else b""
        for function, changes in functions.items():
            module = path.removesuffix(".py").replace("/", ".")
            for before, after in changes:
                places = near_miss(path, source, f"{module}.{function}".rstrip("."), before, after)
                found += places[:1]
                if len(places) != 1:
                    stale.append(f"{path}, {function}: {before!r} stands {len(places)} times")
    return found, stale


def equivalents(known: list[Mutant]) -> tuple[set[str], list[str]]:
    """Ids of mutants that mean the same as the original, and what is stale in equivalent.toml."""
    changes = {mutant.id: mutant.change for mutant in known}
    listed = tomllib.loads((HERE / "equivalent.toml").read_text("utf-8")).get("equivalent", [])
    stale = [
        f"equivalent: {e['id']} is {changes.get(e['id'])!r}, not {e['change']!r}"
        for e in listed
        if changes.get(e["id"]) != e["change"]
    ]
    return {e["id"] for e in listed if changes.get(e["id"]) == e["change"]}, stale


# ------------------------------------------------------------------------------- a copy, a process


class House:
    """A copy of what the tests need, in which one module at a time is changed."""

    def __init__(self, folder: Path):
        self.folder, self.number = folder, 0
        ignored = shutil.ignore_patterns("__pycache__", "node_modules", "site")
        for name in FOLDERS:
            shutil.copytree(ROOT / name, folder / name, ignore=ignored, dirs_exist_ok=True)
        for name in FILES:
            shutil.copy(ROOT / name, folder)

    @contextlib.contextmanager
    def with_(self, mutant: Mutant) -> Iterator[None]:
        file = self.folder / "helpers" / mutant.path
        self.number += 1
        file.write_bytes(mutant.planted((ROOT / "helpers" / mutant.path).read_bytes()))
        os.utime(file, (self.number, self.number))  # no two are taken for one by the byte code
        try:
            yield
        finally:
            shutil.copy2(ROOT / "helpers" / mutant.path, file)

    def start(self, work: Callable[[], int]) -> int:
        """Do some work in a forked process, as if this copy were the only house there is."""
        sys.stdout.flush()
        if pid := os.fork():
            return pid
        status = 70
        try:
            os.setsid()
            said = os.open(self.folder / "said.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(said, 1)
            os.dup2(said, 2)
            os.chdir(self.folder)
            os.environ["PYTHONPATH"] = str(self.folder)
            kept = [p for p in sys.path if not Path(p).resolve().is_relative_to(ROOT / "tests")]
            sys.path[:] = [str(self.folder), *(p for p in kept if Path(p).resolve() != ROOT)]
            for name in [n for n in sys.modules if n.split(".")[0] == "mutations"]:
                del sys.modules[name]
            status = int(work())
        finally:
            os._exit(status)

    def said(self) -> str:
        return (self.folder / "said.txt").read_text("utf-8", errors="replace")


def run_tests(folder: Path, files: list[str], *plugins: object) -> int:
    options = [*PLUGINS, "--rootdir", str(folder), f"--basetemp={folder / 'tmp'}"]
    return pytest.main([*options, *files], plugins=[*plugins])


class Chosen:
    """Runs the tests given alone, in their order, up to the first that fails."""

    def __init__(self, ids: list[str]):
        self.place = {name: place for place, name in enumerate(ids)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        items[:] = sorted(
            (item for item in items if item.nodeid in self.place),
            key=lambda item: self.place[item.nodeid],
        )


def dies_slowly(mutant: Mutant, house: House) -> bool:
    """Whether a slow test of its module, or of the package that it is in, finds it."""
    room = Path(mutant.path).parts[0].removesuffix(".py")
    files = [
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / CORE).glob(f"test_{room}*.py")
        if "mark.slow" in path.read_text("utf-8")
    ]
    if not files:
        return False
    with house.with_(mutant):
        pid = house.start(lambda: run_tests(house.folder, ["-x", "-m", "slow", *files]))
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == pytest.ExitCode.TESTS_FAILED


# ------------------------------------------------------------------- which test meets which line


class Watcher:
    """Notes how long each test takes, whether it passes, and which lines of helpers it meets.

    What a fixture of more than one test does counts for all tests of the file.
    """

    def __init__(self, folder: Path):
        import coverage

        os.environ["COVERAGE_CORE"] = "ctrace"
        self.folder, self.seconds = folder, defaultdict(float)
        self.failed, self.skipped = set(), set()
        self.coverage = coverage.Coverage(
            data_file=None, config_file=False, include=[f"{folder}/helpers/*"]
        )

    def pytest_collection_modifyitems(self, items):
        items[:] = [item for item in items if item.get_closest_marker("slow") is None]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        self.coverage.switch_context(item.nodeid)
        self.item = item.nodeid
        try:
            return (yield)
        finally:
            self.coverage.switch_context("")

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef, request):
        if fixturedef.scope != "function":
            self.coverage.switch_context(self.item.split("::")[0])
        try:
            return (yield)
        finally:
            self.coverage.switch_context(self.item)

    def pytest_runtest_logreport(self, report):
        self.seconds[report.nodeid] += report.duration
        if report.failed or report.skipped:
            (self.failed if report.failed else self.skipped).add(report.nodeid)

    def pytest_collectreport(self, report):
        if report.failed:
            self.failed.add(report.nodeid)

    def write(self, to: Path) -> None:
        data, lines = self.coverage.get_data(), {}
        for file in data.measured_files():
            path = Path(file).relative_to(self.folder / "helpers").as_posix()
            lines[path] = data.contexts_by_lineno(file)
        run = {name: s for name, s in self.seconds.items() if name not in self.skipped}
        record = {"seconds": run, "failed": sorted(self.failed), "lines": lines}
        to.write_text(json.dumps(record), "utf-8")


@dataclass
class Baseline:
    """What the tests do without a mutation."""

    seconds: dict[str, float] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    lines: dict[str, dict[int, set[str]]] = field(default_factory=dict)

    def add(self, found: dict) -> None:
        self.failed += found["failed"]
        usable = {k: v for k, v in found["seconds"].items() if k not in found["failed"]}
        self.seconds |= usable
        files = defaultdict(set)
        for name in usable:
            files[name.split("::")[0]].add(name)
        for path, lines in found["lines"].items():
            for line, contexts in lines.items():
                met = self.lines.setdefault(path, {}).setdefault(int(line), set())
                for name in contexts:
                    met |= files.get(name, {name} & usable.keys())

    def meeting(self, path: str, lines: range) -> set[str]:
        met = self.lines.get(path, {})
        return set().union(*(met.get(line, ()) for line in lines))

    def tests_of(self, mutant: Mutant) -> list[str]:
        """Those that meet it, and those of its module; the nearest and quickest first."""
        path = Path(mutant.path)
        meet = self.meeting(mutant.path, mutant.lines) or self.meeting(mutant.path, mutant.scope)
        words = {path.stem, path.parent.name} - {"", "chapters", "training"}
        own = {name for name in self.seconds if words & set(_words(name.split("::")[0]))}
        meet = meet or own or self.meeting(mutant.path, range(1, 10_000))
        ranked = sorted(
            meet | own, key=lambda name: (name not in meet, name not in own, self.seconds[name])
        )
        chosen, total = [], 0.0
        for name in ranked:
            if self.seconds[name] <= TOO_LONG_S and total < ENOUGH_S:
                chosen.append(name)
                total += self.seconds[name]
        return chosen


def _words(file: str) -> list[str]:
    """Names that a test's file has in its folder's name and its own."""
    path = Path(file)
    return [path.parent.name, *path.stem.split("_"), path.stem.removeprefix("test_")]


def baseline(houses: list[House], folders: list[str]) -> Baseline:
    """Run all tests once, the files shared out among the copies."""
    files = sorted(
        (
            path
            for folder in folders
            for path in (ROOT / folder).rglob("test_*.py")
            if path.name not in NOT_OF_CODE
        ),
        key=lambda p: -p.stat().st_size,
    )
    names = [path.relative_to(ROOT).as_posix() for path in files]
    pids = []
    for place, house in enumerate(houses):
        mine = names[place :: len(houses)]

        def work(house=house, mine=mine) -> int:
            watcher = Watcher(house.folder)
            watcher.coverage.start()
            run_tests(house.folder, mine, watcher)
            watcher.coverage.stop()
            watcher.write(house.folder / "baseline.json")
            return 0

        pids.append(house.start(work))
    found = Baseline()
    for pid, house in zip(pids, houses, strict=True):
        os.waitpid(pid, 0)
        if not (house.folder / "baseline.json").exists():
            raise RuntimeError(house.said()[-3000:])
        found.add(json.loads((house.folder / "baseline.json").read_text()))
    return found


# -------------------------------------------------------------------------------------- the trial


@dataclass(frozen=True)
class Outcome:
    """How a mutant ended: killed, survived, untested (no test meets it) or broken (no Python)."""

    mutant: Mutant
    how: str
    seconds: float = 0.0


def trials(
    queue: Iterator[Mutant], houses: list[House], tests: Baseline, until: float
) -> Iterator[Outcome]:
    """Each mutant's outcome, as many at a time as there are copies, until the time is over."""
    free, running = [*houses], {}
    exhausted = False
    while running or not exhausted:
        while free and not exhausted:
            mutant = next(queue, None) if time.monotonic() < until else None
            exhausted = mutant is None
            if mutant is not None:
                ids = tests.tests_of(mutant)
                try:
                    compile(
                        mutant.planted((ROOT / "helpers" / mutant.path).read_bytes()), "", "exec"
                    )
                except SyntaxError:
                    yield Outcome(mutant, "broken")
                    continue
                if not ids:
                    yield Outcome(mutant, "untested")
                    continue
                house = free.pop()
                planted = contextlib.ExitStack()
                planted.enter_context(house.with_(mutant))
                files = list(dict.fromkeys(name.split("::")[0] for name in ids))

                def work(house=house, files=files, ids=ids) -> int:
                    return run_tests(house.folder, ["-x", *files], Chosen(ids))

                began = time.monotonic()
                limit = LEAST_LIMIT_S + SLOWER * sum(tests.seconds[name] for name in ids)
                running[house.start(work)] = mutant, house, planted, began, began + limit
        for pid, (mutant, house, planted, began, limit) in [*running.items()]:
            done, status = os.waitpid(pid, os.WNOHANG)
            if not done and time.monotonic() < limit:
                continue
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            if not done:
                os.waitpid(pid, 0)
            planted.close()
            del running[pid]
            free.append(house)
            how = "survived" if done and os.waitstatus_to_exitcode(status) == 0 else "killed"
            yield Outcome(mutant, how, time.monotonic() - began)
        time.sleep(0.02)


def preload() -> None:
    """Load once what every test loads, so that a fork need not."""
    for name in PRELOADED:
        importlib.import_module(name)
    importlib.import_module("torch").set_num_threads(1)


def main(arguments: list[str] | None = None) -> int:
    """Run the trial and say what survived; 1 where too much did, or a list is stale."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0, help="of the sample (default: 0)")
    parser.add_argument("--minutes", type=float, default=28.0, help="in all (default: 28)")
    parser.add_argument("--count", type=int, default=None, help="at most so many made by operators")
    parser.add_argument("--only", nargs="*", default=["*"], help="ids, with * for anything")
    options = parser.parse_args(arguments)
    began = time.monotonic()
    made, (missed, stale) = every_mutant(ROOT / "helpers"), near_misses(ROOT / "helpers")
    same, also_stale = equivalents(made)
    random.Random(options.seed).shuffle(made)

    def wanted(mutant: Mutant) -> bool:
        return any(fnmatch.fnmatch(mutant.id, pattern) for pattern in options.only)

    sample = [m for m in made if m.id not in same and wanted(m)][: options.count]
    missed = [m for m in missed if wanted(m)]
    print(
        f"{len(made)} mutants of the operators, {len(same)} of them equivalent; "
        f"{len(missed)} near misses; seed {options.seed}",
        flush=True,
    )
    os.environ |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "OMP_NUM_THREADS": "1"}
    preload()
    with tempfile.TemporaryDirectory() as folder:
        houses = [House(Path(folder) / str(number)) for number in range(JOBS)]
        inside = any(m.path.startswith("chapters/") for m in [*missed, *sample])
        tests = baseline(houses, [CORE, CHAPTERS] if inside else [CORE])
        print(
            f"{len(tests.seconds)} tests pass without a mutation "
            f"({time.monotonic() - began:.0f} s)",
            flush=True,
        )
        ended = {"near misses": [], "sample": []}
        for what, queue in (("near misses", missed), ("sample", sample)):
            for outcome in trials(iter(queue), houses, tests, began + 60 * options.minutes):
                ended[what].append(outcome)
        for what, outcomes in ended.items():
            ended[what] = [
                replace(o, how="killed")
                if o.how == "survived" and dies_slowly(o.mutant, houses[0])
                else o
                for o in outcomes
            ]
            for outcome in ended[what]:
                if outcome.how in ("survived", "untested"):
                    print(
                        f"{outcome.how}: {outcome.mutant.id}\n    {outcome.mutant.change}",
                        flush=True,
                    )
    lived = [o for o in ended["near misses"] if o.how != "killed"]
    counted = [o for o in ended["sample"] if o.how != "broken"]
    killed = sum(o.how == "killed" for o in counted)
    score = killed / max(1, len(counted))
    for line in [*stale, *also_stale, *(f"fails without a mutation: {n}" for n in tests.failed)]:
        print(line)
    print(
        f"near misses: {len(ended['near misses']) - len(lived)} of {len(ended['near misses'])} "
        f"caught; sample: {killed} of {len(counted)}, {score:.1%} (at least {LEAST_SCORE:.0%}); "
        f"{time.monotonic() - began:.0f} s"
    )
    return int(bool(lived or stale or also_stale) or score < LEAST_SCORE)


if __name__ == "__main__":
    sys.exit(main())
