"""Every place a value can go, as data: how it is written there, and how a reader gets it back.

A place is a component with a value in it (``FORMS``) where that component may stand
(``CONTAINERS``), or a place of its own (``LINES``): a field of an event, a title.
"""

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import attrs

from promptdsl import *
from tests.template_strings import tstring

Write = Callable[[Any], Any]
WORD = "Wxyz"
"""A harmless value, which stands nowhere else."""


# Forms: components that hold a value.


@attrs.frozen
class Form:
    """A component with a value in it.

    ``prefix`` stands before its further lines in Markdown. ``notation`` is what its text is read as
    before it is decoded. ``line``: it is one line in Markdown. ``bare``: it is no tag in XML.
    ``own``: it is encoded in conversation too. ``fenced``: a fence of its own stands around it.
    ``strict``: a fence or tag around it does not change how it is encoded.
    """

    write: Write
    prefix: str = ""
    notation: str = "text"
    line: bool = False
    bare: bool = False
    own: bool = False
    fenced: bool = False
    strict: bool = False


def _table(format: str, **options: Any) -> Form:
    notation = format if format in ("csv", "json") else "text"
    fenced = format in ("xml", "html")
    return Form(
        lambda v: Table([["a", v], ["b", "c"]], columns=["x", "y"], format=format),
        notation=notation,
        line=not fenced,
        own=True,
        fenced=fenced,
        strict=True,
        **options,
    )


def _column(format: str) -> Form:
    notation = format if format in ("csv", "json") else "text"
    fenced = format == "html"
    return Form(
        lambda v: Table([["a"]], columns=[v], format=format),
        notation=notation,
        line=not fenced,
        own=True,
        fenced=fenced,
        strict=True,
    )


FORMS: Mapping[str, Form] = {
    "value": Form(Value, bare=True),
    "only value of a text": Form(lambda v: Text(Value(v)), bare=True),
    "first in a text": Form(lambda v: Text(Value(v), " is it."), bare=True),
    "in a text": Form(lambda v: Text("It is ", Value(v), ", said Ada."), bare=True),
    "last in a text": Form(lambda v: Text("It is ", Value(v)), bare=True),
    "between line ends": Form(lambda v: Text("It is\n", Value(v), "\n\nHm."), bare=True),
    "t-string": Form(lambda v: Text(tstring(v)), bare=True),
    "template": Form(
        lambda v: Template.from_string("It is {{ v }}, {{ w }}.", v=v, w="x"), bare=True
    ),
    "text for str.format": Form(
        lambda v: Template.from_format("It is {v}, {w}.", v=v, w="x"), bare=True
    ),
    "volatile": Form(lambda v: Text("Now: ", Volatile(v, "clock")), bare=True),
    "lazy": Form(lambda v: Lazy(lambda _: v), bare=True),
    "lazy text": Form(lambda v: Lazy(lambda _: Text("It is ", Value(v))), bare=True),
    "fragment": Form(lambda v: Fragment(Text("a"), Value(v)), bare=True),
    "paragraph": Form(lambda v: Paragraph(Value(v))),
    "heading": Form(lambda v: Heading(Value(v)), line=True, strict=True),
    "part of a heading": Form(lambda v: Heading(tstring(v), 3), line=True, strict=True),
    "item": Form(lambda v: List(Value(v)), "  "),
    "item among others": Form(lambda v: List("a", Item("is ", Value(v)), "b"), "  "),
    "numbered item": Form(lambda v: List("a", Value(v), "b", ordered=True), "   "),
    "item of an inner list": Form(lambda v: List("a", List(Value(v), "c")), "    "),
    "to do": Form(lambda v: Checklist(Item(Value(v)), Item("b", done=True)), "  "),
    "done": Form(lambda v: Checklist(Item("b"), Item(Value(v), done=True)), "  "),
    "quote": Form(lambda v: Quote(Value(v)), "> "),
    "second in a quote": Form(lambda v: Quote("a", Text("is ", Value(v))), "> "),
    "quote in a quote": Form(lambda v: Quote(Quote(Value(v))), "> > "),
    "quote in an item": Form(lambda v: List(Quote(Value(v))), "  > "),
    "item in a quote": Form(lambda v: Quote(List(Value(v), "b")), ">   "),
    "input": Form(lambda v: Example(Value(v), "b"), "  "),
    "output": Form(lambda v: Example("a", Value(v)), "  "),
    "section": Form(lambda v: Section("one", Value(v), title="One")),
    "section in a section": Form(lambda v: Section("one", "a", Section("two", Value(v)))),
    "title": Form(lambda v: Section("one", "a", title=Value(v)), line=True, own=True, strict=True),
    "inner title": Form(
        lambda v: Section("one", Section("two", "a", title=Value(v))),
        line=True,
        own=True,
        strict=True,
    ),
    "format": Form(lambda v: Format("xml", List(Value(v))), own=True, fenced=True),
    "cell": Form(lambda v: Table([["a", v], ["b", "c"]]), line=True, own=True, strict=True),
    "markdown cell": _table("markdown"),
    "csv cell": _table("csv"),
    "json cell": _table("json"),
    "xml cell": _table("xml"),
    "html cell": _table("html"),
    "cell in an item": Form(
        lambda v: List(Item("a", Table([[v, "b"]]))), line=True, own=True, strict=True
    ),
    "column": _column("markdown"),
    "csv column": _column("csv"),
    "json column": _column("json"),
    "html column": _column("html"),
    "json": Form(Json, notation="json", line=True, own=True),
    "json in data": Form(lambda v: Json({"a": [v, 1]}), notation="json", line=True, own=True),
    "json key": Form(lambda v: Json({v: 1}), notation="json", line=True, own=True),
    "untrusted": Form(lambda v: Untrusted(v, source="mail"), own=True, fenced=True),
    "untrusted in a quote": Form(lambda v: Quote(Untrusted(v)), "> ", own=True, fenced=True),
    "source": Form(lambda v: Untrusted("a", source=v), line=True, own=True, strict=True),
}


