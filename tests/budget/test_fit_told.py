"""What is told of all that a budget takes away, and of what has to stay: word for word."""

import pickle
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from promptdsl import *
from tests.budget.cases import APART, Gone, gone, hundreds, loop, talk, too_big
from tests.errors import raised, this_line
from tests.renders import timeline_of

Q = User("Q")
CHAT = talk("user A", "assistant B", "user C", "assistant D", "user E", "assistant F")
NO_ROOM = "there is no room for it, its priority is 1"
EMPTY = "nothing is left in it"


def a(priority: float | None = 1) -> Section:
    """Return a section of one word, which goes first."""
    return Section("a", "A", priority=priority)


@component
def asking(part: Any) -> User:
    """Return a user turn that a component wrote."""
    return User(part)


def tool() -> Tool:
    """Return a tool of one word."""
    return Tool(name="find", description="FIND", input_schema={"type": "object"})


# Addresses.

ADDRESSES: dict[str, tuple[Callable[[], list[Node]], list[Gone]]] = {
    "system turn": (lambda: [System("A", priority=1)], [("system turn", "", 103, 1, NO_ROOM)]),
    "section of a system turn": (
        lambda: [System("S", a())],
        [("section a", "a", 100, 1, NO_ROOM)],
    ),
    "section of a section": (
        lambda: [System("S", Section("r", "R", a()))],
        [("section a", "r/a", 100, 1, NO_ROOM)],
    ),
    "loose section": (
        lambda: [Section("s", "A", priority=1)],
        [("section s", "s", 103, 1, NO_ROOM)],
    ),
    "section of a loose section": (
        lambda: [Section("s", "S", a())],
        [("section a", "s/a", 100, 1, NO_ROOM)],
    ),
    "developer turn": (
        lambda: [Developer("D"), Developer("A", priority=1)],
        [("developer turn", "developer[1]", 103, 1, NO_ROOM)],
    ),
    "user turn": (
        lambda: [User("U"), User("A", priority=1)],
        [("user turn", "user[1]", 103, 1, NO_ROOM)],
    ),
    "turn with an id": (
        lambda: [User("U"), User("A", id="it", priority=1)],
        [("user turn", "it", 103, 1, NO_ROOM)],
    ),
    "turn behind one with an id": (
        lambda: [User("U", id="it"), User("A", priority=1)],
        [("user turn", "user[1]", 103, 1, NO_ROOM)],
    ),
    "assistant turn": (
        lambda: [Assistant("A", priority=1)],
        [("assistant turn", "assistant[0]", 103, 1, NO_ROOM)],
    ),
    "event": (lambda: [Event("A", priority=1)], [("event", "event[0]", 103, 1, NO_ROOM)]),
    "section of an event": (
        lambda: [Event("x", a())],
        [("section a", "event[0]/a", 100, 1, NO_ROOM)],
    ),
    "section of an answer": (
        lambda: [Assistant(ToolUse("t", {}, id="1")), ToolMessage("1", "R", a())],
        [("section a", "tool[0]/a", 100, 1, NO_ROOM)],
    ),
    "ephemeral": (
        lambda: [Ephemeral("A", priority=1)],
        [("ephemeral", "ephemeral[0]", 103, 1, NO_ROOM)],
    ),
    "section of an ephemeral": (
        lambda: [Ephemeral("x"), Ephemeral("E", a())],
        [("section a", "ephemeral[1]/a", 100, 1, NO_ROOM)],
    ),
    "grounding": (
        lambda: [Grounding("g", "A", priority=1)],
        [("grounding", "g", 103, 1, NO_ROOM)],
    ),
    "group of turns": (
        lambda: [Group(User("A"), Assistant("B", priority=2.5))],
        [("group", "user[0]", 206, 2.5, "there is no room for it, its priority is 2.5")],
    ),
    "group that begins with system content": (
        lambda: [Group(System("A"), User("B"), priority=1)],
        [("group", "user[0]", 206, 1, NO_ROOM)],
    ),
    "group of sections": (
        lambda: [Group(Section("s", "A"), Section("t", "B"), priority=1)],
        [("group", "s", 206, 1, NO_ROOM)],
    ),
    "group in a turn": (
        lambda: [User("U"), User("x", Group("A", "B", priority=1))],
        [("group", "user[1]", 100, 1, NO_ROOM)],
    ),
    "forms of a turn": (
        lambda: [FirstFit(User("A A"), User("x"), Developer("z"))],
        [("first fit", "user[0]", 200, None, "alternative 2 of 3 is sent")],
    ),
    "forms of a turn with an id": (
        lambda: [FirstFit(User("A A", id="n"), User("x"), priority=-1)],
        [("first fit", "n", 200, -1, "alternative 2 of 2 is sent")],
    ),
    "forms in a section": (
        lambda: [User(Section("s", "u", FirstFit("A A", "x")))],
        [("first fit", "user[0]/s", 200, None, "alternative 2 of 2 is sent")],
    ),
    "turn in fragments": (
        lambda: [Fragment(User("U"), Fragment(Assistant("a"), User("A", priority=1)))],
        [("user turn", "user[1]", 103, 1, NO_ROOM)],
    ),
    "turn behind a group": (
        lambda: [Group(User("U"), Assistant("a"), User("u")), User("A", priority=1)],
        [("user turn", "user[2]", 103, 1, NO_ROOM)],
    ),
    "turn behind forms, of which the first counts": (
        lambda: [FirstFit(User("U"), Fragment(User("U"), User("u"))), User("A", priority=1)],
        [("user turn", "user[1]", 103, 1, NO_ROOM)],
    ),
    "turn behind a history, whose turns do not count": (
        lambda: [History(talk("user U", "assistant u"), keep=9), User("A", priority=1)],
        [("user turn", "user[0]", 103, 1, NO_ROOM)],
    ),
    "turn behind what is no turn": (
        lambda: [System("S"), Note("n"), CacheBreakpoint(), tool(), User("A", priority=1)],
        [("user turn", "user[0]", 103, 1, NO_ROOM)],
    ),
    "tool": (
        lambda: [User("U"), Group(tool(), priority=1)],
        [("group", "", 107, 1, NO_ROOM)],
    ),
    "history": (
        lambda: [History(talk("user A", "assistant B"), priority=3)],
        [("history", "history", 206, 3, "there is no room for it")],
    ),
    "title": (
        lambda: [System("S", Section("s", a(), title="TITLE"))],
        [("section s", "s", 100, None, EMPTY), ("section a", "s/a", 100, 1, NO_ROOM)],
    ),
    "forms of a history": (
        lambda: [FirstFit(History(talk("user A", "assistant B")), User("S"))],
        [("first fit", "history", 103, None, "alternative 2 of 2 is sent")],
    ),
    "part of a fragment in a turn": (
        lambda: [User("x", Fragment(a(), Fragment("y")))],
        [("section a", "user[0]/a", 100, 1, NO_ROOM)],
    ),
    "title of forms without a word": (
        lambda: [User(Section("s", FirstFit("b", "B", priority=0), a(), title="T"))],
        [("section a", "user[0]/s/a", 100, 1, NO_ROOM)],
    ),
    "part of a part that goes, in a titled one": (
        lambda: [System(Section("r", Section("s", "S", a(7), priority=8), title="T"))],
        [("section a", "r/s/a", 100, 7, "there is no room for it, its priority is 7")],
    ),
    "turn with a mark and nothing else": (
        lambda: [User(a(), CacheBreakpoint(), Reserve(0))],
        [("user turn", "user[0]", 3, None, EMPTY), ("section a", "user[0]/a", 100, 1, NO_ROOM)],
    ),
    "turn with a word before a mark": (
        lambda: [User("x", a(), CacheBreakpoint())],
        [("section a", "user[0]/a", 100, 1, NO_ROOM)],
    ),
    "turn with a part without words": (
        lambda: [User(a(), Code("x"))],
        [("section a", "user[0]/a", 100, 1, NO_ROOM)],
    ),
    "part of a list": (
        lambda: [User(List(Item("x", Group("A", priority=1))))],
        [("group", "user[0]", 100, 1, NO_ROOM)],
    ),
    "item of a list": (
        lambda: [User("x", List(Group("A", priority=1), "y"))],
        [("group", "user[0]", 100, 1, NO_ROOM)],
    ),
    "item of a checklist": (
        lambda: [User("x", Checklist(Group("A", priority=1), "y"))],
        [("group", "user[0]", 100, 1, NO_ROOM)],
    ),
    "part of a quote": (
        lambda: [User(Quote("x", FirstFit("A", "y")))],
        [("first fit", "user[0]", 100, None, "alternative 2 of 2 is sent")],
    ),
    "part of an example": (
        lambda: [User(Example(Group("A", priority=1), "x"))],
        [("group", "user[0]", 100, 1, NO_ROOM)],
    ),
    "turn of which nothing is left": (
        lambda: [asking("U"), asking(Section("s", a(), title="TITLE"))],
        [
            ("user turn", "user[1]", 3, None, EMPTY),
            ("section s", "user[1]/s", 100, None, EMPTY),
            ("section a", "user[1]/s/a", 100, 1, NO_ROOM),
        ],
    ),
}


