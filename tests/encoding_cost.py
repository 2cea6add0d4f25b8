"""What encoding values costs in tokens: realistic samples, in a fence and in instructions.

``python -m tests.encoding_cost`` prints the tables of docs/safety.md, in tokens of o200k_base. The
samples are the files in ``tests/samples``. In a fence each is cut into pieces of 20 lines, as a
search index has them, and each piece stands in a ``Grounding`` of its own. In instructions the
texts of ``values.json`` stand in a paragraph of their own; somebody chose them who did not know the
encoding.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

from promptdsl import Grounding, Json, System, Text, Value, render
from promptdsl.tokens import counter

SAMPLES = Path(__file__).parent / "samples"
BOUNDS: dict[str, float | None] = {
    "TSX": 1.0,
    "Python": 1.0,
    "JSON, as text": 1.0,
    "JSON, as `Json`": 1.0,
    "Markdown": 1.0,
    "addresses with queries": 1.0,
    "HTML": 1.5,
    "HTML that explains HTML": None,
    "TypeScript full of `Promise<Event>`": None,
}
"""The samples, each with the tokens that its minimal encoding may add, in percent."""
_FILES = {
    "TSX": "tsx",
    "Python": "python",
    "JSON, as text": "json",
    "Markdown": "markdown",
    "addresses with queries": "urls",
    "HTML": "html",
    "HTML that explains HTML": "html_reference",
    "TypeScript full of `Promise<Event>`": "promises",
}
"""The samples that are text, each with the name of its file."""
Encoding = Literal["minimal", "full"]


def added(name: str, encoding: Encoding) -> float:
    """Return how many more tokens a sample has when it is encoded, in percent."""
    tokens = counter("gpt-5")
    plain = sum(tokens.of(text) for _, text in pieces(name))
    encoded = sum(tokens.of(fenced(piece, encoding)) for piece, _ in pieces(name))
    return 100 * (encoded - plain) / plain


def fenced(piece: Any, encoding: Encoding) -> str:
    """Return what a piece becomes in a fence."""
    (message,) = render(Grounding("piece", piece, encoding=encoding)).messages
    return message.text.removeprefix("<context>\n").removesuffix("\n</context>")


def table() -> Iterator[str]:
    """Yield the rows of the table in the documentation."""
    for name in BOUNDS:
        yield f"| {name} | {added(name, 'minimal'):.1f} % | {added(name, 'full'):.1f} % |"


def pieces(name: str) -> Iterable[tuple[Any, str]]:
    """Yield the pieces of a sample, each with its text as it would be without encoding."""
    if name == "JSON, as `Json`":
        for order in json.loads(_text("json"))["orders"]:
            yield Json(order), json.dumps(order, ensure_ascii=False)
        return
    lines = _text(_FILES[name]).splitlines()
    for start in range(0, len(lines), 20):
        text = "\n".join(lines[start : start + 20])
        yield text, text


VALUES: Any = json.loads((SAMPLES / "values.json").read_text("utf-8"))
"""Texts of one line, and texts of several lines by name."""


def instructed(value: str, **encoding: str) -> str:
    """Return what a value becomes in a paragraph of instructions."""
    prompt = System("Given:", Text(Value(value)), "Go on.")
    text = render(prompt, transformation={"encoding": encoding}).messages[0].text
    return text.removeprefix("Given:\n\n").removesuffix("\n\nGo on.")


def changed_lines(value: str) -> int:
    """Return how many lines of a value are changed in instructions."""
    pairs = zip(value.split("\n"), instructed(value).split("\n"), strict=True)
    return sum(before != after for before, after in pairs)


def table_of_instructions() -> Iterator[str]:
    """Yield the rows of the second table in the documentation."""
    count = counter("gpt-5").of
    for name, value in VALUES["several lines"].items():
        readable = count(instructed(value)) - count(value)
        full = count(instructed(value, inline="full")) - count(value)
        lines = len(value.split("\n"))
        row = (name, lines, changed_lines(value), readable, full, count(value))
        yield f"| {' | '.join(map(str, row))} |"


def _text(file: str) -> str:
    return (SAMPLES / f"{file}.txt").read_text("utf-8")


if __name__ == "__main__":
    print(*table(), "", *table_of_instructions(), sep="\n")
