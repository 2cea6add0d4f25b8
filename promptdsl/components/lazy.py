"""The component :class:`Lazy`: a part that a function returns when the prompt is rendered.

First come the checks of a part that is put into a finished prompt, such as the result of a lazy.
"""

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from inspect import isawaitable
from math import inf
from typing import Never

import attrs

from promptdsl.components.arguments import TEXT_BITS, inline, value_node
from promptdsl.components.block import Container, begin_leaf, finish, forbidden_node
from promptdsl.components.budget import Limit, first_not_cuttable
from promptdsl.components.options import bad_option, is_real, too_many
from promptdsl.components.replacements import Replacements, current_overrides, replacing, restored
from promptdsl.components.scope import Component, detached, open_block, wrote_detached
from promptdsl.components.sections import Note, Section
from promptdsl.components.text import Checklist, Example, ExampleSide, Item, List, Quote
from promptdsl.components.tool_calls import EventBlockComponent, ToolMessage, ToolResult
from promptdsl.components.turns import TURNS, RequestOnlyComponent, Timeline, refuse_loose_media
from promptdsl.foundation.author_text import Trusted
from promptdsl.foundation.errors import ContentError, PlacementError, ScopeError
from promptdsl.foundation.escaping import is_number
from promptdsl.foundation.frozen import is_list
from promptdsl.foundation.source import Source, note_caller
from promptdsl.messages.field_checks import kind_of
from promptdsl.messages.names import ProviderName
from promptdsl.tree.masks import DEEP, HINTED, OPAQUE
from promptdsl.tree.node import Node, label, make, named_label
from promptdsl.tree.part_nodes import TextNode
from promptdsl.tree.rewrite import with_content
from promptdsl.tree.turn_nodes import (
    ComponentNode,
    LazyNode,
    NoteNode,
    RequestOnlyNode,
    RootNode,
    TurnNode,
)

# The checks of a node that is put into a finished prompt.
#
# It is the result of a ``Lazy``, or what replaces a part. The rules are those of the component
# around it.

_CONTAINERS: Mapping[type[Node], type[Container]] = {
    component._node: component
    for component in (
        *(Timeline, ToolMessage, RequestOnlyComponent, Section, Note, ToolResult, Limit),
        *(List, Checklist, Item, Quote, Example, ExampleSide, EventBlockComponent),
    )
}
"""The component whose rules apply in a node, by the class of the node."""


def check_placement(node: Node, containers: Sequence[Node], lazy: LazyNode) -> Node:
    """Check a node that a ``Lazy`` returned, and return it.

    ``containers`` are the nodes around the ``Lazy``, the innermost first, one of each kind. Raises
    :class:`PlacementError` if the node may not be in one of them.
    """
    innermost, root = containers[0], containers[-1]
    for container in containers:
        rules = _rules(container)
        # An outer container refuses only what may not be inside it at any depth.
        forbidden = rules._forbids if container is innermost else rules._forbids & DEEP
        if node._mask & forbidden:
            raise _misplaced(forbidden_node(node, forbidden), container, lazy)
        not_cuttable = first_not_cuttable((node,)) if rules is Limit else None
        if not_cuttable is not None:
            raise _misplaced(not_cuttable, container, lazy)
    if not any(
        isinstance(container, TurnNode | RequestOnlyNode | NoteNode) for container in containers
    ):
        # Outside of turns the node is system content, which may not have attachments.
        loose = node if innermost is root else with_content(innermost, (node,))
        try:
            refuse_loose_media((loose,))
        except PlacementError as error:
            raise PlacementError(error.what, fix=error.fix, at=(lazy.source, *error.at)) from None
    return node


def check_replaced(container: Node, line: Source | None) -> None:
    """Raise :class:`PlacementError` if a child of a container may not be in it.

    The container was checked when it was written. Its child was replaced later, at ``line``.
    """
    if container._node not in _CONTAINERS and container._node is not TurnNode:
        return
    rules = _rules(container)
    wrong = first_not_cuttable(container.content) if rules is Limit else None
    for child in container.content:
        if not isinstance(child, str) and child._mask & rules._forbids:
            wrong = wrong or forbidden_node(child, rules._forbids)
    if wrong is not None:
        raise PlacementError(
            f"{named_label(wrong)} cannot be in {named_label(container)}",
            fix=rules._advice(wrong),
            at=(line, wrong.source, container.source),
        )


def _rules(container: Node) -> type[Container]:
    """Return the component class whose rules apply to the content of a node."""
    if isinstance(container, TurnNode) and container._node is TurnNode:
        return TURNS[container.role]
    return _CONTAINERS[container._node]


def _misplaced(node: Node, container: Node, lazy: LazyNode) -> PlacementError:
    """Return the error for a node that a ``Lazy`` returned and that may not be there."""
    advice = "return its turns in a Fragment"
    if not isinstance(node, RootNode):
        advice = _rules(container)._advice(node)
    return PlacementError(
        f"this Lazy returned {named_label(node)}, which cannot be in {named_label(container)}",
        fix=advice,
        at=(lazy.source, node.source, container.source),
    )


# The component ``Lazy``: a part that a function returns when the prompt is rendered.


