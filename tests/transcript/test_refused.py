"""What a transcript refuses: the words of each error, where two of a thing could be named."""

from collections.abc import Callable
from datetime import UTC, datetime
from itertools import cycle
from typing import Any

import pytest

from promptdsl import *
from tests.errors import raised
from tests.transcript.whole_logs import Alarm, calling, results

Write = Callable[[Transcript], object]


def written() -> Transcript:
    """Return a transcript with two batches, two ids, a summary and two open calls."""
    said = [
        Message("system", "Be kind."),
        *("a", calling("a"), results("a")),
        *(Message("user", "b", id="m1"), calling("a", "b"), results("b"), results("a")),
        Message("user", "c", id="m2"),
        *(calling("c", "d", "e"), results("d")),
    ]
    transcript = Transcript(said, clock=None)
    transcript.compact("Short.", keep=8)
    return transcript


def pair(*ids: str) -> Message:
    """Return a turn of a tool with results."""
    return Message("tool", [ToolResultBlock(id) for id in ids])


REFUSED: dict[str, tuple[Write, str]] = {
    "the second of two results": (
        lambda t: t.append(pair("c", "a")),
        "there is no open tool call for the result 'a': the open calls are: 'c', 'e'",
    ),
    "a result that comes twice": (
        lambda t: t.append(pair("e", "c", "e")),
        "there is no open tool call for the result 'e': the open calls are: 'c', 'e'",
    ),
    "a result that was there": (
        lambda t: t.append(pair("d")),
        "there is no open tool call for the result 'd': the open calls are: 'c', 'e'",
    ),
    "a result where none is open": (
        lambda t: (t.append(pair("e", "c")), t.append(pair("c"))),
        "there is no open tool call for the result 'c': the open calls are: none",
    ),
    "a question while two are open": (
        lambda t: t.append("Hi."),
        "the call 'c' has no result yet: "
        "answer it with transcript.answer(call, ...), or append with interrupt=True",
    ),
    "a question with the first result": (
        lambda t: t.append(results("c", text="Hi.")),
        "the call 'e' has no result yet: "
        "answer it with transcript.answer(call, ...), or append with interrupt=True",
    ),
    "an alarm while two are open": (
        lambda t: t.append(Alarm(1)),
        "the call 'c' has no result yet: "
        "answer it with transcript.answer(call, ...), or append with interrupt=True",
    ),
    "two ids of calls twice": (
        lambda t: t.append(calling("x", "z", "y", "y", "z"), interrupt=True),
        "the call id 'z' is used twice in one turn: give each call of a turn an id of its own",
    ),
    "a user who calls": (
        lambda t: t.append(Message("user", [*calling("x").content]), interrupt=True),
        "only an assistant calls tools: append it as an assistant turn",
    ),
    "an answer to another batch": (
        lambda t: t.answer("a", "1"),
        "the call 'a' is not open: the open calls are: 'c', 'e'",
    ),
    "an answer where none is open": (
        lambda t: (t.answer("e", "1"), t.answer("c", "1"), t.answer("c", "1")),
        "the call 'c' is not open: the open calls are: none",
    ),
    "another content of the second id": (
        lambda t: t.append(Message("user", "b", id="m2"), interrupt=True),
        "the id 'm2' belongs to a message with other content: "
        "give it another id, or replace the message",
    ),
    "a replacement with the id of the other": (
        lambda t: t.replace(5, Message("user", "c", id="m2")),
        "the id 'm2' is taken: give it another id",
    ),
    "a replacement with the id and another content": (
        lambda t: t.replace(9, Message("user", "x", id="m1")),
        "the id 'm1' belongs to a message with other content: "
        "give it another id, or replace the message",
    ),
    "another role": (
        lambda t: t.replace(7, "x") and t.replace(9, calling("x")),
        "a turn of the role 'user' cannot become a turn of 'assistant': "
        "remove it, and append the new turn",
    ),
    "a result in the place of the other": (
        lambda t: t.replace(8, pair("b")),
        "the new turn must have results of the same calls as the old turn: keep the ids: 'a'",
    ),
    "results of a turn without any": (
        lambda t: t.replace(9, Message("user", [*pair("a").content, TextBlock("c")])),
        "the new turn must have results of the same calls as the old turn: keep the ids: none",
    ),
    "two new calls where results follow": (
        lambda t: t.replace(6, calling("a", "z", "b", "y")),
        "the new call 'y' would have no result: remove the turn; new calls are appended at the end",
    ),
    "a text for two results": (
        lambda t: (t.append(pair("c", "e")), t.replace(13, "x")),
        "the turn has several results, so it has no single text: "
        "replace it with a Message that has all its results",
    ),
    "an empty text": (
        lambda t: t.replace(9, " \n"),
        "the new text is empty: remove the turn, or write a text",
    ),
    "a result removed alone": (
        lambda t: t.remove(7),
        "a result cannot be removed alone: "
        "remove the turn that makes the call, or replace the result",
    ),
    "a turn under the summary": (
        lambda t: t.remove(2),
        "entry 2 is not a current message: transcript.turns lists the current turns",
    ),
    "the entry of an edit": (
        lambda t: t.remove(t.replace(9, "x")),
        "entry 13 is not a current message: transcript.turns lists the current turns",
    ),
    "the summary": (
        lambda t: t.replace(t.messages[1], "x"),
        "entry 12 is the summary: transcript.turns lists the current turns",
    ),
    "the text of a note": (
        lambda t: t.replace(t.note("x"), "y"),
        "entry 13 is not a current message: transcript.turns lists the current turns",
    ),
    "a message that stands nowhere": (
        lambda t: t.remove(Message("user", "c", id="m2")),
        "the transcript has this message 0 times: "
        "pass one of its messages, or the number of its turn",
    ),
    "a message that stands twice": (
        lambda t: (t.append(pair("c", "e")), [t.append(SAME) for _ in "ab"], t.remove(SAME)),
        "the transcript has this message 2 times: "
        "pass one of its messages, or the number of its turn",
    ),
    "a number that is true": (
        lambda t: t.remove(True),
        "True is not a turn of this transcript: "
        "pass one of its messages, an id, a turn, an entry or a number",
    ),
    "an entry that is not there": (
        lambda t: t.fork(at=13),
        "there is no entry 13: the last entry has the number 12",
    ),
    "an entry before the first": (
        lambda t: t.undo(to=-1),
        "there is no entry -1: the last entry has the number 12",
    ),
    "nothing to summarise behind the summary": (
        lambda t: t.compact("x", keep=8),
        "there are no new messages to summarise: "
        "write a smaller keep=, or wait until there are more messages",
    ),
    "nothing to undo": (
        lambda t: (t.undo(to=0), t.note(1), t.undo()),
        "there is no change to undo: append something first",
    ),
    "a cut user": (
        lambda t: t.append("x", interrupted=True),
        "interrupted=True is for a reply that was cut off: leave it out",
    ),
}
SAME = Message("user", "same")


