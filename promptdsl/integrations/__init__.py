"""Integrations with other libraries: messages in their form, and back, with the losses.

Each module is for one library, and named like the extra that installs it. ``to_x`` takes the result
of :func:`promptdsl.render`, ``from_x`` the messages of the other library. Both return a
:class:`Bridged`; nothing is sent.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any, Generic, TypeAlias, TypeVar

import attrs

from promptdsl import Loss

__all__ = ["Bridged"]

T = TypeVar("T")


LazyLosses: TypeAlias = Callable[[], tuple[Loss, ...]] | tuple[Loss, ...]
"""Losses, or a function that finds their lines."""


@attrs.frozen
class Bridged(Generic[T]):
    """The messages that an integration wrote or read.

    >>> from promptdsl.integrations.openai_agents import from_openai_agents
    >>> bridged = from_openai_agents("Hi.")
    >>> bridged.messages[0].text, bridged.losses
    ('Hi.', ())

    ``messages`` are in the form of the library they go to. ``tools`` are the tools it takes beside
    the messages, in its own form. Two are equal when their messages and tools are.
    """

    messages: T
    _losses: LazyLosses = attrs.field(default=(), alias="losses", eq=False, repr=False)
    tools: tuple[Any, ...] = ()  # Any: each library has its own type of tools

    @cached_property
    def losses(self) -> tuple[Loss, ...]:
        """The contents and marks that the other library has no form for.

        Their lines are looked up at the first access.
        """
        return self._losses() if callable(self._losses) else self._losses
