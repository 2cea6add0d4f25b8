"""What a budget keeps that is met to the token, and what it keeps when one token is missing.

A word is a hundred tokens, the frame of a message three, that of all system content three, and an
answer begins with three.
"""

from collections.abc import Callable

import pytest

from promptdsl import *
from tests.budget.cases import exactly, loop, talk

Q = User("Q")
CHAT = talk("user A", "assistant B", "user C", "assistant D", "user E", "assistant F")

MIXED = [
    Message("user", "A"),
    Message("event", [SystemEventBlock("E")]),
    *[Message.from_dict(turn) for turn in talk("assistant B", "user C", "assistant D")],
]


def _answered(id: str) -> dict[str, object]:
    """Return a result as Anthropic has it, in a turn of the user, with a word of theirs."""
    block = {"type": "tool_result", "tool_use_id": id, "content": "F"}
    return {"role": "user", "content": [block, {"type": "text", "text": "so"}]}


BLOCK = {"type": "text", "text": "A"}
RESULT = {"type": "tool_result", "tool_use_id": "c", "content": "R"}
LOOP = [
    *talk("user T", "call 1 L"),
    _answered("1"),
    *talk("call 2 L"),
    _answered("2"),
    *talk("assistant DONE"),
]


def big() -> Developer:
    """Return something that is too big for every budget here, but the largest."""
    return Developer("X " * 20, priority=9)


def section(text: str, priority: float) -> Section:
    """Return a section that is named like its text."""
    return Section(text.lower(), text, priority=priority)


def titled(*parts: Node) -> Section:
    """Return a section with a title of two words."""
    return Section("r", *parts, title="T T")


def pair(call: float = 1, result: float = 1) -> tuple[Node, Node]:
    """Return a call and its result."""
    asks = ToolUse("t", {"q": "A"}, id="c")
    return Assistant(asks, priority=call), ToolMessage("c", "B", priority=result)


def forms(priority: float | None = 1) -> FirstFit:
    """Return a part in three forms."""
    return FirstFit("A A A A", "B B", "C", priority=priority)