@pytest.mark.parametrize(("parts", "expected"), ADDRESSES.values(), ids=ADDRESSES)
def test_what_goes_is_told(parts: Callable[[], list[Node]], expected: list[Gone]) -> None:
    """When one token is missing it is told what goes, its address, tokens, priority and why."""
    prompt = timeline_of(*parts(), Q)
    whole = render(prompt, counter=hundreds, transformation=APART).tokens.total
    assert expected == gone(whole - 1, *parts(), Q)


# Of several things.


def no_room(priority: float) -> str:
    """Return why something went that has a priority."""
    return f"there is no room for it, its priority is {priority}"


def held() -> Section:
    """Return a part that goes, with a part, forms and another part with forms in it."""
    deep = Section("deep", FirstFit("G G", "g", priority=3), title="T")
    return Section("held", "H", a(5), FirstFit("F F", "f"), deep, priority=1)


DEEP = ("first fit", "held/deep", 200, 3, no_room(3))
TITLE = ("section deep", "held/deep", 100, None, EMPTY)
FORMS = ("first fit", "held", 200, None, "alternative 2 of 2 is sent")
INNER = ("section a", "held/a", 100, 5, no_room(5))


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (909, []),
        (908, [("first fit", "held/deep", 200, 3, "alternative 2 of 2 is sent")]),
        (709, [("first fit", "held/deep", 200, 3, "alternative 2 of 2 is sent")]),
        (708, [TITLE, DEEP]),
        (609, [TITLE, DEEP]),
        (608, [INNER, TITLE, DEEP]),
        (509, [INNER, TITLE, DEEP]),
        (508, [FORMS, TITLE, DEEP]),
        (409, [FORMS, TITLE, DEEP]),
        (408, [INNER, FORMS, TITLE, DEEP]),
        (309, [INNER, FORMS, TITLE, DEEP]),
    ],
)
def test_what_goes_of_a_part(tokens: int, expected: list[Gone]) -> None:
    """What goes of a part is told in the order of the document, whatever goes first."""
    assert expected == gone(tokens, System("S", held()), Q)


