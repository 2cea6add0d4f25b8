"""Mutants: what is changed, how a sample is drawn, and that a mistake is really made."""

import ast
import gc
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.errors import raised
from tests.mutants import cover
from tests.mutants.applying import loaded
from tests.mutants.changes import expressions, statements
from tests.mutants.matrix import read
from tests.mutants.patterns import of_pattern
from tests.mutants.planted import planted
from tests.mutants.rooms import PACKAGE, ROOMS, files_of
from tests.mutants.rounds import mutants_of, sampled

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize(
    ("code", "changed"),
    [
        ("a < b", ["a <= b"]),
        ("a and b", ["a or b", "b", "a"]),
        ("not a", ["a"]),
        ("a - b", ["a + b"]),
        ("a if b else c", ["c if b else a"]),
        ("3", ["4"]),
        ("True", ["False"]),
        ("'x'", ["'x?'"]),
        ("f(a, key=b)", ["f(None, key=b)", "f(a)"]),
        ("{1: 2}", ["{}"]),
    ],
)
def test_expressions(code: str, changed: list[str]) -> None:
    """An expression is changed in one place, in each way there is."""
    node = ast.parse(code, mode="eval").body
    assert changed == [ast.unparse(ast.fix_missing_locations(new)) for new in expressions(node)]


@pytest.mark.parametrize(
    ("code", "changed"),
    [
        ("if a:\n    b", ["if not a:\n    b"]),
        ("lose('hint')", ["pass"]),
        ("a.b = c", ["pass"]),
        ("a = b", ["a = None"]),
        ("raise a", ["pass"]),
        ("'documented'", []),
    ],
)
def test_statements(code: str, changed: list[str]) -> None:
    """A statement is dropped, or what decides it is negated."""
    node = ast.parse(code).body[0]
    assert changed == [ast.unparse(ast.fix_missing_locations(new)) for new in statements(node)]


def test_patterns() -> None:
    """A pattern loses each element, and each count is altered."""
    assert {"b", "a+b", "a?b", "ab", "a*", "a*b"} >= {*of_pattern("a*b")}


def test_every_room_has_files() -> None:
    """Every room is a part of the package, with tests that exist."""
    root = PACKAGE.parent
    wrong = [name for name, room in ROOMS.items() if not files_of(room)]
    tests = {word for room in ROOMS.values() for word in room.tests.split() if word[:2] != "--"}
    assert ([], []) == (wrong, [test for test in sorted(tests) if not (root / test).exists()])


def test_every_file_is_in_a_room() -> None:
    """Every file of the package is in a room; what starts the command is no module to be loaded."""
    inside = {path for room in ROOMS.values() for path in files_of(room)}
    assert {PACKAGE / "__main__.py"} == {*PACKAGE.rglob("*.py")} - inside


def test_functions_that_are_frozen() -> None:
    """The functions of a file are found, also when the garbage collector was told to pass them."""
    gc.freeze()
    found = loaded([str(PACKAGE / "foundation/source.py")])
    assert "author_frame" in {name for _, name in found}


def test_a_sample() -> None:
    """A sample has a mutant of each function and constant, is of its size, and always the same."""
    every = mutants_of([PACKAGE / "config/transformation.py"])
    once, again = sampled(every, 100, 1), sampled(every, 100, 1)
    names = {(mutant.module, mutant.name) for mutant in every}
    assert (100, names) == (len(once), {(mutant.module, mutant.name) for mutant in once})
    assert [mutant.change for mutant in once] == [mutant.change for mutant in again]


APPLIED = """
from promptdsl import Assistant, Timeline, User, render
from tests.mutants.applying import apply, loaded
from tests.mutants.module import mutants
from tests.mutants.rooms import PACKAGE

path, wanted = PACKAGE / "providers/shared" / {file!r}, {wanted!r}
prompt = Timeline(Assistant("a"), User("b"), User("c"))
before = render(prompt, provider="gemini").payload()["contents"]
[mutant] = [each for each in mutants(path) if [each.name, each.change] == wanted]
apply(mutant, loaded([str(path)]))
after = render(prompt, provider="gemini").payload()["contents"]
print([[[part["text"] for part in one["parts"]] for one in each] for each in (before, after)])
"""