CASES: dict[str, tuple[Callable[[], list[Node]], dict[int, str | None]]] = {
    "all of it": (
        lambda: [Developer("A", priority=1), Q],
        {209: "A Q", 208: "Q", 106: "Q", 105: None},
    ),
    "all of it, system text": (
        lambda: [System("A", priority=1), System("B"), Q],
        {309: "A B Q", 308: "B Q", 209: "B Q", 208: None},
    ),
    "with a reserve": (
        lambda: [Developer("A", priority=1), Reserve(500), Q],
        {709: "A Q", 708: "Q", 606: "Q", 605: None},
    ),
    "one after the other": (
        lambda: [Developer(word, priority=1) for word in "ABC"] + [Q],
        {415: "A B C Q", 414: "B C Q", 312: "B C Q", 311: "C Q", 209: "C Q", 208: "Q"},
    ),
    "what comes back": (
        lambda: [Developer("A", priority=1), big(), Q],
        {2212: "A " + "X " * 20 + "Q", 2211: "X " * 20 + "Q", 209: "A Q", 208: "Q"},
    ),
    "the higher of what comes back": (
        lambda: [Developer("A A", priority=1), Developer("B", priority=2), big(), Q],
        {412: "A A B Q", 411: "B Q", 209: "B Q", 208: "Q"},
    ),
    "what is smaller of what comes back": (
        lambda: [Developer("A", priority=1), Developer("B B", priority=2), big(), Q],
        {412: "A B B Q", 411: "B B Q", 309: "B B Q", 308: "A Q", 209: "A Q", 208: "Q"},
    ),
    "forms": (
        lambda: [User(forms(), "Q")],
        {506: "A A A A Q", 505: "B B Q", 306: "B B Q", 305: "C Q", 206: "C Q", 205: "Q"},
    ),
    "forms that come back": (
        lambda: [User(forms(), "Q"), big()],
        {506: "A A A A Q", 505: "B B Q", 306: "B B Q", 305: "C Q", 206: "C Q", 205: "Q"},
    ),
    "forms without a number": (
        lambda: [User(forms(None), section("D", 5), "Q")],
        {
            606: "A A A A D Q",
            605: "A A A A Q",
            506: "A A A A Q",
            505: "B B D Q",
            406: "B B D Q",
            405: "B B Q",
            306: "B B Q",
            305: "C Q",
            206: "C Q",
            205: None,
        },
    ),
    "forms of turns that come back": (
        lambda: [FirstFit(User("A A A"), User("B"), priority=1), big(), Q],
        {409: "A A A Q", 408: "B Q", 209: "B Q", 208: "Q"},
    ),
    "a title": (
        lambda: [System(titled(section("A", 1), section("B", 2))), Q],
        {509: "T T A B Q", 508: "T T B Q", 409: "T T B Q", 408: "Q", 109: "Q", 108: "Q"},
    ),
    "a title that comes back": (
        lambda: [System(titled(section("A", 1), section("B", 2))), big(), Q],
        {509: "T T A B Q", 508: "T T B Q", 409: "T T B Q", 408: "Q"},
    ),
    "the title of the next one is there": (
        lambda: [System(titled(section("A", 3), section("B", 1))), Developer("C", priority=2), Q],
        {
            612: "T T A B C Q",
            611: "T T A C Q",
            512: "T T A C Q",
            511: "T T A B Q",
            508: "T T A Q",
            408: "C Q",
        },
    ),
    "titles in each other": (
        lambda: [System(titled(Section("s", section("A", 1), title="U"))), big(), Q],
        {509: "T T U A Q", 508: "Q"},
    ),
    "the frame of a turn that comes back": (
        lambda: [User(section("A", 1)), Assistant("b"), big(), Q],
        {212: "A Q", 211: "Q", 109: "Q", 108: None},
    ),
    "a turn with other words has a frame anyway": (
        lambda: [User(section("A", 1), "b"), big(), Q],
        {209: "A Q", 208: "Q", 109: "Q", 108: None},
    ),
    "an answer has a frame anyway": (
        lambda: [Assistant(ToolUse("t", {}, id="c")), ToolMessage("c", section("A", 1)), big(), Q],
        {212: "A Q", 211: "Q", 112: "Q", 111: None},
    ),
    "an answer in a turn has one, too": (
        lambda: [
            Assistant(ToolUse("t", {}, id="c")),
            User(ToolResult("c", section("A", 1))),
            big(),
            Q,
        ],
        {212: "A Q", 211: "Q", 112: "Q", 111: None},
    ),
    "what is inside comes back after": (
        lambda: [User(Section("a", "A A", section("B", 7), priority=1), "Q"), big()],
        {406: "A A B Q", 405: "A A Q", 306: "A A Q", 305: "Q", 106: "Q"},
    ),
    "what is inside a turn": (
        lambda: [User("A A", section("B", 7), priority=1), big(), Q],
        {409: "A A B Q", 408: "A A Q", 309: "A A Q", 308: "Q"},
    ),
    "forms inside of what goes": (
        lambda: [User(Section("a", "A", FirstFit("B B", "C"), priority=1), "Q"), big()],
        {406: "A B B Q", 405: "A C Q", 306: "A C Q", 305: "Q"},
    ),
    "what is inside of what is gone takes no room": (
        lambda: [
            Developer("C", priority=0),
            User(Section("a", "A A", section("B", 7), priority=1), "Q"),
            big(),
        ],
        {509: "C A A B Q", 508: "A A B Q", 405: "A A Q", 306: "A A Q", 305: "C Q", 209: "C Q"},
    ),
    "system text is sent first, so a mark covers it": (
        lambda: [
            User("U", cache=True),
            System("A", priority=1),
            Developer("D", priority=1),
            Q,
        ],
        {415: "A U D Q", 414: "A U Q", 312: "A U Q", 311: "U Q"},
    ),
    "forms of what is gone take no room": (
        lambda: [
            Developer("D", priority=0),
            User(FirstFit("A A A A", "B B B", priority=1), "Q"),
            big(),
        ],
        {609: "D A A A A Q", 608: "A A A A Q", 505: "B B B Q", 405: "D Q", 209: "D Q", 208: "Q"},
    ),
    "forms without words": (
        lambda: [User(FirstFit("", "", priority=1), section("A", 1), "Q")],
        {206: "A Q", 205: "Q", 105: None},
    ),
    "parts of a pair": (
        lambda: [
            Assistant(ToolUse("t", {"q": "A"}, id="c"), section("B", 1), priority=2),
            ToolMessage("c", "C", priority=3),
            Q,
        ],
        {412: "A B C Q", 411: "Q", 106: "Q"},
    ),
    "parts of a pair that stays": (
        lambda: [
            Assistant(ToolUse("t", {"q": "A"}, id="c"), section("B", 1)),
            ToolMessage("c", "C", priority=3),
            Q,
        ],
        {412: "A B C Q", 411: "A C Q", 312: "A C Q", 311: None},
    ),
    "nobody asks": (
        lambda: [Developer("S"), Developer("D"), Group(Assistant(section("A", 1), "x"))],
        {312: "S D A", 311: "S D"},
    ),
    "nobody asks in a history": (
        lambda: [History(talk("assistant A"), step=0), Developer("D")],
        {209: "A D", 208: "D", 105: None},
    ),
    "a question in several blocks": (
        lambda: [History([{"role": "user", "content": [BLOCK, BLOCK]}], step=0), Developer("D")],
        {309: "A A D", 308: None},
    ),
    "events of a history": (
        lambda: [History([*MIXED], step=0), Q],
        {621: "A E B C D Q", 620: "C D Q", 312: "C D Q", 311: "Q"},
    ),
    "results in user turns of a history": (
        lambda: [History(LOOP, step=0)],
        {621: "T L F L F DONE", 620: "T L F DONE", 415: "T L F DONE", 414: "T DONE", 209: "T DONE"},
    ),
    "what answers behind the question is no question": (
        lambda: [
            Q,
            History(talk("assistant A"), step=0),
            Assistant(ToolUse("t", {}, id="c")),
            History([{"role": "user", "content": [RESULT]}], step=0),
        ],
        {315: "Q A R", 314: None},
    ),
    "rounds in steps behind system text": (
        lambda: [History([*talk("system S", "user T"), *loop(4, "L F")], step=400)],
        {
            1033: "S T L F L F L F L F",
            1032: "S T L F L F",
            621: "S T L F L F",
            620: "S T L F",
            415: "S T L F",
        },
    ),
    "a group": (
        lambda: [Group(User("A"), Assistant("B"), priority=1), big(), Q],
        {312: "A B Q", 311: "Q"},
    ),
    "a group in a titled part": (
        lambda: [User(titled(Group(section("A", 2), section("B", 3), priority=1)), "Q"), big()],
        {506: "T T A B Q", 505: "Q"},
    ),
    "a pair": (
        lambda: [*pair(), big(), Q],
        {312: "A B Q", 311: "Q"},
    ),
    "a pair beside something": (
        lambda: [*pair(3, 2), Developer("D", priority=1), big(), Q],
        {415: "A B D Q", 414: "A B Q", 312: "A B Q", 311: "D Q", 209: "D Q", 208: "Q"},
    ),
    "exchanges": (
        lambda: [History(CHAT, step=0), Q],
        {
            724: "A B C D E F Q",
            723: "C D E F Q",
            518: "C D E F Q",
            517: "E F Q",
            312: "E F Q",
            311: "Q",
        },
    ),
    "exchanges that come back": (
        lambda: [History(CHAT, step=0), big(), Q],
        {
            724: "A B C D E F Q",
            723: "C D E F Q",
            518: "C D E F Q",
            517: "E F Q",
            312: "E F Q",
            311: "Q",
        },
    ),
    "what stands below a history that comes back whole": (
        lambda: [Developer("L", priority=-1), History(CHAT, step=0), big(), Q],
        {827: "L A B C D E F Q", 826: "A B C D E F Q", 724: "A B C D E F Q", 723: "L C D E F Q"},
    ),
    "rounds": (
        lambda: [History([*talk("user T"), *loop(3, "L F")], step=0)],
        {724: "T L F L F L F", 723: "T L F L F", 518: "T L F L F", 517: "T L F", 312: "T L F"},
    ),
    "rounds that come back": (
        lambda: [History([*talk("user T"), *loop(3, "L F")], step=0), big()],
        {724: "T L F L F L F", 723: "T L F L F", 518: "T L F L F", 517: "T L F", 312: "T L F"},
    ),
    "steps": (
        lambda: [History(CHAT, step=206), Q],
        {724: "A B C D E F Q", 723: "C D E F Q", 518: "C D E F Q", 517: "E F Q", 312: "E F Q"},
    ),
    "steps of one token more": (
        lambda: [History(CHAT, step=207), Q],
        {724: "A B C D E F Q", 723: "E F Q", 518: "E F Q", 312: "E F Q", 311: "Q"},
    ),
    "steps that come back": (
        lambda: [History(CHAT, step=207), big(), Q],
        {724: "A B C D E F Q", 723: "E F Q", 312: "E F Q", 311: "Q"},
    ),
    "fragments cost nothing": (
        lambda: [Fragment(Developer("A", priority=1), Fragment(User(Fragment(Text("B"))))), big()],
        {209: "A B", 208: "B", 106: "B", 105: None},
    ),
}


def test_nothing_fits() -> None:
    """A prompt without anything in it is as long as the beginning of its answer."""
    assert ["", None] == [exactly(3), exactly(2)]


def kept(expected: dict[int, str | None], parts: Callable[[], list[Node]]) -> dict[int, str | None]:
    """Return what is left of parts in each of these budgets."""
    return {tokens: exactly(tokens, *parts()) for tokens in expected}


@pytest.mark.parametrize(("parts", "expected"), CASES.values(), ids=CASES)
def test_what_fits_to_the_token(
    parts: Callable[[], list[Node]], expected: dict[int, str | None]
) -> None:
    """What meets a budget exactly is sent, and with one token less something has to go."""
    assert expected == kept(expected, parts)