def test_what_goes_with_a_part() -> None:
    """Of what goes whole nothing inside is told."""
    turn = User("X", a(), FirstFit("F F", "f"), Section("b", a(2), title="T"), priority=4)
    rest = Developer("D", priority=9)
    inner = [
        ("section a", "user[0]/a", 100, 1, NO_ROOM),
        ("first fit", "user[0]", 200, None, "alternative 2 of 2 is sent"),
        ("section b", "user[0]/b", 100, None, EMPTY),
        ("section a", "user[0]/b/a", 100, 2, no_room(2)),
    ]
    assert inner == gone(312, turn, rest, Q)
    assert [("user turn", "user[0]", 603, 4, no_room(4))] == gone(209, turn, rest, Q)


def test_parts_of_a_part_without_words() -> None:
    """A title goes with the last part under it, whatever stands in between."""
    inner = Section("s", Section("a", "A A A", priority=5), priority=1)
    parts = [System(Section("t", inner, title="T")), Developer("X " * 5, priority=9), Q]
    assert [
        ("system turn", "", 3, None, EMPTY),
        ("section t", "t", 100, None, EMPTY),
        ("section a", "t/s/a", 300, 5, no_room(5)),
        ("developer turn", "developer[0]", 503, 9, no_room(9)),
    ] == gone(408, *parts)


