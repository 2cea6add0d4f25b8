"""A request while it is being written."""

from typing import Any, NamedTuple, TypeAlias

from promptdsl.encoding import whole
from promptdsl.losses import Loss, LossKind, loss_of
from promptdsl.messages import Message
from promptdsl.models import ModelFacts

Part: TypeAlias = dict[str, Any]
"""One part of a content on the wire, or one call."""


class Mark(NamedTuple):
    """A cache mark that was set: on what, for how long, and which message it is from."""

    part: Part
    cache: str
    place: int
    message: Message


class Request:
    """The messages so far, and what they could not say.

    ``index`` and ``message`` are the one at hand.
    """

    def __init__(self, facts: ModelFacts) -> None:
        self.facts = facts
        self.messages: list[dict[str, Any]] = []
        self.losses: list[Loss] = []
        self.marks: list[Mark] = []
        self.tool_names: set[str] = set()
        self.index: int
        self.message: Message

    def lose(self, kind: LossKind, what: str, why: str) -> None:
        """Record what the message at hand could not say."""
        self.losses.append(loss_of(self.message, kind, what, why))

    def clean(self, text: str, what: str) -> str:
        """Return a text with U+FFFD for lone surrogates, with a hint when it held any."""
        clean, replaced = whole(text)
        if replaced:
            self.lose("hint", f"a lone surrogate in {what}", "it has no UTF-8 form")
        return clean
