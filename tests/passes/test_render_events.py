"""Narrate: events become fenced text in the role they are mapped to."""

from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.errors import this_line
from tests.hostile import HOSTILE
from tests.internals import EventBlockNode, field, render_events, resolve
from tests.renders import comes_to, did_nothing, losses_of, only_text, stage
from tests.tolerant_reader import OWN, guarded

Written = Callable[[], Node]

# Texts. Every field there is, and every field that is not.


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (lambda: UserAction("clicked", target="help_button"), "User clicked: help_button"),
        (lambda: UserAction("clicked"), "User clicked"),
        (lambda: UserAction("clicked", target=None, actor=None), "User clicked"),
        (lambda: UserAction("clicked", actor="Ada"), "Ada clicked"),
        (lambda: UserAction("clicked", actor="Ada", target="ok"), "Ada clicked: ok"),
        (
            lambda: UserAction("clicked", target="ok", page="billing", count=3),
            "User clicked: ok\npage: billing\ncount: 3",
        ),
        (lambda: UserAction("clicked", page="billing"), "User clicked\npage: billing"),
    ],
)
def test_user_action(write: Written, expected: str) -> None:
    """A user action says who did what to what; what is absent goes with its mark."""
    assert f'<event type="user_action">\n{expected}\n</event>' == only_text(Event(write()))


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (lambda: StateChange("plan", old="free", new="pro"), "plan changed: free -> pro"),
        (lambda: StateChange("plan", old="free"), "plan changed: free"),
        (lambda: StateChange("plan", new="pro"), "plan changed: -> pro"),
        (lambda: StateChange("plan"), "plan changed"),
        (lambda: StateChange("plan", old=None, new=False), "plan changed:  -> false"),
        (lambda: StateChange("plan", old=True, new=None), "plan changed: true -> "),
        (lambda: StateChange("plan", old=0, new=Decimal("1.50")), "plan changed: 0 -> 1.50"),
        (
            lambda: StateChange("plan", old="free", new="pro", trigger="upgrade", by="Ada"),
            "plan changed: free -> pro\ntrigger: upgrade\nby: Ada",
        ),
        (lambda: StateChange("plan", trigger="upgrade"), "plan changed\ntrigger: upgrade"),
        (lambda: StateChange("plan", by="Ada"), "plan changed\nby: Ada"),
    ],
)
def test_state_change(write: Written, expected: str) -> None:
    """A state change says from what to what; an absent end goes with its mark, a None is empty."""
    assert f'<event type="state_change">\n{expected}\n</event>' == only_text(Event(write()))


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (lambda: SystemEvent("disk full", source="host-7"), "host-7: disk full"),
        (lambda: SystemEvent("disk full"), "disk full"),
        (lambda: SystemEvent("disk full", free=0), "disk full\nfree: 0"),
        (
            lambda: SystemEvent("disk full", source="host-7", at=date(2026, 1, 2), ok=None),
            "host-7: disk full\nat: 2026-01-02\nok: ",
        ),
    ],
)
def test_system_event(write: Written, expected: str) -> None:
    """A system event says where, what, and its data."""
    assert f'<event type="system_event">\n{expected}\n</event>' == only_text(Event(write()))


def test_text_in_an_event() -> None:
    """Text written in an event stands in a fence without a type."""
    assert "<event>\nThe user left.\n</event>" == only_text(Event("The user left."))


def test_one_fence_for_each_event_block() -> None:
    """Every event block has a fence of its own, and so has every run of text between them."""
    assert (
        "<event>\none\n</event>\n\n"
        '<event type="user_action">\nUser left\n</event>\n\n'
        "<event>\ntwo\n\nthree\n</event>\n\n"
        '<event type="system_event">\ndone\n</event>'
    ) == only_text(
        Event("one", UserAction("left"), "two", Text("three"), SystemEvent("done")),
    )


@pytest.mark.parametrize("role", ["user", "developer", "system"])
def test_a_picture_in_an_event(role: str) -> None:
    """An attachment in an event stands in place, between the fences, in a turn of the user."""
    picture = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
    assert [
        (
            "user",
            "<event>\nbefore\n</event>",
            picture,
            '<event type="user_action">\nUser left\n</event>',
        )
    ] == comes_to(
        Event("before", Image.from_url("https://example.org/a.png"), UserAction("left")),
        transformation={"role_mapping": {"event": role}},
    )


