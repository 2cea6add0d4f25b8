"""Every place a value can go, as data: how it is written there, and how a reader gets it back."""

import csv
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import attrs

from promptdsl import (
    Checklist,
    Example,
    Format,
    Fragment,
    Heading,
    Item,
    Json,
    Lazy,
    List,
    Paragraph,
    Quote,
    Section,
    Table,
    Text,
    Untrusted,
    Value,
    Volatile,
    decode,
)

Reader = Callable[[str], str]
Write = Callable[[str], Any]


class Interpolation(NamedTuple):
    """The shape of ``string.templatelib.Interpolation``."""

    value: Any
    expression: str = "x"
    conversion: str | None = None
    format_spec: str = ""


@attrs.frozen
class TString:
    """The shape of ``string.templatelib.Template``: what ``t"a {v} b"`` is."""

    strings: tuple[str, ...]
    interpolations: tuple[Interpolation, ...]


def tstring(value: object) -> TString:
    """Return what ``t"From {value} on."`` is."""
    return TString(("From ", " on."), (Interpolation(value),))


# Reading back: what a place adds to a value of several lines is undone before it is decoded.


def behind(prefix: str) -> Reader:
    """Return a reader of lines that stand behind a prefix, a blank one behind what of it shows."""
    bare = prefix.rstrip()

    def read(text: str) -> str:
        first, *rest = text.split("\n")
        return decode("\n".join([first, *(_without(line, prefix, bare) for line in rest)]))

    return read


def _without(line: str, prefix: str, bare: str) -> str:
    return line.removeprefix(prefix if line.startswith(prefix) else bare)


def from_csv(text: str) -> str:
    """Return the value of a CSV cell."""
    [[cell]] = csv.reader([text], strict=True)
    return decode(cell)


def from_json(text: str) -> str:
    """Return the value of what stands between the quotes of a JSON string."""
    return str(json.loads(f'"{text}"'))


def from_guarded_json(text: str) -> str:
    """Return the value of a JSON string in which fences were guarded against as well."""
    return from_json(decode(text))


@attrs.frozen
class Form:
    """A component with a value in it. ``reads`` gives it back from Markdown.

    ``xml`` is whether the component is a tag in XML, which adds nothing to further lines.
    ``line`` is whether it stays on one line. ``own`` is whether it encodes in conversation too.
    """

    write: Write
    reads: Reader = decode
    line: bool = False
    own: bool = False
    reads_xml: Reader = decode


def _table(format: str) -> Write:
    return lambda v: Table([["a", v], [v, "b"]][:1], columns=["x", "y"], format=format)


FORMS: Mapping[str, Form] = {
    "value": Form(Value),
    "only value of a text": Form(lambda v: Text(Value(v))),
    "first in a text": Form(lambda v: Text(Value(v), " is it.")),
    "in a text": Form(lambda v: Text("It is ", Value(v), ", said Ada.")),
    "last in a text": Form(lambda v: Text("It is ", Value(v))),
    "behind a line end": Form(lambda v: Text("It is\n", Value(v), "\n\nHm.")),
    "t-string": Form(lambda v: Text(tstring(v))),
    "volatile": Form(lambda v: Text("Now: ", Volatile(v, "clock"))),
    "lazy": Form(lambda v: Lazy(lambda _: v)),
    "lazy text": Form(lambda v: Lazy(lambda _: Text("It is ", Value(v)))),
    "paragraph": Form(lambda v: Paragraph(Value(v))),
    "heading": Form(lambda v: Heading(Value(v)), line=True),
    "part of a heading": Form(lambda v: Heading(tstring(v), 3), line=True),
    "item": Form(lambda v: List(Value(v)), behind("  ")),
    "item among others": Form(lambda v: List("a", Item("is ", Value(v)), "b"), behind("  ")),
    "numbered item": Form(lambda v: List("a", Value(v), "b", ordered=True), behind("   ")),
    "item of an inner list": Form(lambda v: List("a", List(Value(v), "c")), behind("    ")),
    "to do": Form(lambda v: Checklist(Item(Value(v)), Item("b", done=True)), behind("  ")),
    "quote": Form(lambda v: Quote(Value(v)), behind("> ")),
    "second in a quote": Form(lambda v: Quote("a", Text("is ", Value(v))), behind("> ")),
    "quote in a quote": Form(lambda v: Quote(Quote(Value(v))), behind("> > ")),
    "quote in an item": Form(lambda v: List(Quote(Value(v))), behind("  > ")),
    "item in a quote": Form(lambda v: Quote(List(Value(v), "b")), behind(">   ")),
    "input": Form(lambda v: Example(Value(v), "b"), behind("  ")),
    "output": Form(lambda v: Example("a", Value(v)), behind("  ")),
    "section": Form(lambda v: Section("one", Value(v), title="One")),
    "section in a section": Form(lambda v: Section("one", "a", Section("two", Value(v)))),
    "title": Form(lambda v: Section("one", "a", title=Value(v)), line=True),
    "inner title": Form(lambda v: Section("s", Section("t", "a", title=Value(v))), line=True),
    "fragment": Form(lambda v: Fragment("a", Value(v))),
    "format": Form(lambda v: Format("xml", List(Value(v)))),
    "cell": Form(lambda v: Table([["a", v], ["b", "c"]]), line=True, own=True),
    "markdown cell": Form(_table("markdown"), line=True, own=True),
    "csv cell": Form(_table("csv"), from_csv, line=True, own=True, reads_xml=from_csv),
    "json cell": Form(_table("json"), from_json, line=True, own=True, reads_xml=from_json),
    "xml cell": Form(_table("xml"), own=True),
    "html cell": Form(_table("html"), own=True),
    "cell in an item": Form(lambda v: List(Item("a", Table([[v, "b"]]))), line=True, own=True),
    "html cell in a quote": Form(
        lambda v: Quote(Table([[v, "b"]], format="html")), behind("> "), own=True
    ),
    "column": Form(lambda v: Table([["a"]], columns=[v]), line=True, own=True),
    "csv column": Form(
        lambda v: Table([["a"]], columns=[v], format="csv"),
        from_csv,
        line=True,
        own=True,
        reads_xml=from_csv,
    ),
    "json column": Form(
        lambda v: Table([["a"]], columns=[v], format="json"),
        from_json,
        line=True,
        own=True,
        reads_xml=from_json,
    ),
    "html column": Form(lambda v: Table([["a"]], columns=[v], format="html"), own=True),
    "json": Form(Json, from_json, line=True, own=True, reads_xml=from_json),
    "json in data": Form(
        lambda v: Json({"a": [v, 1]}), from_json, line=True, own=True, reads_xml=from_json
    ),
    "json key": Form(lambda v: Json({v: 1}), from_json, line=True, own=True, reads_xml=from_json),
    "untrusted": Form(lambda v: Untrusted(v, source="mail"), own=True),
    "untrusted in a quote": Form(lambda v: Quote(Untrusted(v)), behind("> "), own=True),
    "source": Form(lambda v: Untrusted("a", source=v), line=True, own=True),
}