def test_the_order_of_the_document() -> None:
    """Everything that went stands in the order of the prompt, not of the priorities."""
    parts = [
        User(Section("z", "Z", priority=5), a(), Group("G", priority=3)),
        Fragment(Developer("D", priority=2), Developer("D", priority=1)),
        History(talk("user H", "assistant I"), priority=4),
        Grounding("g", "R", priority=0),
        Q,
    ]
    assert [
        ("user turn", "user[0]", 3, None, EMPTY),
        ("section z", "user[0]/z", 100, 5, no_room(5)),
        ("section a", "user[0]/a", 100, 1, NO_ROOM),
        ("group", "user[0]", 100, 3, no_room(3)),
        ("developer turn", "developer[0]", 103, 2, no_room(2)),
        ("developer turn", "developer[1]", 103, 1, NO_ROOM),
        ("history", "history", 206, 4, "there is no room for it"),
        ("grounding", "g", 103, 0, no_room(0)),
    ] == gone(106, *parts)


BESIDE = "it goes with the calls or results it belongs to"


def call(id: str, word: str) -> ToolUse:
    """Return a call of one word."""
    return ToolUse("t", {"q": word}, id=id)


PAIRS: dict[str, tuple[Callable[[], list[Node]], list[Gone]]] = {
    "the call is lower": (
        lambda: [Assistant(call("c", "A"), priority=1), ToolMessage("c", "B", priority=2)],
        [
            ("assistant turn", "assistant[0]", 103, 1, NO_ROOM),
            ("tool turn", "tool[0]", 103, 2, BESIDE),
        ],
    ),
    "the result is lower": (
        lambda: [Assistant(call("c", "A"), priority=2), ToolMessage("c", "B", priority=1)],
        [
            ("assistant turn", "assistant[0]", 103, 2, BESIDE),
            ("tool turn", "tool[0]", 103, 1, NO_ROOM),
        ],
    ),
    "they are equal": (
        lambda: [Assistant(call("c", "A"), priority=1), ToolMessage("c", "B", priority=1)],
        [
            ("assistant turn", "assistant[0]", 103, 1, NO_ROOM),
            ("tool turn", "tool[0]", 103, 1, BESIDE),
        ],
    ),
    "a batch": (
        lambda: [
            Assistant("S", call("a", "A"), call("b", "B"), priority=7),
            ToolMessage("b", "C", priority=6),
            ToolMessage("a", "D D", priority=5),
        ],
        [
            ("assistant turn", "assistant[0]", 303, 7, BESIDE),
            ("tool turn", "tool[0]", 103, 6, BESIDE),
            ("tool turn", "tool[1]", 203, 5, no_room(5)),
        ],
    ),
    "a group with a call": (
        lambda: [
            Group(User("A"), Assistant(call("c", "B")), priority=3),
            ToolMessage("c", "C", priority=2),
        ],
        [
            ("group", "user[0]", 206, 3, BESIDE),
            ("tool turn", "tool[0]", 103, 2, no_room(2)),
        ],
    ),
    "forms of a call": (
        lambda: [
            FirstFit(Assistant("L L", call("c", "B")), Assistant(call("c", "M")), priority=2),
            ToolMessage("c", "C", priority=3),
        ],
        [
            ("first fit", "assistant[0]", 303, 2, BESIDE),
            ("tool turn", "tool[0]", 103, 2, no_room(2)),
        ],
    ),
    "parts of a pair go with it": (
        lambda: [
            Assistant("x", call("c", "B"), a(0), priority=2),
            ToolMessage("c", a(1), "C", priority=3),
        ],
        [
            ("assistant turn", "assistant[0]", 203, 2, no_room(2)),
            ("tool turn", "tool[0]", 203, 3, BESIDE),
        ],
    ),
    "results in a user turn": (
        lambda: [
            Assistant(call("c", "A"), priority=2),
            User(ToolResult("c", "B"), priority=3),
        ],
        [
            ("assistant turn", "assistant[0]", 103, 2, no_room(2)),
            ("user turn", "user[0]", 103, 3, BESIDE),
        ],
    ),
}