# Values.

FIELDS: dict[str, Callable[[str], Node]] = {
    "action": UserAction,
    "target": lambda v: UserAction("clicked", target=v),
    "actor": lambda v: UserAction("clicked", actor="x" + v),
    "detail": lambda v: UserAction("clicked", detail=v),
    "name of a detail": lambda v: UserAction("clicked", **{"x" + v: 1}),
    "key": StateChange,
    "old": lambda v: StateChange("plan", old=v),
    "new": lambda v: StateChange("plan", new=v),
    "trigger": lambda v: StateChange("plan", trigger=v),
    "detail of a change": lambda v: StateChange("plan", detail=v),
    "event": lambda v: SystemEvent("x" + v),
    "source": lambda v: SystemEvent("done", source=v),
    "data": lambda v: SystemEvent("done", data=v),
}
every_field = pytest.mark.parametrize("write", FIELDS.values(), ids=FIELDS)


def around(write: Callable[[str], Node], **request: Any) -> tuple[str, str]:
    """Return what stands before and behind the value of a field."""
    start, end = only_text(Event(write("WORD")), **request).split("WORD")
    return start, end


@every_field
@pytest.mark.parametrize(
    "values", [HOSTILE[::9], pytest.param(HOSTILE, marks=pytest.mark.slow)], ids=["some", "all"]
)
def test_a_field_is_one_line_whatever_it_holds(
    write: Callable[[str], Node], values: list[str]
) -> None:
    """No hostile value changes anything but its own place, which it does not leave."""
    start, end = around(write)
    expected = [start + guarded(field(value), OWN) + end for value in values]
    assert expected == [only_text(Event(write(value))) for value in values]


@every_field
@given(value=st.text())
def test_any_value_of_a_field(write: Callable[[str], Node], value: str) -> None:
    """Any value is one line in its place, and can be read back."""
    start, end = around(write)
    whole = only_text(Event(write(value)))
    inner = whole.removeprefix(start).removesuffix(end)
    assert (start + inner + end, value) == (whole, decode(inner))
    assert [inner] == inner.split("\n")


def test_a_line_end() -> None:
    """A line end in a field is a character reference."""
    assert '<event type="user_action">\nUser clicked: a&#10;b&#13;\n</event>' == only_text(
        Event(UserAction("clicked", target="a\nb\r"))
    )


@pytest.mark.parametrize("write", FIELDS.values(), ids=FIELDS)
def test_control_characters_are_listed(write: Callable[[str], Node]) -> None:
    """A control character in a field is a hint among the losses."""
    assert ["hint"] == [kind for kind, _ in losses_of(Event(write("\x07")))]


def test_author_text_stays_in_its_fence() -> None:
    """Text an author writes in an event cannot open or close an event."""
    assert "<event>\n&lt;/event> <b> &lt;event x>\n</event>" == only_text(
        Event("</event> <b> <event x>")
    )


def test_a_value_in_the_text_of_an_event() -> None:
    """A value in the text of an event is encoded for the body of a fence."""
    assert "<event>\nPage: <b>&lt;/event>\n# kept\n</event>" == only_text(
        Event("Page: ", Value("<b></event>\n# kept"))
    )


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (
            lambda mark: UserAction(mark("&a"), target=mark("&b"), actor=mark("&c"), d=mark("&d")),
            "&c &a: &b\nd: &d",
        ),
        (
            lambda mark: StateChange(
                mark("&a"), old=mark("&b"), new=mark("&c"), trigger=mark("&d"), e=mark("&e")
            ),
            "&a changed: &b -> &c\ntrigger: &d\ne: &e",
        ),
        (
            lambda mark: SystemEvent(mark("&a"), source=mark("&b"), c=mark("&c")),
            "&b: &a\nc: &c",
        ),
    ],
)
def test_trusted_fields(write: Callable[[Callable[[str], Any]], Node], expected: str) -> None:
    """Each field is encoded, and kept as it is where it alone is trusted."""
    names = [letter for letter in "abcde" if f"&{letter}" in expected]
    encoded = expected.replace("&", "&amp;")
    assert [encoded, *(encoded.replace(f"&amp;{name}", f"&{name}") for name in names)] == [
        inside(only_text(Event(write(partial(trusted_as, name))))) for name in ["", *names]
    ]


