"""The rules that notebooks keep.

A rule takes a `Chapter` and returns complaints, none where all is well. test_notebooks.py holds
every chapter to every rule.
"""

import ast
import io
import re
import tokenize
import tomllib
from collections import Counter
from statistics import median

from support import (
    CHECKED,
    OVERVIEWS,
    ROOT,
    Chapter,
    execute,
    exercises,
    readings,
    release,
    repository,
)

from book import address
from helpers.chapters import BY_NUMBER

REGISTRY = ROOT / "tests" / "exceptions.toml"
IGNORED, SKIPPED = "nbval-ignore-output", "nbval-skip"
LARGEST_BYTES = 1_500_000
PICTURES = ("image/svg+xml", "image/png", "image/jpeg")

RULES = {}


def exceptions() -> list[dict]:
    """The cells whose outputs are not compared, or that are not run, each with its reason."""
    return tomllib.loads(REGISTRY.read_text("utf-8")).get("exception", [])


def rule(complain):
    RULES[complain.__name__] = complain
    return complain


def name(chapter: Chapter, cell) -> str:
    return f"{chapter.stem}, cell {chapter.cells.index(cell) + 1} (id {cell.id})"


def said(output) -> str:
    """The text of an output, without pictures and what only a script reads."""
    data = output.get("data", {})
    texts = [output.get("text", ""), *output.get("traceback", [])]
    texts += [str(data[mime]) for mime in data if mime.startswith("text/")]
    return execute.BLOB.sub("", "\n".join(texts))


def outputs(chapter: Chapter) -> list[tuple]:
    return [(cell, output) for cell in chapter.code for output in cell.outputs]


# --- stored outputs -------------------------------------------------------------------------


@rule
def run_in_order(chapter: Chapter) -> list[str]:
    counts = [cell.execution_count for cell in chapter.code]
    return (
        []
        if counts == list(range(1, len(counts) + 1))
        else ["run `make notebooks ONLY=NN`, which runs its cells in order"]
    )


@rule
def nothing_of_this_machine(chapter: Chapter) -> list[str]:
    return execute.leaks(chapter.notebook)


@rule
def small(chapter: Chapter) -> list[str]:
    return [f"{chapter.size} bytes"] if chapter.size >= LARGEST_BYTES else []


@rule
def exceptions_are_registered(chapter: Chapter) -> list[str]:
    known = {(entry["notebook"], entry["cell"]): entry["tag"] for entry in exceptions()}
    found = {(chapter.stem, cell.id): tag for cell in chapter.code for tag in _untested(cell)}
    mine = {where: tag for where, tag in known.items() if where[0] == chapter.stem}
    faults = [
        f"cell {where[1]} is marked {tag}: not registered in tests/exceptions.toml"
        for where, tag in found.items()
        if mine.get(where) != tag
    ]
    return faults + [
        f"the exception for cell {where[1]} is stale" for where in mine if where not in found
    ]


def _untested(cell) -> list[str]:
    """The marks, as tags or as comments, by which nbval would leave something out."""
    marks = (IGNORED, SKIPPED, "nbval-raises-exception", "raises-exception")
    comments = re.findall(r"^\s*#\s*((?:NBVAL|PYTEST_VALIDATE)_\w+)\s*$", cell.source, re.MULTILINE)
    found = [tag for tag in cell.metadata.get("tags", []) if tag in marks]
    return found + [comment.lower().replace("_", "-") for comment in comments]


# --- what stands in every chapter -----------------------------------------------------------


@rule
def first_cell_is_for_colab(chapter: Chapter) -> list[str]:
    """The first cell of code installs helpers in Colab; only the title may stand before it."""
    cell, before = chapter.code[0], chapter.cells.index(chapter.code[0])
    faults = []
    if before > 1 or (before and not chapter.cells[0].source.startswith("# ")):
        faults.append("more than the title stands before the first cell of code")
    if cell.source != address.HINT + address.first_cell(repository(), release()):
        faults.append("the first cell is not that of book/address.py: run `make address`")
    if cell.outputs:
        faults.append("the first cell says something")
    return faults


