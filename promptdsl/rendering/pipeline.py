"""The order of the passes, as data. It is written here and nowhere else."""

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from promptdsl.config.transformation import Resolved
from promptdsl.providers.registry import READERS
from promptdsl.rendering.passes.consolidate import consolidate
from promptdsl.rendering.passes.expand import expand
from promptdsl.rendering.passes.fill import Ask, fill
from promptdsl.rendering.passes.merge import merge
from promptdsl.rendering.passes.narrate import narrate
from promptdsl.rendering.passes.pair import pair
from promptdsl.rendering.passes.place import place
from promptdsl.rendering.passes.read import Settle, read
from promptdsl.rendering.passes.select import select
from promptdsl.rendering.passes.tools import equip
from promptdsl.rendering.text.format import Form
from promptdsl.rendering.text.markdown import MARKDOWN
from promptdsl.rendering.text.xml import XML
from promptdsl.tree.masks import AUDIENCE, HOLLOW, RECORDED, SHIFT
from promptdsl.tree.node import Node

if TYPE_CHECKING:
    from promptdsl.templates import Piece, TemplateSource

FORMATS: Mapping[str, Form] = {"markdown": MARKDOWN, "xml": XML}


class Pass(NamedTuple):
    """A pass with its settings: ``run`` turns a tree into a tree."""

    name: str
    run: Callable[[Node], Node]


BEFORE_TARGET = ("select", "fill", "read")
"""The passes that do not depend on the target, in order."""
CHANGING = AUDIENCE | HOLLOW | RECORDED << SHIFT
"""What one of them looks for: in a tree without any of it they change nothing."""


def before_target(*, audience: str, ask: Ask, settle: Settle) -> tuple[Pass, ...]:
    """Return the passes that do not depend on the target."""
    passes: tuple[Callable[[Node], Node], ...] = (
        partial(select, audience=audience),
        partial(fill, ask=ask),
        partial(read, readers=READERS, settle=settle, pieces=template_pieces),
    )
    return tuple(map(Pass, BEFORE_TARGET, passes))


def passes_for(config: Resolved) -> tuple[Pass, ...]:
    """Return the passes that follow a configuration, in order."""
    try:
        return for_target(config)
    except TypeError:  # a format_block that cannot be hashed
        return for_target.__wrapped__(config)


@lru_cache(maxsize=128)
def for_target(config: Resolved) -> tuple[Pass, ...]:
    """Return the passes that follow a configuration, in order."""
    return (
        Pass("expand", expand),
        Pass("equip", equip),
        Pass("consolidate", consolidate),
        Pass("narrate", partial(narrate, config=config, event_text=event_text)),
        Pass("place", partial(place, config=config)),
        Pass("pair", partial(pair, mode=config.tool_pairing)),
        Pass("merge", partial(merge, enabled=config.merge_consecutive)),
    )


# The templates are loaded with the first one that is rendered.


def template_pieces(
    template: "TemplateSource", variables: Mapping[str, Any]
) -> "tuple[Piece, ...]":
    """Return the pieces of a template with its variables."""
    from promptdsl.templates.render import template_pieces

    return template_pieces(template, variables)


def event_text(kind: str, fields: Mapping[str, object]) -> str:
    """Return the text of an event from its template."""
    from promptdsl.templates.event_text import event_text

    return event_text(kind, fields)