@pytest.mark.parametrize("name", REFUSED)
def test_the_words_of_what_is_refused(name: str) -> None:
    """The error names what is wrong, and what would be right; the last call leaves no entry."""
    transcript = written()
    write, words = REFUSED[name]
    error = raised(PromptError, lambda: write(transcript))
    numbers = [*range(1, len(transcript.entries) + 1)]
    assert (words, numbers) == (
        f"{error.what}: {error.fix}",
        [entry.number for entry in transcript.entries],
    )


def test_ids_for_messages_that_have_none() -> None:
    """Each message without an id gets the next one, a reply too; one that is replaced keeps its."""
    made = cycle(["m1", "m2", "m3", "m2"])
    transcript = Transcript(clock=None, ids=lambda: next(made))
    for value in ("a", Message("user", "b", id="own"), calling("c"), results("c")):
        transcript.append(value)
    transcript.replace(2, "B")
    transcript.replace(1, Message("user", "A", id="new"))
    transcript.note("x")
    error = raised(OptionError, lambda: transcript.append("d"))
    assert "ids= made the id 'm2', which another message has" == error.what
    assert ["new", "own", "m2", "m3"] == [message.id for message in transcript]


def test_the_first_messages_need_ids_where_ids_are_made() -> None:
    """The second message has none: its number is told."""
    said = [Message("user", "a", id="m1"), Message("user", "b"), "c"]
    error = raised(TranscriptError, lambda: Transcript(said, ids="uuid"))
    assert ("messages[1] has no id", "give each message an id, or append them") == (
        error.what,
        error.fix,
    )


