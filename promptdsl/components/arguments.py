"""The arguments of a component become its content.

Begin with :func:`gather`, which makes the content; :func:`inline` makes the pieces of one text. A
component that is an argument has joined the open block before its parent: :func:`adopt` removes it
from there. The check of an unfinished argument and the errors come last.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FunctionType
from typing import Any, Protocol, TypeAlias, TypeGuard

from promptdsl.components.replacements import with_replacements
from promptdsl.components.scope import check_owner, freeze, innermost, is_text, is_unused
from promptdsl.foundation.author_text import Notice, Trusted
from promptdsl.foundation.errors import ContentError, PromptError, ScopeError, with_article
from promptdsl.foundation.escaping import is_number, labelled, text_of
from promptdsl.foundation.frozen import Around, is_mapping, json_leaf
from promptdsl.foundation.source import LEFT_OUT, author
from promptdsl.messages.blocks import AnyBlock
from promptdsl.messages.field_checks import kind_of
from promptdsl.messages.message import Message
from promptdsl.tree.masks import (
    FAILED,
    HINTED,
    ITEM,
    OPAQUE,
    OPEN,
    PLACED,
    PLACED_OR_OPEN,
    TEXT,
    UNWRITTEN,
    bits,
)
from promptdsl.tree.node import Child, Node, label, make, named_label
from promptdsl.tree.part_nodes import ItemNode, TextNode, TrustedTextNode, ValueNode, VolatileNode
from promptdsl.tree.turn_nodes import ComponentNode

Inline: TypeAlias = "str | ValueNode | TrustedTextNode"
"""A piece of a text."""

TEXT_BITS = bits(TEXT)
"""The mask of a text."""
ITEM_BITS = bits(TEXT | ITEM)
"""The mask of an item of a list."""
UNFINISHED_OR_TEXT = PLACED_OR_OPEN | UNWRITTEN | TEXT
"""The bits of arguments that need work: they may have to leave the open block, or become text."""


class Interpolation(Protocol):
    """A value that is inserted in a t-string (``string.templatelib.Interpolation``)."""

    value: object
    conversion: str | None
    format_spec: str


class TString(Protocol):
    """A t-string (``string.templatelib.Template``), which is recognised by its attributes."""

    @property
    def strings(self) -> tuple[str, ...]:
        """The author's texts before, between and after the inserted values."""
        ...

    @property
    def interpolations(self) -> tuple[Any, ...]:  # Any: an `Interpolation`, read-only
        """The inserted values."""
        ...


def gather(component: Node, args: tuple[object, ...]) -> Sequence[Child]:
    """Return the content of a component; neighbouring strings, numbers and values are one text.

    ``None`` and ``False`` are skipped. Raises :class:`ContentError` for an argument that cannot be
    content, and the errors of :func:`adopt`.
    """
    first = args[0]
    if type(first) is str:
        if len(args) == 1:
            return (first,)
    else:
        # A frequent case: all arguments are finished nodes, and none is text.
        nodes = [
            arg for arg in args if isinstance(arg, Node) and not arg._mask & UNFINISHED_OR_TEXT
        ]
        if len(nodes) == len(args):
            return with_replacements(nodes)
    has_several_args = len(args) > 1
    content: list[Child] = []
    text_pieces: list[Inline] = []
    to_adopt: list[Node] = []
    values: list[Node] = []
    for arg in args:
        if type(arg) is str:
            text_pieces.append(arg)
        elif isinstance(arg, Node):
            to_adopt.append(arg)
            if isinstance(arg, ValueNode):
                text_pieces.append(arg)
                values.append(arg)
                continue
            _end_text(component, text_pieces, content, has_several_args=has_several_args)
            content.append(arg)
        elif type(arg) is Notice:
            _end_text(component, text_pieces, content, has_several_args=has_several_args)
            content.append(make(TextNode, (str.__str__(arg),), mask=TEXT_BITS, at=component))
        elif is_data(arg):
            _end_text(component, text_pieces, content, has_several_args=has_several_args)
            content.append(node_of_block(arg, component))
        elif arg is not None and arg is not False:
            text_pieces.extend(inline(arg, component))
            to_adopt += volatile_in((arg,))
    _end_text(component, text_pieces, content, has_several_args=has_several_args)
    adopt(component, to_adopt)
    for value in values:
        freeze(value)
    return with_replacements(content)