OPENED = "{'role': 'user', 'content': opening}"


@pytest.mark.parametrize(
    ("file", "wanted", "after"),
    [
        ("request.py", ["OPENING", ". -> "], [[""], ["a"], ["b", "c"]]),
        (
            "two_sided.py",
            ["_begin_turn", f"request.payload_messages.append({OPENED}) -> pass"],
            [["a"], ["b", "c"]],
        ),
    ],
    ids=["constant", "function"],
)
@pytest.mark.slow
def test_a_mistake_is_made(file: str, wanted: list[str], after: Any) -> None:
    """A changed constant or function is what other modules use that have imported it."""
    command = [sys.executable, "-c", APPLIED.format(file=file, wanted=wanted)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert f"{[[['.'], ['a'], ['b', 'c']], after]}\n" == done.stdout


CACHED = """
from tests.internals import fold, written_tags
from tests.mutants.applying import apply, loaded
from tests.mutants.module import mutants
from tests.mutants.rooms import PACKAGE

path, wanted = PACKAGE / "foundation/guards.py", {wanted!r}
before = fold("Event"), sorted(written_tags("\u2039e\u0301vent>").opened)
[mutant] = [each for each in mutants(path) if [each.name, each.change] == wanted]
apply(mutant, loaded([str(path)]))
print(before, (fold("Event"), sorted(written_tags("\u2039e\u0301vent>").opened)))
"""
CATEGORIES = "('Cc', 'Cf', 'Cs', 'Mn', 'Mc', 'Me') -> ('Cc', 'Cf', 'Cs', 'Mc', 'Me')"


@pytest.mark.parametrize(
    ("wanted", "after"),
    [
        (["_UNSEEN_CATEGORIES", CATEGORIES], ("event", ["e"])),
        (["fold", "return name.rstrip('.-').lower() -> return None"], (None, ["e", "event"])),
    ],
    ids=["constant", "function"],
)
@pytest.mark.slow
def test_no_cache_hides_a_mistake(wanted: list[str], after: Any) -> None:
    """What a cached function has returned before is forgotten."""
    command = [sys.executable, "-c", CACHED.format(wanted=wanted)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert f"{('event', ['e', 'event'])} {after}\n" == done.stdout


PLANTED = """
from tests.internals import table_text
from tests.mutants.applying import loaded
from tests.mutants.planted import plant, planted

mutant = planted(**{mutant!r})
plant(mutant, loaded([str(mutant.path)]))
print([mutant.name, table_text(("a",), (("<",),), "markdown")])
"""


def _mistake(old: str, new: str, file: str = "tables") -> dict[str, str]:
    return {"file": f"promptdsl/foundation/{file}.py", "old": old, "new": new, "what": "Wrong."}


NESTED = _mistake('text in ("", "---")', 'text in ("", "----")')
OF_CONSTANT = _mistake('"<": "&lt;"', '"<": "&LT;"', "escaping")


@pytest.mark.parametrize(
    ("mutant", "after"),
    [
        (NESTED, ["_markdown", "| a |\n| ---- |\n| &lt; |"]),
        (OF_CONSTANT, ["_NAMED_REFERENCES", "| a |\n| --- |\n| &LT; |"]),
    ],
    ids=["nested", "constant"],
)
@pytest.mark.slow
def test_a_mistake_is_planted(mutant: dict[str, str], after: list[str]) -> None:
    """A text of a file is replaced, in a function and what is made in it, or in a constant."""
    command = [sys.executable, "-c", PLANTED.format(mutant=mutant)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert after == ast.literal_eval(done.stdout)


@pytest.mark.parametrize(
    ("mutant", "message"),
    [
        (_mistake("no such text", ""), "0 times in promptdsl/foundation/tables.py: 'no such text'"),
        (_mistake("def _fixed_line(", "def"), "no Python in promptdsl/foundation/tables.py: 'def'"),
    ],
    ids=["not there", "no Python"],
)
def test_what_cannot_be_planted(mutant: dict[str, str], message: str) -> None:
    """A text has to stand once in its file, and to be Python after it was replaced."""
    assert message == str(raised(ValueError, lambda: planted(**mutant)))


PROBED = """
from tests.internals import table_text
from tests.mutants.probes import put_probes
from tests.mutants.rooms import PACKAGE

file, numbers = PACKAGE / "foundation/tables.py", set()
places = put_probes([str(file)], numbers.add)
text = table_text(None, (("a",),), "csv")
written = file.read_text("utf-8").splitlines()
ran = {written[line - 1].strip() for number in numbers for _, line in places[number]}
print([text, sorted(line for line in ran if line.startswith("first"))])
"""


@pytest.mark.slow
def test_lines_that_run() -> None:
    """The lines of each statement that runs are noted; the code returns what it did before."""
    command = [sys.executable, "-c", PROBED]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert ["a", ["first = _cells(values[:1], inline_line, title)"]] == ast.literal_eval(
        done.stdout
    )


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ("(text,), [[]]", "(text,), []", ["    return (text,), [[]]"]),
        (
            "def _fixed_line(text: str)",
            "def _fixed_line(text: str = '')",
            ["def _fixed_line(text: str) -> Lines:", "    return (text,), [[]]"],
        ),
    ],
)
def test_lines_of_a_planted_mistake(old: str, new: str, lines: list[str]) -> None:
    """A mistake is noticed where its statement runs; one of a head, anywhere in the function."""
    mutant = planted(**_mistake(old, new))
    written = mutant.before.splitlines()
    assert lines == [written[line - 1] for line in sorted(mutant.lines)]


KILLED = _mistake('"," not in text and ', "")
SAME = _mistake(
    "between and between == between[:1] * len(between)",
    "between == between[:1] * len(between) and between",
) | {"what": "Nothing changes."}
KILLERS = ["test_a_csv_reader_finds_every_cell", 'test_csv_fields[a,b-"a,b"]']


@pytest.mark.slow
def test_planted_mutants(tmp_path: Path) -> None:
    """All tests that kill a mutant are kept; what nobody notices survives, in a copy too."""
    mutants, report, matrix = (tmp_path / name for name in ("mutants", "report", "matrix"))
    mutants.write_text(json.dumps([KILLED, SAME]))
    files = ["--planted", mutants, "--report", report, "--matrix", matrix]
    tests = [
        "tests/test_tables.py",
        "tests/cli/test_main.py::test_data_and_notes_go_different_ways",
    ]
    command = [sys.executable, "-m", "tests.mutants", *files, *tests, "--processes"]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    ends = json.loads(report.read_text("utf-8"))
    kills = read([matrix]).kills
    assert ["Nothing changes."] == [survivor["what"] for survivor in ends["survived"]]
    assert KILLERS == sorted(test.partition("::")[2] for test in kills if kills[test])


TESTS = {"test_a.py::test_a[1]": 1.0, "test_a.py::test_a[2]": 0.5, "test_b.py::test_b": 4.0}
MATRIX = {
    "mutants": [{"where": f"module:{line}", "change": "", "left_out": 0} for line in (1, 2, 3)],
    "tests": [
        {"nodeid": test, "claim": "It holds.", "seconds": seconds}
        for test, seconds in TESTS.items()
    ],
    "kills": [[0, 0], [0, 2], [1, 1], [1, 2]],
}


COVER = """\
3 mutants, of which 3 tests kill 2 in 5.5 s; the cover: 2 tests, 1.5 s
    1 kills    0.500 s  test_a.py::test_a[2]
    1 kills    1.000 s  test_a.py::test_a[1]

2 functions kill no mutant alone; those with * are in the cover

test_a.py
* test_a  2 tests, 1.500 s, 2 kills: It holds.
      2 shared with test_b.py::test_b

test_b.py
  test_b  1 tests, 4.000 s, 2 kills: It holds.
      2 shared with test_a.py::test_a
"""


def test_the_cover_of_a_matrix(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The tests that all kills need, and the functions of which each kill is one of others, too."""
    file = tmp_path / "matrix.json"
    file.write_text(json.dumps(MATRIX))
    cover.main([str(file)])
    assert COVER == capsys.readouterr().out