def test_a_clock_that_goes_on() -> None:
    """Two changes have times of their own, the entries of one change the same."""
    hours = iter(range(9))
    transcript = Transcript(clock=lambda: datetime(2026, 11, 27, next(hours), tzinfo=UTC))
    transcript.append(calling("a", "b"))
    transcript.append("x", interrupt=True)
    transcript.undo()
    assert [(0, 1), (1, 2), (1, 2), (1, 2), (2, 5)] == [
        (datetime.fromisoformat(entry.at or "").hour, entry.change) for entry in transcript.entries
    ]


# What a browser sends.

TEXT: dict[str, Any] = {"type": "text", "text": "Hi."}
ASK: dict[str, Any] = {"role": "user", "content": [TEXT, TEXT]}
ADDRESS: dict[str, Any] = {
    "type": "image",
    "source": {"type": "url", "url": "data:image/png;base64,aaaa"},
}


def block(**fields: Any) -> dict[str, Any]:
    """Return a user's turn whose third block has these fields."""
    return {"role": "user", "content": [TEXT, ADDRESS, {**ADDRESS, **fields}]}


def outcome(**fields: Any) -> dict[str, Any]:
    """Return a tool's turn of two results, the second of which has these fields."""
    first = {"type": "tool_result", "tool_use_id": "a", "content": [TEXT]}
    return {"role": "tool", "content": [first, {**first, "tool_use_id": "b", **fields}]}


CLIENT: list[tuple[Any, str]] = [
    ("Hi.", "messages[2] must be an object, not str"),
    ({"role": "tool"}, "messages[2].content is a text or a list of blocks"),
    ({"content": "x"}, "messages[2] has the role 'None'"),
    ({**ASK, "role": "x" * 61}, f"messages[2] has the role '{'x' * 60}'"),
    ({**ASK, "id": "1", "name": "x", "kind": "y"}, "messages[2] has the key 'name'"),
    ({**ASK, "id": "1"}, "messages[2] has the id of another message"),
    (block(type="text"), "messages[2].content[2] has the key 'source'"),
    (block(title="x", detail="y"), "messages[2].content[2] has the key 'detail'"),
    (block(source="x"), "messages[2].content[2].source has the type 'None'"),
    (block(source={"type": "file"}), "messages[2].content[2].source has the type 'file'"),
    (
        block(source={"type": "url", "url": "https://a.b", "data": "x"}),
        "messages[2].content[2].source has the key 'data'",
    ),
    (
        block(source={"type": "base64", "url": "https://a.b"}),
        "messages[2].content[2].source has the key 'url'",
    ),
    (
        block(source={"type": "url", "url": "file:///a"}),
        "messages[2].content[2].source.url is not a web address",
    ),
    (block(source={"type": "url"}), "messages[2].content[2].source.url is not a web address"),
    (outcome(name="x"), "messages[2].content[1] has the key 'name'"),
    (outcome(content=3), "messages[2].content[1].content is a text or a list of blocks"),
    (
        outcome(content=[TEXT, {"type": "tool_result", "tool_use_id": "c"}]),
        "messages[2].content[1].content[1] has the type 'tool_result'",
    ),
    (
        outcome(content=[ADDRESS, {**ADDRESS, "source": {"type": "url", "url": "ftp://a"}}]),
        "messages[2].content[1].content[1].source.url is not a web address",
    ),
    (
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "a", "name": "f", "input": {}},
                {"type": "tool_use", "id": "b", "name": "f", "input": "{}"},
            ],
        },
        "messages[2].content[1].input is an object",
    ),
]


