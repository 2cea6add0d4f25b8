"""A tree ready to be sent: what the passes of a target and its adapter made of it."""

from typing import TYPE_CHECKING, NamedTuple

from promptdsl.messages.loss import Loss
from promptdsl.messages.prompt import Prompt
from promptdsl.tree.node import Node

if TYPE_CHECKING:
    from promptdsl.providers.written import WrittenPayload


class Outgoing(NamedTuple):
    """A tree ready to be sent: its stages, the prompt it became, its losses and the payload.

    ``prompt`` has the marks of its author only, ``marked`` the automatic cache marks, too;
    ``written`` is ``None`` where there is no target.
    """

    stages: tuple[tuple[str, Node], ...]
    losses: tuple[Loss, ...]
    prompt: Prompt
    marked: Prompt
    written: "WrittenPayload | None"
