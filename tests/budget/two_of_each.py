"""Prompts with two of a thing, and what is sent and told of each in every budget.

``two_of_each.json`` has it: for each prompt the lowest budget of each outcome, from the whole to
the refusal. ``python -m tests.budget.two_of_each`` writes the file: read what changed in it.
"""

import json
import re
from bisect import bisect_left
from collections.abc import Callable
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import attrs

from promptdsl import *
from tests.budget.cases import APART, capitals, hundreds, loop, talk
from tests.providers.every_target import strings_in
from tests.renders import timeline_of

FILE = Path(__file__).with_suffix(".json")
Steps = dict[str, list[str]]
"""By the lowest budget of an outcome, its lines."""

exact = partial(History, step=0)
"""A history that is cut to fit, without steps; its line is that of the prompt."""
Q = User("Q")
CHAT = talk("user A", "assistant B", "user C", "assistant D", "user E", "assistant F")
EVENTS = talk(
    *("event V", "user A", "assistant B", "event W", "developer X", "event Y", "event Z"),
    *("user C", "assistant D", "event U", "event T", "user E"),
)
EVENTFUL: list[dict[str, Any]] = []
"""The rounds of ``PARALLEL`` with an event before each, and one before the question."""
PARALLEL = [
    {"role": "user", "content": "TASK", "id": "q"},
    *(
        message
        for number in range(3)
        for message in (
            {
                "role": "assistant",
                "id": f"a{number}",
                "content": [
                    {"type": "tool_use", "id": f"{id}{number}", "name": name, "input": {}}
                    for id, name in (("x", "look"), ("y", "keep"))
                ],
            },
            {
                "role": "tool",
                "id": f"r{number}",
                "content": [
                    {"type": "tool_result", "tool_use_id": f"{id}{number}", "content": said}
                    for id, said in (("y", f"Y{'AB'[number % 2]} Y"), ("x", "FOUND FOUND"))
                ],
            },
        )
    ),
]
"""Rounds with two calls of two tools; the results are in the other order."""
EVENTFUL += [
    *(talk("event V", "event W")),
    *PARALLEL[:3],
    *talk("event X"),
    *PARALLEL[3:5],
    *talk("event Y", "event Z"),
    *PARALLEL[5:],
]


def _with_pictures(id: str, *texts: str) -> dict[str, Any]:
    """Return a message with a result of texts, a picture behind each."""
    content = [part for text in texts for part in ({"type": "text", "text": text}, DRAWN)]
    block = {"type": "tool_result", "tool_use_id": id, "content": content}
    return {"role": "tool", "content": [block]}


def named(*turns: str) -> list[dict[str, Any]]:
    """Return recorded turns whose ids are their roles and numbers: ``user0``, ``assistant1``."""
    return [{**turn, "id": f"{turn['role']}{n}"} for n, turn in enumerate(talk(*turns))]


def asks(*ids: str, priority: float | None = None) -> Assistant:
    """Return a turn with a call of one word for each id."""
    return Assistant(*(ToolUse("look", {"q": id.upper()}, id=id) for id in ids), priority=priority)


def big(priority: float = 9) -> Developer:
    """Return a part that is larger than all others."""
    return Developer("BIG " * 20, priority=priority)


def result(id: str, *texts: str) -> dict[str, Any]:
    """Return a message with a result of several texts."""
    content = [{"type": "text", "text": text} for text in texts]
    block = {"type": "tool_result", "tool_use_id": id, "content": content}
    return {"role": "tool", "content": [block]}


def written(*content: Any, recorded: Any = (), **options: Any) -> History:
    """Return a history of messages and of turns that are written after them."""
    with History(recorded, **options) as history:
        include(*content)
    return history


def claude(*turns: str) -> list[dict[str, Any]]:
    """Return turns in the form of Anthropic; ``thought``, ``compact`` and ``call`` are blocks.

    ``"user A"``, ``"assistant thought T, text B, call 1 C"``, ``"result 1 R"``.
    """
    return [_claude_turn(*turn.split(" ", 1)) for turn in turns]