@pytest.mark.parametrize(("parts", "expected"), PAIRS.values(), ids=PAIRS)
def test_calls_that_go_with_results(parts: Callable[[], list[Node]], expected: list[Gone]) -> None:
    """Calls and results go as one at the lowest priority, and each of them is told."""
    assert expected == gone(209, *parts(), Developer("D", priority=9), Q)


def test_parts_of_a_required_pair() -> None:
    """Where a call has to stay with its result their parts still go by themselves."""
    parts = [Assistant("x", call("c", "B"), a()), ToolMessage("c", a(), "C", priority=3), Q]
    assert [
        ("section a", "assistant[0]/a", 100, 1, NO_ROOM),
        ("section a", "tool[0]/a", 100, 1, NO_ROOM),
    ] == gone(318, *parts)


# Of a recorded conversation.

TASK = [*talk("user TASK"), *loop(4)]


@pytest.mark.parametrize(
    ("messages", "keep", "tokens", "expected"),
    [
        (CHAT, 0, 723, [(206, "its oldest exchange")]),
        (CHAT, 0, 517, [(412, "its oldest 2 exchanges")]),
        (CHAT, 0, 311, [(618, "it")]),
        (CHAT, 1, 723, [(206, "its oldest exchange")]),
        (CHAT, 1, 517, [(412, "its oldest 2 exchanges")]),
        (TASK, 1, 1032, [(206, "the first round of its last exchange")]),
        (TASK, 1, 826, [(412, "the first 2 rounds of its last exchange")]),
        (TASK, 1, 620, [(618, "the first 3 rounds of its last exchange")]),
        (TASK, 0, 620, [(618, "the first 3 rounds of its last exchange")]),
        (TASK, 0, 414, [(927, "it")]),
        (
            [*CHAT[:2], *TASK],
            0,
            1032,
            [(412, "its oldest exchange and the first round of its last exchange")],
        ),
        (
            [*CHAT, *TASK],
            0,
            826,
            [(1030, "its oldest 3 exchanges and the first 2 rounds of its last exchange")],
        ),
        ([*talk("system S", "assistant H"), *CHAT], 0, 825, [(309, "its oldest exchange")]),
        ([*talk("system S", "assistant H"), *CHAT], 0, 414, [(721, "it")]),
    ],
)
def test_what_a_history_loses(
    messages: Any, keep: int, tokens: int, expected: list[tuple[int, str]]
) -> None:
    """It is told how many exchanges went, and how many rounds of the last one."""
    found = gone(tokens, History(messages, step=0, keep=keep, priority=2), Q)
    told = [("history", "history", n, 2, f"there is no room for {what}") for n, what in expected]
    assert told == found


# In words.


def test_in_words() -> None:
    """What went says its line, what it is, where, and how much in thousands."""
    parts = [System("x", priority=1), Developer("x" * 1200, priority=1), User("x q")]
    line = f"{__file__}:{this_line() - 1}"
    prompt = timeline_of(*parts, User(Section("s", "x", priority=1), "q"))
    found = render(prompt, counter=lambda text: text.count("x"), budget=7).dropped
    assert [
        f"{line}: system turn, 4 tokens: {NO_ROOM}",
        f"{line}: developer turn (developer[0]), 1,203 tokens: {NO_ROOM}",
        f"{__file__}:{this_line() - 5}: section s (user[1]/s), 1 token: {NO_ROOM} "
        "(probably the next to come back, with about 1 token more)",
    ] == [str(one) for one in found]


# Which part is the next to come back.

NEXT = re.compile(r"probably the next to come back, with about ([\d,]+) tokens? more")


def in_budget(sizes: list[tuple[int, int]], budget: int) -> Rendered:
    """Return a render of sections and groundings of so many words and with such priorities."""
    sections = [
        Section(f"s{n}", "word " * size, priority=priority)
        for n, (size, priority) in enumerate(sizes[::2])
    ]
    groundings = [
        Grounding(f"g{n}", "word " * size, priority=priority)
        for n, (size, priority) in enumerate(sizes[1::2])
    ]
    prompt = timeline_of(System("Be kind.", *sections), *groundings, Q)
    return render(prompt, budget=budget, counter=lambda text: len(text.split()))


