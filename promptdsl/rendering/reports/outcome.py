"""The outcome of a render, as reports need it: its tree, its messages and its payload."""

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from promptdsl.budget.dropped import Dropped
from promptdsl.config.model_facts import ModelFacts
from promptdsl.config.transformation import Resolved
from promptdsl.messages.message import Message
from promptdsl.messages.prompt import Prompt
from promptdsl.providers.written import WrittenPayload
from promptdsl.rendering.measure import message_counts, messages_total
from promptdsl.rendering.text.blocks import MediaRoots
from promptdsl.rendering.text.traced import TracedEntry, lower_traced
from promptdsl.tokens import Tokens
from promptdsl.tree.turn_nodes import RootNode


@attrs.frozen(eq=False)
class Outcome:
    """The outcome of a render.

    ``tree`` is the tree after all passes, ``messages`` what it was lowered to. ``sent`` is the
    prompt with the marks that were placed, ``written_payload`` what was written of it, ``None``
    where there is no target.
    """

    tree: RootNode
    messages: tuple[Message, ...]
    sent: Prompt
    written_payload: WrittenPayload | None
    dropped: Callable[[], tuple[Dropped, ...]]
    config: Resolved
    facts: ModelFacts
    tokens: Tokens
    media_roots: MediaRoots

    @property
    def payload(self) -> Mapping[str, Any] | None:
        """What a provider gets, to be read; also where calls are open."""
        return None if self.written_payload is None else self.written_payload.shared

    def counts(self) -> tuple[int, ...]:
        """Return the tokens of each message, its frame included."""
        return tuple(message_counts(self.tree, self.messages, self.tokens, self.facts))

    def total(self) -> int:
        """Return the tokens that are sent; of a long conversation only new messages are counted."""
        written = self.written_payload
        if written is not None:
            return written.tally(self.tokens).total
        return messages_total(self.sent, self.tree, self.tokens, self.facts)

    def traced(self) -> list[TracedEntry]:
        """Return which part of the tree came to which text; the tree is lowered once more."""
        return lower_traced(self.tree, config=self.config, media_roots=self.media_roots)[1]
