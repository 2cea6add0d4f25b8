"""Ids of messages as targets of changes, and entries at the start of a transcript."""

from typing import Any

from promptdsl import *
from tests.errors import raised


@entry_type("notice")
class Notice:
    """An entry of a user's type, which a model reads as an event."""

    def __init__(self, text: str) -> None:
        self.text = text

    def to_json(self) -> dict[str, str]:
        """Return the data of the entry."""
        return {"text": self.text}

    @classmethod
    def from_json(cls, data: Any) -> "Notice":
        """Return the entry of data."""
        return cls(data["text"])

    def to_message(self) -> Message | None:
        """Return what a model reads, nothing of an empty text."""
        return Message("event", self.text) if self.text else None


def named_turns() -> Transcript:
    """Return a transcript whose messages have ids."""
    return Transcript([Message("user", text, id=text.lower()) for text in ("One", "Two", "Three")])


def test_a_target_by_its_id() -> None:
    """A message is replaced and removed by its id; it keeps the id if the new one has none."""
    transcript = named_turns()
    transcript.replace("two", "Zwei")
    transcript.remove("one")
    assert [("two", "Zwei"), ("three", "Three")] == [(m.id, m.text) for m in transcript]
    assert (
        "no message has the id 'one'"
        == raised(TranscriptError, lambda: transcript.remove("one")).what
    )


def test_going_back_to_a_message_by_its_id() -> None:
    """Undo and fork go back to where the message of an id was appended."""
    transcript = named_turns()
    assert ["One", "Two"] == [message.text for message in transcript.fork(at="two")]
    transcript.undo(to="one")
    assert ["One"] == [message.text for message in transcript]


def test_an_id_that_no_message_has() -> None:
    """An unknown id is an error with the nearest one that is known, and changes nothing."""
    transcript = named_turns()
    error = raised(TranscriptError, lambda: transcript.replace("twoo", "Zwei"))
    assert ("no message has the id 'twoo'", "did you mean 'two'?") == (error.what, error.fix)
    assert transcript.messages == named_turns().messages


def test_entries_at_the_start() -> None:
    """A transcript begins with messages and with entries of registered types, in any form."""
    transcript = Transcript(["Hi.", Notice("opened"), Notice(""), Message("assistant", "Hello.")])
    assert ["user", "event", "assistant"] == [message.role for message in transcript]
    assert ["message", "notice", "notice", "message"] == [e.type for e in transcript.entries]
    appended = Transcript(["Hi."])
    for value in (Notice("opened"), Notice(""), Message("assistant", "Hello.")):
        appended.append(value)
    assert [e.data for e in appended.entries] == [e.data for e in transcript.entries]
    assert appended.messages == transcript.messages


def test_entries_at_the_start_need_no_ids() -> None:
    """With ids= an entry of a registered type needs none, as where it is appended."""
    assert 1 == len(Transcript([Notice("opened")], ids="uuid"))
