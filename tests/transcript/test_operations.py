"""Transcripts in memory: every operation, what it refuses, and what is in the log after it."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from promptdsl import *
from tests.providers.recorder import STREAMS

REPLY = {
    "type": "message",
    "id": "msg_1",
    "model": "claude-opus-5-5",
    "role": "assistant",
    "content": [{"type": "text", "text": "Yes."}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 7, "output_tokens": 2},
}


PICTURE = ImageBlock(MediaSource("url", "https://example.com/a.png"))


def calling(*ids: str, text: str = "") -> Message:
    """Return a message of an assistant that makes calls."""
    texts = [TextBlock(text)] if text else []
    return Message("assistant", [*texts, *(ToolUseBlock(id, "find", "{}") for id in ids)])


def result(id: str, text: str = "found") -> Message:
    """Return the result of a call."""
    return Message.tool_result(id, text)


def results_of(message: Message) -> list[str]:
    """Return the ids of the calls that a message answers."""
    results = (block for block in message.content if isinstance(block, ToolResultBlock))
    return [block.tool_use_id for block in results]


def spoken(transcript: Transcript) -> list[str]:
    """Return the messages of a transcript, each as a role and a text."""
    return [f"{message.role}: {message.text}" for message in transcript]


def worked() -> Transcript:
    """Return a transcript with two batches of calls that have the same ids."""
    one = [calling("a", "b", text="Look."), result("b", "1"), result("a", "2")]
    two = [calling("a"), result("a", "3"), Message("assistant", "Done.")]
    return Transcript(["Hi.", *one, *two, "Thanks."], clock=None)


def test_what_may_be_appended() -> None:
    """A text, a message, its dictionary, a reply, a stream and written turns are messages."""
    transcript = Transcript()
    transcript.append("Hi.")
    transcript.append(REPLY)
    transcript.append({"role": "user", "content": "More."})
    stream = read_stream([{"choices": [{"delta": {"content": "Ok."}, "finish_reason": "stop"}]}])
    assert len([*stream]) == 1
    transcript.append(stream)
    transcript.append(User("I have ", Value(3)))
    transcript.append(calling("c"))
    transcript.append(ToolMessage("c", "21"))
    transcript.append(Event(UserAction("clicked", target="Buy")))
    assert [message.role for message in transcript] == (
        ["user", "assistant", "user", "assistant", "user", "assistant", "tool", "event"]
    )
    assert transcript[4].text == "I have 3"
    reply = {"id": "msg_1", "model": "claude-opus-5-5", "provider": "anthropic"}
    assert transcript.entries[1].data["reply"] == reply
    assert transcript.usage == {"input": 7, "output": 2, "total": 9}


REPLIES = {
    "anthropic": {"id": "msg_1", "model": "claude-opus-5-5"},
    "bedrock": {},
    "gemini": {"model": "gemini-3.8-flash"},
    "openai": {"id": "chatcmpl-1", "model": "gpt-5"},
    "openai_responses": {"id": "resp_1", "model": "gpt-5"},
}


@pytest.mark.parametrize("provider", REPLIES)
def test_the_reply_of_a_stream(provider: str) -> None:
    """The entry of a stream has the id and the model that its events tell, and the provider."""
    stream = read_stream(STREAMS[provider])
    for _ in stream:
        pass
    entry = Transcript(["Hi."]).append(stream)
    assert entry.data["reply"] == {**REPLIES[provider], "provider": provider}


@pytest.mark.parametrize("value", ["", " ", None, 1, ["Hi."], {"x": 1}, b"x", object()])
def test_what_may_not_be_appended(value: object) -> None:
    """Anything else is refused, and leaves no trace."""
    transcript = Transcript()
    with pytest.raises((ContentError, DataError, TranscriptError)):
        transcript.append(value)
    assert transcript.entries == ()


@pytest.mark.parametrize(
    "event",
    [
        Event("The user left."),
        Event(Section("why", "A ", Value("x<y> & z")), UserAction("left"), "Later."),
        Event("It is ", Value(3), id="e", metadata={"a": 1}, tags=("t",)),
        Event(List("one", "two"), SystemEvent("paid", source="bank")),
    ],
)
def test_an_event_with_text(event: Event) -> None:
    """A written event is recorded with its text, and sent from the transcript as it was."""
    transcript = Transcript([User("a"), event, User("b")])
    sent = render(Timeline(User("a"), event, User("b"))).messages
    assert render(Timeline(History(transcript))).messages[0].text == sent[0].text
    message, options = transcript[1], event.options
    assert (message.id, message.metadata, message.tags) == (
        options.id,
        options.metadata,
        options.tags,
    )


def test_the_text_of_an_event_block() -> None:
    """The text in an event block is recorded beside it; an event without content is refused."""
    transcript = Transcript([Event(UserAction("wrote", "Hi.", target="Bo"))])
    assert [block.type for block in transcript[0].content] == ["user_action", "text"]
    with pytest.raises(TranscriptError, match="nothing to record"):
        transcript.append(Event(None))


def test_a_turn_of_an_open_block_is_refused() -> None:
    """A turn that is part of a prompt that is being written cannot be appended."""
    transcript = Transcript()
    with Timeline():
        turn = User("Hi.")
        with pytest.raises(ValueError, match="already part of"):
            transcript.append(turn)
    assert len(transcript) == 0


REFUSED: dict[str, Callable[[Transcript], object]] = {
    "a result without a call": lambda t: t.append(result("x")),
    "a result twice": lambda t: t.append(
        Message("tool", [ToolResultBlock("a"), ToolResultBlock("a")])
    ),
    "a user turn before results": lambda t: (t.append(calling("c")), t.append("Hi.")),
    "one id twice in a turn": lambda t: t.append(calling("c", "c")),
    "a result that is removed alone": lambda t: t.remove(3),
    "a turn that is not there": lambda t: t.remove(99),
    "an entry that made no turn": lambda t: t.remove(t.tag(title="T")),
    "another role": lambda t: t.replace(1, Message("assistant", "Hi.")),
    "a result of another call": lambda t: t.replace(3, result("z")),
    "a new call in the middle": lambda t: t.replace(2, calling("a", "b", "c")),
    "one result, twice": lambda t: t.replace(3, Message("tool", [*result("b").content] * 2)),
    "the number of no entry": lambda t: t.undo(99),
    "nothing to summarise": lambda t: t.compact("x", keep=99),
    "an empty summary": lambda t: t.compact(""),
    "a negative keep": lambda t: t.compact("x", keep=-1),
    "no tag": lambda t: t.tag(),
    "a tag that is no JSON": lambda t: t.tag(title={1}),
    "a note that is no JSON": lambda t: t.note(float("nan")),
    "an answer to no call": lambda t: t.answer("c", "x"),
    "no target": lambda t: t.remove("Hi."),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_leaves_no_trace(name: str) -> None:
    """A refused change raises an error of the family; messages and turns stay."""
    transcript = worked()
    with pytest.raises((TranscriptError, OptionError, DataError)) as caught:
        REFUSED[name](transcript)
    assert caught.value.at
    assert transcript.messages[:8] == worked().messages
    assert all(entry.type in ("message", "metadata") for entry in transcript.entries)


def test_calls_pair_by_turn() -> None:
    """Removing a turn with calls takes its results along, not those of the same id elsewhere."""
    transcript = worked()
    transcript.remove(2)
    assert spoken(transcript)[:4] == ["user: Hi.", "assistant: ", "tool: 3", "assistant: Done."]
    transcript.undo()
    transcript.replace(2, calling("b", text="Look."))
    assert spoken(transcript)[1:4] == ["assistant: Look.", "tool: 1", "assistant: "]
    assert [turn.number for turn in transcript.turns] == [1, 2, 3, 5, 6, 7, 8]


def test_a_turn_of_results_and_text_keeps_its_text() -> None:
    """Of a user turn with results and a text, the text stays when the call goes."""
    both = Message("user", [ToolResultBlock("a", "1"), TextBlock("Go on.")])
    transcript = Transcript(["Hi.", calling("a"), both])
    transcript.remove(2)
    assert spoken(transcript) == ["user: Hi.", "user: Go on."]
    assert transcript[1] is transcript.turns[1].message


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (1, Message("user", [PICTURE, TextBlock("new"), PICTURE])),
        (2, Message("assistant", [ReasoningBlock("hm"), TextBlock("new"), *calling("c").content])),
        (3, Message("tool", [ToolResultBlock("c", (TextBlock("new"), PICTURE))])),
        (4, Message("assistant", "new")),
    ],
)
def test_another_text(number: int, expected: Message) -> None:
    """A text takes the place of the texts of a turn: role, calls, attachments and results stay."""
    said = [
        Message("user", [PICTURE, TextBlock("a"), PICTURE, TextBlock("a")]),
        Message("assistant", [ReasoningBlock("hm"), *calling("c", text="b").content]),
        Message("tool", [ToolResultBlock("c", (TextBlock("a"), PICTURE))]),
        Message("assistant", [TextBlock("c"), TextBlock("d")]),
    ]
    transcript = Transcript(said)
    transcript.replace(number, "new")
    assert [*said[: number - 1], expected, *said[number:]] == [*transcript]


def test_another_text_of_a_reply_or_of_results() -> None:
    """A reply that is edited was paid once; the words beside results change, results do not."""
    transcript = Transcript(["a", calling("b", "c")])
    both = [ToolResultBlock(id, (TextBlock(id),)) for id in ("b", "c")]
    transcript.append(Message("user", [*both, TextBlock("also")]))
    transcript.append(REPLY)
    paid = transcript.usage
    transcript.replace(3, "new")
    transcript.replace(4, "No.")
    assert ((*both, TextBlock("new")), "No.", paid) == (
        transcript[2].content,
        transcript[3].text,
        transcript.usage,
    )


def test_an_interruption() -> None:
    """``interrupt`` answers open calls first, in the same change; undo takes back all of it."""
    transcript = Transcript(["Hi.", calling("a", "b")])
    transcript.answer("a", "1")
    assert [call.id for call in transcript.pending_calls] == ["b"]
    entry = transcript.append("Stop.", interrupt=True)
    assert entry.number == 5
    block = transcript[3].content[0]
    assert isinstance(block, ToolResultBlock)
    assert (block.tool_use_id, block.error_type) == ("b", "interrupted")
    transcript.undo()
    assert len(transcript) == 3
    assert [call.id for call in transcript.pending_calls] == ["b"]


def test_a_reply_that_was_cut() -> None:
    """Calls that are not whole are left out and told; the others are answered."""
    transcript = Transcript(["Hi."])
    cut = [ToolUseBlock("a", "find", "{}"), ToolUseBlock("b", "find", '{"x')]
    transcript.append(Message("assistant", cut), interrupted=True)
    assert transcript.pending_calls == ()
    assert [call.id for call in transcript[1].calls] == ["a"]
    assert transcript.repairs == ("a call of find was cut, and is left out",)


def test_the_entry_of_a_change_of_several() -> None:
    """It is that of what was appended, with results before it, behind it, or both."""
    transcript = Transcript(["Hi.", calling("a", "b")], clock=None)
    numbers = [
        transcript.append(calling("a", "b"), interrupt=True, interrupted=True).number,
        transcript.append(calling("c", "d"), interrupted=True).number,
        transcript.append(calling("e", "f")).number,
        transcript.append("Stop.", interrupt=True).number,
    ]
    assert ([5, 8, 11, 14], 14) == (numbers, len(transcript.entries))


def test_two_replies_that_were_cut() -> None:
    """What is left out of each reply is told, of both in order."""
    transcript = Transcript(["Hi."])
    first, second = (
        Message("assistant", [TextBlock("Wait."), ToolUseBlock("a", name, '{"q": ')])
        for name in ("find", "look")
    )
    transcript.append(first, interrupted=True)
    transcript.append(second, interrupted=True)
    assert transcript.repairs == (
        "a call of find was cut, and is left out",
        "a call of look was cut, and is left out",
    )


def test_a_summary() -> None:
    """A summary stands for all but the last messages; batches and system turns stay whole."""
    transcript = worked()
    transcript.compact("Ann </summary> asked.", keep=3)
    assert spoken(transcript)[:2] == [
        "user: <summary>\nAnn &lt;/summary> asked.\n</summary>",
        "assistant: ",
    ]
    assert len(transcript) == 5
    with pytest.raises(TranscriptError, match="summary"):
        transcript.remove(transcript[0])
    transcript.compact("Later.", keep=1)
    assert spoken(transcript) == ["user: <summary>\nLater.\n</summary>", "user: Thanks."]
    transcript.undo(8)
    assert transcript.messages == worked().messages
    instructed = Transcript([Message("system", "Be kind."), "a", "b"])
    instructed.compact("A.", keep=1)
    assert [message.role for message in instructed] == ["system", "user", "user"]
    assert instructed[1].kind == "summary"


def test_two_system_turns_stay_above_two_summaries() -> None:
    """All system turns at the beginning stay in front, also where a summary covers another one."""
    transcript = Transcript([*(Message("system", text) for text in "AB"), "a", "b", "c"])
    transcript.compact("One.", keep=2)
    transcript.compact("Two.", keep=1)
    assert spoken(transcript) == [
        "system: A",
        "system: B",
        "user: <summary>\nTwo.\n</summary>",
        "user: c",
    ]


def test_a_summary_covers_an_event_behind_the_system_turns() -> None:
    """An event in the role of the system is no instruction: the summary stands for it, too."""
    event = Message("system", "It rains.", kind="event")
    transcript = Transcript([Message("system", "Be kind."), event, "a", "b"])
    transcript.compact("A.", keep=1)
    assert spoken(transcript) == [
        "system: Be kind.",
        "user: <summary>\nA.\n</summary>",
        "user: b",
    ]


def test_undo_and_fork() -> None:
    """Undo goes back step by step, and to any entry; the messages stay the same objects."""
    transcript = Transcript(["a", "b"])
    before = transcript.messages
    transcript.append("c")
    transcript.note("for people")
    transcript.replace(1, "A")
    for expected in (["a", "b", "c"], ["a", "b"], ["a"], []):
        transcript.undo()
        assert [message.text for message in transcript] == expected
    transcript.undo(to=2)
    assert all(new is old for new, old in zip(transcript, before, strict=True))
    fork = transcript.fork(at=5)
    assert [message.text for message in fork] == ["A", "b", "c"]
    assert fork[1] is transcript[1]
    fork.append("d")
    assert len(transcript) == 2


def test_ids() -> None:
    """A message that comes again with its id is the same entry; another content is an error."""
    transcript = Transcript(ids=iter(["m1", "m2"]).__next__)
    assert transcript.append("a") == transcript.entries[0]
    again = Message("user", "a", id="m1")
    assert transcript.append(again).number == 1
    with pytest.raises(TranscriptError, match="other content"):
        transcript.append(Message("user", "b", id="m1"))
    assert [len(Transcript(ids="uuid7").append("a").data["message"]["id"])] == [36]
    transcript.note("for people")
    transcript.fork().append(again)
    assert transcript.fork().append("b").message == Message("user", "b", id="m2")


def test_notes_tags_and_types() -> None:
    """Notes and tags are for people; a type of one's own may have a message, made once."""

    @entry_type("alarm")
    class Alarm:
        made = 0

        def __init__(self, level: int) -> None:
            self.level = level

        def to_json(self) -> int:
            return self.level

        @classmethod
        def from_json(cls, data: int) -> "Alarm":
            return cls(data)

        def to_message(self) -> Message | None:
            type(self).made += 1
            return Message("developer", f"Alarm {self.level}") if self.level else None

    transcript = Transcript(["Hi."])
    transcript.note({"mood": 1})
    transcript.append(Alarm(3))
    transcript.append(Alarm(0))
    transcript.tag(title="T", owner="Ann")
    transcript.tag(owner=None)
    assert spoken(transcript) == spoken(transcript) == ["user: Hi.", "developer: Alarm 3"]
    assert Alarm.made == 2
    assert next(turn.note for turn in transcript.turns if turn.message is None) == {"mood": 1}
    assert transcript.turns[3].note.level == 0
    assert transcript.metadata == {"title": "T"}
    with pytest.raises(OptionError):
        entry_type("note")