# Holders: where a component may stand.


@attrs.frozen
class ValueHolder:
    """Where a component stands.

    ``fenced`` is whether a tag or a pair of delimiters is around it, ``spoken`` whether it is
    conversation. ``write`` is given a number too, for what needs a name of its own.
    """

    write: Callable[[Any, int], Any]
    fenced: bool = False
    spoken: bool = False


CONTAINERS: Mapping[str, ValueHolder] = {
    "developer": ValueHolder(lambda part, _: Developer(part)),
    "section": ValueHolder(lambda part, _: Developer(Section("s", "a", part, "b", title="T"))),
    "ephemeral": ValueHolder(lambda part, _: Ephemeral("a", part, "b"), fenced=True),
    "grounding": ValueHolder(lambda part, n: Grounding(f"g{n}", "a", part, title="T"), fenced=True),
    "event": ValueHolder(lambda part, _: Event("a", part, "b"), fenced=True),
    "user": ValueHolder(lambda part, _: User("a", part, "b"), spoken=True),
    "assistant": ValueHolder(lambda part, _: Assistant("a", part), spoken=True),
    "section of a user": ValueHolder(lambda part, _: User(Section("s", "a", part)), spoken=True),
    "tool": ValueHolder(
        lambda part, n: (Assistant(ToolUse("t", {}, id=f"c{n}")), ToolMessage(f"c{n}", part)),
        spoken=True,
    ),
}

DELIMITERS: Mapping[str, Any] = {
    "tag": ("<did>", "</did>"),
    "literal": ("[[CONTEXT]]", "[[/CONTEXT]]"),
    "prefix": "NOTE>\n",
    "none": None,
}


# Lines: places of their own, each one line, whatever the format.


def _recorded(role: str, **block: Any) -> Node:
    return History([{"role": role, "content": [block]}])


LINES: Mapping[str, Callable[[Any, int], Any]] = {
    "action": lambda v, _: Event(UserAction(v)),
    "target": lambda v, _: Event(UserAction("opened", target=v, page="x")),
    "actor": lambda v, _: Event(UserAction("opened", actor=v)),
    "detail": lambda v, _: Event(UserAction("opened", page=v, at="x")),
    "key of a detail": lambda v, _: Event(UserAction("opened", **{v: "x"})),
    "key": lambda v, _: Event(StateChange(v, new="x")),
    "old": lambda v, _: Event(StateChange("plan", old=v, new="x")),
    "new": lambda v, _: Event(StateChange("plan", new=v, page="x")),
    "trigger": lambda v, _: Event(StateChange("plan", new="x", trigger=v)),
    "detail of a change": lambda v, _: Event(StateChange("plan", new="x", page=v)),
    "event": lambda v, _: Event(SystemEvent(v)),
    "source of an event": lambda v, _: Event(SystemEvent("sync", source=v)),
    "data": lambda v, _: Event(SystemEvent("sync", error=v, at="x")),
    "key of data": lambda v, _: Event(SystemEvent("sync", **{v: "x"})),
    "recorded target": lambda v, _: _recorded("event", type="user_action", action="x", target=v),
    "recorded data": lambda v, _: _recorded("event", type="system_event", event="x", data={v: "x"}),
    "title of an ephemeral": lambda v, _: Ephemeral("a", title=v),
    "value as a title": lambda v, _: Ephemeral("a", title=Value(v)),
    "title of a grounding": lambda v, n: Grounding(f"g{n}", "a", title=v),
}