@pytest.mark.parametrize(("entry", "words"), CLIENT)
def test_the_place_of_what_a_client_may_not_send(entry: Any, words: str) -> None:
    """The error names the message, the block in it, and the block in that."""
    error = raised(DataError, lambda: Transcript.from_client([ASK, {**ASK, "id": "1"}, entry]))
    assert words == error.what


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"messages": [ASK], "model": "x"}, "a list of messages is needed, not dict"),
        ({"messages": "x"}, "a list of messages is needed, not str"),
        ({}, "a list of messages is needed, not dict"),
    ],
)
def test_what_is_no_list_of_messages(data: Any, words: str) -> None:
    """A browser sends a list, or an object of nothing else."""
    assert words == raised(DataError, lambda: Transcript.from_client(data)).what


def test_two_of_everything_from_a_client() -> None:
    """Blocks, ids, calls and results come as they were sent, in their order."""
    call = {"type": "tool_use", "name": "f", "input": {"x": 0}}
    http = {"type": "image", "source": {"type": "url", "url": "http://a.b"}, "title": ""}
    said = [
        {"role": "user", "content": "", "id": "1"},
        {"role": "user", "content": [TEXT, ADDRESS, http, {**TEXT, "text": "Two."}]},
        {"role": "assistant", "content": [{**call, "id": "a"}, TEXT, {**call, "id": "b"}]},
        outcome(content=[TEXT, ADDRESS], is_error=True),
        {"role": "assistant", "content": "Done.", "id": "2"},
    ]
    transcript = Transcript.from_client({"messages": said})
    found = [message.to_dict() for message in transcript]
    assert said[1:4] == [{"role": m["role"], "content": m["content"]} for m in found[1:4]]
    assert ["1", None, None, None, "2"] == [message.id for message in transcript]
    assert ["", "Done."] == [transcript[0].text, transcript[-1].text]


# Types of entries.


def made(name: str, *content: Any) -> type:
    """Return a class of entries whose message has this content, or no message."""

    class Made:
        def to_json(self) -> list[str]:
            return [name]

        @classmethod
        def from_json(cls, data: list[str]) -> "Made":
            made = cls()
            made.data = data
            return made

        def to_message(self) -> Message | None:
            return Message("user", [*content]) if content else None

    Made.__qualname__ = Made.__name__ = name
    return Made


@pytest.mark.parametrize(
    "content",
    [
        [TextBlock("a"), ToolResultBlock("c")],
        [*calling("c").content, TextBlock("a")],
        [TextBlock("a"), TextBlock("b"), ToolResultBlock("c"), TextBlock("d")],
    ],
)
def test_a_type_whose_message_has_calls_or_results(content: list[Any]) -> None:
    """One such block among others is enough to refuse it; texts alone are not."""
    name = f"refused_{len(content)}_{content[0].type}"
    transcript = Transcript([calling("c")], clock=None)
    value = entry_type(name)(made(name, *content))()
    error = raised(TranscriptError, lambda: transcript.append(value))
    returns = "must return a Message without calls and results, or None"
    assert f"to_message() of the type {name!r} {returns}" == error.what
    assert 1 == len(transcript.entries)


