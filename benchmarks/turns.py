"""Turns: what a turn of each kind costs, and a text of 6 kB at each place that a text can have.

The cost of a turn is a twentieth of a prompt with twenty such turns, a plain reply after each. The
text is ASCII, has an accent in each line, is HTML, or a log.
"""

from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.calls import arguments, chat
from benchmarks.costs import compared
from benchmarks.report import Report
from benchmarks.rows import HAND, OURS, Build, Row
from promptdsl import (
    Assistant,
    Grounding,
    List,
    Section,
    System,
    Timeline,
    ToolMessage,
    ToolUse,
    User,
    Value,
)

TURNS = 20
Written = Callable[[str], Sequence[Any]]
"""Returns the parts of a turn with a text, or its messages."""

PROSE = "Parcels leave the warehouse on weekdays before 17:00, and returns are free for a month."
TEXTS = {
    "ASCII": PROSE,
    "accents": PROSE.replace("weekdays", "mañana"),
    "HTML": '<div class="note"><p>Parcels leave on weekdays.</p><a href="/returns">Free</a></div>',
    "a log": '10:14:07 <module> api.orders[12]: status=200 -> <Response ok> in 12 ms => "done"',
}
PAGES = {name: "\n".join([line] * (6_000 // len(line))) for name, line in TEXTS.items()}


def run(only: Sequence[str] = (), quick: bool = False) -> Report:
    """Return what each turn and text costs; raises :class:`UnknownName` for an unknown entrant."""
    return compared(__name__, rows(), only, quick)


def rows() -> list[Row]:
    """Return the rows: kinds of turns first, then each text at each place."""
    kinds = [
        Row(name, {OURS: twenty(parts), HAND: twenty_by_hand(messages)}, TURNS)
        for name, parts, messages in KINDS
    ]
    places = [
        Row(f"6 kB of {name}, {place}", {OURS: build(page), HAND: build_by_hand(page)})
        for place, build, build_by_hand in PLACES
        for name, page in PAGES.items()
    ]
    return [*kinds, *places]


def twenty(parts: Written) -> Build:
    """Return what builds a prompt of twenty turns of a kind."""

    def build(question: str) -> Any:
        turns: list[Any] = []
        for number in range(TURNS):
            turns += (*parts(f"{number}: {question}"), Assistant("ok"))
        return arguments(Timeline(*turns))

    return build


def twenty_by_hand(messages: Written) -> Build:
    """Return what builds the same by hand."""

    def build(question: str) -> Any:
        sent: list[Any] = []
        for number in range(TURNS):
            sent += (*messages(f"{number}: {question}"), chat("assistant", "ok"))
        return {"messages": sent}

    return build


def user(text: str) -> list[dict[str, Any]]:
    """Return a plain message of the user."""
    return [chat("user", text)]


def call(id: str) -> dict[str, Any]:
    """Return the message of a call."""
    function = {"name": "look_up", "arguments": '{"q": 1}'}
    calls = [{"id": id, "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(id: str, text: str) -> dict[str, Any]:
    """Return the message of a result."""
    return {**chat("tool", text), "tool_call_id": id}


def called(text: str) -> list[Any]:
    """Return a turn, a call and its result."""
    id = text.partition(":")[0]
    use = ToolUse("look_up", '{"q": 1}', id=id)
    return [User(text), Assistant(use), ToolMessage(id, "It rains.")]


def called_by_hand(text: str) -> list[dict[str, Any]]:
    """Return the same by hand."""
    id = text.partition(":")[0]
    return [chat("user", text), call(id), result(id, "It rains.")]


KINDS: Sequence[tuple[str, Written, Written]] = [
    ("a plain turn of the user", lambda text: [User(text)], user),
    ("with an id", lambda text: [User(text, id=text)], user),
    (
        "with a name",
        lambda text: [User(text, name="ann")],
        lambda text: [{**chat("user", text), "name": "ann"}],
    ),
    ("with metadata", lambda text: [User(text, metadata={"at": 1})], user),
    (
        "with a value",
        lambda text: [User("I ask: ", Value(text))],
        lambda text: user(f"I ask: {text}"),
    ),
    (
        "with a section",
        lambda text: [User(Section("question", text, title="Question"))],
        lambda text: user(f"## Question\n{text}"),
    ),
    (
        "with a list",
        lambda text: [User(List(text, "Be brief."))],
        lambda text: user(f"- {text}\n- Be brief."),
    ),
    ("with a call and its result", called, called_by_hand),
]


# Places of a text. The question behind it makes it another text each time.


def in_instructions(page: str) -> Build:
    """Return what builds a prompt with a text as a value in its instructions."""
    return lambda question: arguments(
        Timeline(System("Read: ", Value(page + question)), User(question))
    )


def in_instructions_by_hand(page: str) -> Build:
    """Return what builds the same by hand: a tag of a value begins no line of instructions."""

    def build(question: str) -> Any:
        text = f"{page}{question}".replace("\n<", "\n&lt;")
        return {"messages": [chat("system", f"Read: {text}"), chat("user", question)]}

    return build


def in_a_fence(page: str) -> Build:
    """Return what builds a prompt with a text that was found."""
    return lambda question: arguments(Timeline(Grounding("page", page + question), User(question)))


def in_a_fence_by_hand(page: str) -> Build:
    """Return what builds the same by hand."""
    return lambda question: {
        "messages": [
            chat("developer", f"<context>\n{page}{question}\n</context>"),
            chat("user", question),
        ]
    }


def in_a_user_turn(page: str) -> Build:
    """Return what builds a prompt with a text as a value in the turn of the user."""
    return lambda question: arguments(Timeline(User("Read: ", Value(page + question))))


def in_a_user_turn_by_hand(page: str) -> Build:
    """Return what builds the same by hand."""
    return lambda question: {"messages": [chat("user", f"Read: {page}{question}")]}


def in_a_result(page: str) -> Build:
    """Return what builds a prompt with a text as the result of a call."""

    def build(question: str) -> Any:
        use = ToolUse("look_up", '{"q": 1}', id="1")
        returned = ToolMessage("1", Value(page + question))
        return arguments(Timeline(User(question), Assistant(use), returned))

    return build


def in_a_result_by_hand(page: str) -> Build:
    """Return what builds the same by hand."""
    return lambda question: {
        "messages": [chat("user", question), call("1"), result("1", page + question)]
    }


PLACES: Sequence[tuple[str, Callable[[str], Build], Callable[[str], Build]]] = [
    ("as a value in instructions", in_instructions, in_instructions_by_hand),
    ("in a fence", in_a_fence, in_a_fence_by_hand),
    ("as a value in a user turn", in_a_user_turn, in_a_user_turn_by_hand),
    ("as the result of a call", in_a_result, in_a_result_by_hand),
]