@given(
    order=st.permutations([20, 50, 110, 230]),
    priorities=st.tuples(*[st.integers(1, 3)] * 4),
    share=st.floats(0, 1),
)
@example(order=[50, 20, 110, 230], priorities=(1, 3, 2, 3), share=0.8)  # for the first part
def test_the_next_to_come_back(order: list[int], priorities: tuple[int, ...], share: float) -> None:
    """With about the tokens that it lacks it is back, and with fewer nothing else is."""
    sizes = [*zip(order, priorities, strict=True)]
    budget = 60 + int(share * sum(size for size, _ in sizes))
    rendered = in_budget(sizes, budget)
    gone = {part.path for part in rendered.dropped}
    noted = [part for part in rendered.dropped if part.note]
    assume(noted)
    ((part, match),) = [(part, NEXT.fullmatch(part.note)) for part in noted]
    assert match
    lacking = int(match[1].replace(",", ""))
    fewer, *about = [
        {part.path for part in in_budget(sizes, budget + more).dropped}
        for more in range(max(lacking - 9, 0), lacking + 9)
    ]
    assert gone <= fewer
    assert not all(part.path in paths for paths in about)
    assert f": {part.note}\n" in f"{rendered.tokens}\n"


def test_the_note_of_a_record_is_one_line() -> None:
    """What a record says of a part is text of anybody: a terminal obeys nothing in it."""
    data = in_budget([(50, 1), (99, 2)], 100).record().to_dict()
    data["dropped"] = [{**row, "path": "a\x1b[2J\nb"} for row in data["dropped"]]
    lines = PromptRecord.from_dict(data).token_tree().splitlines()
    noted = [line for line in lines if "come back" in line]
    assert [True] == ["a\\x1b[2J\\nb" in line for line in noted]


def test_nothing_is_said_of_a_history_that_is_cut() -> None:
    """Its cut moves in steps, so it is not known what comes back first."""
    prompt = timeline_of(System("S", a(-1)), History(CHAT), Q)
    dropped = render(prompt, budget=500, counter=hundreds).dropped
    assert ["a", "history"] == [part.path for part in dropped]
    assert not [part for part in dropped if "come back" in part.note]


def test_without_a_line() -> None:
    """What nobody wrote in a file says no line, and what has no address says none."""
    assert "text, 0 tokens: why" == str(Dropped("text", "", 0, None, "why", None))


# What has to stay.


def test_what_has_to_stay_is_data() -> None:
    """The limit, the reserve, the room and the parts that have to stay are data that add up."""
    prompt, line = (
        Timeline(
            System(Section("a", "A"), Section("b", "B B")),
            User("Q Q"),
            Tool(name="find", description="F F F F", input_schema={"type": "object"}),
        ),
        this_line() - 4,
    )
    error = raised(BudgetError, lambda: render(prompt, budget=300, reserve=200, counter=hundreds))
    outer = [row for row in error.rows if row["depth"] == 0]
    assert {"limit": 300, "reserve": 200, "room": 100} == error.budget
    assert {"depth": 1, "what": "section b", "tokens": 200, "source": f"{__file__}:{line}"} in (
        error.rows
    )
    assert [error.required, "the target's format"] == [
        sum(row["tokens"] for row in outer),
        outer[-1]["what"],
    ]


def test_without_room_the_parts_are_data() -> None:
    """A reserve that is larger than the budget leaves no room, and the parts still add up."""
    error = too_big(System("A A"), Reserve(500), User("C"), budget=200)
    assert {"limit": 200, "reserve": 500, "room": 0} == error.budget
    assert error.required == sum(row["tokens"] for row in error.rows if row["depth"] == 0)


def told_of(error: BudgetError) -> tuple[Any, ...]:
    """Return room, need and the parts that an error names: what, tokens, kind, and a line."""
    named = [(one.what, one.tokens, one.kind, one.source is not None) for one in error.largest]
    return error.limit, error.required, named


def test_all_that_stays_is_named() -> None:
    """A refused prompt names all that stays, the largest first, without what may go of it."""
    parts = [
        System("A A A", a()),
        History(talk("user A", "assistant B B B B", "user C C"), keep=2),
        Assistant("X"),
        tool(),
        User("Y", a(), FirstFit("F F", "f")),
        Assistant("S S S", priority=1),
    ]
    assert (
        100,
        1340,
        [
            ("history", 709, "history", True),
            ("system turn", 303, "part", True),
            ("tool 'find'", 107, "part", True),
            ("assistant turn", 103, "turn", True),
            ("user turn", 103, "question", True),
            ("the provider's instructions for tools", 12, "part", False),
        ],
    ) == told_of(too_big(*parts))