def test_subscribers() -> None:
    """Each entry is told once and in order, those that a subscriber appends too."""
    transcript = Transcript()
    numbers: list[int] = []

    def listen(entry: object) -> None:
        number: int = getattr(entry, "number")  # noqa: B009
        numbers.append(number)
        if number == 1:
            transcript.note("seen")

    end = transcript.subscribe(listen)
    transcript.append("a")
    transcript.append("b")
    end()
    transcript.append("c")
    assert numbers == [1, 2, 3]
    transcript.subscribe(lambda _: 1 / 0)
    with pytest.raises(SubscriberError) as caught:
        transcript.append("d")
    assert caught.value.entry == transcript.entries[-1]
    assert transcript[-1].text == "d"


def test_a_subscriber_that_appends_comes_after_the_others() -> None:
    """Every subscriber gets an entry before any gets the next one."""
    transcript = Transcript()
    told: list[tuple[str, int]] = []

    def first(entry: TranscriptEntry) -> None:
        told.append(("first", entry.number))
        if entry.number < 3:
            transcript.note("more")

    transcript.subscribe(first)
    transcript.subscribe(lambda entry: told.append(("second", entry.number)))
    transcript.append("a")
    assert told == [(name, number) for number in (1, 2, 3) for name in ("first", "second")]