def is_data(value: object) -> TypeGuard[AnyBlock | Mapping[object, object]]:
    """Return whether an argument is a content block, or a mapping, which may describe a block."""
    return isinstance(value, AnyBlock) or is_mapping(value)


def node_of_block(data: AnyBlock | Mapping[object, object], component: Node) -> Node:
    """Return the node of an argument that is a content block, or the dictionary of a block."""
    if is_mapping(data) and (not is_text(data.get("type")) or data["type"] == "function"):
        raise refused(data, component)
    from promptdsl.components.blocks import block_node

    return block_node(data, component)


def _end_text(
    component: Node, text_pieces: list[Inline], content: list[Child], *, has_several_args: bool
) -> None:
    """Move neighbouring strings and values into the content, as one text."""
    if not text_pieces:
        return
    pieces, mask = joined_text(text_pieces, has_several_args=has_several_args)
    if len(pieces) > 1:
        content.append(make(TextNode, pieces, mask=mask, at=component))
    else:
        content += pieces
    text_pieces.clear()


def gather_items(component: Node, args: tuple[object, ...]) -> Sequence[Child]:
    """Return the content of a list: each text and each value among the arguments becomes an item.

    Other components are not changed: the renderer writes each of them as an item. The errors are
    those of :func:`gather`.
    """
    content: list[Node] = []
    to_adopt: list[Node] = []
    for arg in args:
        if type(arg) is str:
            content.append(_item_of((arg,), component))
        elif isinstance(arg, Node):
            content.append(arg)
        elif arg is not None and arg is not False:
            content.append(_item_of(tuple(inline(arg, component)), component))
            to_adopt += volatile_in((arg,))
    adopt(component, (*content, *to_adopt))
    for index, node in enumerate(content):
        if isinstance(node, ValueNode):
            content[index] = _item_of((freeze(node),), component)
    return content


def _item_of(children: tuple[Child, ...], component: Node) -> ItemNode:
    mask = ITEM_BITS if any(children) else ITEM_BITS | OPAQUE
    if len(children) != 1:
        children = (make(TextNode, children, mask=TEXT_BITS, at=component),)
    return make(ItemNode, children, mask=mask, at=component, done=None)


def joined_text(
    text_pieces: Sequence[Inline], *, has_several_args: bool
) -> tuple[tuple[Inline, ...], int]:
    """Return the pieces of a text, with neighbouring strings joined, and the mask of the text.

    ``has_several_args`` is whether the pieces are from several arguments. If two of their sentences
    touch, with no white space between them, the author may have forgotten a space. Then the strings
    are not joined, and the mask has the bits for a hint. Trusted text is not looked at.
    """
    joined_pieces: list[Inline] = []
    strings: list[str] = []
    before = ""
    for piece in text_pieces:
        if isinstance(piece, str):
            text = piece
            strings.append(text)
        else:
            text = "" if isinstance(piece, TrustedTextNode) else piece.text
            if strings:
                joined_pieces.append("".join(strings))
                strings.clear()
            joined_pieces.append(piece)
        if has_several_args and before[-1:] in _SENTENCE_ENDS and sentences_touch(before, text):
            return tuple(text_pieces), TEXT_BITS | OPAQUE | HINTED
        before = text
    if strings:
        joined_pieces.append("".join(strings))
    mask = TEXT_BITS if any(joined_pieces) else TEXT_BITS | OPAQUE
    return tuple(joined_pieces), mask