def _claude_turn(role: str, said: str) -> dict[str, Any]:
    if role == "result":
        blocks = [part.split(" ") for part in said.split(", ")]
        content = [
            {"type": "tool_result", "tool_use_id": id, "content": text} for id, text in blocks
        ]
        return {"role": "user", "content": content}
    if role == "user":
        return {"role": "user", "content": said}
    content = [_CLAUDE[kind](*words) for kind, *words in map(str.split, said.split(", "))]
    return {"role": "assistant", "content": content}


_CLAUDE: dict[str, Callable[..., dict[str, Any]]] = {
    "thought": lambda text: {"type": "thinking", "thinking": text, "signature": "c2ln"},
    "compact": lambda text: {"type": "compaction", "content": text, "signature": "c2ln"},
    "text": lambda text: {"type": "text", "text": text},
    "call": lambda id, word: {"type": "tool_use", "id": id, "name": "t", "input": {"q": word}},
}
CLAUDE = {"model": "claude-opus-5-5"}
COMPACTED = claude(
    "user A",
    "assistant text B, compact C, text D",
    "user E",
    "assistant call 1 F, compact G",
    "result 1 H",
    "assistant text I",
    "user J",
)
THOUGHTS = claude(
    "user A",
    *("assistant thought T, call 1 B", "result 1 C", "assistant thought U, call 2 D, call 3 E"),
    *("result 3 F, 2 G", "assistant thought V, text H", "user I", "assistant thought W, call 4 J"),
    *("result 4 K", "assistant thought X, call 5 L", "result 5 M"),
)
DRAWN = {"type": "image", "source": {"type": "url", "url": "https://a.example/a.png"}}