def test_of_two_subscribers_one_ends() -> None:
    """What ends one subscriber leaves the other, also where both are the same function."""
    transcript = Transcript()
    told: list[TranscriptEntry] = []
    end, _ = (transcript.subscribe(told.append) for _ in range(2))
    end()
    transcript.append("a")
    assert told == [*transcript.entries]


def test_a_subscriber_that_ends_while_it_is_called() -> None:
    """The first of three ends: the others get this entry; one that begins then, the next."""
    transcript = Transcript()
    told: list[tuple[str, int]] = []

    def first(entry: TranscriptEntry) -> None:
        told.append(("first", entry.number))
        end()
        transcript.subscribe(lambda entry: told.append(("late", entry.number)))

    end = transcript.subscribe(first)
    for name in ("second", "third"):
        transcript.subscribe(lambda entry, name=name: told.append((name, entry.number)))
    transcript.append("a")
    end()
    transcript.append("b")
    assert [
        *(("first", 1), ("second", 1), ("third", 1)),
        *(("second", 2), ("third", 2), ("late", 2)),
    ] == told


def test_two_entries_at_which_subscribers_fail() -> None:
    """Of a change of three entries the first failure is told; all get all, also the next change."""
    transcript = Transcript(["Hi.", calling("a", "b")])
    told: list[int] = []

    def fail(entry: TranscriptEntry) -> None:
        told.append(-entry.number)
        if entry.number in (4, 5):
            raise ValueError(f"at {entry.number}")

    transcript.subscribe(fail)
    transcript.subscribe(lambda entry: told.append(entry.number))
    with pytest.raises(SubscriberError) as caught:
        transcript.append("Stop.", interrupt=True)
    assert (
        "a subscriber failed at entry 4: ValueError('at 4')",
        "the entry is recorded: do not append it again",
        transcript.entries[3],
        "at 4",
    ) == (
        caught.value.what,
        caught.value.fix,
        caught.value.entry,
        str(caught.value.__cause__),
    )
    transcript.append("More.")
    assert [-3, 3, -4, 4, -5, 5, -6, 6] == told