@rule
def badge_opens_this_chapter(chapter: Chapter) -> list[str]:
    wanted = address.colab(repository(), release(), chapter.stem)
    links = re.findall(r"https://colab\.research\.google\.com/github/[^\s)\"']+", chapter.prose)
    if wanted and not links:
        return [f"no Colab badge; it should lead to {wanted}"]
    return [f"a badge leads to {link} and not to {wanted}" for link in links if link != wanted]


@rule
def figures_have_words(chapter: Chapter) -> list[str]:
    faults = []
    for cell, output in outputs(chapter):
        if not any(mime in output.get("data", {}) for mime in PICTURES):
            continue
        words = cell.metadata.get("mystnb", {})
        alt = words.get("image", {}).get("alt", "")
        caption = words.get("figure", {}).get("caption", "")
        if len(alt) < 20 or re.fullmatch(r"\S+\.(svg|png|jpe?g)|[0-9a-f]{16,}\S*", alt):
            faults.append(f"{name(chapter, cell)}: the figure's alt text is {alt!r}")
        if len(caption) < 20:
            faults.append(f"{name(chapter, cell)}: the figure's caption is {caption!r}")
        if not words.get("figure", {}).get("name"):
            faults.append(f"{name(chapter, cell)}: the figure has no name to link to")
    return faults


@rule
def figure_names_are_unique(chapter: Chapter) -> list[str]:
    names = Counter(
        cell.metadata.get("mystnb", {}).get("figure", {}).get("name") for cell in chapter.code
    )
    return [f"{n} figures are named {label!r}" for label, n in names.items() if label and n > 1]


# Directives (```{name} or :::{name}) and roles ({name}`text`), outside of TeX.
MYST = re.compile(r"^\s*(?:`{3,}|:{3,})\{|(?<![\\^_$}\w])\{[a-z][\w:+-]*\}`", re.MULTILINE)


@rule
def markdown_is_plain(chapter: Chapter) -> list[str]:
    return [
        f"{name(chapter, cell)} holds the directive or role {match.group().strip()!r}"
        for cell in chapter.cells
        if cell.cell_type == "markdown"
        for match in [MYST.search(cell.source)]
        if match
    ]


# --- predictions, explorers, boxes ----------------------------------------------------------


def _parsed(chapter: Chapter) -> list[ast.Module]:
    """The cells of code, commands for the shell and for IPython left out."""
    plain = r"^(\s*)[%!].*$", r"\1pass"
    return [ast.parse(re.sub(*plain, cell.source, flags=re.MULTILINE)) for cell in chapter.code]


def _calls(chapter: Chapter, function: str) -> list[ast.Call]:
    """The calls of a function, by whatever module it is reached."""
    return [
        node
        for tree in _parsed(chapter)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and getattr(node.func, "attr", getattr(node.func, "id", "")) == function
    ]


def _asked_and_told(chapter: Chapter) -> list[tuple[str, str]]:
    """("predict" or "reveal", name of the prediction), in the order in which they are met."""
    met = []
    for tree in _parsed(chapter):
        for node in sorted(ast.walk(tree), key=lambda n: getattr(n, "lineno", 0)):
            call = node.value if isinstance(node, ast.Assign | ast.Expr) else None
            if not isinstance(call, ast.Call):
                continue
            if isinstance(node, ast.Assign) and getattr(call.func, "id", "") == "predict":
                met.append(("predict", ast.unparse(node.targets[0])))
            if getattr(call.func, "attr", "") == "reveal":
                met.append(("reveal", ast.unparse(call.func.value)))
    return met


