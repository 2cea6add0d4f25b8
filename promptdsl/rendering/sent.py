"""A tree as it is sent: what the passes of a target and its adapter made of it."""

from typing import NamedTuple

from promptdsl.messages.loss import Loss
from promptdsl.messages.message import Message
from promptdsl.messages.prompt import Prompt
from promptdsl.providers.written import WrittenPayload
from promptdsl.tree.node import Node


class Sent(NamedTuple):
    """A tree as it is sent: its stages, messages and losses, and the payload.

    ``prompt`` is what its author wrote, ``marked`` the same with automatic cache marks; ``written``
    is ``None`` where there is no target.
    """

    stages: tuple[tuple[str, Node], ...]
    messages: tuple[Message, ...]
    losses: tuple[Loss, ...]
    prompt: Prompt
    marked: Prompt
    written: WrittenPayload | None
