"""Damaged files: a lost line takes its batch along at most, and the rest renders and goes on."""

from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptdsl import *
from tests.transcript.whole_logs import calling, results, stands


@entry_type("salvaged_mark")
class Mark:
    """An entry of a type of one's own; a model gets the odd ones."""

    def __init__(self, number: int) -> None:
        self.number = number

    def to_json(self) -> int:
        """Return the JSON data."""
        return self.number

    @classmethod
    def from_json(cls, data: int) -> "Mark":
        """Return the object of JSON data."""
        return cls(data)

    def to_message(self) -> Message | None:
        """Return what a model gets."""
        return Message("developer", f"Mark {self.number}") if self.number % 2 else None


NAMES = ("ask", "reply", "call", "answer", "both", "replace", "remove", "undo", "back", "note")
NAMES += ("tag", "mark", "compact", "call", "answer")


def change(transcript: Transcript, name: str, n: int) -> None:
    """Make a change of a transcript, chosen by a number."""
    said, calls = transcript.messages, transcript.pending_calls
    target: Any = said[n % len(said)] if said else 1
    made = [ToolUseBlock(f"call_{k}", "find", f"{n}") for k in range(n % 3)]
    if name == "ask":
        transcript.append(f"Question {n}", interrupt=n % 3 == 0)
    elif name == "reply":
        transcript.append(Message("assistant", f"Reply {n}"))
    elif name == "call":
        transcript.append(Message("assistant", [*[TextBlock("Look.")][: n % 2], *made] or "Ok."))
    elif name == "answer" and calls:
        transcript.answer(calls[n % len(calls)], f"Result {n}")
    elif name == "both" and calls:
        results = [ToolResultBlock(call.id, "1") for call in calls]
        transcript.append(Message("user", [*results, TextBlock("Go on.")]))
    elif name == "replace" and said and target.role != "tool":
        new = [TextBlock(f"New {n}"), *target.calls[: n % 2]]
        transcript.replace(target, Message(target.role, new))
    elif name == "remove":
        transcript.remove(target)
    elif name in ("undo", "back"):
        transcript.undo(None if name == "undo" else n)
    elif name == "note":
        transcript.note(n)
    elif name == "tag":
        transcript.tag(title=str(n))
    elif name == "mark":
        transcript.append(Mark(n))
    elif name == "compact":
        transcript.compact(f"Summary {n}", keep=n % 5)


def batches(transcript: Transcript) -> list[set[int]]:
    """Return the numbers of each turn with calls and of its results; empty for other replies."""
    found: list[set[int]] = [set()]
    for turn in transcript.turns:
        message = turn.message
        if message is not None and message.role == "assistant":
            found.append({turn.number} if message.calls else set())
        elif any(block.type == "tool_result" for block in (message.content if message else ())):
            found[-1].add(turn.number)
    return found


def messages_of(transcript: Transcript) -> dict[int, Message]:
    """Return the messages that stand, by number."""
    return {turn.number: turn.message for turn in transcript.turns if turn.message is not None}


def batch_of(whole: Transcript, number: int) -> set[int]:
    """Return what may be lost with a line: its turn, those that it changed, and their batches.

    A batch is a turn with calls, and its results. That of a line is also the one that was open
    before or after it: the line may be one of its results. An edit belongs to its turn.
    """
    before, after = whole.fork(at=max(number - 1, 0)), whole.fork(at=number)
    stood = messages_of(before)
    lost = {number, *(n for n, message in messages_of(after).items() if stood.get(n) != message)}
    lost |= batches(before)[-1] | batches(after)[-1]
    data: Any = whole.entries[number - 1].data if number else {}
    lost |= {data.get("turn", 0), *data.get("also", ()), *map(int, data.get("rest", ()))}
    for batch in [*batches(before), *batches(after), *batches(whole)]:
        lost |= batch if batch & lost else set()
    return lost


def check_lost_lines(path: Path) -> None:
    """Lose each line of a file in turn, the header too, and look what stands then."""
    lines = path.read_bytes().splitlines(keepends=True)
    damaged, copy = path.with_name("b.jsonl"), path.with_name("c.jsonl")
    with Transcript.open(path) as whole:
        pass
    stood = messages_of(whole)
    for number in range(len(lines)):
        damaged.write_bytes(b"".join([*lines[:number], *lines[number + 1 :]]))
        with Transcript.open(damaged, salvage=True) as good:
            assert good.repairs or number == len(lines) - 1
        stands = messages_of(good)
        other = {n for n, message in stood.items() if stands.get(n) != message}
        assert other <= batch_of(whole, number), (number, good.repairs)
        done = good.fork()
        assert done.messages == good.messages
        for write in (good.save, good.vacuum):
            write(copy)
            with Transcript.open(copy, read_only=True) as reader:
                assert reader.messages == good.messages
        for call in done.pending_calls:
            done.answer(call, "Late.")
        for target in ("openai", "anthropic"):
            tree = Timeline(System("Be brief."), History(done), User("Go on."))
            render(tree, provider=target, hints=False).payload()


