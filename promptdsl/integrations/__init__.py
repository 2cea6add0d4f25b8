"""Integrations with other libraries: messages in their form, and back, with the losses.

Each module is one library, named like the extra that installs it. ``to_x`` takes what
:func:`promptdsl.render` returns, ``from_x`` what the other library holds; both return a
:class:`Bridged`. Nothing is sent.
"""

from typing import Any, Generic, TypeVar

import attrs

from promptdsl import Loss

__all__ = ["Bridged"]

T = TypeVar("T")


@attrs.frozen
class Bridged(Generic[T]):
    """The messages that an integration wrote or read.

    ``messages`` are in the form of the side they go to. ``losses`` name what that side cannot say.
    ``tools`` are those it takes beside the messages, in its own form.
    """

    messages: T
    losses: tuple[Loss, ...] = ()
    tools: tuple[Any, ...] = ()