PROMPTS: dict[str, Callable[[], list[Any]]] = {
    # What goes first.
    "two of one priority in two turns": lambda: [
        System(Section("a", "A", priority=1), Section("b", "B", priority=2)),
        Developer(Section("c", "C", priority=1), Section("d", "D", priority=2)),
        Q,
    ],
    "groups with the lowest inside at the end, and with one of their own": lambda: [
        Group(Section("a", "A", priority=5), Section("b", "B", priority=1)),
        Group(Section("c", "C", priority=1), Section("d", "D", priority=2), priority=4),
        Section("e", "E", priority=3),
        Section("f", "F", priority=6),
        Q,
    ],
    "groups in a turn and in each other": lambda: [
        User(
            Group(Section("a", "A", priority=5), Group(Section("b", "B", priority=2), "BB")),
            Section("c", "C", priority=3),
            Group("D", FirstFit(Section("e", "E E", priority=1), Section("f", "F", priority=8))),
            "Q",
        ),
    ],
    "two titles that are emptied, one after the other": lambda: [
        System(
            Section("r", Section("a", "A", priority=1), Section("b", "B", priority=4), title="RR"),
            Section("s", Section("c", "C", priority=2), Section("d", "D", priority=3), title="SS"),
        ),
        Q,
    ],
    "a title in a title, the inner one emptied first": lambda: [
        System(
            "S",
            Section(
                "r",
                Section(
                    "s", Section("a", "A", priority=1), Section("b", "B B", priority=2), title="SS"
                ),
                Section("c", "C", priority=3),
                title="RR",
            ),
        ),
        Q,
    ],
    "a part that stays beside two that go": lambda: [
        User(Section("r", Section("a", "A", priority=1), "R", Section("b", "B", priority=1)), "Q"),
        User(Section("s", Section("c", "C", priority=2), Section("d", "D", priority=1)), "Q"),
    ],
    "two parts inside of two parts": lambda: [
        System(
            Section(
                "a", "A", Section("b", "B", priority=9), Section("c", "C", priority=8), priority=2
            ),
            Section(
                "d", "D", Section("e", "E", priority=9), Section("f", "F", priority=8), priority=1
            ),
            "S",
        ),
        Q,
    ],
    "marks between equals": lambda: [
        Developer("A", priority=1),
        Developer("B", priority=1, cache=True),
        Developer("C", priority=1),
        CacheBreakpoint(),
        Developer("D", priority=1),
        System("E", priority=1),
        Q,
    ],
    "two marks in two turns": lambda: [
        User(Section("a", "A", priority=1), CacheBreakpoint(), Section("b", "B", priority=1)),
        Assistant("x"),
        User(
            Section("c", "C", priority=1),
            Section("d", "D", priority=1, cache=True),
            Section("e", "E", priority=1),
            "Q",
        ),
    ],
    "a mark in a group of a turn and system text": lambda: [
        Developer("A", priority=1),
        Group(User("U", cache=True), System("S"), priority=5),
        Developer("B", priority=1),
        System("C", priority=1),
        Q,
    ],
    "two that come back beside a big one": lambda: [
        Developer("A A A", priority=1),
        Developer("B", priority=2),
        Developer("C C", priority=3),
        big(8),
        Developer("D", priority=9),
        Q,
    ],
    # Alternatives.
    "two first fits of one priority and one without": lambda: [
        System(FirstFit("A A A", "B B", "C", priority=1), FirstFit("D D D", "E", priority=1), "S"),
        Developer(FirstFit("F F", "G")),
        Q,
    ],
    "first fits whose second form is larger": lambda: [
        FirstFit(User("A A A"), User("B B B B"), User("C C"), User("D D"), User("E"), priority=2),
        FirstFit(User(""), User("F F"), User("G"), priority=3),
        Q,
    ],
    "forms in a titled section with another part": lambda: [
        User(
            Section(
                "s", FirstFit("A A", "B", priority=1), Section("c", "C", priority=2), title="T"
            ),
            Section("u", FirstFit("D D", "E", priority=2), title="U"),
            "Q",
        ),
        big(),
    ],
    "forms with two calls": lambda: [
        FirstFit(
            asks("a", "b"),
            Assistant("LONG LONG", ToolUse("t", {}, id="a")),
            Assistant(ToolUse("t", {}, id="b"), ToolUse("t", {}, id="a")),
        ),
        ToolMessage("a", "R"),
        ToolMessage("b", "S"),
        Q,
    ],
    # Calls.
    "forms of which the last makes no call": lambda: [
        FirstFit(asks("a"), Assistant("X"), priority=2),
        ToolMessage("a", "R", priority=1),
        FirstFit(asks("b"), asks("b", "c"), Assistant("Y"), priority=4),
        ToolMessage("b", "S", priority=3),
        Q,
    ],
    "two calls answered apart, a part between": lambda: [
        asks("a", "b", priority=5),
        ToolMessage("b", "R", Section("s", "S", priority=1), priority=3),
        Event("D", priority=4),
        ToolMessage("a", "T", priority=6),
        Developer("E", priority=7),
        Q,
    ],
    "two pairs in turn": lambda: [
        asks("a", priority=2),
        ToolMessage("a", "R", priority=4),
        asks("b", priority=3),
        ToolMessage("b", "S", priority=1),
        Q,
        big(),
    ],
    "two calls, one of whose results has to stay": lambda: [
        asks("a", priority=1),
        ToolMessage("a", "R", priority=3),
        asks("b", "c", priority=2),
        ToolMessage("b", "S"),
        ToolMessage("c", "T", priority=1),
        Q,
    ],
    "one turn that answers two": lambda: [
        asks("a", "b", priority=3),
        Event("D", priority=2),
        User(ToolResult("a", "R"), ToolResult("b", "S"), priority=1),
        asks("c", priority=3),
        User(ToolResult("c", "T"), "x", priority=2),
        Q,
    ],
    "an id that is called twice": lambda: [
        asks("a", priority=3),
        ToolMessage("a", "R", priority=3),
        asks("a", priority=1),
        ToolMessage("a", "S", priority=2),
        Developer("D", priority=2),
        Q,
    ],
    "forms that answer two calls": lambda: [
        asks("a", "b", priority=2),
        FirstFit(
            Fragment(ToolMessage("a", "R R R"), ToolMessage("b", "S")),
            Fragment(ToolMessage("a", "R")),
            Fragment(ToolMessage("b", "S"), ToolMessage("a", "R")),
            priority=1,
        ),
        Q,
    ],
    # Histories.
    "two events before two questions": lambda: [exact(EVENTS), Event("LAST")],
    "two events before two written questions": lambda: [
        written(
            User("A"),
            Assistant("B"),
            Event("V"),
            Event("W"),
            User("C"),
            Assistant("D"),
            Developer("X"),
            Event("Y"),
            User("E"),
            step=0,
        ),
        Event("LAST"),
    ],
    "events before two questions of which the first is recorded": lambda: [
        written(
            Event("W"),
            User("C"),
            Assistant("D"),
            Event("X"),
            User("E"),
            recorded=talk("user A", "assistant B", "event V"),
            step=0,
        ),
    ],
    "two histories of one priority": lambda: [
        exact(talk("user A", "assistant B", "user C", "assistant D")),
        Developer("X", priority=0),
        exact(CHAT, keep=1),
        Q,
    ],
    "two histories, the later one first": lambda: [
        exact(CHAT[:4], priority=2, keep=1),
        exact(CHAT, priority=1),
        Developer("X", priority=1.5),
        Q,
    ],
    "a history that keeps two": lambda: [exact(CHAT, keep=2), Assistant("G"), Q],
    "users who ask twice": lambda: [
        exact(
            talk(
                "user A",
                "user B",
                "assistant C",
                "user D",
                "event V",
                "user E",
                "assistant F",
                "assistant G",
                "user H",
                "user I",
                "assistant J",
            )
        ),
        Q,
    ],
    "rounds of two calls": lambda: [exact(PARALLEL)],
    "two questions in a loop": lambda: [
        exact(
            talk(
                "user T",
                "call a A",
                "result a R",
                "user U",
                "call b B",
                "call c C",
                "result c S",
                "assistant D",
                "user V",
                "call d D",
                "result d R",
            )
        ),
    ],
    "a loop that is answered behind two histories": lambda: [
        exact(talk("user T", "call a A", "result a R", "call b B")),
        ToolMessage("b", "S"),
        exact(talk("assistant C", "user D", "assistant E", "call e F")),
        ToolMessage("e", "G"),
        Q,
    ],
    "a history that begins with two results": lambda: [
        asks("a", "b"),
        exact(talk("result a R", "result b S", "assistant C", "user D", "assistant E")),
        Q,
    ],
    "two system messages and a greeting": lambda: [
        exact(talk("system R", "system S", "assistant HI", "user A", "assistant B", "user C")),
        Q,
    ],
    "steps of two sizes": lambda: [
        History([*CHAT, *CHAT], step=400),
        History(loop(6), step=500, priority=1),
        Q,
    ],
    "pins of two exchanges": lambda: [
        exact(
            named(
                "user A",
                "assistant B",
                "assistant C",
                "user D",
                "assistant E",
                "user F",
                "assistant G",
                "assistant H",
                "assistant I",
            ),
            pin=["assistant2", "assistant4", "assistant7"],
        ),
        Q,
    ],
    "pins of a greeting and an event": lambda: [
        exact(
            named(
                "assistant HI",
                "user A",
                "assistant B",
                "event V",
                "user C",
                "assistant D",
                "user E",
                "assistant F",
            ),
            pin=["assistant0", "event3"],
        ),
        Q,
    ],
    "pins of system text and of an answer": lambda: [
        exact(
            named("system R", "system S", "user A", "assistant B", "user C", "assistant D"),
            pin=["system0", "system1", "assistant3"],
        ),
        Q,
    ],
    "pins of two rounds of a loop": lambda: [exact(PARALLEL, pin=["r0", "a1"])],
    "pins of written turns": lambda: [
        written(
            User("C", id="c"),
            Assistant("D"),
            User("E"),
            Assistant("F", id="f"),
            Assistant("G"),
            recorded=named("user A", "assistant B"),
            step=0,
            pin=["user0", "f"],
        ),
        Q,
    ],
    "two histories with pins": lambda: [
        exact(named("user A", "assistant B", "user C", "assistant D"), pin="user0"),
        exact(named("user E", "assistant F", "user G", "assistant H"), pin="user2", priority=-1),
        Q,
    ],
    "the line of a cut in two histories": lambda: [
        exact(CHAT, cut_line=True),
        exact(loop(3), cut_line=True, priority=1),
        Q,
    ],
    "the line of a cut behind a pin": lambda: [
        exact(
            named(
                "user A",
                "assistant B",
                "user C",
                "assistant D",
                "user E",
                "assistant F",
                "assistant G",
                "assistant H",
            ),
            cut_line=True,
            pin=["user0", "assistant6"],
        ),
    ],
    "results of two tools are cleared": lambda: [
        exact(PARALLEL, clear_results=ClearResults(keep=1, exclude=("keep",), placeholder="GONE")),
    ],
    "results are cleared and cut": lambda: [exact(PARALLEL, clear_results=2)],
    "results are cleared around a pin": lambda: [
        exact(
            [*PARALLEL, *talk("user U", "call z Z", "result z FOUND")],
            clear_results=ClearResults(keep=1, inputs=True),
            pin=["r1"],
        ),
        Q,
    ],
    "results are cleared in steps": lambda: [
        History(
            [*talk("user T"), *loop(7, "LOOK FOUND")],
            clear_results=ClearResults(keep=2),
            step=150,
            cut_line=True,
        ),
    ],
    "results between events are cleared": lambda: [
        exact(EVENTFUL, clear_results=ClearResults(keep=1, exclude=("keep",))),
        Q,
    ],
    "results between events are cleared, capped and pinned": lambda: [
        exact(
            EVENTFUL,
            clear_results=ClearResults(keep=1, at_least=50),
            max_result_tokens=100,
            pin=lambda message: message.id == "r1",
        ),
        Q,
    ],
    "results between events and written turns": lambda: [
        written(
            Event("W"),
            User("X"),
            Assistant("Z"),
            recorded=EVENTFUL,
            step=0,
            clear_results=ClearResults(keep=2, inputs=True),
            max_result_tokens=100,
            pin=["r0"],
            cut_line=True,
        ),
        Q,
    ],
    "two histories are cleared": lambda: [
        exact(PARALLEL[:5], clear_results=ClearResults(keep=2, at_least=100)),
        exact([*talk("user U"), *loop(3, "LOOK BACK")], clear_results=1, priority=-1),
        Q,
    ],
    "results of two histories are capped": lambda: [
        exact(
            [
                *talk("user T", "call a A"),
                result("a", "ONE\nTWO TWO", "THREE"),
                *talk("call b B"),
                result("b", "ONE\nTWO", "x"),
            ],
            max_result_tokens=250,
        ),
        exact(
            [*talk("user U", "call c C"), result("c", "ONE", "TWO\nTWO", "THREE")],
            max_result_tokens=200,
        ),
        Q,
    ],
    "capped, cleared and pinned": lambda: [
        exact(
            [*PARALLEL, *talk("user U", "call z Z"), result("z", "R\nS\nT")],
            max_result_tokens=100,
            clear_results=ClearResults(keep=1, at_least=50),
            pin=["q"],
        ),
        Q,
    ],
    # Limits, reserves and lazies.
    "two limits": lambda: [
        System(Limit(200, "A. B. C. D."), Section("s", Limit(100, "E F G"), priority=1)),
        User(Limit(100, "H I", keep="tail"), Limit(200, "J K L M", keep="ends"), "Q"),
    ],
    "limits in fragments and forms": lambda: [
        Fragment(Developer("x", Limit(100, "A B")), Fragment(Developer(Limit(100, "C D")))),
        FirstFit(User(Limit(200, "E F G")), User(Limit(100, "H I J")), priority=1),
        Section("k", Limit(100, "K L"), Limit(200, "M N", Quote("O"))),
        Q,
    ],
    "two reserves": lambda: [
        Reserve(100),
        Developer("A", priority=1),
        Reserve(250),
        Developer("B", priority=2),
        Q,
    ],
    # What is sent elsewhere than it is written.
    "groundings and ephemerals around two questions": lambda: [
        User("A"),
        Grounding("g", "G", priority=2),
        Assistant("B"),
        Ephemeral("E", priority=3),
        Grounding("h", "H", priority=1),
        User("C"),
        Ephemeral("F", priority=3),
        Section("s", "S", priority=2),
    ],
    "events behind two open calls": lambda: [
        asks("a", "b"),
        Event("V", priority=1),
        ToolMessage("a", "R"),
        Event("D", priority=2),
        Ephemeral("E", priority=3),
        ToolMessage("b", "S"),
        Event("W", priority=1),
        Q,
    ],
    # What is refused.
    "largest parts": lambda: [
        System(
            Section("a", "A"),
            Section("b", "B B"),
            Section("c", "C C C"),
            Section("d", "D D"),
            Section("e", "E", priority=1),
        ),
        Developer("X"),
        Tool(name="find", description="F F F F", input_schema={"type": "object"}),
        exact([*talk("user T T"), *loop(3)], keep=1),
        Grounding("g", "G G"),
        Assistant("Y Y Y"),
        User("Q", Section("z", "Z")),
    ],
    "turns that should be a history": lambda: [
        User("A A"),
        Assistant("B B"),
        User("C C"),
        Assistant("D D"),
        Q,
    ],
    "two histories that stay": lambda: [
        exact(CHAT, keep=3),
        exact([*talk("user T"), *loop(2)], keep=2, max_result_tokens=900),
        Q,
    ],
    "two calls that nobody answered": lambda: [
        exact(talk("user T", "call a A", "assistant B", "user U", "call b C", "assistant D")),
        asks("c", priority=2),
        asks("d", priority=1),
        Q,
    ],
    **{
        f"two of each request at {place}": lambda: [
            System("S"),
            Ephemeral("E", priority=1),
            User("A"),
            Grounding("g", "G", priority=2),
            exact(talk("assistant B", "user C", "user D"), priority=3),
            Ephemeral("F", priority=1),
            Assistant("H", priority=4),
            Grounding("h", "I", priority=2),
            FirstFit(User("J J"), User("K"), priority=5),
        ]
        for place in ("flow", "after_system", "start", "end", "before_user")
    },
    "neighbours that merge": lambda: [
        User("A", priority=1),
        User("B", priority=3),
        Assistant("C", priority=2),
        User("D", priority=4),
        Grounding("g", "G", priority=2),
        User(Section("e", "E", priority=1), Section("f", "F", priority=5)),
    ],
    "neighbours that merge around a history": lambda: [
        System("S"),
        Developer("X", priority=-1),
        exact(talk("system R", "user A", "user B", "assistant C", "assistant D", "user E")),
        User("F", priority=-1),
        Ephemeral("G", priority=1),
        Q,
    ],
    # What a model wrote.
    "two compactions in a history": lambda: [
        System("S"),
        Event("V", priority=-1),
        History.from_anthropic(COMPACTED, step=0),
        User("K"),
    ],
    "compactions in two histories": lambda: [
        History.from_anthropic(claude("user A", "assistant compact B", "user C"), step=0),
        Assistant("x"),
        History.from_anthropic(
            claude(
                *("user D", "assistant text E", "user F", "assistant compact G, compact H"),
                *("user I", "assistant text J"),
            ),
            step=0,
        ),
        Q,
    ],
    "a compaction that is kept, and pins": lambda: [
        History.from_anthropic(
            [
                *claude("user A", "assistant text B", "user C", "assistant compact D, text E"),
                *claude("user F", "assistant text G", "user H"),
            ],
            step=0,
            keep_compacted=True,
            pin=lambda message: "A" in capitals((message,)),
        ),
    ],
    "a compaction alone, and written turns": lambda: [
        written(
            User("C"),
            Assistant("D"),
            User("E"),
            recorded=[
                Message("system", "R"),
                Message("system", "S"),
                *read_payload(claude("user A", "assistant compact B"), "anthropic").messages,
            ],
            step=0,
        ),
    ],
    "thoughts of two exchanges": lambda: [
        System("S"),
        History.from_anthropic(THOUGHTS, step=0),
    ],
    "thoughts in steps, and two questions behind them": lambda: [
        History.from_anthropic(THOUGHTS, step=250),
        User("Y"),
        Ephemeral("E"),
        User("Z"),
    ],
    "thoughts whose results are cleared": lambda: [
        History.from_anthropic(
            [*THOUGHTS, *claude("assistant thought Y, call 6 N", "result 6 O")],
            step=0,
            clear_results=ClearResults(keep=2, placeholder="-"),
        ),
    ],
    "thoughts beside a part that goes": lambda: [
        System("S", Section("a", "A", priority=-1), Section("b", "B", priority=1)),
        History.from_anthropic(THOUGHTS, step=0),
    ],
    "two pictures in two results": lambda: [
        exact(
            [
                *talk("user T", "call a A"),
                _with_pictures("a", "ONE\nTWO", "THREE"),
                *talk("call b B"),
                _with_pictures("b", "ONE", "TWO\nTHREE"),
            ],
            max_result_tokens=300,
        ),
        Q,
    ],
    "a grounding that stays": lambda: [Grounding("g", "G G G"), System("S S"), Q],
}
"""Prompts, the neighbours of which stay apart."""