RECORDED: Mapping[str, Form] = {
    "recorded event": Form(lambda v: _recorded("event", type="text", text=v)),
    "recorded request": Form(lambda v: _recorded("ephemeral", type="text", text=v)),
    "recorded json": Form(
        lambda v: _recorded("event", type="json", value={"a": v}), notation="json", line=True
    ),
}


# Places, and what they come to.


@attrs.frozen
class ValuePlace:
    """A place of a value.

    ``encoded`` is whether it is conversation no longer; ``open`` whether it is read as Markdown,
    with nothing around it; ``literals`` are the delimiters around it that are no tags. ``fenced``:
    a fence or tag is around it. ``strict``: no angle bracket of a value stands in it.
    """

    name: str
    write: Callable[[Any, int], Any]
    transformation: Mapping[str, Any]
    prefix: str = ""
    notation: str = "text"
    line: bool = False
    encoded: bool = True
    open: bool = False
    literals: tuple[str, ...] = ()
    fenced: bool = False
    strict: bool = True

    def in_full(self) -> "ValuePlace":
        """Return the place where the full encoding is chosen for all of a prompt."""
        chosen = {**self.transformation, "encoding": {"body": "full", "inline": "full"}}
        return attrs.evolve(self, name=f"{self.name}, full", transformation=chosen, strict=True)

    def __str__(self) -> str:
        return self.name

    def unindented(self, text: str) -> str:
        """Return a text without what the place puts before its further lines."""
        first, *rest = text.split("\n")
        return "\n".join([first, *(line.removeprefix(self.prefix) for line in rest)])

    def read(self, text: str) -> str:
        """Return the value that stands in a text as what is written in this place."""
        text = self.unindented(text)
        if self.notation == "csv":
            [[text]] = csv.reader([text], strict=True)
        elif self.notation == "json":
            # Fences are guarded against in JSON too, by references.
            return str(json.loads(f'"{decode(text)}"'))
        return decode(text) if self.encoded else text

    def texts(self, values: Sequence[Any]) -> list["Written"]:
        """Return what each of these values comes to in a turn of its own."""
        messages = self.rendered(values).messages
        return [_written(message, self.prefix) for message in messages if not _calls(message)]

    def rendered(self, values: Sequence[Any]) -> Rendered:
        """Return a prompt with each of these values in a turn of its own."""
        tree = Timeline(*_turns(self.write(value, n) for n, value in enumerate(values)))
        return render(tree, transformation=self.transformation)


class Written(NamedTuple):
    """A message: role and kinds of its blocks, and their texts."""

    shape: tuple[str, ...]
    texts: tuple[str, ...]


class ValueFrame(NamedTuple):
    """What stands around a value: other texts, and in its own text what is before and behind."""

    shape: tuple[str, ...]
    others: tuple[str, ...]
    index: int
    before: str
    behind: str

    def within(self, written: Written) -> str | None:
        """Return what stands in the frame, ``None`` when this is another frame."""
        texts = list(written.texts)
        text = texts.pop(self.index) if len(texts) > self.index else ""
        fits = len(text) >= len(self.before) + len(self.behind)
        same = (written.shape, tuple(texts)) == (self.shape, self.others)
        if not (fits and same and text.startswith(self.before) and text.endswith(self.behind)):
            return None
        return text[len(self.before) : len(text) - len(self.behind)]


def frame(written: Written) -> ValueFrame:
    """Return the frame around the harmless word, which stands in one text, once."""
    [index] = [n for n, text in enumerate(written.texts) if WORD in text]
    before, behind = written.texts[index].split(WORD)
    others = (*written.texts[:index], *written.texts[index + 1 :])
    return ValueFrame(written.shape, others, index, before, behind)


def _turns(parts: Iterator[Any]) -> Iterator[Any]:
    for part in parts:
        if isinstance(part, tuple):
            yield from part
        else:
            yield part


def _calls(message: Message) -> bool:
    return any(block.type == "tool_use" for block in message.content)


def _written(message: Message, prefix: str) -> Written:
    blocks = [
        inner
        for block in message.content
        for inner in (block, *(block.content if block.type == "tool_result" else ()))
    ]
    texts = [block.text for block in blocks if block.type == "text"]
    shape = (message.role, *(block.type for block in blocks))
    return Written(shape, tuple(with_whole_prefix(text, prefix) for text in texts))


def with_whole_prefix(text: str, prefix: str) -> str:
    """Return a text whose blank lines have the whole prefix, which is written without its end."""
    if not prefix:
        return text
    bare = prefix.rstrip()
    lines = text.split("\n")
    return "\n".join(
        prefix + line[len(bare) :] if line in (bare, f"{bare}\r") else line for line in lines
    )