def trusted_as(name: str, text: str) -> Any:
    """Return a text, trusted if it is the one of this name."""
    return trusted(text) if text == f"&{name}" else text


def inside(fenced: str) -> str:
    """Return what stands between the first and the last line."""
    return "\n".join(fenced.split("\n")[1:-1])


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (
            {"type": "user_action", "action": "did", "details": {"a": {"b": [1, None]}}},
            'User did\na: {"b": [1, null]}',
        ),
        (
            {"type": "state_change", "key": "k", "from": {"a": None}, "to": ["x", True]},
            'k changed: {"a": null} -> ["x", true]',
        ),
        (
            {"type": "system_event", "event": "e", "data": {"l": ["x", False, None]}},
            'e\nl: ["x", false, null]',
        ),
    ],
)
def test_nested_data_of_a_recorded_event(block: dict[str, Any], expected: str) -> None:
    """What is nested in the data of a recorded event is JSON of one line."""
    text = only_text(History([{"role": "event", "content": [block]}]))
    assert expected == inside(text)


# Roles.


@pytest.mark.parametrize(
    ("request_", "role"),
    [
        ({}, "user"),
        ({"provider": "openai_compatible"}, "user"),
        ({"provider": "openai"}, "developer"),
        ({"provider": "anthropic"}, "developer"),
        ({"model": "claude-opus-5-5"}, "developer"),
        ({"model": "claude-3-haiku"}, "developer"),
        ({"model": "gpt-4o"}, "developer"),
        ({"model": "gpt-5"}, "developer"),
        ({"model": "gpt-6-sol"}, "developer"),
        ({"model": "gpt-3.5-turbo"}, "user"),
        ({"model": "gemini-3.1-pro"}, "user"),
        ({"model": "llama-4"}, "user"),
        ({"model": "never heard of it"}, "user"),
    ],
)
def test_the_role_of_a_target(request_: dict[str, str], role: str) -> None:
    """Every provider and model has its role for events."""
    [message] = render(Event(UserAction("left")), **request_).messages  # type: ignore[arg-type]
    assert (role, "event") == (message.role, message.kind)


@pytest.mark.parametrize("role", ["user", "developer", "system"])
@pytest.mark.parametrize("model", [None, "claude-opus-5-5", "gpt-5", "gpt-3.5-turbo"])
def test_the_role_that_is_asked_for(role: str, model: str | None) -> None:
    """An event is sent in the role the configuration asks for, whatever the target's default."""
    [message] = render(
        Event(UserAction("left")), model=model, transformation={"role_mapping": {"event": role}}
    ).messages
    assert role == message.role


@pytest.mark.parametrize("role", ["user", "developer", "system"])
def test_the_role_of_events_alone(role: str) -> None:
    """The role of events says nothing of other turns."""
    mapping = {"role_mapping": {"event": role}, "merge_consecutive": False}
    tree = [System("s"), User("u"), Event(UserAction("left"))]
    assert ["system", "user", role] == [
        said_[0] for said_ in comes_to(*tree, transformation=mapping)
    ]


# Delimiters.

ACTION = "User left"
CHANGE = "plan changed"
SIGNAL = "done"


@pytest.mark.parametrize(
    ("delimiter", "expected"),
    [
        (("<did>", "</did>"), ["<did>", "</did>"]),
        (("[[", "]]"), ["[[", "]]"]),
    ],
)
def test_a_pair(delimiter: tuple[str, str], expected: list[str]) -> None:
    """A pair stands on lines of its own around every event."""
    start, end = expected
    assert "\n\n".join(
        f"{start}\n{said_}\n{end}" for said_ in (ACTION, CHANGE, SIGNAL, "t")
    ) == only_text(
        Event(UserAction("left"), StateChange("plan"), SystemEvent("done"), "t"),
        transformation={"delimiters": {"event": delimiter}},
    )