CHANGES = st.lists(st.tuples(st.sampled_from(NAMES), st.integers(0, 16)), max_size=16)


def written(path: Path, changes: list[tuple[str, int]]) -> None:
    """Write a file by changes; what is refused is left out."""
    with Transcript.open(path, clock=None) as transcript:
        transcript.append(Message("system", "Be kind."))
        for name, number in changes:
            with suppress(TranscriptError):
                change(transcript, name, number)


@pytest.mark.parametrize("rounds", [4, pytest.param(80, marks=pytest.mark.slow)])
def test_each_line_of_any_file_may_be_lost(rounds: int) -> None:
    """A lost line takes its batch along at most, and brings back what it took away."""

    @settings(max_examples=rounds, deadline=None)
    @given(CHANGES)
    def check(changes: list[tuple[str, int]]) -> None:
        with TemporaryDirectory() as folder:
            written(Path(folder, "a.jsonl"), changes)
            check_lost_lines(Path(folder, "a.jsonl"))

    check()


EVERY = """ask 1, call 2, answer 0, answer 1, replace 2, reply 1, note 1, tag 1, mark 3, mark 2,
ask 4, call 5, answer 1, both 1, remove 5, undo 1, back 12, compact 4, ask 7, remove 3, call 4"""


def test_each_line_of_a_file_with_everything(tmp_path: Path) -> None:
    """The same for one file with every kind of entry, whose last call is open."""
    changes = [(part.split()[0], int(part.split()[1])) for part in EVERY.split(",")]
    written(tmp_path / "a.jsonl", changes)
    with Transcript.open(tmp_path / "a.jsonl") as transcript:
        kinds = {entry.type for entry in transcript.entries}
        assert len(transcript.pending_calls) == 1
    assert kinds == {
        *("message", "replace", "remove", "summary", "undo", "note", "metadata", "salvaged_mark"),
    }
    check_lost_lines(tmp_path / "a.jsonl")


@pytest.mark.parametrize("lost", [3, 4])
def test_an_edit_counts_for_the_results_that_are_there(tmp_path: Path, lost: int) -> None:
    """A turn that was removed stays away when one of its results is lost; so does a call."""
    path = tmp_path / "a.jsonl"
    calls = [ToolUseBlock(id, "find", "{}") for id in "abc"]
    both = Message("tool", [ToolResultBlock("b", "2"), ToolResultBlock("c", "3")])
    said = [Message("assistant", calls), Message.tool_result("a", "1"), both, "Thanks."]
    for change in ("remove", "replace"):
        transcript = Transcript(["Hi.", *said], clock=None)
        if change == "remove":
            transcript.remove(2)
        else:
            transcript.replace(2, Message("assistant", calls[1:2]))
        transcript.save(path)
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join([*lines[:lost], *lines[lost + 1 :]]))
        with pytest.raises(TranscriptError, match="lost"):
            Transcript.open(path)
        with Transcript.open(path, salvage=True) as good:
            pass
        called = change == "replace" and lost == 3
        assert [turn.number for turn in good.turns] == ([1, 2, 4, 5] if called else [1, 5])
        assert good.repairs[0] == f"entries {lost} to {lost} are missing"


def test_the_order_of_lines_that_moved(tmp_path: Path) -> None:
    """Lines that are in another place are put in order; a second one of a number is left out."""
    path = tmp_path / "a.jsonl"
    Transcript(["a", "b", "c"], clock=None).save(path)
    header, *lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([header, lines[2], lines[0], lines[1], lines[0]]))
    with Transcript.open(path, salvage=True) as good:
        assert [message.text for message in good] == ["a", "b", "c"]
        moved, twice = good.repairs
    place = len(header) + len(lines[2])
    assert moved == f"line 3 at byte {place} of {str(path)!r} was moved: entry 1 is after 3"
    place = len(header) + sum(map(len, lines))
    reason = "entry 1 is also on an earlier line"
    assert twice == f"line 5 at byte {place} of {str(path)!r} is left out: {reason}"


def test_the_tail_of_a_file(tmp_path: Path) -> None:
    """Bytes of a line without an end are told: cut off by a writer, not read by others."""
    path = tmp_path / "a.jsonl"
    Transcript(["a"], clock=None).save(path)
    whole = path.read_bytes()
    path.write_bytes(whole + b"{half")
    what = "5 bytes of an incomplete line are "
    with Transcript.open(path, read_only=True) as reader:
        assert reader.repairs == (f"{what}not read",)
    with Transcript.open(path) as writer:
        assert writer.repairs == (f"{what}cut off",)
        assert path.read_bytes() == whole + b"{half"
        writer.append("b")
    assert path.read_bytes().startswith(whole + b'{"n":2,')


