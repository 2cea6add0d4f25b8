"""The order of the passes, and the mask bits that each pass works on.

The stages of a prompt are ``written``, then ``select``, ``fill``, ``read``, ``fit``, ``expand``,
``extract_tools``, ``merge_system``, ``render_events``, ``place``, ``pair`` and ``merge``. The stage
``fit`` is not a pass: it is the tree after ``read`` or, with a budget, a smaller tree. With a
budget, the passes after ``fit`` run again for each smaller tree, until the result fits
(``budget/fit.py``).
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from promptdsl.config.model_facts import ModelFacts
from promptdsl.config.transformation import Resolved
from promptdsl.messages.prompt import Loss, Prompt
from promptdsl.rendering.passes.expand import expand
from promptdsl.rendering.passes.extract_tools import extract_tools
from promptdsl.rendering.passes.fill import Ask, fill
from promptdsl.rendering.passes.merge import merge
from promptdsl.rendering.passes.merge_system import merge_system
from promptdsl.rendering.passes.pair import pair
from promptdsl.rendering.passes.place import place
from promptdsl.rendering.passes.read import MakeSendable, read
from promptdsl.rendering.passes.render_events import render_events
from promptdsl.rendering.passes.select import select
from promptdsl.tree.masks import (
    AUDIENCE,
    CACHE,
    CALL,
    DEVELOPER,
    EVENT,
    OPAQUE,
    RECORDED,
    REQUEST,
    RESULT,
    SHIFT,
    TOOL,
)
from promptdsl.tree.part_nodes import TemplateNode
from promptdsl.tree.turn_nodes import RootNode

if TYPE_CHECKING:
    from promptdsl.providers.written import WrittenPayload
    from promptdsl.rendering.text.layout import Layout
    from promptdsl.templates.render import RenderedTemplate

ANY = 0
"""The mask of a pass that runs for every tree."""


Pass: TypeAlias = tuple[str, int, Callable[[RootNode], RootNode]]
"""A name, a mask, and a pure function. It is called if the root has some bits of the mask."""

BEFORE_TARGET = ("select", "fill", "read")
"""The names of the passes that do not depend on the target, in order."""
CHANGING = AUDIENCE | OPAQUE | RECORDED
"""The mask bits that these passes work on."""


def reading(make_sendable: MakeSendable) -> Callable[[RootNode], RootNode]:
    """Return the pass ``read`` with its other arguments bound."""
    from promptdsl.providers.registry import read_recording

    return partial(
        read, reader=read_recording, make_sendable=make_sendable, pieces=rendered_template
    )


def before_target(*, audience: str, ask: Ask, make_sendable: MakeSendable) -> tuple[Pass, ...]:
    """Return the passes that do not depend on the target, with their other arguments bound."""
    return (
        ("select", AUDIENCE, partial(select, audience=audience)),
        ("fill", OPAQUE, partial(fill, ask=ask)),
        ("read", OPAQUE | RECORDED, reading(make_sendable)),
    )


FIT = "fit"
"""The name of the stage before the passes of the target."""


FOR_TARGET: tuple[tuple[str, int, Callable[[RootNode, Resolved, ModelFacts], RootNode]], ...] = (
    ("expand", OPAQUE, lambda root, _, __: expand(root)),
    ("extract_tools", TOOL | CACHE, lambda root, _, facts: extract_tools(root, facts)),
    (
        "merge_system",
        ANY,
        lambda root, config, _: merge_system(root, merges=config.merge_consecutive),
    ),
    (
        "render_events",
        EVENT << SHIFT,
        lambda root, config, _: render_events(root, config=config, event_pieces=event_pieces),
    ),
    (
        "place",
        (EVENT | DEVELOPER | REQUEST) << SHIFT,
        lambda root, config, _: place(root, config=config),
    ),
    (
        "pair",
        (CALL | RESULT) << SHIFT,
        lambda root, config, _: pair(root, mode=config.tool_pairing),
    ),
    ("merge", ANY, lambda root, config, _: merge(root, enabled=config.merge_consecutive)),
)
"""The passes that depend on the target, in order; each gets the configuration and the facts."""


class Outgoing(NamedTuple):
    """What a tree became: its stages, its layout, its losses, its prompt and its payload.

    ``prompt`` has only the cache marks of its author. ``prompt_with_marks`` also has the automatic
    cache marks, and the bytes that a ``media_loader`` returned. ``payload`` is ``None`` without a
    target.
    """

    stages: tuple[tuple[str, RootNode], ...]
    layout: "Layout"
    losses: tuple[Loss, ...]
    prompt: Prompt
    prompt_with_marks: Prompt
    payload: "WrittenPayload | None"


# The package ``templates`` is imported with the first template that is rendered.


def rendered_template(node: TemplateNode) -> "RenderedTemplate":
    """Return the pieces of a template, the names in it, and its sections."""
    if node.overrides:
        from promptdsl.components.included import rendered_under_overrides

        return rendered_under_overrides(node)
    from promptdsl.templates.render import rendered_template

    return rendered_template(node.template, node.variables)


def event_pieces(kind: str, fields: Mapping[str, object]) -> tuple[str, ...]:
    """Return the pieces of an event's text from its template."""
    from promptdsl.templates.render import event_pieces

    return event_pieces(kind, fields)