def test_the_first_failure_is_told() -> None:
    """Of several subscribers that fail the first is told, the others get the entry."""
    transcript = Transcript()
    transcript.subscribe(lambda _: 1 / 0)
    transcript.subscribe(lambda _: int("x"))
    with pytest.raises(SubscriberError, match="ZeroDivisionError") as caught:
        transcript.append("a")
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert len(transcript) == 1


def test_many_edits_of_one_batch() -> None:
    """Of a turn that holds several results, the others stay when one call goes."""
    results = [ToolResultBlock("a", "1"), ToolResultBlock("b", "2")]
    transcript = Transcript(["Hi.", calling("a", "b", "c"), Message("tool", results), result("c")])
    transcript.replace(2, calling("b"))
    assert [turn.number for turn in transcript.turns] == [1, 2, 3]
    assert [block.to_dict()["tool_use_id"] for block in transcript[2].content] == ["b"]
    transcript.undo()
    transcript.replace(2, calling("a", "b", "c", text="Look."))
    assert len(transcript[2].content) == 2


def test_the_numbers_of_messages_that_a_summary_keeps() -> None:
    """``keep`` counts messages; with 0 the summary stands alone; a batch stays whole."""
    for keep, left in enumerate([0, 1, 2, 4, 4, 7, 7, 7]):
        transcript = worked()
        transcript.compact("Short.", keep=keep)
        assert len(transcript) == 1 + left


