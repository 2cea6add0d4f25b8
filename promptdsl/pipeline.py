"""The order of the passes, as data. It is written here and nowhere else."""

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import NamedTuple

from promptdsl.config import Resolved
from promptdsl.fencing import Form
from promptdsl.formats.markdown import MARKDOWN
from promptdsl.formats.xml import XML
from promptdsl.library import event_text, template_pieces
from promptdsl.passes.consolidate import consolidate
from promptdsl.passes.equip import equip
from promptdsl.passes.expand import expand
from promptdsl.passes.fill import Ask, fill
from promptdsl.passes.merge import merge
from promptdsl.passes.narrate import narrate
from promptdsl.passes.pair import pair
from promptdsl.passes.place import place
from promptdsl.passes.read import Settle, read
from promptdsl.passes.select import select
from promptdsl.targets import READERS
from promptdsl.tree import AUDIENCE, HOLLOW, RECORDED, SHIFT, Node

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