_STOPS, _CLOSINGS = ".!?:\u2026", ")]\"'*_`\u201d\u2019\u00bb"
_SENTENCE_ENDS = frozenset(_STOPS + _CLOSINGS)
"""The last characters of a sentence: a stop, or a bracket or quotation mark after it."""
_SENTENCE_END = re.compile(
    rf"\s[^\s./@\\]*(?:[^\W_]{{2}}|\d)[{re.escape(_CLOSINGS)}]*[{_STOPS}]+[{re.escape(_CLOSINGS)}]*\Z"
)
"""The last word of a sentence, and its stop.

The word ends in two letters or a digit. A name or an address has a dot, a slash or an at sign."""
_MAX_SEARCHED = 80
"""The number of characters at the end of a text in which its last word is looked for."""


def sentences_touch(before: str, after: str) -> bool:
    """Return whether a sentence ends at the end of one text, and the next text begins another.

    The first text ends in a word, and a full stop or a similar sign. A word that contains a dot, a
    slash or an at sign does not count, because it is a name or an address. The next text begins
    with a letter that is not in lower case. It has more than one word, or it ends like a sentence.
    """
    first = after[:1]
    is_sentence = after[-1:] in _SENTENCE_ENDS or len(after.split(None, 1)) > 1
    if not first.isalpha() or first.islower() or not is_sentence:
        return False
    return _SENTENCE_END.search((" " + before)[-_MAX_SEARCHED:]) is not None


def inline(arg: object, component: Node) -> list[Inline]:
    """Return an argument as pieces of a text.

    Raises :class:`ContentError` for an argument that is not a string, a number or a t-string.
    """
    if type(arg) is Trusted:
        return [make(TrustedTextNode, mask=TEXT_BITS, at=component, text=str.__str__(arg))]
    if isinstance(arg, str) or is_number(arg):
        return [text_in(component, arg)]
    if not _is_t_string(arg):
        raise refused(arg, component)
    return _t_string_pieces(arg, component)


def _is_t_string(value: object) -> TypeGuard[TString]:
    strings, inserted = getattr(value, "strings", None), getattr(value, "interpolations", None)
    has_both = isinstance(strings, tuple) and isinstance(inserted, tuple)
    return has_both and not isinstance(value, str)


def _t_string_pieces(t_string: TString, component: Node) -> list[Inline]:
    """Return the pieces of a t-string; a t-string inserted in it is replaced by its pieces."""
    pieces: list[Inline] = []
    piece_stack = _pieces_reversed(t_string)
    while piece_stack:
        piece = piece_stack.pop()
        if isinstance(piece, str):
            pieces.append(piece)
            continue
        value = piece.value
        is_unchanged = not piece.conversion and not piece.format_spec
        if is_unchanged and _is_t_string(value):
            piece_stack += _pieces_reversed(value)
        elif is_unchanged and type(value) is Trusted:
            pieces += inline(value, component)
        else:
            pieces.append(_inserted_value(piece, component))
    return pieces or [""]


def volatile_in(args: Iterable[object]) -> list[Node]:
    """Return the volatile values in the t-strings among arguments, at any depth."""
    nodes: list[Node] = []
    value_stack = [*args]
    while value_stack:
        value = value_stack.pop()
        if isinstance(value, VolatileNode):
            nodes.append(value)
        elif not isinstance(value, str | Node) and _is_t_string(value):
            value_stack += [getattr(inserted, "value", None) for inserted in value.interpolations]
    return nodes


def _pieces_reversed(t_string: TString) -> list[str | Interpolation]:
    """Return the author's texts and the inserted values of a t-string, the last piece first."""
    pieces: list[str | Interpolation] = []
    for index, text in enumerate(t_string.strings):
        if text:
            pieces.append(text_of(text))
        pieces += t_string.interpolations[index : index + 1]
    return pieces[::-1]


_CONVERSIONS: Mapping[str, Callable[[object], str]] = {"r": repr, "s": str, "a": ascii}