def test_two_results_in_one_message_end_their_batch() -> None:
    """A summary covers a batch of which one message has both results; it stays for open calls."""
    results = Message("tool", [ToolResultBlock("a", "1"), ToolResultBlock("b", "2")])
    transcript = Transcript(["Hi.", calling("a", "b"), results, "Thanks."])
    transcript.compact("Short.", keep=1)
    assert spoken(transcript) == ["user: <summary>\nShort.\n</summary>", "user: Thanks."]


def test_a_user_who_brings_one_of_two_results() -> None:
    """The other call has no result: the turn is refused, or the call answered as interrupted."""
    transcript = Transcript(["Hi.", calling("a", "b")])
    turn = Message("user", [ToolResultBlock("a", "1"), TextBlock("And?")])
    with pytest.raises(TranscriptError, match="the call 'b' has no result yet"):
        transcript.append(turn)
    transcript.append(turn, interrupt=True)
    assert [(m.role, results_of(m)) for m in transcript[2:]] == [("tool", ["b"]), ("user", ["a"])]


def test_usage() -> None:
    """Counts are summed by kind; a total that is not told is the sum of input and output."""
    transcript = Transcript()
    for usage in ({"input": 1, "output": 2, "reasoning": 1}, {"total": 5}, {"input": 4}):
        transcript.append(Message("assistant", "Ok.", token_usage=usage))
    transcript.replace(1, Message("assistant", "No.", token_usage={"output": 3}))
    assert transcript.usage == {"input": 5, "output": 5, "reasoning": 1, "total": 15}