def test_a_call_without_its_result_is_left_out(tmp_path: Path) -> None:
    """Of a turn with a text and two calls the text and one call stay, and this is told."""
    path = tmp_path / "a.jsonl"
    calls = [TextBlock("Look."), ToolUseBlock("a", "f", "{}"), ToolUseBlock("b", "f", "{}")]
    results = [Message.tool_result(id, "1") for id in "ab"]
    Transcript(["Hi.", Message("assistant", calls), *results, "Thanks."], clock=None).save(path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:3], *lines[4:]]))
    with Transcript.open(path, salvage=True) as good:
        pass
    assert [block.type for block in good[1].content] == ["text", "tool_use"]
    assert [turn.number for turn in good.turns] == [1, 2, 4, 5]
    assert good.repairs == (
        "entries 3 to 3 are missing",
        "history[1]: a call or a result is left out, because it has no result",
    )


@pytest.mark.parametrize(("lost", "pending"), [([2], ["a"]), ([4], []), ([2, 4], [])])
def test_an_open_call_stays_open(tmp_path: Path, lost: list[int], pending: list[str]) -> None:
    """The last calls are still open, unless a line behind them is lost: it may be their result."""
    path = tmp_path / "a.jsonl"
    transcript = Transcript(["Hi."], clock=None)
    transcript.note(1)
    transcript.append(Message("assistant", [ToolUseBlock("a", "f", "{}")]))
    transcript.note(2)
    transcript.tag(title="T")
    transcript.save(path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(line for n, line in enumerate(lines) if n not in lost))
    with Transcript.open(path, salvage=True) as good:
        assert [call.id for call in good.pending_calls] == pending
        assert good.messages[0].text == "Hi."


def test_undo_passes_over_what_was_erased(tmp_path: Path) -> None:
    """In a vacuumed file the last change is that of what stands."""
    transcript = Transcript(["a", "b", "c"])
    transcript.remove(3)
    transcript.vacuum(tmp_path / "a.jsonl")
    with Transcript.open(tmp_path / "a.jsonl") as vacuumed:
        vacuumed.undo()
        assert [message.text for message in vacuumed] == ["a"]


def wide() -> Transcript:
    """Return a transcript with three batches, an edit, an undone removal, two tags and a call."""
    transcript = Transcript(clock=None)
    for value in ("Hi.", calling("a", "b", text="Look."), results("a"), results("b")):
        transcript.append(value)
    transcript.note("x")
    for value in ("b", calling("c"), results("c")):
        transcript.append(value)
    transcript.replace(1, "Hello.")
    transcript.tag(title="T")
    transcript.append(Message("assistant", "Done."))
    transcript.remove(7)
    transcript.undo()
    transcript.append(calling("d", "e"))
    transcript.append(results("d"))
    transcript.tag(title="U")
    return transcript


NO_CALL = "a call or a result is left out, because no call before it has its id"
NO_RESULT = "a call or a result is left out, because it has no result"
EDIT = "entry 9 changes a turn that is missing, so it is ignored"


def missing(*ranges: str) -> list[str]:
    """Return what is told of entries that are missing."""
    return [f"entries {numbers} are missing" for numbers in ranges]