def _inserted_value(interpolation: Interpolation, component: Node) -> ValueNode:
    """Return the node of a value in a t-string, after its conversion and its format."""
    inserted = interpolation.value
    # The code in the braces, without the blanks around it, is the label of the value.
    expression: str | None = (getattr(interpolation, "expression", None) or "").strip() or None
    if isinstance(inserted, VolatileNode):
        text = text_of(_formatted(inserted.plain, interpolation, expression, component))
        return make(VolatileNode, mask=TEXT_BITS, at=inserted, text=text, label=inserted.label)
    if isinstance(inserted, Node):
        raise ContentError(
            f"{named_label(inserted)} cannot be inside a t-string",
            fix="pass it as a separate argument",
            at=(component.source, inserted.source),
        )
    inserted = _formatted(inserted, interpolation, expression, component)
    return value_node(inserted, component, expression)


def _formatted(
    value: object, interpolation: Interpolation, expression: str | None, component: Node
) -> object:
    """Return a value after the conversion (``!r``) and the format (``:.2f``) in its braces."""
    try:
        if interpolation.conversion:
            value = _CONVERSIONS[interpolation.conversion](value)
        if interpolation.format_spec:
            value = format(value, interpolation.format_spec)
    except (TypeError, ValueError) as error:
        raise ContentError(
            f"{expression or 'a value'} cannot be formatted like this: {error}",
            fix="correct what follows the colon or the exclamation mark in its braces",
            at=(component.source,),
        ) from None
    return value


def value_node(value: object, component: Node, label: str | None = None) -> ValueNode:
    """Return the node of a value; raises :class:`ContentError` for a value without a text."""
    text = text_in(component, value)
    return make(ValueNode, mask=TEXT_BITS, at=component, text=text, label=label)


def text_in(component: Node, value: object) -> str:
    """Return the text of a value in a component.

    Raises :class:`ContentError`, with the line of the component, for a value without a text.
    """
    try:
        return text_of(value)
    except ContentError as error:
        raise error.located(component.source) from None


def adopt(component: Node, arguments: Iterable[object]) -> None:
    """Remove components that are arguments of another component from the open block.

    They joined the block when they were written, just before their parent, so they are its last
    children. Raises :class:`ScopeError` for a component that is somewhere else, or not finished.
    """
    to_move: dict[int, Node] = {}
    for arg in arguments:
        if isinstance(arg, Node):
            check_finished(arg, component)
            if arg._mask & PLACED and is_unused(arg):
                to_move[id(arg)] = arg
    if not to_move:
        return
    top = innermost()
    siblings: list[Child] | tuple[Child, ...] = ()
    if top is not None and top.component is not None:
        check_owner(component, top)
        siblings = top.component.content
    newest_ids = {*map(id, siblings[-len(to_move) :])}
    if not isinstance(siblings, list) or newest_ids != to_move.keys():
        arg = next(iter(to_move.values()))
        raise ScopeError(
            f"this {label(arg)} already belongs to the block in which it was written",
            fix="write it in the argument list itself, or build it under `with detached():`",
            at=(component.source, arg.source),
        )
    del siblings[-len(to_move) :]
    for arg in to_move.values():
        arg._mask &= ~PLACED


def adopt_values(component: Node, values: list[VolatileNode], *other_arguments: object) -> None:
    """Remove the volatile values in the data of a component from the open block; freeze them.

    ``other_arguments`` are the component's other arguments. They are removed in the same step,
    because they may be between the values in the block.
    """
    adopt(component, (*values, *other_arguments))
    for value in values:
        freeze(value)


def value_text(value: object) -> str:
    """Return the text of a value, with its label if it is volatile."""
    if isinstance(value, VolatileNode):
        return labelled(value.text, value.label)
    if isinstance(value, ValueNode):
        return value.text
    return text_of(value)