def test_times_and_ids() -> None:
    """Entries of one change have one time of the clock; a UUID of version 7 begins with it."""
    from datetime import UTC, datetime
    from uuid import RFC_4122, UUID

    moment = datetime(2026, 11, 26, tzinfo=UTC)
    transcript = Transcript(clock=lambda: moment)
    transcript.append(calling("a"))
    transcript.append("b", interrupt=True)
    transcript = transcript.fork()
    transcript.note(1)
    assert {entry.at for entry in transcript.entries} == {"2026-11-26T00:00:00+00:00"}
    assert [entry.change for entry in transcript.entries] == [1, 2, 2, 4]
    sent = [Transcript(ids="uuid7").append("a").data for _ in range(9)]
    made = [UUID(data["message"]["id"]) for data in sent]  # type: ignore[index,call-overload]
    assert {(id.version, id.variant) for id in made} == {(7, RFC_4122)}
    assert abs((made[0].int >> 80) / 1000 - datetime.now(UTC).timestamp()) < 60
    assert len({*made}) == 9


def test_a_path_becomes_bytes(tmp_path: Path) -> None:
    """A path in code is read when it is appended; one in data is refused."""
    file = tmp_path / "a.gif"
    file.write_bytes(b"GIF89a\x01\0\x01\0\0\0\0;")
    transcript = Transcript([Message("user", [ImageBlock(MediaSource("path", str(file)))])])
    file.unlink()
    block = transcript[0].content[0]
    assert isinstance(block, ImageBlock)
    assert block.source.kind == "base64"
    with pytest.raises(DataError, match="comes from data"):
        transcript.append({"role": "user", "content": [{"type": "image", "path": str(file)}]})


def test_two_paths_become_bytes(tmp_path: Path) -> None:
    """Of four blocks two are read, and of a result with three again; texts and addresses stay."""
    for name in ("a", "b"):
        (tmp_path / f"{name}.gif").write_bytes(b"GIF89a\x01\0\x01\0\0\0\0;" + name.encode())
    one, two = (ImageBlock(MediaSource("path", str(tmp_path / f"{n}.gif"))) for n in "ab")
    said = [
        Message("user", [TextBlock("x"), one, PICTURE, two]),
        calling("c", "d"),
        Message("tool", [ToolResultBlock("d"), ToolResultBlock("c", (two, PICTURE, one))]),
    ]
    transcript = Transcript(said, clock=None)
    first, second = (
        {"type": "base64", "data": f"R0lGODlhAQABAAAAADt{end}", "media_type": "image/gif"}
        for end in ("h", "i")
    )
    result = transcript[2].content[1].to_dict()
    blocks = [*(block.to_dict() for block in transcript[0].content), *result["content"]]
    address = {"type": "url", "url": "https://example.com/a.png"}
    assert [None, first, address, second, second, address, first] == [
        block.get("source") for block in blocks
    ]
    assert ToolResultBlock("d") == transcript[2].content[0]


def test_a_path_in_a_result_becomes_bytes(tmp_path: Path) -> None:
    """An attachment in the result of a call is read, too; other blocks stay as they are."""
    file = tmp_path / "a.gif"
    file.write_bytes(b"GIF89a\x01\0\x01\0\0\0\0;")
    text, image = TextBlock("Here."), ImageBlock(MediaSource("path", str(file)))
    transcript = Transcript([calling("a"), Message.tool_result("a", [text, image])])
    (block,) = transcript[1].content
    assert isinstance(block, ToolResultBlock)
    kept, read = block.content
    assert kept == text
    assert isinstance(read, ImageBlock)
    assert read.source.kind == "base64"


