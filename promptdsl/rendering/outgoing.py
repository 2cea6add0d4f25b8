"""A tree ready to be sent: the result of the passes and the adapter of a target."""

from typing import TYPE_CHECKING, NamedTuple

from promptdsl.messages.loss import Loss
from promptdsl.messages.prompt import Prompt
from promptdsl.tree.turn_nodes import RootNode

if TYPE_CHECKING:
    from promptdsl.providers.written import WrittenPayload


class Outgoing(NamedTuple):
    """A tree ready to be sent: its stages, the prompt it became, its losses and the payload.

    ``prompt`` has only the cache marks of its author, ``marked`` the automatic ones, too;
    ``written`` is ``None`` without a target.
    """

    stages: tuple[tuple[str, RootNode], ...]
    losses: tuple[Loss, ...]
    prompt: Prompt
    marked: Prompt
    written: "WrittenPayload | None"