@attrs.frozen
class LazyContext:
    """The request for which the function of a :class:`Lazy` is called.

    ``model`` and ``provider`` are the target, ``None`` if they are unknown. ``tokens`` is the
    number of tokens that the part may have, ``None`` without a budget.

    >>> from promptdsl import LazyContext
    >>> LazyContext(model="gpt-5", tokens=200).tokens
    200
    """

    model: str | None = None
    provider: ProviderName | None = None
    tokens: int | None = None


class Lazy(Component, LazyNode):
    r"""A part that ``function`` returns when the prompt is rendered.

    The function is called with a :class:`LazyContext`; no block is open. It returns text (which is
    a value), a part, or ``None`` for nothing. With ``arender()`` it may be asynchronous. Several
    lazies divide the remaining tokens of a budget: ``weight``, a number above 0 (default 1), is its
    share.

    Raises :class:`ContentError` for an argument that is not a function, and :class:`OptionError`
    for a ``weight`` that is not a number above 0. An error of the function, or of its result, is
    raised when the prompt is rendered.

    >>> from promptdsl import Lazy, System, render
    >>> system = System(Lazy(lambda context: f"You run on {context.model}."))
    >>> render(system, model="gpt-5").messages[0].text
    'You run on gpt-5.'
    """

    __slots__ = ()
    _initial_mask = OPAQUE

    def __init__(
        self,
        function: Callable[[LazyContext], object],
        /,
        weight: float = 1,
        *extra: Never,
        **unknown: Never,
    ) -> None:
        if extra:
            raise too_many(self, function, weight, *extra)
        self.function = function
        self.weight = weight
        self.overrides = current_overrides()
        begin_leaf(self, unknown)

    def _check_fields(self) -> None:
        function: object = self.function
        if not callable(function):
            if isinstance(function, Coroutine):
                function.close()
            raise ContentError(
                f"a Lazy takes a function, not {kind_of(function)}",
                fix="give the function itself, which is called later: Lazy(function)"
                if isinstance(function, Coroutine)
                else "Lazy(lambda context: ...)",
                at=(self.source,),
            )
        if not is_real(self.weight) or not 0 < self.weight < inf:
            raise bad_option(self, "weight", self.weight, "write a number above 0")


def call(lazy: LazyNode, context: LazyContext) -> object:
    """Call the function of a lazy, and return its result.

    Raises :class:`ContentError` for an asynchronous function, which has to be awaited.
    """
    with detached(), replacing(_overrides(lazy)):
        result = _finished(_call_function(lazy, context), lazy)
    if isawaitable(result):
        close: Callable[[], object] | None = getattr(result, "close", None)
        if close is not None:
            close()
        raise ContentError(
            "the function of this Lazy is asynchronous, and render() cannot await it",
            fix="use await arender(...)",
            at=(lazy.source,),
        )
    return result


def _overrides(lazy: LazyNode) -> Replacements | None:
    """Return the replacements that were in force where a lazy was written."""
    if not lazy.overrides:
        return None

    return restored(lazy.overrides, check_replaced)


def _call_function(lazy: LazyNode, context: LazyContext) -> object:
    """Call the function of a lazy, and return its result; a coroutine is not awaited.

    Raises :class:`ContentError` if it does not take one argument. Its own errors get a note with
    the line of the lazy.
    """
    try:
        return lazy.function(context)
    except Exception as error:
        trace = error.__traceback__
        if not isinstance(error, TypeError) or (trace is not None and trace.tb_next is not None):
            # The code of the function raised the error.
            note_caller(error, lazy.source, "the function of this Lazy")
            raise
        raise ContentError(
            f"the function of this Lazy has to take one argument, the context: {error}",
            fix="write a function with one parameter: lambda context: ...",
            at=(lazy.source,),
        ) from None


async def acall(lazy: LazyNode, context: LazyContext) -> object:
    """Call the function of a lazy, and return its result; await the result if necessary."""
    with detached(), replacing(_overrides(lazy)):
        result: object | Awaitable[object] = _call_function(lazy, context)
        if isawaitable(result):
            try:
                result = await result
            except Exception as error:
                note_caller(error, lazy.source, "the function of this Lazy")
                raise
        return _finished(result, lazy)


def _finished(result: object, lazy: LazyNode) -> object:
    """Return the result of a function, after it ended.

    If the function wrote components and returned ``None``, they are not sent: then the result is an
    empty node for which a hint is reported. Raises :class:`ScopeError` for a block that is still
    open.
    """
    block = open_block()
    if block is not None:
        raise ScopeError(
            f"the function of this Lazy left a {label(block)} open",
            fix="open blocks with `with`",
            at=(lazy.source, block.source),
        )
    if result is not None or not wrote_detached():
        return result
    return make(ComponentNode, mask=OPAQUE | HINTED, at=lazy, name=label(lazy), by=None)


def part_of(result: object, lazy: LazyNode) -> Node | None:
    """Return the result of a lazy as a node, ``None`` for an empty result; text is a value.

    Raises :class:`ContentError` for a result that cannot be content.
    """
    if result is None:
        return None
    if isinstance(result, Node):
        return finish(result)
    if is_number(result) or (isinstance(result, str) and not isinstance(result, Trusted)):
        value = value_node(result, lazy)
        return value if value.text else None
    if is_list(result):
        problem = f"a {kind_of(result)} cannot be content of a Lazy"
        raise ContentError(problem, fix="return Fragment(*parts)", at=(lazy.source,))
    pieces = tuple(inline(result, lazy))
    return make(TextNode, pieces, mask=TEXT_BITS, at=lazy._at) if pieces else None