def test_two_types_of_one_name() -> None:
    """The name stays with the first class; that class may be defined again, and counts then."""
    first, again, other = (made(name) for name in ("Refused", "Refused", "Other"))
    entry_type("refused_twice")(first)
    error = raised(OptionError, lambda: entry_type("refused_twice")(other))
    assert "the entry type 'refused_twice' is taken by Refused" == error.what
    assert "refused_twice" == Transcript().append(first()).type
    entry_type("refused_twice")(again)
    assert "refused_twice" == Transcript().append(again()).type
    with pytest.raises((ContentError, DataError)):
        Transcript().append(first())
    entry_type("refused_other")(other)
    transcript = Transcript(clock=None)
    types = [transcript.append(cls()).type for cls in (other, again, other)]
    assert ["refused_other", "refused_twice", "refused_other"] == types
    assert [["Other"], ["Refused"], ["Other"]] == [
        [*entry.data["value"]]  # type: ignore[misc]
        for entry in transcript.entries
    ]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("message", "an entry type cannot be named 'message'"),
        ("erased", "an entry type cannot be named 'erased'"),
        ("a b", "an entry type cannot be named 'a b'"),
        ("", "an entry type cannot be named ''"),
    ],
)
def test_names_that_no_type_may_have(name: str, words: str) -> None:
    """A name is one word, and none of the package."""
    assert words == raised(OptionError, lambda: entry_type(name)).what


def test_a_type_without_methods() -> None:
    """The first of the two methods that is missing is named."""

    class Bare:
        """Nothing."""

    class Half:
        """One of two methods."""

        def to_json(self) -> None:
            """Return nothing."""

    assert ["Bare has no to_json()", "Half has no from_json()"] == [
        raised(OptionError, lambda cls=cls: entry_type("refused_bare")(cls)).what
        for cls in (Bare, Half)
    ]


# Recordings.


def asked(*ids: str, text: str = "") -> dict[str, Any]:
    """Return an assistant's turn with calls, in the form of Chat."""
    function = {"name": "f", "arguments": "{}"}
    calls = [{"id": id, "type": "function", "function": function} for id in ids]
    return {"role": "assistant", "content": text or None, "tool_calls": calls}


RECORDED = [
    *({"role": "user", "content": "1"}, asked("a", "b", text="Look.")),
    *({"role": "tool", "tool_call_id": "b", "content": "B"}, {"role": "user", "content": "2"}),
    *(asked("c", "d"), {"role": "user", "content": "3"}),
    *({"role": "tool", "tool_call_id": "x", "content": "X"}, asked("a")),
    {"role": "tool", "tool_call_id": "a", "content": "A"},
]
FILLED = [
    *("user 1", "assistant Look. a b", "tool b", "tool a", "user 2", "assistant  c d"),
    *("tool c", "tool d", "user 3", "assistant  a", "tool a"),
]
PRUNED = ["user 1", "assistant Look. b", "tool b", "user 2", "user 3", "assistant  a", "tool a"]


LEFT_OUT = "a call or a result is left out, because"
TOLD = {
    "fill": (
        f"history[6]: {LEFT_OUT} no call before it has its id",
        *(f"the call {id!r} is answered as interrupted" for id in "acd"),
    ),
    "prune": (
        *(f"history[{n}]: {LEFT_OUT} it has no result" for n in (1, 4, 4)),
        f"history[6]: {LEFT_OUT} no call before it has its id",
    ),
}


@pytest.mark.parametrize(("repair", "expected"), [("fill", FILLED), ("prune", PRUNED)])
def test_a_recording_with_calls_that_are_open(repair: Any, expected: list[str]) -> None:
    """Each call of each turn is filled or left out; what was done is told for each."""
    transcript = Transcript.from_openai(RECORDED, repair=repair)
    found = [
        " ".join(
            [
                message.role,
                *([message.text] if message.role != "tool" else []),
                *(call.id for call in message.calls),
                *(b.tool_use_id for b in message.content if isinstance(b, ToolResultBlock)),
            ]
        )
        for message in transcript
    ]
    assert (expected, TOLD[repair]) == (found, transcript.repairs)


def test_a_recording_is_refused_at_its_first_open_call() -> None:
    """Of three calls without a result the first one is named."""
    error = raised(PromptError, lambda: Transcript.from_openai(RECORDED))
    assert "the call 'a' has no result before the next turn" == error.what
