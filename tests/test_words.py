"""The words of the project: none of `docs/words.toml` is in the code or the documentation."""

import ast
import io
import re
import tokenize
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
WORDS: list[dict[str, Any]] = tomllib.loads((ROOT / "docs/words.toml").read_text("utf-8"))["words"]
CODE = sorted((ROOT / "promptdsl").rglob("*.py"))
EXAMPLES = sorted(path for path in (ROOT / "examples").rglob("*.py"))
DATA = sorted(
    path
    for folder in ("promptdsl", "templates")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in {".css", ".in", ".j2", ".js", ".json", ".toml"}
)
"""Files of the package that are no Python: their comments and texts are text, too."""
PAGES = sorted(
    {*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "tests/README.md"}
    - {ROOT / "CHANGELOG.md", ROOT / "docs/changelog.md"}
)
LOCALS_PER_LINES = 1_000
"""A local of the list may stand once in so many lines of code."""
STRINGS = {tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
"""The tokens that are text: from Python 3.12 on, an f-string is several."""


class Use(NamedTuple):
    """A name or a line of text, with its file and line."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"


def words_for(where: str) -> list[Any]:
    """Return each word that is for locals, names or text, with its row, as parameters of a test."""
    rows = [row for row in WORDS if where in row["where"]]
    return [pytest.param(word, row, id=word) for row in rows for word in row["words"]]


def locals_of(source: str) -> Iterator[tuple[str, int]]:
    """Yield the variables and parameters of a module, each with its line."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name, node.lineno
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                yield name, node.lineno
            case _:
                pass


def names_of(source: str) -> Iterator[tuple[str, int]]:
    """Yield the names that a module defines, each with its line."""
    yield from locals_of(source)
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name, node.lineno
            case ast.ClassDef(name=name):
                yield name, node.lineno
            case ast.Attribute(attr=name, ctx=ast.Store()):
                yield name, node.lineno
            case _:
                pass


def text_of(source: str) -> Iterator[tuple[str, int]]:
    """Yield the lines of a module's comments, and of its strings that are sentences."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        is_sentence = token.type in STRINGS and " " in token.string
        if is_sentence or token.type == tokenize.COMMENT:
            for number, line in enumerate(token.string.splitlines(), token.start[0]):
                yield line, number


def prose_of(page: str) -> Iterator[tuple[str, int]]:
    """Yield the lines of a page that are in no code block and no comment."""
    end = ""
    for number, line in enumerate(page.splitlines(), 1):
        if end:
            end = "" if line.lstrip().startswith(end) else end
        elif line.lstrip().startswith("```"):
            end = "```"
        elif line.startswith("<!--") and "-->" not in line:
            end = "-->"
        else:
            yield line, number


def split_name(name: str) -> list[str]:
    """Return the words of a name in lower case."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().strip("_").split("_")


def read_all(paths: list[Path]) -> dict[str, str]:
    """Return the text of each file by its path from the root."""
    return {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in paths}


@cache
def names_in_code(where: str) -> tuple[Use, ...]:
    """Return all locals, or all names, of the package; names with those of its files."""
    rows: list[Use] = []
    for file, source in read_all(CODE).items():
        if where == "names":
            rows += [Use(file, 1, Path(file).stem), *(Use(file, n, x) for x, n in names_of(source))]
        else:
            rows += [Use(file, number, name) for name, number in locals_of(source)]
    return tuple(rows)


@cache
def lines_of_text() -> tuple[Use, ...]:
    """Return all lines of text of the project: code, examples, data files and pages."""
    rows: list[Use] = []
    for file, source in read_all([*CODE, *EXAMPLES]).items():
        rows += [Use(file, number, line) for line, number in text_of(source)]
    for file, source in read_all(DATA).items():
        rows += [Use(file, number, line) for number, line in enumerate(source.splitlines(), 1)]
    for file, source in read_all(PAGES).items():
        rows += [Use(file, number, line) for line, number in prose_of(source)]
    return tuple(rows)


def has_name(allowed: str, name: str) -> bool:
    """Return whether an allowed name is the name, or several words that it contains."""
    return name == allowed or ("_" in allowed and f"_{allowed}_" in f"_{name.lower()}_")


def is_allowed(row: dict[str, Any], use: Use) -> bool:
    """Return whether a name may have the word of a row: by itself, or in its package."""
    package = use.file.removeprefix("promptdsl/").partition("/")[0]
    return package in row.get("packages", ()) or any(
        has_name(allowed, use.text) for allowed in row.get("allowed", ())
    )


def has_word(word: str, row: dict[str, Any], line: str) -> bool:
    """Return whether a line of text has a word of the list, and nothing that allows it."""
    if any(part in line for part in row.get("allowed", ())):
        return False
    return re.search(rf"(?<![\w`.]){re.escape(word)}(?![\w`(])", line, re.I) is not None


@pytest.mark.slow
def test_locals() -> None:
    """Variables and parameters say what they hold: a word of the list is one in 1,000 lines."""
    words = {word for row in WORDS if "locals" in row["where"] for word in row["words"]}
    listed = [str(use) for use in names_in_code("locals") if use.text in words]
    lines = sum(len(source.splitlines()) for source in read_all(CODE).values())
    assert len(listed) <= lines / LOCALS_PER_LINES, listed


@pytest.mark.slow
@pytest.mark.parametrize(("word", "row"), words_for("names"))
def test_names(word: str, row: dict[str, Any]) -> None:
    """No name of the code has a word of the list."""
    assert [] == [
        str(use)
        for use in names_in_code("names")
        if word in split_name(use.text) and not is_allowed(row, use)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("word", "row"), words_for("text"))
def test_text(word: str, row: dict[str, Any]) -> None:
    """No docstring, comment, error, help text or page has a word of the list."""
    assert [] == [str(use) for use in lines_of_text() if has_word(word, row, use.text)]


@pytest.mark.slow
def test_every_allowance_is_needed() -> None:
    """Each exception of the list is in use, and says why."""
    names, lines = names_in_code("names"), " ".join(use.text for use in lines_of_text())
    for row in WORDS:
        for allowed, reason in row.get("allowed", {}).items():
            assert allowed in lines or any(has_name(allowed, use.text) for use in names), allowed
            assert reason
        for package, reason in row.get("packages", {}).items():
            uses = [use for use in names if use.file.startswith(f"promptdsl/{package}/")]
            words = {word for use in uses for word in split_name(use.text)}
            assert words & {*row["words"]}, package
            assert reason


PLANTED = '''
"""Return what was told."""
def settle(it, place):
    is_told = [own for own in it]  # all rooms
    raise ValueError(f"a door is {place} anew")
'''


def test_a_planted_file() -> None:
    """The readers see locals, names, docstrings, comments and errors."""
    assert ["it", "own"] == sorted({name for name, _ in locals_of(PLANTED)} & {"it", "own", "one"})
    names = {word for name, _ in names_of(PLANTED) for word in split_name(name)}
    assert {"settle", "told", "place"} <= names
    lines = [line for line, _ in text_of(PLANTED)]
    rows = [(word, row) for row in WORDS if "text" in row["where"] for word in row["words"]]
    assert {"told", "door", "rooms", "anew"} == {
        word for word, row in rows if any(has_word(word, row, line) for line in lines)
    }


ROW: dict[str, Any] = {
    "words": ["mark"],
    "allowed": {"cache_mark": "the field's word", "mark": "a pass"},
    "packages": {"providers": "a cache mark"},
}


@pytest.mark.parametrize(
    ("file", "name", "expected"),
    [
        ("promptdsl/providers/written.py", "first_mark", True),
        ("promptdsl/comparing/changes.py", "first_mark", False),
        ("promptdsl/comparing/changes.py", "lost_cache_mark", True),
        ("promptdsl/comparing/changes.py", "cache_marked", False),
        ("promptdsl/comparing/changes.py", "mark", True),
        ("promptdsl/comparing/changes.py", "_mark_at", False),
    ],
)
def test_an_allowed_name(file: str, name: str, expected: bool) -> None:
    """A name is allowed in its package, by its words, or complete if it is one word."""
    assert is_allowed(ROW, Use(file, 1, name)) is expected
