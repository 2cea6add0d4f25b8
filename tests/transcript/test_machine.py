"""Any sequence of operations: every state renders, a refusal changes nothing, a file agrees."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from promptdsl import *

TARGETS = (
    *("openai", "openai_responses", "openai_compatible", "anthropic"),
    *("gemini", "bedrock", "chat_template"),
)
CALLS = st.lists(st.sampled_from(["call_0", "call_1"]), unique=True, max_size=2)


class ReadCache(RuleBasedStateMachine):
    """A transcript in a file, changed by any operations."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.path = Path(self.folder.name, "a.jsonl")
        self.transcript = Transcript.open(self.path, clock=None)
        self.follower = Transcript.open(self.path, read_only=True)

    def teardown(self) -> None:
        """Close the file."""
        self.follower.close()
        self.transcript.close()
        self.folder.cleanup()

    def attempt(self, change: Any, *args: Any, **options: Any) -> None:
        """Make a change; if it is refused, nothing has changed."""
        before, entries = self.transcript.messages, self.transcript.entries
        try:
            change(*args, **options)
        except TranscriptError:
            assert self.transcript.entries == entries
            assert all(x is y for x, y in zip(self.transcript.messages, before, strict=True))

    @rule(interrupt=st.booleans(), text=st.sampled_from(["Hi.", "</summary>"]))
    def ask(self, interrupt: bool, text: str) -> None:
        """Ask, as a user."""
        self.attempt(self.transcript.append, text, interrupt=interrupt)

    @rule(ids=CALLS, interrupt=st.booleans(), interrupted=st.booleans(), cut=st.booleans())
    def reply(self, ids: list[str], interrupt: bool, interrupted: bool, cut: bool) -> None:
        """Answer, as a model, with calls or without."""
        calls = [ToolUseBlock(id, "find", '{"x' if cut and interrupted else "{}") for id in ids]
        message = Message("assistant", [TextBlock("Ok."), *calls])
        self.attempt(self.transcript.append, message, interrupt=interrupt, interrupted=interrupted)

    @rule(role=st.sampled_from(["system", "developer"]))
    def instruct(self, role: Any) -> None:
        """Write an instruction between turns."""
        if not self.transcript.pending_calls:
            self.attempt(self.transcript.append, Message(role, "Be kind."))

    @rule(id=st.sampled_from(["call_0", "call_1"]))
    def answer(self, id: str) -> None:
        """Give a call its result."""
        self.attempt(self.transcript.answer, id, "found")

    @rule(number=st.integers(0, 12))
    def remove(self, number: int) -> None:
        """Remove a turn."""
        self.attempt(self.transcript.remove, number)

    @rule(number=st.integers(0, 12), ids=CALLS, role=st.sampled_from(["user", "assistant"]))
    def replace(self, number: int, ids: list[str], role: Any) -> None:
        """Replace a turn."""
        calls = [ToolUseBlock(id, "look", "{}") for id in ids if role == "assistant"]
        self.attempt(self.transcript.replace, number, Message(role, [TextBlock("New."), *calls]))

    @rule(keep=st.integers(0, 5))
    def compact(self, keep: int) -> None:
        """Cover turns by a summary."""
        self.attempt(self.transcript.compact, "Short.", keep=keep)

    @rule(number=st.none() | st.integers(0, 12))
    def undo(self, number: int | None) -> None:
        """Undo a change, or go back to an entry."""
        self.attempt(self.transcript.undo, number)

    @rule()
    def annotate(self) -> None:
        """Write a note and a tag."""
        self.transcript.note({"n": 1})
        self.transcript.tag(title="T")

    @precondition(lambda self: len(self.transcript.entries) > 3)
    @rule()
    def reopen(self) -> None:
        """Close the file, and open it again."""
        self.transcript.close()
        self.transcript = Transcript.open(self.path, clock=None)

    @invariant()
    def copies_agree(self) -> None:
        """Check that replay, a fork, and the vacuumed file give equal messages."""
        messages = self.transcript.messages
        fork = self.transcript.fork()
        assert fork.messages == messages
        assert all(x is y for x, y in zip(fork.messages, messages, strict=True))
        with Transcript.open(self.path, read_only=True) as reader:
            assert reader.messages == messages
            assert reader.turns == self.transcript.turns
        other = self.path.with_name("b.jsonl")
        self.transcript.vacuum(other)
        with Transcript.open(other, read_only=True) as reader:
            assert reader.turns == self.transcript.turns
            assert reader.metadata == self.transcript.metadata

    @invariant()
    def a_follower_agrees(self) -> None:
        """Check that one who reads each entry when it comes has what one has who reads them all."""
        self.follower.refresh()
        fork = self.transcript.fork()
        for transcript in (self.follower, self.transcript):
            assert transcript.turns == fork.turns
            assert transcript.messages == fork.messages
            assert transcript.pending_calls == fork.pending_calls

    @invariant()
    def it_renders(self) -> None:
        """Check that every state renders for every target, once its calls are answered."""
        done = self.transcript.fork()
        for call in done.pending_calls:
            done.answer(call, "found")
        for target in TARGETS:
            tree = Timeline(System("Be brief."), History(done), User("Go on."))
            try:
                render(tree, provider=target, hints=False).payload()
            except PromptError as error:
                raise AssertionError(f"{target}: {done.messages}") from error


@pytest.mark.parametrize("rounds", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_any_operations(rounds: int) -> None:
    """Any sequence of operations keeps what the machine claims."""
    run_state_machine_as_test(
        ReadCache, settings=settings(max_examples=rounds, stateful_step_count=20, deadline=None)
    )