def test_data_as_deep_as_may_be(tmp_path: Path) -> None:
    """Metadata at the limit of nesting is kept in a file, deeper data is refused."""
    data: dict[str, object] = {}
    for _ in range(198):
        data = {"a": data}
    message = Message("user", "Hi.", metadata=data)
    Transcript([message]).save(tmp_path / "a.jsonl")
    with Transcript.open(tmp_path / "a.jsonl", read_only=True) as transcript:
        assert transcript[0] == message
        assert transcript.entries[0].data == Transcript([message]).entries[0].data
    with pytest.raises(DataError, match="deeper"):
        transcript.fork().note({"a": {"a": {"a": data}}})


@pytest.mark.parametrize("value", [float("nan"), {1}, b"x"])
def test_metadata_is_json(value: object) -> None:
    """What JSON lacks is refused by name when a message is made."""
    with pytest.raises(DataError, match=r"metadata\.a"):
        Message("user", "Hi.", metadata={"a": value})


def test_a_prompt_keeps_what_it_was_written_with() -> None:
    """A history that was written shows the messages of that time."""
    transcript = Transcript(["a"])
    prompt = Timeline(History(transcript))
    transcript.append("b")
    assert [message.text for message in render(prompt).messages] == ["a"]


def test_from_elsewhere() -> None:
    """A recording is refused, filled or pruned; ``repairs`` tells what was done."""
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    asked = {"role": "assistant", "content": "Ok.", "tool_calls": [call]}
    log = [{"role": "user", "content": "a"}, asked, {"role": "user", "content": "b"}]
    with pytest.raises(ValueError, match="'c'"):
        Transcript.from_openai(log)
    filled = Transcript.from_openai(log, repair="fill")
    assert [message.role for message in filled] == ["user", "assistant", "tool", "user"]
    pruned = Transcript.from_openai(log, repair="prune")
    assert spoken(pruned) == ["user: a", "assistant: Ok.", "user: b"]
    assert len(filled.repairs) == len(pruned.repairs) == 1
    for provider in ("openai_responses", "anthropic", "gemini", "bedrock", "chat_template"):
        payload = render(Timeline(History(filled)), provider=provider).payload()
        copy = getattr(Transcript, f"from_{provider}")(payload)
        assert [copy[0].text, copy[-1].text] == ["a", "b"]


CLIENT = [
    {"role": "user", "content": "Hi.", "id": "1"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}]},
    {"role": "tool", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "1"}]},
]
URL = {"type": "url", "url": "https://example.com/a.png"}


SENT = [
    {"type": "text", "text": "Hi."},
    {"type": "image", "source": {**URL, "media_type": "image/png"}, "title": "A"},
    {
        "type": "image",
        "source": {"type": "base64", "data": "R0lGODlhAQABAAAAADs=", "media_type": "image/gif"},
    },
    *(
        {"type": kind, "source": {**URL, "url": f"https://example.com/{kind}"}, "title": "B"}
        for kind in ("audio", "document", "video")
    ),
]


FILE = {"type": "url", "url": "file:///etc/passwd"}
INNER = [{"type": "tool_use", "id": "d", "name": "find", "input": {}}]


def test_from_a_client() -> None:
    """A browser may send user, assistant and tool turns."""
    assert len(Transcript.from_client({"messages": CLIENT})) == 3
    failed = {"type": "tool_result", "tool_use_id": "c", "content": SENT[:2], "is_error": True}
    log = [*CLIENT[:2], {"role": "tool", "content": [failed]}, {"role": "user", "content": SENT}]
    transcript = Transcript.from_client(log, clock=None)
    assert [block.type for block in transcript[3].content] == [block["type"] for block in SENT]
    assert transcript[2].content[0].to_dict()["is_error"]
    assert transcript.entries[0].at is None


