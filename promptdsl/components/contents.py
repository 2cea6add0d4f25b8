"""The types of a component's content, for type checkers: they find errors before the code runs.

The ``_placement`` of a node is where it may be in a prompt. Each type below lists the placements
that a component takes. A plain :class:`Node` may have any placement, and so may a ``Fragment`` or
a component of an author. Such a part is checked when it is written, by ``_forbids`` of a class.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar

from promptdsl.messages.blocks import Block

if TYPE_CHECKING:
    from decimal import Decimal
    from fractions import Fraction

    from promptdsl.components.arguments import TString

P_co = TypeVar("P_co", bound=str, covariant=True)


class Placed(Protocol[P_co]):
    """A node whose placement is one of ``P_co``, or a node of any placement."""

    @property
    def _placement(self) -> P_co: ...


_Words: TypeAlias = "str | int | float | Decimal | Fraction | TString"
_Data: TypeAlias = Block | Mapping[str, Any]
_Nothing: TypeAlias = bool | None
"""``None`` and ``False`` are skipped. ``True`` is an error, and so is a mapping in ``_Data`` that
does not describe a block."""

InlineContent: TypeAlias = "_Words | Placed[Literal['value']]"
"""A piece of a text."""

ListContent: TypeAlias = "_Words | Placed[Literal['value', 'text', 'item']] | _Nothing"
"""A list holds items, and text that becomes an item."""

ItemContent: TypeAlias = "_Words | Placed[Literal['value', 'text']] | _Data"
"""An item and a side of an example hold text and parts of text, and not ``None``."""

TextContent: TypeAlias = "_Words | Placed[Literal['value', 'text']] | _Data | _Nothing"
"""A quote, a limit and an event block hold text and parts of text."""

SystemContent: TypeAlias = "_Words | Placed[Literal['value', 'text', 'section']] | _Data | _Nothing"
"""A system turn holds text and sections."""

PartContent: TypeAlias = (
    "_Words | Placed[Literal['value', 'text', 'section', 'media']] | _Data | _Nothing"
)
"""A section, a result and grounding hold text, sections and media."""

UserContent: TypeAlias = (
    "_Words | Placed[Literal['value', 'text', 'section', 'media', 'result']] | _Data | _Nothing"
)
"""A turn of the user holds tool results, too."""

AssistantContent: TypeAlias = (
    "_Words | Placed[Literal['value', 'text', 'section', 'media', 'call']] | _Data | _Nothing"
)
"""A turn of the model holds tool calls and reasoning, too."""

EventContent: TypeAlias = (
    "_Words | Placed[Literal['value', 'text', 'section', 'media', 'event']] | _Data | _Nothing"
)
"""An event holds event blocks, too."""

TimelineContent: TypeAlias = "Placed[Literal['turn', 'section']] | _Nothing"
"""A prompt holds turns, tools, histories and sections, and no loose text."""

Content: TypeAlias = "_Words | Placed[str] | _Data | _Nothing"
"""A fragment, a group or a format holds anything that the component around it may hold."""
