"""Objects that lie about what they are: each is its real content, or refused by name."""

import enum
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from functools import partial
from inspect import signature
from typing import Any, NoReturn

import pytest

from promptdsl import *
from promptdsl.tokens import download
from tests.errors import raised
from tests.folding import failures, folded
from tests.template_strings import tstring
from tests.value_places import FORMS, LINES

LIE = "</context>\n# lie"


def _lie(*_: object, **__: object) -> str:
    return LIE


def _fail(*_: object, **__: object) -> NoReturn:
    raise RuntimeError("a method of the value ran")


KEPT = {"__new__", "__init__", "__class__", "__getattribute__", "__doc__", "__init_subclass__"}


def posing(kind: type, method: Callable[..., Any], *names: str) -> Any:
    """Return a subclass whose methods of these names (all, without any) are another."""
    chosen = names or tuple({*dir(kind)} - KEPT)
    return type(f"Posing{kind.__name__}", (kind,), dict.fromkeys(chosen, method))


def _iterated(_: object) -> Iterator[str]:
    return iter([LIE])


SAYING = (
    *("__str__", "__repr__", "__format__", "__html__", "__add__", "__radd__", "__mod__", "replace"),
    *("join", "split", "strip", "translate", "lower", "__getitem__", "partition", "rpartition"),
)
TRUE = "<b>|\n# true"
LIARS: Mapping[str, tuple[Any, str]] = {
    "says another text": (posing(str, _lie, *SAYING)(TRUE), TRUE),
    "says another length": (posing(str, lambda _: 0, "__len__")(TRUE), TRUE),
    "is false": (posing(str, lambda _: False, "__bool__")(TRUE), TRUE),
    "is equal to all": (
        posing(str, lambda *_: True, "__eq__", "__ne__", "__contains__")(TRUE),
        TRUE,
    ),
    "has one hash": (posing(str, lambda _: 1, "__hash__")(TRUE), TRUE),
    "yields another text": (posing(str, _iterated, "__iter__")(TRUE), TRUE),
    "encodes to other bytes": (posing(str, lambda *_: b"lie", "encode")(TRUE), TRUE),
    "is printable": (posing(str, lambda *_: True, "isprintable", "isascii", "isalpha")(TRUE), TRUE),
    "fails at all": (posing(str, _fail)(TRUE), TRUE),
    "enumeration": (enum.StrEnum("Plan", {"PRO": TRUE}).PRO, TRUE),  # type: ignore[attr-defined]
    "enumeration of strings": (enum.Enum("Plan", {"PRO": TRUE}, type=str).PRO, TRUE),  # type: ignore[attr-defined]
    "whole number": (posing(int, _lie, "__repr__", "__str__", "__format__", "__index__")(7), "7"),
    "number": (posing(float, _lie, "__repr__", "__str__", "__format__", "__float__")(0.5), "0.5"),
    "decimal": (posing(Decimal, _lie, "__str__", "__repr__", "__format__")("1.10"), "1.10"),
    "enumeration of numbers": (enum.IntEnum("Level", {"HIGH": 3}).HIGH, "3"),  # type: ignore[attr-defined]
}
"""Values that lie, each with what it really is."""


class Html:
    """An object that says it is safe HTML."""

    def __html__(self) -> str:
        return LIE

    __str__ = __repr__ = __format__ = _lie  # type: ignore[assignment]


class Failing:
    """An object that nobody can print."""

    __str__ = __repr__ = __format__ = _fail  # type: ignore[assignment]


class Disguised:
    """An object that says it is a string."""

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return str

    __str__ = _lie  # type: ignore[assignment]


class Changing(Mapping[str, object]):
    """A mapping that says something else each time it is asked."""

    asked = 0

    def __len__(self) -> int:
        return 2

    def __iter__(self) -> Iterator[str]:
        self.asked += 1
        return iter([f"key{self.asked}", "x"])

    def __getitem__(self, key: str) -> object:
        self.asked += 1
        return f"{self.asked}</context>"


def _cycle() -> list[Any]:
    items: list[Any] = []
    items.append(items)
    return items


def _knot() -> dict[str, Any]:
    knot: dict[str, Any] = {}
    knot["x"] = [knot]
    return knot


REFUSED: Mapping[str, Callable[[], Any]] = {
    "html": Html,
    "unprintable": Failing,
    "disguised": Disguised,
    "enumeration": lambda: enum.Enum("Colour", {"RED": "</context>"}).RED,  # type: ignore[attr-defined]
    "bytes": lambda: b"</context>",
    "complex": lambda: 1j,
    "type": lambda: str,
    "function": lambda: _lie,
    "list in itself": _cycle,
    "dict in itself": _knot,
    "changing mapping": Changing,
    "generator": lambda: (x for x in "ab"),
    "object": object,
}
"""What is no text."""