def test_kinds_of_what_stays() -> None:
    """Only the last user turn is the question; turns that could be recorded are told apart."""
    parts = [
        User("A"),
        Assistant(call("c", "A A")),
        ToolMessage("c", "B"),
        Event(UserAction("LEFT")),
        Ephemeral("F"),
        Developer("D"),
        Grounding("g", "G G G"),
        Group(User("X X X X")),
        FirstFit(User("U U"), User("V")),
        Section("s", "W W W W W"),
        Reserve(10),
        Q,
    ]
    assert (
        90,
        2124,
        [
            ("section s", 503, "part", True),
            ("group", 403, "part", True),
            ("grounding g", 303, "part", True),
            ("assistant turn", 203, "turn", True),
            ("user turn", 103, "turn", True),
            ("tool turn", 103, "turn", True),
            ("event", 103, "part", True),
            ("ephemeral", 103, "part", True),
            ("developer turn", 103, "part", True),
            ("first fit", 103, "part", True),
            ("user turn", 103, "question", True),
        ],
    ) == told_of(too_big(*parts))


def test_results_are_no_question() -> None:
    """A user turn of results is a turn; the question is the one before the call."""
    parts = [User("A A"), Assistant(call("c", "B")), User(ToolResult("c", "C"))]
    assert (
        100,
        412,
        [
            ("user turn", 203, "question", True),
            ("assistant turn", 103, "turn", True),
            ("user turn", 103, "turn", True),
        ],
    ) == told_of(too_big(*parts))


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (
            [User("A A"), Assistant("B"), User("Q")],
            "put the turns into a History: a budget drops its oldest exchanges",
        ),
        (
            [Assistant("A"), User("B"), Assistant("C"), Developer("D D D"), User("q")],
            "put the turns into a History: a budget drops its oldest exchanges",
        ),
        (
            [User("A A"), Developer("D D"), User("Q")],
            "let it drop parts: Section(..., priority=1)",
        ),
        ([User("Q Q Q")], "cut the text of the last user turn: Limit(max_tokens, text)"),
        (
            [History(talk("user A", "assistant B B"), keep=1), User("Q")],
            "keep or pin fewer exchanges of the history, or cap its results: "
            "max_result_tokens=2_000",
        ),
        (
            [History(talk("user A", "assistant B B"), keep=1, max_result_tokens=9), User("Q")],
            "keep or pin fewer exchanges of the history, or lower its max_result_tokens",
        ),
        (
            [Developer("A A A"), User("Q Q")],  # the question alone is too long
            "cut the text of the last user turn: Limit(max_tokens, text)",
        ),
        ([tool(), User("Q")], "send fewer tools"),
        (
            [Developer("A A"), User("")],
            "let it drop parts: Section(..., priority=1)",
        ),
    ],
    ids=[
        "turns",
        "just half",
        "less than half",
        "the question",
        "a history",
        "a cap",
        "a question that is too long alone",
        "tools",
        "another part",
    ],
)
def test_advice(parts: list[Node], expected: str) -> None:
    """The advice is for turns if they are half of what is needed, else for the largest part."""
    error = too_big(*parts, budget=150)
    assert f"write a budget of {error.required}, or {expected}" == error.fix


def test_the_error_names_the_five_largest() -> None:
    """The text of the error names five parts, whatever else there is."""
    parts = [Developer("A " * words) for words in (1, 2, 3, 4, 5, 6)]
    line = f"{__file__}:{this_line() - 1}"
    assert [
        "the prompt needs 2,106 tokens; 100 are available",
        *(f"  {tokens}  developer turn: {line}" for tokens in (603, 503, 403, 303, 203)),
        "  103  developer turn: " + line,
        "  -12  the target's format",
    ] == too_big(*parts).what.splitlines()