@pytest.mark.parametrize(
    ("entry", "word"),
    [
        ({"role": "system", "content": "x"}, "'system'"),
        ({"role": "user", "content": "x", "kind": "summary"}, "'kind'"),
        ({"role": "user", "content": "x", "metadata": {}}, "'metadata'"),
        ({"role": "user", "content": "x", "files": ["/etc/passwd"]}, "'files'"),
        ({"role": "user", "content": [{"type": "reasoning", "text": "x"}]}, "'reasoning'"),
        ({"role": "user", "content": [{"type": "image", "path": "/a"}]}, "'path'"),
        (
            {"role": "user", "content": [{"type": "image", "source": {"type": "path"}}]},
            "'path'",
        ),
        ({"role": "user", "content": [{"type": "text", "text": "x", "cache": "1h"}]}, "'cache'"),
        (
            {"role": "user", "content": [{"type": "image", "source": FILE}]},
            "source.url is not a web address",
        ),
        (
            {
                "role": "tool",
                "content": [{"type": "tool_result", "tool_use_id": "c", "content": INNER}],
            },
            "'tool_use'",
        ),
        ({"role": "user", "content": 3}, "list of blocks"),
        ({"type": "summary"}, "'type'"),
        ("Hi.", "not str"),
    ],
)
def test_what_a_client_may_not_send(entry: object, word: str) -> None:
    """Anything else is refused by name."""
    with pytest.raises(DataError, match=word):
        Transcript.from_client([entry])


def test_threads_share_a_transcript() -> None:
    """Every thread's entries are there, each with a number of its own."""
    from concurrent.futures import ThreadPoolExecutor

    transcript = Transcript()
    with ThreadPoolExecutor(4) as pool:
        entries = [*pool.map(transcript.append, map(str, range(1, 101)))]
    assert {entry.number for entry in entries} == {*range(1, 101)}
    assert {message.text for message in transcript} == {*map(str, range(1, 101))}


def test_how_values_are_shown_and_compared() -> None:
    """Entries and turns compare by number and content, not by time; each shows what it is."""
    one, other = Transcript(["a", "b"], clock=None), Transcript(["a", "c"])
    one.note({"a": 1})
    assert repr(one) == "<Transcript: 2 messages, 3 entries>"
    assert repr(one.entries[2]) == "<TranscriptEntry 3: note {'note': {'a': 1}}>"
    assert [repr(turn) for turn in one.turns[1:]] == (
        ["<TranscriptTurn 2: user>", "<TranscriptTurn 3: note>"]
    )
    for mine, theirs in ((one.entries, other.entries), (one.turns, other.turns)):
        assert mine[0] == theirs[0]
        assert hash(mine[0]) == hash(theirs[0])
        assert mine[1] != theirs[1]
        assert mine[0] != mine[1]
        assert mine[0] != 1
    same = Transcript(["a", "a"])
    assert same.entries[0] != same.entries[1]
    assert same.turns[0] != same.turns[1]
    other.undo()
    other.note({"a": 1})
    assert other.entries[3] != one.entries[2]


def test_a_result_without_content() -> None:
    """A browser may leave out the content of a result; an entry in a result is checked."""
    empty = {"type": "tool_result", "tool_use_id": "c"}
    assert len(Transcript.from_client([*CLIENT[:2], {"role": "tool", "content": [empty]}])) == 3
    inner = {**empty, "content": [{"type": "reasoning", "text": "x"}]}
    with pytest.raises(DataError, match=r"messages\[0\].content\[0\].content\[0\] has the type"):
        Transcript.from_client([{"role": "tool", "content": [inner]}])


def test_an_entry_is_frozen() -> None:
    """Neither an entry nor its data can be changed."""
    for entry in (Transcript().append("a"), Transcript().append(REPLY), Transcript().note({})):
        with pytest.raises(AttributeError):
            entry.number = 3  # type: ignore[misc]
        with pytest.raises(TypeError):
            entry.data["x"] = 1  # type: ignore[index]


def test_a_client_gives_each_message_its_own_id() -> None:
    """Two messages of a browser with one id are refused; any number may have none."""
    said = [
        {"role": "user", "content": text, "id": id} for text, id in zip("abc", "xyx", strict=True)
    ]
    with pytest.raises(DataError, match=r"messages\[2\] has the id of another message"):
        Transcript.from_client(said)
    assert len(Transcript.from_client([{"role": "user", "content": "a"}] * 2)) == 2


def test_ids_that_are_made_twice() -> None:
    """A function that makes an id again is refused; nothing is recorded then."""
    transcript = Transcript(ids=lambda: "x")
    transcript.append("a")
    for text in ("a", "b"):
        with pytest.raises(OptionError, match="made the id 'x', which another message has"):
            transcript.append(text)
    assert 1 == len(transcript)


def test_a_clock_without_a_time_zone() -> None:
    """A time without a zone is refused: nobody could say when that was."""
    transcript = Transcript(clock=lambda: datetime(2026, 11, 27, 14, 3))
    with pytest.raises(OptionError, match="without a time zone"):
        transcript.append("a")
    assert 0 == len(transcript.entries)