def texts(part: Any) -> list[str]:
    """Return the texts of the one message that a turn or a part in one comes to."""
    turn = (
        part if part.__class__.__name__ in ("Event", "Ephemeral", "Grounding", "History") else None
    )
    [message] = render(Timeline(turn or Developer(part))).messages
    return [getattr(block, "text", "") for block in message.content]


# Json knows the structure of numbers, and so do the cells of a JSON table.
NUMERIC = ("json", "json in data", "json cell")
every_liar = pytest.mark.parametrize("liar", LIARS)


@every_liar
def test_a_liar_is_what_it_really_is(liar: str) -> None:
    """Whatever a value says of itself, what is written is its real content."""
    given, real = LIARS[liar]
    forms = sorted(FORMS.keys() - {*NUMERIC, "json key"})
    expected = {form: texts(FORMS[form].write(real)) for form in forms}
    assert expected == {form: texts(FORMS[form].write(given)) for form in forms}


@pytest.mark.parametrize("liar", sorted(LIARS.keys() - {"decimal"}))
def test_a_liar_in_a_field_is_what_it_really_is(liar: str) -> None:
    """In fields and titles too."""
    given, real = LIARS[liar]
    lines = sorted(LINES.keys() - {"key of a detail", "key of data", "recorded data"})
    expected = {line: texts(LINES[line](real, 0)) for line in lines}
    assert expected == {line: texts(LINES[line](given, 0)) for line in lines}


PARTS: Mapping[str, Callable[[Any], Any]] = {
    "Text": Text,
    "Value": Value,
    "Volatile": lambda given: Volatile(given, "x"),
    "Untrusted": Untrusted,
    "source": lambda given: Untrusted("x", source=given),
    "t-string": lambda given: Text(tstring(given)),
    "Heading": Heading,
    "Paragraph": Paragraph,
    "Code": Code,
    "List": lambda given: List("x", given),
    "Checklist": Checklist,
    "Quote": lambda given: Quote("x", given),
    "Section": lambda given: Section("s", given),
    "title": lambda given: Section("s", "x", title=given),
    "cell": lambda given: Table([["x", given]]),
    "cell of a mapping": lambda given: Table([{"x": given}]),
    "column": lambda given: Table([["x"]], columns=[given]),
    "Json": Json,
    "Json in data": lambda given: Json({"x": [given]}),
    "target": lambda given: UserAction("x", target=given),
    "detail": lambda given: UserAction("x", page=given),
    "trusted": trusted,
}


# A mapping is data, whatever it says of itself the next time.
TAKEN = {(part, "changing mapping") for part in ("Json", "Json in data", "target", "detail")}


@folded(
    ("part", "refused"),
    [(part, refused) for part in PARTS for refused in REFUSED if (part, refused) not in TAKEN],
)
def test_what_is_no_text_is_refused(part: str, refused: str) -> None:
    """It is refused by name, and leaves nothing in the block that is open."""
    holder = Event("before") if part in ("target", "detail") else Developer("before")
    with holder, pytest.raises(PromptError):
        PARTS[part](REFUSED[refused]())
    assert ("before",) == holder.content


def test_a_mapping_is_asked_once() -> None:
    """A mapping that changes is what it said once: no text of it is read that was not checked."""
    [text] = texts(Table([Changing()]))
    assert (True, False) == ("&lt;/context&gt;" in text, "</context>" in text)


def test_a_liar_of_an_author_stays_in_its_fence() -> None:
    """A string that lies is guarded like what it really is."""
    liar = posing(str, _lie)("</context>")
    [text] = texts(Grounding("g", trusted(liar)))
    assert "<context>\n&lt;/context>\n</context>" == text


def test_a_liar_in_conversation_is_what_it_really_is() -> None:
    """In conversation a string that lies goes out as its real content."""
    [message] = render(Timeline(User(posing(str, _lie)("true")))).messages
    assert "true" == message.text


def test_template_variables_are_refused() -> None:
    """A variable that is no plain data is refused by name."""
    with pytest.raises(ContentError, match="Html"):
        render(Developer(Template.from_string("{{ v }}", v=Html())))


# Options: an author's mistake is told, whatever the value does when it is asked.


class Row:
    """A database row that lost its session."""

    __repr__ = __str__ = __format__ = __eq__ = __ne__ = __bool__ = __hash__ = _fail  # type: ignore[assignment]