def test_a_prefix() -> None:
    """A prefix stands directly before every event."""
    assert f"EVENT: {ACTION}\n\nEVENT: {CHANGE}\n\nEVENT: {SIGNAL}\n\nEVENT: t" == only_text(
        Event(UserAction("left"), StateChange("plan"), SystemEvent("done"), "t"),
        transformation={"delimiters": {"event": "EVENT: "}},
    )


def test_the_delimiter_of_text_alone() -> None:
    """A delimiter for the text of events reaches that and no other."""
    delimiters = {"text": ("<said>", "</said>")}
    assert (f'<event type="user_action">\n{ACTION}\n</event>\n\n<said>\nt\n</said>') == only_text(
        Event(UserAction("left"), "t"), transformation={"delimiters": {"event": delimiters}}
    )


def test_none() -> None:
    """Without delimiters an event is its text."""
    assert f"{ACTION}\n\n{CHANGE}\n\n{SIGNAL}\n\nt" == only_text(
        Event(UserAction("left"), StateChange("plan"), SystemEvent("done"), "t"),
        transformation={"delimiters": {"event": None}},
    )


def test_each_type_has_its_delimiter() -> None:
    """A delimiter for one type of event reaches that type and no other."""
    delimiters = {"user_action": ("<did>", "</did>"), "state_change": "CHANGE: ", "text": None}
    assert (
        f"<did>\n{ACTION}\n</did>\n\nCHANGE: {CHANGE}\n\n"
        f'<event type="system_event">\n{SIGNAL}\n</event>\n\nt'
    ) == only_text(
        Event(UserAction("left"), StateChange("plan"), SystemEvent("done"), "t"),
        transformation={"delimiters": {"event": delimiters}},
    )


@pytest.mark.parametrize(
    ("delimiter", "value", "expected"),
    [
        (("<did>", "</did>"), "</did>", "<did>\n&lt;/did> x\n</did>"),
        (("<did>", "</did>"), "</event>", "<did>\n</event> x\n</did>"),
        (("[[", "]]"), "]] [[", "[[\n&#93;] &#91;[ x\n]]"),
        ("EVENT: ", "EVENT: x", "EVENT: &#69;VENT: x x"),
    ],
)
def test_author_text_stays_in_any_fence(delimiter: Any, value: str, expected: str) -> None:
    """Author text leaves the fence that is configured as little as the default one."""
    assert expected == only_text(
        Event(f"{value} x"), transformation={"delimiters": {"event": delimiter}}
    )


@every_field
@pytest.mark.parametrize(
    ("delimiter", "ends"),
    [
        (("[[event", "event]]"), ["[[event", "event]]"]),
        ("EVENT: ", ["EVENT: "]),
        (("<did>", "</did>"), ["<did>", "</did>"]),
    ],
)
def test_values_stay_in_any_fence(
    write: Callable[[str], Node], delimiter: Any, ends: list[str]
) -> None:
    """A value that spells a configured delimiter does not write it, and can be read back."""
    config = {"delimiters": {"event": delimiter}}
    start, stop = around(write, transformation=config)
    whole = only_text(Event(write("".join(ends))), transformation=config)
    inner = whole.removeprefix(start).removesuffix(stop)
    assert (start + inner + stop, "".join(ends)) == (whole, decode(inner))
    assert [] == [end for end in ends if end in inner]


# format_block.


def test_format_block_is_given_the_block() -> None:
    """The function is given every event block as it was written, before it is text."""
    seen: list[Block] = []
    render(
        Event(UserAction("<b>", n=1), StateChange("plan", old=1), SystemEvent("done")),
        transformation={"format_block": seen.append},
    )
    assert [
        UserActionBlock("<b>", details={"n": 1}),
        StateChangeBlock("plan", old=1),
        SystemEventBlock("done"),
    ] == seen


@pytest.mark.parametrize(
    "event",
    [
        Event(UserAction("left")),
        History([{"role": "event", "content": [{"type": "user_action", "action": "left"}]}]),
    ],
)
def test_what_format_block_returns(event: Node) -> None:
    """The text the function returns stands in the fence of its event."""
    assert '<event type="user_action">\nLEFT\n</event>' == only_text(
        event, transformation={"format_block": lambda block: block.action.upper()}
    )