def _settings(format: str, delimiters: str | None) -> dict[str, Any]:
    settings: dict[str, Any] = {"format": format, "merge_consecutive": False}
    if delimiters is not None:
        chosen = DELIMITERS[delimiters]
        settings["delimiters"] = {"event": chosen, "ephemeral": chosen}
    return settings


def _literals(delimiters: str | None) -> tuple[str, ...]:
    chosen = {"literal": DELIMITERS["literal"], "prefix": ("NOTE>",)}
    return chosen.get(delimiters or "", ())


def place_of(form: str, holder: str, format: str, delimiters: str | None = None) -> ValuePlace:
    """Return the place of a value in a form in a holder."""
    component, around = FORMS[form], CONTAINERS[holder]
    fenced = around.fenced and delimiters not in ("prefix", "none")
    inside = format == "xml" and "section" in holder
    tagged = inside or (format == "xml" and not component.bare)
    return ValuePlace(
        ", ".join(filter(None, (form, holder, format, delimiters))),
        lambda value, number: around.write(component.write(value), number),
        _settings(format, delimiters),
        prefix=component.prefix if format == "markdown" else "",
        notation=component.notation,
        line=component.line and format == "markdown",
        encoded=not around.spoken or component.own or tagged,
        open=not (fenced or tagged or component.fenced or around.spoken) and format == "markdown",
        literals=_literals(delimiters) if around.fenced else (),
        fenced=fenced or inside or (not component.strict and (tagged or component.fenced)),
        strict=component.strict,
    )


def line_of(name: str, delimiters: str | None = None) -> ValuePlace:
    """Return a place that is one line: a field, a title."""
    return ValuePlace(
        ", ".join(filter(None, (name, delimiters))),
        LINES[name],
        _settings("markdown", delimiters),
        line=True,
        open=delimiters in ("prefix", "none"),
        literals=_literals(delimiters),
        fenced=delimiters not in ("prefix", "none"),
    )


def recorded_of(name: str, delimiters: str | None = None) -> ValuePlace:
    """Return the place of a recorded text that is a value."""
    form = RECORDED[name]
    return ValuePlace(
        ", ".join(filter(None, (name, delimiters))),
        lambda value, _: form.write(value),
        _settings("markdown", delimiters),
        notation=form.notation,
        line=form.line,
        open=delimiters in ("prefix", "none"),
        literals=_literals(delimiters),
        fenced=delimiters not in ("prefix", "none"),
        strict=False,
    )


# The places by name.

SPOKEN = [name for name, form in FORMS.items() if form.bare or form.own]
WHOLLY: Mapping[str, list[ValuePlace]] = {
    "markdown": [place_of(form, "developer", "markdown") for form in FORMS],
    "xml": [place_of(form, "developer", "xml") for form in FORMS],
    "grounding": [place_of(form, "grounding", "markdown") for form in FORMS],
    "lines": [line_of(name) for name in LINES],
    "unfenced lines": [line_of(name, "none") for name in LINES],
    "recorded": [recorded_of(name) for name in RECORDED],
}
PARTLY: Mapping[str, list[ValuePlace]] = {
    "section": [place_of(form, "section", "markdown") for form in FORMS],
    "section in xml": [place_of(form, "section", "xml") for form in FORMS],
    "section of a user": [place_of(form, "section of a user", "xml") for form in FORMS],
    "literal in xml": [place_of(form, "grounding", "xml", "literal") for form in FORMS],
    **{
        f"{holder}, {delimiters}": [
            place_of(form, holder, "markdown", delimiters) for form in FORMS
        ]
        for holder in ("ephemeral", "grounding", "event")
        for delimiters in DELIMITERS
    },
    **{
        name: [place_of(form, name, "markdown") for form in SPOKEN]
        for name, holder in CONTAINERS.items()
        if holder.spoken
    },
    **{
        f"lines, {delimiters}": [line_of(name, delimiters) for name in LINES]
        for delimiters in ("tag", "literal", "prefix")
    },
    **{
        f"recorded, {delimiters}": [recorded_of(name, delimiters) for name in RECORDED]
        for delimiters in DELIMITERS
    },
}
READABLE = {**WHOLLY, **PARTLY}
FULLY: Mapping[str, list[ValuePlace]] = {
    f"full {name}": [place.in_full() for place in places if not place.strict]
    for name, places in READABLE.items()
    if not all(place.strict for place in places)
}
"""The places whose encoding is a choice, in full."""
GROUPS = {**READABLE, **FULLY}
PLACES = [place for places in READABLE.values() for place in places]