FILLED = {"transformation": {**APART, "tool_pairing": "fill"}}
REQUESTS: dict[str, dict[str, Any]] = {
    "two questions in a loop": FILLED,
    "two calls that nobody answered": FILLED,
    **dict.fromkeys(
        (
            "two compactions in a history",
            "compactions in two histories",
            "a compaction that is kept, and pins",
            "a compaction alone, and written turns",
            "thoughts of two exchanges",
            "thoughts in steps, and two questions behind them",
            "thoughts whose results are cleared",
            "thoughts beside a part that goes",
        ),
        CLAUDE,
    ),
    **{
        f"two of each request at {place}": {"transformation": {"ephemeral_position": place}}
        for place in ("flow", "after_system", "start", "end", "before_user")
    },
    "neighbours that merge": {},
    "neighbours that merge around a history": {},
}
"""What is asked for of prompts whose neighbours do not just stay apart."""


def outcome(name: str, budget: int) -> list[str]:
    """Return what is sent of a prompt and what is told, or why it is refused."""
    write = PROMPTS[name]
    request = REQUESTS.get(name, {"transformation": APART})
    try:
        rendered = render(timeline_of(*write()), budget=budget, counter=hundreds, **request)
    except BudgetError as error:
        return _relative(str(error), write).split("\n")
    sent = [f"{message.role} {_words(message)}" for message in rendered.messages]
    # What a step costs differs in each budget.
    parts = [attrs.evolve(part, note="") for part in rendered.dropped]
    told = [f"- {part} (priority {part.priority})" for part in parts]
    counts = f"{rendered.tokens.total} tokens"
    return [counts, "; ".join(sent), *(_relative(line, write) for line in told)]