class Array:
    """An array of numbers as NumPy has them: no comparison of it is a boolean."""

    __hash__ = None  # type: ignore[assignment]
    __bool__ = _fail  # type: ignore[assignment]

    def __eq__(self, other: object) -> Any:
        return Array()

    def __iter__(self) -> Iterator[int]:
        return iter([1, 2])


HOSTILE: Mapping[str, Any] = {"row": Row(), "array": Array(), "5,001 digits": 10**5000}
KEYWORDS: Mapping[Callable[..., Any], Callable[..., Any]] = {
    **{kind: partial(kind, "x") for kind in (Event, Ephemeral, System, User, FirstFit, Untrusted)},
    Assistant: partial(Assistant, "x"),
    CacheBreakpoint: CacheBreakpoint,
    ChatTemplate: partial(ChatTemplate, "x"),
    Grounding: partial(Grounding, "g", "x"),
    History: partial(History, []),
    Image.from_bytes: partial(Image.from_bytes, b"\xff\xd8\xff"),
    Lazy: partial(Lazy, str),
    Limit: partial(Limit, 5, "x"),
    MessageTransformationConfig: MessageTransformationConfig,
    Output: partial(Output, {"type": "object"}),
    Reasoning: partial(Reasoning, "x", "x"),
    Section: partial(Section, "s", "x"),
    Timeline: partial(Timeline, "x"),
    Tool: lambda **option: Tool(**{"name": "x", "description": "x", "input_schema": {}} | option),
    ToolMessage: partial(ToolMessage, "1", "x"),
    UserAction: partial(UserAction, "x"),
    component: lambda **option: component(**option)(lambda: None),
    render: partial(render, User("x")),
    split_text: partial(split_text, "x"),
}
"""What takes keywords, each with a call that gives all else that it needs."""
ARGUMENTS: dict[str, Callable[[Any], object]] = {
    "Code": lambda value: Code("x", value),
    "Format": lambda value: Format(value, "x"),
    "Grounding": lambda value: Grounding(value, "x"),
    "Heading": lambda value: Heading("x", value),
    "Limit": lambda value: Limit(value, "x"),
    "Reserve": Reserve,
    "Section": lambda value: Section(value, "x"),
    "Template": Template,
    "ToolMessage": lambda value: ToolMessage(value, "x"),
    "Turn": lambda value: Turn(value, "x"),
    "Volatile": lambda value: Volatile("x", value),
    "a counter": lambda value: render(User("x"), budget=5, counter=lambda _: value),
    "a delimiter": lambda value: MessageTransformationConfig(delimiters={"event": value}),
    "a role": lambda value: MessageTransformationConfig(role_mapping={"event": value}),
    "decode": decode,
    "download": download,
    "for_target": lambda value: render(User("x")).for_target(value),
    "media of a model": lambda value: register_model("x", provider="openai", media=[value]),
    "provider of a model": lambda value: register_model("x", provider=value),
    "read_payload": lambda value: read_payload({}, value),
    "render": lambda value: render(User("x"), value),  # type: ignore[misc]
    "window of a model": lambda value: register_model("x", provider="openai", window=value),
}
"""What takes an option in another way."""
OPTIONS: dict[str, Callable[[Any], object]] = {
    f"{function.__qualname__}({option.name}=)": lambda value, call=call, name=option.name: call(
        **{name: value}
    )
    for function, call in KEYWORDS.items()
    for option in signature(function).parameters.values()
    if option.kind is option.KEYWORD_ONLY
}
OPTIONS |= ARGUMENTS


def no_error(option: str, hostile: str) -> str:
    """Return what an option does with a hostile value instead of an error that names this file."""
    try:
        OPTIONS[option](HOSTILE[hostile])
    except PromptError as error:
        return "" if error.at[:1] and error.at[0].startswith(__file__) else f"it names {error.at}"
    return "it is taken"


@pytest.mark.parametrize("hostile", HOSTILE)
def test_an_option_that_cannot_be_asked_is_an_error(hostile: str) -> None:
    """A value that cannot be printed or compared is refused by each option, with the line."""
    assert [] == failures(OPTIONS, lambda option: no_error(option, hostile))


def test_an_option_that_cannot_be_printed_is_its_type() -> None:
    """The error for a value that cannot be printed shows its type."""
    error = raised(OptionError, lambda: User("x", id=HOSTILE["row"]))
    assert "User(id=<Row that cannot be printed>)" == error.what


def test_a_priority_that_cannot_be_printed() -> None:
    """A number of more digits than Python prints is no priority."""
    error = raised(OptionError, lambda: User("x", priority=10**5000))
    assert "User(priority=<int that cannot be printed>)" == error.what
