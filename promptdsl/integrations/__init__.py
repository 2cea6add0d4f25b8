"""Bridges to other libraries: messages in their form, and back, with what was lost on the way.

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
    """What came over a bridge.

    ``messages`` are in the form of the side that was crossed to. ``losses`` are what that side
    cannot say. ``tools`` are those it takes beside the messages, in its own form.
    """

    messages: T
    losses: tuple[Loss, ...] = ()
    tools: tuple[Any, ...] = ()