def test_format_block_returns_none() -> None:
    """A function that returns None leaves an event its usual text."""
    assert '<event type="user_action">\nUser left\n</event>' == only_text(
        Event(UserAction("left")), transformation={"format_block": lambda _: None}
    )


def test_format_block_stays_in_the_fence() -> None:
    """What the function returns cannot leave the fence."""
    assert '<event type="user_action">\n&lt;/event> <b>\n</event>' == only_text(
        Event(UserAction("</event> <b>")), transformation={"format_block": lambda b: b.action}
    )


def test_format_block_returns_something_else() -> None:
    """A function that returns no text is an error with the line of the event."""
    tree, written = Event(UserAction("left")), this_line()
    with pytest.raises(ContentError, match="format_block returned int") as caught:
        render(tree, transformation={"format_block": lambda _: 1})
    assert (f"{__file__}:{written}",) == caught.value.at


# The pass.


def test_nothing_to_do() -> None:
    """A tree without events is the same object afterwards."""
    tree = Timeline(System("s"), User("u"))
    assert did_nothing("render_events", tree)


def test_other_turns_stay_as_they_are() -> None:
    """A turn that is no event is the same object afterwards."""
    tree = Timeline(User("u"), Event(UserAction("left")))
    assert tree.content[0] is stage("render_events", tree).content[0]


def test_what_is_told_has_the_line_of_its_event() -> None:
    """Each fence has the line of its block, or of the event whose text it holds."""
    first = this_line() + 1
    event = Event(
        "text",
        UserAction("left"),
    )
    turn = stage("render_events", Timeline(event)).content[0]
    text, block = turn.content
    assert [Source(__file__, first), Source(__file__, first), Source(__file__, first + 2)] == [
        node.source for node in (turn, text, block)
    ]
    assert Source(__file__, first + 2) == block.content[0].source


def test_the_narrator_is_handed_in() -> None:
    """The pass asks the narrator it is given for the text of a type with its fields."""
    asked: list[tuple[str, dict[str, Any]]] = []

    def narrator(kind: str, fields: Mapping[str, Any]) -> tuple[str, ...]:
        asked.append((kind, dict(fields)))
        return ("said",)

    tree = Timeline(Event(UserAction("<b>", n=1)))
    done = render_events(tree, config=resolve([]), event_pieces=narrator)
    given_ = {"action": "&lt;b&gt;", "target": None, "actor": None, "details": (("n", "1"),)}
    assert [("user_action", given_)] == asked
    assert [] == [node for node in done.content[0].content if isinstance(node, EventBlockNode)]


@pytest.mark.parametrize("wrap", [Fragment, lambda *parts: Fragment(Fragment(*parts))])
def test_an_event_block_in_a_fragment_is_told(wrap: Any) -> None:
    """A fragment hides no event block: it stands for what it holds."""
    messages = render(Timeline(Event(wrap(UserAction("clicked"))), User("q"))).messages
    assert '<event type="user_action">\nUser clicked\n</event>' in [
        block.text for message in messages for block in message.content
    ]


@pytest.mark.parametrize("delimiter", [None, "EVENT "])
def test_a_field_heads_nothing_where_nothing_closes(delimiter: str | None) -> None:
    """Without a fence around it the first field of an event is no heading."""
    config = {"delimiters": {"event": delimiter}}
    tree = Timeline(Event(UserAction("did", actor="# Owned")), User("q"))
    text = render(tree, transformation=config).messages[0].content[0].text
    assert ("&#35; Owned did", "# Owned did") == (
        text.removeprefix("EVENT "),
        decode(text).removeprefix("EVENT "),
    )


def test_a_value_does_not_complete_a_delimiter_with_a_line_end() -> None:
    """The line ends beside a text take no part in a delimiter."""
    config = {"delimiters": {"event": ("BEGIN\n", "\nEND")}}
    tree = Timeline(Event(UserAction("x", actor="END"), "END\nhack"), User("q"))
    text = render(tree, transformation=config).messages[0].content[0].text
    assert text.count("END") == text.count("BEGIN") == 2