@rule
def predictions_are_revealed(chapter: Chapter) -> list[str]:
    """Each prediction is kept under a name, and revealed once before that name is used again."""
    met = _asked_and_told(chapter)
    asked = [label for kind, label in met if kind == "predict"]
    calls = len(_calls(chapter, "predict"))
    faults = [] if calls else ["there is no prediction"]
    if calls != len(asked):
        faults.append(f"{calls} calls of predict, {len(asked)} kept under a name")
    for label in sorted({label for _, label in met}):
        turns = [kind for kind, other in met if other == label]
        if turns != ["predict", "reveal"] * (len(turns) // 2):
            faults.append(f"{label} should be predicted and revealed in turn: {turns}")
    return faults


@rule
def there_is_an_explorer(chapter: Chapter) -> list[str]:
    wanted = chapter.stem not in OVERVIEWS
    return ["there is no explorer"] if wanted and not _calls(chapter, "explore") else []


@rule
def explorers_are_seen(chapter: Chapter) -> list[str]:
    """An explorer shows itself as the last value of its cell, once for every call."""
    shown = sum(said(output).count('<figure class="explore"') for _, output in outputs(chapter))
    calls = len(_calls(chapter, "explore"))
    return [] if shown >= calls else [f"{calls} calls of explore, {shown} explorers shown"]


@rule
def errors_to_spot(chapter: Chapter) -> list[str]:
    """One that the reader would make, in the first reading; others stand in the laboratory."""
    found = readings.parts(chapter.cells)
    boxes = {
        part: len(re.findall(r"^>\s*\*\*Spot the error\.\*\*", prose(found[part]), re.MULTILINE))
        for part in ("first", "laboratory")
    }
    if chapter.stem in OVERVIEWS:
        return []
    return [] if boxes["first"] == 1 else [f"{boxes['first']} 'Spot the error', one is wanted"]


# --- open means open ------------------------------------------------------------------------


def is_folded(cell) -> bool:
    return bool(readings.tags(cell) & (readings.FOLDED | readings.UNSEEN))


def _names(source: str) -> tuple[set[str], set[str], set[str]]:
    """Names that a cell reads, defines, and imports."""
    nodes = list(
        ast.walk(ast.parse(re.sub(r"^(\s*)[%!].*$", r"\1pass", source, flags=re.MULTILINE)))
    )
    names = [node for node in nodes if isinstance(node, ast.Name)]
    read = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    defined = {node.id for node in names} - read | {
        node.id for node in names if isinstance(node.ctx, ast.Store)
    }
    defined |= {n.name for n in nodes if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    defined |= {n.arg for n in nodes if isinstance(n, ast.arg)}
    imports = [n for n in nodes if isinstance(n, ast.Import | ast.ImportFrom)]
    return read, defined, {(a.asname or a.name).split(".")[0] for n in imports for a in n.names}


@rule
def open_cells_need_nothing_hidden(chapter: Chapter) -> list[str]:
    """An open cell of the first reading uses no name that only folded cells define."""
    faults, hidden, seen = [], set(), set()
    for cell in readings.parts(chapter.cells)["first"]:
        if cell.cell_type != "code":
            continue
        read, defined, imported = _names(cell.source)
        if is_folded(cell):
            hidden |= defined - imported
            seen |= imported
            continue
        if "reveal(" not in cell.source and (lacking := (read - defined) & hidden - seen):
            faults.append(
                f"{name(chapter, cell)} uses {sorted(lacking)}, which folded cells define"
            )
        seen |= defined | imported
    return faults


@rule
def nothing_else_needs_smollm2(chapter: Chapter) -> list[str]:
    """Its cells are tagged, since they are left out where it cannot be fetched."""
    faults, source = [], {"pretrained", "smollm2"}
    missing = set(source)
    for cell in chapter.code:
        read, defined, imported = _names(cell.source)
        if "needs-smollm2" in readings.tags(cell):
            missing |= defined | imported
        else:
            if used := (read & missing) - defined:
                faults.append(f"{name(chapter, cell)} uses {sorted(used)} without needs-smollm2")
            missing -= (defined | imported) - source
    return faults


@rule
def answers_are_not_code(chapter: Chapter) -> list[str]:
    """An answer box shows the answer, not the source that prints it."""
    return [
        f"{name(chapter, cell)} shows code that prints the answer: write it in Markdown"
        for cell in chapter.tagged("answer")
        if "Markdown(" in cell.source
    ]


@rule
def predictions_are_few(chapter: Chapter) -> list[str]:
    first = readings.count(readings.parts(chapter.cells)["first"])
    return [f"{first.guesses} predictions in the first reading"] if first.guesses > 4 else []


@rule
def reveals_swallow_no_payoff(chapter: Chapter) -> list[str]:
    """No picture, training or text of the first reading is hidden until a guess is made."""
    return [
        f"{name(chapter, cell)} shows more than the answer of a prediction"
        for cell in readings.parts(chapter.cells)["first"]
        if cell.cell_type == "code" and ".reveal(" in cell.source
        if re.search(r"plt\.show\(|\btrain\(|\bgenerate\(|explore\(", cell.source)
    ]


# --- two readings ---------------------------------------------------------------------------


def prose(cells) -> str:
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


# Words and minutes of a first reading, where not those of DEFAULT.
DEFAULT = 2600, 55
READINGS = dict.fromkeys(("03", "04", "07", "09"), (2700, 60)) | {
    "05": (2900, 50),
    "11": (3000, 65),
    "14": (2800, 65),
    "17": (2400, 50),
}


@rule
def readings_can_be_held(chapter: Chapter) -> list[str]:
    """Neither reading is longer than a reader can hold, and a cell shows an idea."""
    found = readings.parts(chapter.cells)
    first, laboratory = (readings.count(found[part]) for part in ("first", "laboratory"))
    words, minutes = READINGS.get(chapter.number, DEFAULT)
    shown = first.open + laboratory.open
    return [
        f"{what}: {count}, at most {most} are wanted"
        for what, count, most in (
            ("words of the first reading", first.words, words),
            ("minutes of the first reading", first.minutes, minutes),
            ("minutes of the laboratory", laboratory.minutes, 25),
            ("experiments", laboratory.experiments, 4),
            ("lines of the longest cell shown", max(shown), 15),
            ("lines of half of the cells shown", median(shown), 10),
        )
        if count > most
    ]


@rule
def readings_begin_with_a_cell(chapter: Chapter) -> list[str]:
    """A cell counts wholly as one reading, so their headings stand first in theirs."""
    return [
        f"{name(chapter, cell)}: ## {heading} does not begin the cell"
        for cell in chapter.cells
        if cell.cell_type == "markdown"
        for heading in re.findall(r"\n## (Laboratory|Exercises)$", cell.source, re.MULTILINE)
    ]


@rule
def overview_is_short(chapter: Chapter) -> list[str]:
    """It leads to the chapters, so nobody should stay in it for long."""
    if chapter.stem not in OVERVIEWS:
        return []
    found = readings.parts(chapter.cells)
    first = readings.count(found["first"])
    faults = [f"an overview has no {part}" for part in ("laboratory", "exercises") if found[part]]
    return faults + [
        f"{what}: {count}, at most {most} are wanted"
        for what, count, most in (
            ("words", first.words, 1300),
            ("lines of half of the cells shown", median(first.open), 8),
        )
        if count > most
    ]


@rule
def head_says_the_minutes(chapter: Chapter) -> list[str]:
    """As they are computed; `make notebooks` writes them."""
    wanted = readings.head(chapter.cells)
    return [] if wanted in prose(chapter.cells[:4]) else [f"`make notebooks` writes {wanted!r}"]


@rule
def exercises_say_what_they_need(chapter: Chapter) -> list[str]:
    known = readings.exercises(readings.parts(chapter.cells)["exercises"])
    return [
        f"no cell after that of ## Exercises has **Exercise {n}.** (first reading · ● · 10 min)"
        for n in range(1, len(exercises(chapter)) + 1)
        if n not in known
    ]


# --- exercises ------------------------------------------------------------------------------

FEWEST_EXERCISES = 6
SOLUTION = re.compile(r"^### BEGIN SOLUTION$.*^### END SOLUTION$(?P<after>.*)", re.M | re.S)
EXPLAINED = re.compile(r"^(?P<after>exercises\.check\(\S+, solution=True\))$", re.M)


@rule
def exercises_are_enough(chapter: Chapter) -> list[str]:
    found = exercises(chapter)
    fewest = 0 if chapter.stem in OVERVIEWS else FEWEST_EXERCISES
    wanted = [f"{chapter.number}.{n}" for n in range(1, len(found) + 1)]
    faults = [] if len(found) >= fewest else [f"{len(found)} exercises, of {fewest} wanted"]
    return faults + ([] if found == wanted else [f"exercises are {found}, not {wanted}"])


@rule
def manifest_names_its_sections(chapter: Chapter) -> list[str]:
    """`chapter.toml` has headings that the notebook has, and each exercise under one of them."""
    sections = BY_NUMBER[int(chapter.number)].sections
    headings = re.findall(r"^##+ (.+)$", prose(chapter.cells), re.MULTILINE)
    lost = [one.heading for one in sections if one.heading not in headings]
    resting = sorted(n for one in sections for n in one.exercises)
    unnamed = set(range(1, len(exercises(chapter)) + 1)).symmetric_difference(resting)
    return [f"chapter.toml names no heading of the notebook: {heading}" for heading in lost] + [
        f"chapter.toml: exercise {n} is not under one section" for n in sorted(unnamed)
    ]


@rule
def exercises_have_one_form(chapter: Chapter) -> list[str]:
    """Words and hint, stub, check, solution that ends in the same check; in this order."""
    faults, since, count = [], 0, 0
    for at, cell in enumerate(chapter.cells):
        if "check" not in cell.metadata.get("tags", []):
            continue
        count += 1
        here, before = chapter.cells[since:at], name(chapter, cell)
        starts = [n for n, c in enumerate(here) if "**Exercise " in c.source]
        here = here[starts[-1] :] if starts else here
        after = chapter.cells[at + 1] if at + 1 < len(chapter.cells) else None
        words = "\n".join(c.source for c in here if c.cell_type == "markdown")
        exercise = CHECKED.search(cell.source)
        faults += [f"{before}: no stub"] * (sum(_has(c, "exercise") for c in here) != 1)
        faults += [f"{before}: no heading **Exercise {count}.**"] * (
            not re.search(rf"\*\*Exercise {count}\.", words)
        )
        faults += [f"{before}: no hint in <details>"] * ("<details>" not in words)
        faults += [f"{before}: no call of check"] * (exercise is None)
        if after is None or not _has(after, "solution"):
            faults.append(f"{before}: no cell tagged solution after it")
        elif exercise:
            solution = SOLUTION.search(after.source) or EXPLAINED.search(after.source)
            again = CHECKED.search(solution["after"]) if solution else None
            ends = again and again[1] == exercise[1] and "solution=True" in solution["after"]
            faults += [f"{before}: its solution lacks the BEGIN and END lines"] * (not solution)
            faults += [f"{before}: its solution does not end in the same check, solution=True"] * (
                not ends
            )
        since = at + 2
    return faults


ANSWER = re.compile(r"""\bcheck\(\s*["']\d\d\.\d+["'],\s*(\w+)""")


@rule
def solutions_keep_the_reader_s_answer(chapter: Chapter) -> list[str]:
    """A solution runs after the reader's cell, so it must not take the answer's name."""
    answers = {m[1] for cell in chapter.tagged("check") if (m := ANSWER.search(cell.source))}
    return [
        f"{name(chapter, cell)} defines {answer}, which is the reader's"
        for cell in chapter.tagged("solution")
        for answer in sorted(answers)
        if re.search(rf"^(def )?{answer}\b\s*[=(]", cell.source, re.MULTILINE)
    ]


def _has(cell, tag: str) -> bool:
    return tag in cell.metadata.get("tags", [])


DOTS = re.compile(r"=\s*\.\.\.\s*(#.*)?$|raise NotImplementedError", re.MULTILINE)


@rule
def exercise_cells_are_tagged(chapter: Chapter) -> list[str]:
    """Cells that look like an exercise's are tagged as such, or the other rules pass them by."""
    faults = [
        f"{name(chapter, cell)} calls check and is tagged neither check nor solution"
        for cell in chapter.code
        if CHECKED.search(cell.source) and not (_has(cell, "check") or _has(cell, "solution"))
    ]
    return faults + [
        f"{name(chapter, cell)} is to be filled in and is not tagged exercise"
        for cell in chapter.code
        if DOTS.search(cell.source) and not (_has(cell, "exercise") or _has(cell, "solution"))
    ]


NBGRADER = {
    "exercise": {"grade": False, "solution": True, "locked": False, "task": False},
    "check": {"grade": True, "solution": False, "locked": True, "task": False},
}


@rule
def nbgrader_is_consistent(chapter: Chapter) -> list[str]:
    faults, seen = [], Counter()
    for cell in chapter.cells:
        graded = cell.metadata.get("nbgrader")
        kind = next((tag for tag in NBGRADER if _has(cell, tag)), None)
        if kind is None or graded is None:
            if kind or graded:
                faults.append(f"{name(chapter, cell)}: tag {kind}, nbgrader {graded}")
            continue
        seen[graded.get("grade_id")] += 1
        wrong = {key: graded.get(key) for key, v in NBGRADER[kind].items() if graded.get(key) != v}
        faults += [f"{name(chapter, cell)}: nbgrader has {wrong}"] * bool(wrong)
        if graded.get("schema_version") != 3 or not graded.get("grade_id"):
            faults.append(f"{name(chapter, cell)}: no schema 3 or no grade_id")
        points = graded.get("points")
        if (points is None) == (kind == "check") or (points is not None and not points > 0):
            faults.append(f"{name(chapter, cell)}: points are {points}")
    return faults + [f"grade_id {ident!r} stands {n} times" for ident, n in seen.items() if n > 1]


# --- prose ----------------------------------------------------------------------------------

# What looks like a decimal and is none: addresses, links' targets, file and package versions,
# DOIs and arXiv numbers, numbers of sections, exercises and figures, and code fences of inputs.
NO_NUMBERS = re.compile(
    r"https?://\S+|\]\([^)]*\)|\bdoi:\S+|\b10\.\d{4,}/\S+"
    r"|\barXiv:?\s*\d{4}\.\d{4,5}(?:v\d+)?"
    r"|\b(?:[Ss]ections?|[Ee]xercises?|[Ee]quations?|[Ff]igures?|[Tt]ables?|[Cc]hapters?"
    r"|[Vv]ersions?|Python|torch|PyTorch|NumPy|BY|SA|OFL"
    r"|Attribution|Licen[cs]e)\s*(?:≥|>=|==)?\s*\(?\d+(?:\.\d+)+\)?"
    r"|\bpy -\d\.\d+|§\s*\d+(?:\.\d+)+|\bv?\d+\.\d+\.\d+(?:\.\d+)*"
)
DECIMAL = re.compile(
    r"(?<![\d.])(\d+\.\d+)(?:\s*(?:\\times|\\cdot|[×·])\s*10\^?\{?([-−⁻]?[\d⁰¹²³⁴⁵⁶⁷⁸⁹]+)\}?)?"
)
NUMBER = re.compile(r"(?<![\d.])(\d*\.?\d+(?:[eE][-+]?\d+)?)")
RAISED = str.maketrans("⁻−⁰¹²³⁴⁵⁶⁷⁸⁹", "--0123456789")


def decimals(text: str) -> list[str]:
    """The decimal numbers that stand in prose, as they are written (a sign left out)."""
    found = []
    for match in DECIMAL.finditer(NO_NUMBERS.sub(" ", text)):
        power = (match.group(2) or "").translate(RAISED)
        found.append(match.group(1) + (f"e{power}" if power else ""))
    return found


def numbers(text: str) -> set[float]:
    """Every number that code or an output holds, as a value without its sign."""
    plain = {float(match) for match in NUMBER.findall(text)}
    return plain | {float(match) for match in decimals(text)}


def held(chapter: Chapter) -> set[float]:
    """The numbers that the chapter's inputs and text outputs hold."""
    texts = [_uncommented(cell.source) for cell in chapter.code]
    texts += [said(output) for _, output in outputs(chapter)]
    return numbers("\n".join(texts))


def _uncommented(source: str) -> str:
    """Code without its comments: a number in a comment is typed too."""
    lines = io.StringIO(source).readline
    try:
        tokens = list(tokenize.generate_tokens(lines))
    except (tokenize.TokenError, IndentationError):  # a line for the shell
        return source
    return " ".join(token.string for token in tokens if token.type != tokenize.COMMENT)


def typed(text: str, known: set[float]) -> list[str]:
    """The decimals in prose that nothing computed or stated holds."""
    return [number for number in decimals(text) if float(number) not in known]


def _judge(chapter: Chapter) -> str:
    """The code that judges the chapter's exercises."""
    path = ROOT / "helpers" / "chapters" / f"ch{chapter.stem}" / "exercises.py"
    return _uncommented(path.read_text("utf-8")) if path.exists() else ""


@rule
def no_number_is_typed(chapter: Chapter) -> list[str]:
    known = held(chapter)
    asked = known | numbers(_judge(chapter))  # what an exercise asks for, its check holds
    return [
        f"{name(chapter, cell)} says {number}, which no input or output of the chapter holds"
        for cell in chapter.cells
        if cell.cell_type == "markdown"
        for number in typed(cell.source, asked if "**Exercise " in cell.source else known)
    ]