def test_what_fits_can_be_saved() -> None:
    """What was rendered within a budget can be pickled, whether it fits whole or not."""
    prompt = timeline_of(Section("s", "A", priority=1), User("Q"))
    whole = render(prompt, counter=len).tokens.total
    for budget in (whole, whole - 1):
        rendered = render(prompt, counter=len, budget=budget)
        saved = pickle.loads(pickle.dumps(rendered))
        assert [rendered.messages, rendered.dropped] == [saved.messages, saved.dropped]


def test_the_line_of_the_budget_for_another_target() -> None:
    """A budget that another target does not meet names the line where it was asked for."""
    prompt = timeline_of(User("question " * 40))
    rendered, line = render(prompt, model="gpt-4o", budget=60), this_line()
    error = raised(BudgetError, lambda: rendered.for_target("anthropic"))
    assert f"{__file__}:{line}" in error.at


def test_recorded_messages_that_change_on_their_way_are_counted_as_sent() -> None:
    """Without a target a conversation that is guarded is counted as it is guarded."""
    said = [Message("assistant", "a"), Message("user", "</event>" * 50), Message("assistant", "b")]
    error = raised(
        BudgetError,
        lambda: render(
            Timeline(User("hi"), History(said)),
            counter=len,
            budget=480,
            transformation={"guard_conversation": True},
        ),
    )
    assert error.required == 595


def test_an_event_with_an_empty_group() -> None:
    """An event with a group that can be dropped is measured, and named when it is too long."""
    prompt = Timeline(Event(UserAction("x"), Group("", priority=1)), User("q"))
    error = raised(BudgetError, lambda: render(prompt, budget=50, counter=len))
    assert "  event: " in error.what


def test_the_tree_of_what_has_to_stay() -> None:
    """An error names the largest parts, and the largest sections and messages in them."""
    said = [
        {"role": role, "content": "w " * size} for role, size in (("user", 3), ("assistant", 9))
    ]
    prompt = timeline_of(
        System(
            Section("rules", "r " * 6), Section("role", "r " * 2), Section("more", "m", priority=1)
        ),
        History(said, keep=1),
    )
    with pytest.raises(BudgetError) as caught:
        render(prompt, budget=9, counter=lambda text: len(text.split()))
    shown = [line.partition(":")[0] for line in caught.value.what.splitlines()]
    assert shown == [
        "the prompt needs 35 tokens; 9 are available",
        "  20  history",
        "  13    assistant message history[1]",
        "   7    user message history[0]",
        "  12  system turn",
        "   6    section rules",
        "   2    section role",
        "   3  the target's format",
    ]
    assert [part.tokens for part in caught.value.largest[0].parts] == [13, 7]


def test_the_tokens_of_sections_that_have_to_stay() -> None:
    """Of a section in an error those tokens are told that have to stay, none of what may go."""
    rules = Section("r", "R", Section("s", "S", priority=1), FirstFit("A A", "B"), title="RULES")
    notes = Section("n", Section("o", "O", priority=1), Section("p", "P", priority=2), title="N")
    error = too_big(System(rules, notes, Section("t", "T T")), Q)
    assert [("section r", 300), ("section t", 200)] == [
        (part.what, part.tokens) for part in error.largest[0].parts
    ]
    assert ("system turn", 503) == (error.largest[0].what, error.largest[0].tokens)


def test_the_error_has_its_figures() -> None:
    """A refusal shows what is needed and there, rows that add up, and the budget that fits."""
    prompt = timeline_of(System("Be kind."), Tool(name="find", description="F"), User("q " * 40))
    error = raised(
        BudgetError,
        lambda: render(prompt, model="claude-sonnet-4-5", budget=700, reserve=120),
    )
    first, *rows = error.what.split("\n")
    needs = f"the prompt needs {error.required} tokens"
    assert f"{needs}; 580 are available (700 - 120 reserved)" == first
    counts = [int(row.split()[0]) for row in rows if re.match(r" +-?\d+  \S", row)]
    assert error.required == sum(counts)
    assert error.fix == f"write a budget of {error.required + 120}"
    assert render(prompt, model="claude-sonnet-4-5", budget=error.required + 120, reserve=120)
    with pytest.raises(BudgetError):
        render(prompt, model="claude-sonnet-4-5", budget=error.required + 119, reserve=120)
