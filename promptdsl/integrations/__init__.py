"""Integrations with other libraries: messages in their form, and back, with the losses.

Each module is for one library, and named like the extra that installs it. ``to_x`` takes the result
of :func:`promptdsl.render`, ``from_x`` the messages of the other library. Both return a
:class:`Bridged`; nothing is sent.
"""

from typing import Any, Generic, TypeVar

import attrs

from promptdsl import Loss

__all__ = ["Bridged"]

T = TypeVar("T")


@attrs.frozen
class Bridged(Generic[T]):
    """The messages that an integration wrote or read.

    >>> from promptdsl.integrations.openai_agents import from_openai_agents
    >>> bridged = from_openai_agents("Hi.")
    >>> bridged.messages[0].text, bridged.losses
    ('Hi.', ())

    ``messages`` are in the form of the library they go to. ``losses`` are the contents and marks
    that it has no form for. ``tools`` are the tools it takes beside the messages, in its own form.
    """

    messages: T
    losses: tuple[Loss, ...] = ()
    tools: tuple[Any, ...] = ()  # Any: each library has its own type of tools
