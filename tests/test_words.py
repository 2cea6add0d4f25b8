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
    """Return the rows of the list that are for locals, names or text, as parameters of a test."""
    return [pytest.param(row, id=row["word"]) for row in WORDS if where in row["where"]]


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


@cache
def sources() -> dict[str, str]:
    """Return the text of each file of the package, and of each page, by its path."""
    return {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in (*CODE, *PAGES)}


@cache
def uses(where: str) -> tuple[Use, ...]:
    """Return all locals, all names, or all lines of text of the project."""
    readers = {"locals": locals_of, "names": names_of, "text": text_of}
    rows: list[Use] = []
    for file, source in sources().items():
        if file.endswith(".py"):
            rows += [Use(file, line, text) for text, line in readers[where](source)]
        elif where == "text":
            rows += [Use(file, line, text) for text, line in prose_of(source)]
    return tuple(rows)


def has_word(row: dict[str, Any], line: str) -> bool:
    """Return whether a line of text has a word of the list, and nothing that allows it."""
    if any(part in line for part in row.get("allowed", ())):
        return False
    return re.search(rf"(?<![\w`.]){re.escape(row['word'])}(?![\w`(])", line, re.I) is not None


@pytest.mark.slow
def test_locals() -> None:
    """Variables and parameters say what they hold: a word of the list is one in 1,000 lines."""
    words = {row["word"] for row in WORDS if "locals" in row["where"]}
    listed = [str(use) for use in uses("locals") if use.text in words]
    code = [source for file, source in sources().items() if file.endswith(".py")]
    lines = sum(len(source.splitlines()) for source in code)
    assert len(listed) <= lines / LOCALS_PER_LINES, listed


@pytest.mark.slow
@pytest.mark.parametrize("row", words_for("names"))
def test_names(row: dict[str, Any]) -> None:
    """No name of the code has a word of the list."""
    allowed = row.get("allowed", ())
    assert [] == [
        str(use)
        for use in uses("names")
        if row["word"] in split_name(use.text) and use.text not in allowed
    ]


@pytest.mark.slow
@pytest.mark.parametrize("row", words_for("text"))
def test_text(row: dict[str, Any]) -> None:
    """No docstring, comment, error, help text or page has a word of the list."""
    assert [] == [str(use) for use in uses("text") if has_word(row, use.text)]


@pytest.mark.slow
def test_every_allowance_is_needed() -> None:
    """Each exception of the list is in use, and says why."""
    everything = " ".join(use.text for where in ("names", "text") for use in uses(where))
    allowances = [part for row in WORDS for part in row.get("allowed", ())]
    assert [] == [part for part in allowances if part not in everything]
    assert all(reason for row in WORDS for reason in row.get("allowed", {}).values())


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
    rows = [row for row in WORDS if "text" in row["where"]]
    assert {"told", "door", "rooms", "anew"} == {
        row["word"] for row in rows if any(has_word(row, line) for line in lines)
    }