def volatile_leaf(
    values: list[VolatileNode], labels: dict[tuple[object, ...], str], *group: str
) -> Callable[[object, Around, object], object]:
    """Return a function that replaces each volatile value in data by its plain value.

    The function adds the volatile value to ``values``. It adds the label to ``labels``, with the
    path of the value in the data as the key. Paths begin with ``group``.
    """

    def leaf(item: object, enclosing: Around, key: object) -> object:
        if not isinstance(item, VolatileNode):
            return json_leaf(item, enclosing, key)
        values.append(item)
        labels[*group, *enclosing.values(), key] = item.label or ""
        return json_leaf(item.plain, enclosing, key)

    return leaf


def check_finished(arg: Node, component: Node) -> None:
    """Raise an error if an argument is not finished.

    It is a :class:`ScopeError` if its block is still open or ended in an error, and a
    :class:`ContentError` if it has no content.
    """
    if arg._mask & FAILED == FAILED:
        raise ScopeError(
            f"an error ended the block of this {label(arg)}, so it is not finished",
            fix="write it again",
            at=(component.source, arg.source),
        )
    if arg._mask & OPEN and arg is component:
        raise ScopeError(
            f"this {label(arg)} cannot be used yet: its block is still open",
            fix="write this line after its `with` block, not in it",
            at=(author(), arg.source),
        )
    if arg._mask & OPEN:
        raise ScopeError(
            f"this {label(arg)} cannot be in another component yet: its block is still open",
            fix="close its block first",
            at=(component.source, arg.source),
        )
    if arg._mask & HINTED == UNWRITTEN:
        raise nothing_written(arg)


def nothing_written(component: Node) -> ContentError:
    """Return the error for a component that has no content, and whose block was never opened."""
    name, id = label(component), component.options.id
    fix = f'give it content: {name}("...")'
    if component._mask & UNWRITTEN:
        fix = f"give it content, or open it: with {name}(...):"
    if isinstance(component, ComponentNode):
        fix = f"its function yields, so open it: with {name}(...):, or let it return its parts"
    if id is not None and name in _BY_ID:
        call_start, content = f'{name}("{id_for(id)}"', '"..."'
        if id_for(id) != id:  # several words: the author meant the content
            content = json.dumps(id[:60], ensure_ascii=False)
        fix = (
            f"its first argument is the id: write {call_start}, {content}), "
            f"or open it: with {call_start}):"
        )
    what = f"this {name} was written with no content and no block"
    return ContentError(what, fix=fix, at=(component.source,))


_BY_ID = ("Grounding", "Section")
"""The components with content whose first argument is the id."""


def id_for(text: str) -> str:
    """Return an id made from a text that was meant as content: its first word, in lower case.

    A text of one word is returned unchanged.
    """
    if len(text.split()) < 2:
        return text
    word = re.search(r"[A-Za-z_][A-Za-z0-9_-]*", text)
    return word[0].lower() if word else "facts"


def refused(arg: object, component: Node) -> PromptError:
    """Return the error for an argument that cannot be content, with the advice for its type."""
    from promptdsl.components.blocks import provider_part
    from promptdsl.components.options import left_out
    from promptdsl.foundation.remedies import content_remedy

    if arg is LEFT_OUT:
        return left_out(component)
    description = named_type(arg)
    if payload_part := provider_part(arg):
        description, fix = payload_part
    elif isinstance(arg, Message):
        fix = "write a recorded message in a History, directly in the Timeline: History([message])"
    elif isinstance(arg, AnyBlock):
        fix = "pass it to a turn, or to include() in the block of a turn"
    else:
        fix = content_remedy(arg)
    if isinstance(arg, FunctionType) and label(component) == "Timeline":
        fix += f", or write Tool({arg.__name__}) for a tool"
    problem = f"{description} cannot be content of {named_label(component)}"
    return ContentError(problem, fix=fix, at=(component.source,))


def named_type(arg: object) -> str:
    """Return the type of an argument with its article, for an error: ``a list``."""
    if arg is None or isinstance(arg, bool):
        return repr(arg)
    kind = kind_of(arg)
    return kind if type(arg) is bytes else with_article(kind)
