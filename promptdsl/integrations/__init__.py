"""Integrations with other libraries: they convert messages both ways, and report what is lost.

Each module is for one library, and has the name of the extra that installs the library. ``to_x``
takes the result of :func:`promptdsl.render`, ``from_x`` takes the messages of the other library.
Both return a :class:`Converted`; they call no model. Read ``openai_agents.py`` first, then
``shared.py``.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any, Generic, TypeAlias, TypeVar

import attrs

from promptdsl import Loss
from promptdsl.foundation.old_names import OLD_NAMES, new_name_with_warning

__all__ = ["Converted"]

T = TypeVar("T")


def __getattr__(name: str) -> Any:  # Any: as the new name
    """Return the object of an old name, with a ``DeprecationWarning`` that has the new name."""
    if f"{__name__}.{name}" not in OLD_NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals()[new_name_with_warning(f"{__name__}.{name}")]


LazyLosses: TypeAlias = Callable[[], tuple[Loss, ...]] | tuple[Loss, ...]
"""Losses, or a function that returns them with the lines of the author's code."""


@attrs.frozen
class Converted(Generic[T]):
    """The messages that an integration converted.

    >>> from promptdsl.integrations.openai_agents import from_openai_agents
    >>> converted = from_openai_agents("Hi.")
    >>> converted.messages[0].text, converted.losses, converted.hints
    ('Hi.', (), ())

    ``to_x`` returns messages of the other library, ``from_x`` messages of promptdsl. ``tools`` are
    the tools of the prompt, if the other library takes them in addition to messages. Two results
    are equal if their messages and tools are equal.
    """

    messages: T
    _losses: LazyLosses = attrs.field(default=(), alias="losses", eq=False, repr=False)
    """The losses and the hints."""
    tools: tuple[Any, ...] = ()  # Any: each library has its own type of tools

    @property
    def losses(self) -> tuple[Loss, ...]:
        """The content and roles that the other library does not support.

        The lines of the author's code are looked up at the first access.
        """
        return tuple(loss for loss in self._located if loss.kind != "hint")

    @property
    def hints(self) -> tuple[Loss, ...]:
        """The details that the other library does not support, such as cache marks."""
        return tuple(loss for loss in self._located if loss.kind == "hint")

    @cached_property
    def _located(self) -> tuple[Loss, ...]:
        return self._losses() if callable(self._losses) else self._losses