LOST: list[tuple[tuple[int, ...], str, str, str | None, list[str]]] = [
    ((1,), "2ab 3 4 5- 6 7c 8 11 14de 15", "e", "U", [*missing("1 to 1"), EDIT]),
    (
        (2,),
        "1 5- 6 7c 8 11 14de 15",
        "e",
        "U",
        [*missing("2 to 2"), f"history[1]: {NO_CALL}", f"history[2]: {NO_CALL}"],
    ),
    (
        (3, 4),
        "1 2 5- 6 7c 8 11 14de 15",
        "e",
        "U",
        [*missing("3 to 4"), *[f"history[1]: {NO_RESULT}"] * 2],
    ),
    (
        (4, 6),
        "1 2a 3 5- 7c 8 11 14de 15",
        "e",
        "U",
        [*missing("4 to 4", "6 to 6"), f"history[1]: {NO_RESULT}"],
    ),
    (
        (4, 7),
        "1 2a 3 5- 6 11 14de 15",
        "e",
        "U",
        [*missing("4 to 4", "7 to 7"), f"history[1]: {NO_RESULT}", f"history[4]: {NO_CALL}"],
    ),
    (
        (8, 12),
        "1 2ab 3 4 5- 6 11 14de 15",
        "e",
        "U",
        [*missing("8 to 8", "12 to 12"), f"history[5]: {NO_RESULT}"],
    ),
    ((9, 13), "1 2ab 3 4 5- 6 11 14de 15", "e", "U", missing("9 to 9", "13 to 13")),
    ((12, 13), "1 2ab 3 4 5- 6 7c 8 11 14de 15", "e", "U", missing("12 to 13")),
    ((13,), "1 2ab 3 4 5- 6 11 14de 15", "e", "U", missing("13 to 13")),
    ((14,), "1 2ab 3 4 5- 6 7c 8 11", "", "U", [*missing("14 to 14"), f"history[8]: {NO_CALL}"]),
    (
        (15,),
        "1 2ab 3 4 5- 6 7c 8 11",
        "",
        "U",
        [*missing("15 to 15"), *[f"history[8]: {NO_RESULT}"] * 2],
    ),
    (
        (11, 14),
        "1 2ab 3 4 5- 6 7c 8",
        "",
        "U",
        [*missing("11 to 11", "14 to 14"), f"history[7]: {NO_CALL}"],
    ),
    ((10, 16), "1 2ab 3 4 5- 6 7c 8 11 14de 15", "e", None, missing("10 to 10")),
    (
        (0, 2, 5),
        "1 6 7c 8 11 14de 15",
        "e",
        "U",
        [
            *("the header is missing", *missing("2 to 2", "5 to 5")),
            *(f"history[1]: {NO_CALL}", f"history[2]: {NO_CALL}"),
        ],
    ),
    (
        (1, 2, 3, 6),
        "5- 7c 8 11 14de 15",
        "e",
        "U",
        [*missing("1 to 3", "6 to 6"), EDIT, f"history[0]: {NO_CALL}"],
    ),
]


def numbered(turn: TranscriptTurn) -> str:
    """Return the number of a turn, with its calls, or a mark of a note."""
    calls = "".join(call.id for call in turn.message.calls) if turn.message else "-"
    return f"{turn.number}{calls}"


@pytest.mark.parametrize("case", LOST, ids=lambda case: str(case[0]))
def test_two_lines_are_lost(tmp_path: Path, case: tuple[Any, ...]) -> None:
    """What stands without the lines of these numbers, what is told, and a copy of it."""
    path, copy = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    lost, *expected = case
    wide().save(path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(line for number, line in enumerate(lines) if number not in lost))
    with Transcript.open(path, salvage=True) as good:
        good.save(copy)
    with Transcript.open(copy, read_only=True) as read:
        assert (stands(good), good.metadata) == (stands(read), read.metadata)
    assert expected == [
        " ".join(map(numbered, good.turns)),
        "".join(call.id for call in good.pending_calls),
        good.metadata.get("title"),
        [*good.repairs],
    ]


def test_two_lines_moved_and_two_came_twice(tmp_path: Path) -> None:
    """Each is told with its line and byte; a damaged one between them is left out."""
    path = tmp_path / "a.jsonl"
    Transcript([*"abcde"], clock=None).save(path)
    header, *lines = path.read_bytes().splitlines(keepends=True)
    order = [header, lines[1], lines[0], lines[3], b"{}\n", lines[2], lines[3], lines[0], lines[4]]
    path.write_bytes(b"".join(order))
    starts = [sum(map(len, order[:count])) for count in range(len(order))]
    with Transcript.open(path, salvage=True) as good:
        pass
    assert [
        "line 3 was moved: entry 1 is after 2",
        "line 5 is left out: it has no checksum at its end",
        "line 6 was moved: entry 3 is after 4",
        "line 7 is left out: entry 4 is also on an earlier line",
        "line 8 is left out: entry 1 is also on an earlier line",
    ] == [
        told.replace(f" at byte {starts[int(told.split()[1]) - 1]} of {str(path)!r}", "")
        for told in good.repairs
    ]
    assert "abcde" == "".join(message.text for message in good)


def test_two_entries_that_cannot_be_read(tmp_path: Path) -> None:
    """Both are told and taken out, with the numbers that are missing then; the tags stay."""
    from zlib import crc32

    path = tmp_path / "a.jsonl"
    transcript = Transcript(["a", "b"], clock=None)
    transcript.tag(title="T")
    transcript.save(path)
    added = b""
    for number in (4, 5):
        body = (
            f'{{"n":{number},"type":"message","data":{{"message":{{"role":"user","content":5}}}}}}'
        )
        added += body[:-1].encode() + b',"sum":"%08x"}\n' % crc32(body.encode())
    path.write_bytes(path.read_bytes() + added)
    with Transcript.open(path, salvage=True) as good:
        assert ["a", "b"] == [message.text for message in good]
        assert [1, 2, 3] == [entry.number for entry in good.entries]
    assert ["entry 4 cannot be read", "entry 5 cannot be read"] == [
        told.partition(":")[0] for told in good.repairs
    ]