def _words(message: Message) -> str:
    return " ".join(text for text in strings_in(message.to_dict()["content"]) if text)


def _relative(text: str, write: Callable[[], list[Any]]) -> str:
    """Return a text with the lines of a prompt counted from its first one, and no others."""
    first, lines = write.__code__.co_firstlineno, [*write.__code__.co_lines()]
    last = max(line for *_, line in lines if line)

    def counted(match: re.Match[str]) -> str:
        line = int(match[1])
        return f"line {line - first}" if first <= line <= last else "elsewhere"

    return re.sub(rf"{re.escape(__file__)}:(\d+)", counted, text)


def expected_steps() -> dict[str, Steps]:
    """Return what is sent and told of each prompt, by the lowest budget of each outcome."""
    steps: dict[str, Steps] = json.loads(FILE.read_text("utf-8"))
    return steps


def steps_of(name: str) -> Steps:
    """Return what is sent and told of a prompt in every budget, from the whole to the refusal."""
    known = cache(partial(outcome, name))
    top = int(known(10_000)[0].split()[0]) + 800
    refused = bisect_left(range(top), True, key=lambda budget: _is_sent(known(budget))) - 1
    found = [refused]
    waiting = [*reversed([*pairwise([*range(refused, top, 25), top])])]
    while waiting:
        first, last = waiting.pop()
        if known(first) == known(last):
            continue
        if last - first == 1:
            found.append(last)
        else:
            middle = (first + last) // 2
            waiting += [(middle, last), (first, middle)]
    return {str(budget): known(budget) for budget in reversed(found)}


def _is_sent(lines: list[str]) -> bool:
    return lines[0].endswith(" tokens")


if __name__ == "__main__":
    FILE.write_text(
        json.dumps({name: steps_of(name) for name in PROMPTS}, indent=1, ensure_ascii=False) + "\n",
        "utf-8",
    )
