"""Transcripts of which two of a thing meet, and all that can be read of them, as lines of text.

``python -c "from tests.transcript import whole_logs as it; it.main()"`` writes the expectations in
``whole_logs.json`` anew: read what changed.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from promptdsl import *

EXPECTED = Path(__file__).with_name("whole_logs.json")
Write = Callable[[Transcript], object]


@entry_type("whole_log_alarm")
class Alarm:
    """An entry that a model gets unless its level is 0."""

    def __init__(self, level: int) -> None:
        self.level = level

    def to_json(self) -> int:
        """Return the JSON data."""
        return self.level

    @classmethod
    def from_json(cls, data: int) -> "Alarm":
        """Return the object of JSON data."""
        return cls(data)

    def to_message(self) -> Message | None:
        """Return what a model gets."""
        return Message("user", f"Alarm {self.level}") if self.level else None


@entry_type("whole_log_vote")
class Vote(Alarm):
    """An entry of another type, made of the first one."""

    def to_message(self) -> Message | None:
        """Return what a model gets."""
        return Message("developer", f"Vote {self.level}")


# What is said.


def calling(*ids: str, text: str = "", **options: Any) -> Message:
    """Return a message of an assistant that makes calls."""
    texts = [TextBlock(text)] if text else []
    calls = [ToolUseBlock(id, f"find_{id}", "{}") for id in ids]
    return Message("assistant", [*texts, *calls], **options)


def results(*ids: str, text: str = "") -> Message:
    """Return a message with results, of the user where it has a text, too."""
    texts = [TextBlock(text)] if text else []
    results = [ToolResultBlock(id, f"result {id}") for id in ids]
    return Message("user" if text else "tool", [*results, *texts])


def reply(id: str, *content: dict[str, Any], **usage: int) -> dict[str, Any]:
    """Return a reply of a client."""
    return {
        **{"type": "message", "id": id, "model": f"claude-{id}", "role": "assistant"},
        "content": list(content) or [{"type": "text", "text": f"Reply {id}."}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 1, "output_tokens": 1, **usage},
    }


def use(id: str) -> dict[str, Any]:
    """Return a call in a reply."""
    return {"type": "tool_use", "id": id, "name": "find", "input": {}}


def say(transcript: Transcript, *values: object) -> None:
    """Append values."""
    for value in values:
        transcript.append(value)


# The cases.


def two_turns_use_one_id(t: Transcript) -> None:
    """Remove the first: the result of the second stays."""
    say(t, "Hi.", calling("a"), Message.tool_result("a", "1"), calling("a"))
    say(t, Message.tool_result("a", "2"), calling("b", "a"), results("a", "b"), "Thanks.")
    t.remove(2)


def results_in_four_places(t: Transcript) -> None:
    """Two of three calls go: two turns go, of two turns something is left, notes stay."""
    say(t, "Hi.", calling("a", "b", "c", "d", text="Look."))
    t.note("first")
    say(t, Message.tool_result("a", "1"))
    t.note("second")
    say(t, results("b", "c"), results("d", text="And?"), calling("b"), results("b"))
    t.replace(2, calling("a", "c"))


def results_beside_texts(t: Transcript) -> None:
    """Remove two turns with calls: of two turns the text is left, the other batch stays."""
    say(t, "Hi.", calling("a"), results("a"), calling("a", "b"))
    say(t, Message("tool", [ToolResultBlock("a", "1")]), results("b", text="One."), "Two.")
    say(t, calling("a", "b"), results("b", "a", text="Three."))
    t.remove(4)
    t.remove(8)


def the_last_turn_gets_a_new_call(t: Transcript) -> None:
    """Behind it is a note alone, so that the new call is open; the old one stays."""
    say(t, "Hi.", calling("a"))
    t.note("looks")
    t.replace(2, calling("b", "a", text="Both."))
    t.answer("a", "1")


def a_note_between_system_turns(t: Transcript) -> None:
    """Both system turns stay in front of the summary, and what comes later behind it."""
    t.note("before")
    say(t, Message("system", "A"))
    t.note("between")
    say(t, Message("system", "B"), "a", Message("assistant", "b"), Message("system", "C"), "c")
    t.compact("One </summary> and </context>.", keep=2)
    say(t, Message("assistant", "d"), Message("system", "D"))
    t.remove(2)


def two_summaries(t: Transcript) -> None:
    """Cover a summary by another one: a note and a batch behind it and the system turn stay."""
    say(t, Message("system", "A"), Message("developer", "B"), "a", "b")
    t.compact("One.", keep=1)
    t.note("between")
    say(t, calling("a"), results("a", text="c"), "d")
    t.replace(4, "B")
    t.compact("Two.", keep=2)
    say(t, "e")


def a_summary_before_open_calls(t: Transcript) -> None:
    """End before the batch that is open, not before the one that is answered."""
    say(t, "a", calling("a"), results("a"), calling("a", "b"))
    t.answer("b", "1")
    t.compact("Short.", keep=0)
    t.answer("a", "2")


def a_summary_within_a_batch(t: Transcript) -> None:
    """Of two batches the second is kept whole."""
    say(t, "a", calling("a"), results("a"), calling("a", "b"))
    say(t, results("b"), results("a"), "Thanks.")
    t.compact("Short.", keep=2)


def undone_step_by_step(t: Transcript) -> None:
    """Each undo takes back one change of those that stand; notes and tags stay no change."""
    say(t, "a", calling("a", "b"))
    say(t, results("a"))
    t.append("Stop.", interrupt=True)
    t.note("one")
    t.tag(title="T")
    t.undo()
    t.undo()
    say(t, results("b"))
    t.undo()
    t.undo()


def undone_and_done_again(t: Transcript) -> None:
    """Undo two undos, by a number; what was between stays undone."""
    say(t, "a", "b", "c")
    t.undo()
    say(t, "d")
    t.undo(to=3)
    t.replace(1, "A")
    t.undo(to=5)
    say(t, "e")


def undone_to_the_beginning(t: Transcript) -> None:
    """Nothing stands then but what is said after it."""
    say(t, Message("system", "A"), "a")
    t.compact("One.", keep=0)
    t.undo(to=0)
    say(t, "b", "c")


def an_edit_of_an_edit(t: Transcript) -> None:
    """Edit two turns twice; the undo of the last edit brings back the one before."""
    say(t, "a", "b")
    t.replace(1, "a1")
    t.replace(2, "b1")
    t.replace(1, "a2")
    t.replace(2, "b2")
    t.undo()
    t.remove(1)


def tags_that_are_false(t: Transcript) -> None:
    """0, an empty text and an empty list are values, only ``None`` removes one."""
    t.tag(title="One", count=3, list=[1], owner="Ann", gone=None)
    say(t, "a", "b")
    t.tag(title="", count=0)
    t.tag(list=[], owner=None)
    t.tag(owner="Bo", title="Two")
    t.undo()


def two_replies_and_their_usage(t: Transcript) -> None:
    """Sum the counts of all replies, those that were removed, replaced or undone too."""
    say(t, "a", reply("m1", output_tokens=2), "b", reply("m2", input_tokens=5))
    t.replace(2, reply("m3", input_tokens=10))
    t.remove(4)
    say(t, Message("assistant", "x", token_usage={"input": 0, "output": 0, "total": 100}))
    say(t, Message("assistant", "y", token_usage={"input": 1000, "total": 0}))
    say(t, Message("assistant", "z", token_usage={"cache_read": 3}))
    t.undo()


def a_reply_in_the_place_of_calls(t: Transcript) -> None:
    """Cut the results of the calls that go; the reply belongs to its own turn alone."""
    say(t, "a", calling("a", "b", "c"), results("c"), results("b", "a", text="Go on."))
    t.replace(2, reply("m1", use("a")))


def two_ids(t: Transcript) -> None:
    """Append messages again: each is the entry that it was, unless it went meanwhile."""
    one, two = (Message("user", text, id=f"m{text}") for text in "12")
    say(t, one, "between", two, one, two)
    t.remove(1)
    say(t, one)
    t.replace(3, Message("user", "3", id="m2"))
    t.replace(2, Message("user", "4", id="m4"))
    say(t, Message("user", "4", id="m4"), one)


def two_calls_are_interrupted(t: Transcript) -> None:
    """Each gets its result, in the order of the calls, and a user brings the third."""
    say(t, calling("a"), results("a"), calling("a", "b", "c"))
    t.append(results("b", text="Stop."), interrupt=True)
    say(t, calling("x", "y"))
    t.append(calling("x", text="Again."), interrupt=True)
    t.append(Alarm(1), interrupt=True)
    t.append(Message("system", "Late."), interrupt=True)


def a_reply_with_four_calls_was_cut(t: Transcript) -> None:
    """Two are whole and are answered, two are left out and told."""
    calls = [
        ToolUseBlock(id, f"find_{id}", data)
        for id, data in (("a", '{"x'), ("b", "{}"), ("c", "[1]"), ("d", "{}"))
    ]
    say(t, "Hi.", calling("b"))
    cut = Message("assistant", [TextBlock("Look."), *calls], metadata={"k": 1})
    t.append(cut, interrupt=True, interrupted=True)
    t.append(Message("assistant", "Whole."), interrupted=True)


def texts_of_several_blocks(t: Transcript) -> None:
    """One text takes the place of two, at the first one, or behind the reasoning."""
    picture = ImageBlock(MediaSource("url", "https://example.com/a.png"))
    other = ImageBlock(MediaSource("url", "https://example.com/b.png"))
    say(t, Message("user", [picture, TextBlock("a"), other, TextBlock("b")]))
    say(
        t, Message("assistant", [ReasoningBlock("r1"), ReasoningBlock("r2"), *calling("c").content])
    )
    say(
        t, Message("tool", [ToolResultBlock("c", (picture, TextBlock("a"), other, TextBlock("b")))])
    )
    say(t, Message("user", [other, picture]), Message("assistant", [ReasoningBlock("r1")]))
    for number in range(1, 6):
        t.replace(number, f"new {number}")


def entries_of_two_types(t: Transcript) -> None:
    """Each is of its own type, also where one class is made of the other; a note and a mark."""
    say(t, Alarm(1), Vote(0), Alarm(0), Vote(2))
    t.note({"mood": 0})
    t.note([])
    t.remove(3)
    t.remove(2)
    t.remove(5)


def turns_of_two_notes(t: Transcript) -> None:
    """Remove a note by its turn and a message by itself; the other ones stay."""
    say(t, "a")
    t.note("one")
    t.note("two")
    say(t, "b")
    t.remove(t.turns[1])
    t.remove(t[1])


CASES: dict[str, Write] = {
    case.__name__: case
    for case in (
        *(two_turns_use_one_id, results_in_four_places, results_beside_texts),
        *(the_last_turn_gets_a_new_call, a_note_between_system_turns, two_summaries),
        *(a_summary_before_open_calls, a_summary_within_a_batch, undone_step_by_step),
        *(undone_and_done_again, undone_to_the_beginning, an_edit_of_an_edit),
        *(tags_that_are_false, two_replies_and_their_usage, a_reply_in_the_place_of_calls),
        *(two_ids, two_calls_are_interrupted, a_reply_with_four_calls_was_cut),
        *(texts_of_several_blocks, entries_of_two_types, turns_of_two_notes),
    )
}


# What is read.


def text_of(block: Any) -> str:
    """Return a block as a text."""
    if block.type == "tool_use":
        return f"call {block.id} of {block.name}"
    if block.type == "tool_result":
        return f"result {block.tool_use_id}: {', '.join(map(text_of, block.content))}"
    return str(block.text if hasattr(block, "text") else block.source.value)


def turn_text(turn: TranscriptTurn) -> str:
    """Return a turn as a line."""
    message = turn.message
    if message is None:
        note = turn.note
        return f"{turn.number} note {note.level if isinstance(note, Alarm) else note!r}"
    blocks = " | ".join(map(text_of, message.content))
    return f"{turn.number} {message.role}, {message.kind}, {message.id}: {blocks}"


def entry_text(entry: TranscriptEntry) -> str:
    """Return an entry as a line: its number and change, its type, and its data."""
    text = entry.to_line().rpartition(',"sum":')[0]
    data = json.loads(text + "}")
    return f"{entry.number} ({entry.change}) {entry.type} {json.dumps(data['data'])}"


def stands(transcript: Transcript) -> list[str]:
    """Return the turns that stand, each as a line."""
    return [turn_text(turn) for turn in transcript.turns]


def facts(transcript: Transcript) -> Iterator[tuple[str, Any]]:
    """Yield what is read of a transcript."""
    yield "entries", [entry_text(entry) for entry in transcript.entries]
    yield "turns", stands(transcript)
    yield "pending", [call.id for call in transcript.pending_calls]
    yield "metadata", dict(transcript.metadata)
    yield "usage", transcript.usage
    yield "repairs", [*transcript.repairs]


def described(write: Write, folder: Path) -> dict[str, Any]:
    """Return what is read of a transcript, of its file, of its vacuumed file, and after an undo."""
    transcript = Transcript(clock=None)
    write(transcript)
    found = {name: fact for name, fact in facts(transcript) if fact}
    saved, vacuumed = folder / "saved.jsonl", folder / "vacuumed.jsonl"
    transcript.save(saved)
    transcript.vacuum(vacuumed)
    with Transcript.open(saved, read_only=True) as copy:
        again = {name: fact for name, fact in facts(copy) if fact}
        found["read again"] = {
            name: again.get(name) for name in found if found[name] != again.get(name)
        }
    with Transcript.open(vacuumed, read_only=True) as copy:
        same = {entry_text(entry): f"{entry.number} as it was" for entry in transcript.entries}
        lines = map(entry_text, copy.entries)
        found["vacuumed"] = [same.get(line, line) for line in lines]
        found["turns stay"] = stands(copy) == stands(transcript)
    fork = transcript.fork()
    fork.undo()
    found["undone"] = stands(fork)
    forks = [
        [turn.number for turn in transcript.fork(at=n).turns]
        for n in range(len(transcript.entries) + 1)
    ]
    found["forks"] = [" ".join(map(str, numbers)) for numbers in forks]
    return found


def main() -> None:
    """Write what is read of each case."""
    with TemporaryDirectory() as folder:
        found = {name: described(write, Path(folder)) for name, write in CASES.items()}
    EXPECTED.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
