"""Read: templates become text, and recorded conversations messages. What holds them stays."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from promptdsl.foundation.errors import DataError, PromptError
from promptdsl.foundation.unicode import is_whole
from promptdsl.messages import (
    Block,
    CodeBlock,
    JsonBlock,
    MediaBlock,
    StateChangeBlock,
    SystemEventBlock,
    TextBlock,
    UnknownBlock,
    UserActionBlock,
    conversation_cache,
)
from promptdsl.messages.conversation_cache import Recording, recording_of
from promptdsl.messages.message import Message, place
from promptdsl.messages.roles import LEADING
from promptdsl.rendering.text.blocks import data_node
from promptdsl.tree.group_nodes import ConversationNode
from promptdsl.tree.masks import (
    CALL,
    DEVELOPER,
    EVENT,
    EVENT_BLOCK,
    HOLLOW,
    MEDIA,
    RECORDED,
    REQUEST,
    RESULT,
    SHIFT,
    TEXT,
    TURN,
    bits,
)
from promptdsl.tree.node import Child, Node, Options, make
from promptdsl.tree.part_nodes import EventBlockNode, MediaNode, TemplateNode, TextNode, ValueNode
from promptdsl.tree.rewrite import covering, rewrite, with_content
from promptdsl.tree.turn_nodes import RecordedNode, RequestOnlyNode, TurnNode

FENCED = ("event", "ephemeral")
"""Roles whose text is a value: it is encoded later, as it came."""

Reader = Callable[[Any], tuple[Message, ...]]
Settle = Callable[[Message, Node, int], tuple[Message, bool]]
"""Makes a message of a recording ready to be sent; the number is which of it.

Returns it, and whether JSON or code in it has to become text yet."""
Pieces = Callable[[Any, Mapping[str, Any]], Sequence[str | tuple[str, str | None]]]
"""Renders a template with its variables: strings, and values each with what it is called."""
WITHIN = HOLLOW | RECORDED


def read(root: Node, *, readers: Mapping[str, Reader], settle: Settle, pieces: Pieces) -> Node:
    """Return the tree with templates rendered and recorded conversations read.

    ``readers`` turn a provider's form into messages, ``settle`` makes a message ready to be sent,
    ``pieces`` renders a template. Raises :class:`DataError` with the line of a ``History`` that
    cannot be read, :class:`TemplateError` with that of a template that cannot be rendered.
    """

    def change(node: Node) -> Node | None:
        if isinstance(node, RecordedNode):
            return _conversation(node, readers, settle)
        return _text_of(node, pieces) if isinstance(node, TemplateNode) else node

    content: list[Child] = []
    for child in root.content:
        # Nearly all stand directly in the timeline.
        if isinstance(child, RecordedNode):
            content.append(_conversation(child, readers, settle))
        elif child.mask & WITHIN:
            content.append(rewrite(child, change, within=WITHIN))
        else:
            content.append(child)
    return with_content(root, tuple(content))


def _conversation(
    node: RecordedNode, readers: Mapping[str, Reader], settle: Settle
) -> ConversationNode:
    """Return what a History stands for: runs of messages, its events and request-only turns."""
    empty = make(
        ConversationNode,
        mask=HOLLOW,
        at=node,
        keep=node.keep,
        step=node.step,
        priority=node.priority,
    )
    return with_content(empty, tuple(_read(node, readers, settle)))


def _text_of(node: TemplateNode, pieces: Pieces) -> Node | None:
    try:
        made = pieces(node.template, node.variables)
    except PromptError as error:
        raise error.located(node.source) from None
    parts = tuple(piece if isinstance(piece, str) else _inserted(piece, node.at) for piece in made)
    return make(TextNode, parts, mask=TEXT, at=node) if parts else None


def _inserted(piece: tuple[str, str | None], at: Any) -> ValueNode:
    return make(ValueNode, mask=TEXT, at=at, text=piece[0], label=piece[1])


def _read(node: RecordedNode, readers: Mapping[str, Reader], settle: Settle) -> list[Node]:
    """Return a recording as runs of messages, its events and request-only turns as nodes."""
    try:
        if node.form != "messages":
            return _parts(node, readers[node.form](node.items), settle, fresh=True)
        whole = recording_of(node.items) if len(node.items) >= conversation_cache.SHORTEST else None
        if whole is not None:
            return _whole_run(node, whole)
        return _parts(node, node.items, settle, known=getattr(node, "known", None))
    except PromptError as error:
        raise error.located(node.source) from None


def _parts(
    node: RecordedNode,
    given: Sequence[Any],
    settle: Settle,
    *,
    fresh: bool = False,
    known: Recording | None = None,
) -> list[Node]:
    parts: list[Node] = []
    run: list[Message] = []
    leading, hollow, same = True, False, not fresh
    start = 0
    if known is not None:
        leading, hollow, start = known.leading, known.hollow, len(known.given)
    for index, item in enumerate(given[start:] if start else given, start):
        message = item if type(item) is Message else _message(item, index)
        plain, role = message.plain, message.role
        if (plain is None or not (plain.isascii() or is_whole(plain))) and role not in FENCED:
            message, waits = settle(message, node, index)
            hollow = hollow or waits
        if fresh or message is not item:
            same = False
            place(message, node, index)
        # Comparing a few times is faster than a set; most are the first.
        if role == "user" or role == "assistant" or role == "tool":  # noqa: PLR1714
            leading = False
            run.append(message)
        elif role == "developer" or role == "system":  # noqa: PLR1714
            leading = leading and role == "system" and message.kind in LEADING
            run.append(message if leading else _instruction(message))
        else:
            leading = False
            parts += _run_before(node, run, index, hollow=hollow, known=known)
            parts.append(_turn(message, node))
            run, hollow, known, same = [], False, None, False
    if not same or (known is None and len(given) < conversation_cache.SHORTEST):
        return [*parts, *_run_before(node, run, len(given), hollow=hollow, known=known)]
    found = _joined(known, tuple(given), run, hollow=hollow)
    found.leading, found.hollow = leading, hollow
    return _whole_run(node, found.kept(known))


def _joined(
    known: Recording | None, given: tuple[Any, ...], run: list[Message], *, hollow: bool
) -> Recording:
    """Return what is known of a run that goes on with messages, which may be all it has."""
    mask = mask_of(run) | (HOLLOW if hollow else 0)
    if known is None:
        return Recording(given, tuple(run), mask)
    found = Recording(given, (*known.items, *run), known.mask | mask)
    found.found = known.found
    return found


def _run_before(
    node: RecordedNode, run: list[Message], stop: int, *, hollow: bool, known: Recording | None
) -> list[Node]:
    """Return the run of messages that ends before the one of number ``stop``.

    It is hollow when something in it has to become text yet.
    """
    if known is not None:
        joined = _joined(known, (), run, hollow=hollow)
        return [_run(node, joined.items, joined.mask)]
    mask = mask_of(run) | (HOLLOW if hollow else 0)
    return [_run(node, tuple(run), mask, stop - len(run))] if run else []


def _whole_run(node: RecordedNode, known: Recording) -> list[Node]:
    """Return the run that is all of a recording, with what is known of it."""
    run = _run(node, known.items, known.mask)
    object.__setattr__(run, "known", known)
    return [run] if known.items else []


def _run(node: RecordedNode, items: tuple[Message, ...], mask: int, start: int = 0) -> RecordedNode:
    return make(
        RecordedNode,
        at=node,
        mask=mask,
        options=node.options,
        items=items,
        form="messages",
        start=start,
    )


def _message(item: object, index: int) -> Message:
    try:
        return Message.from_dict(item)
    except DataError as error:
        raise DataError(f"messages[{index}]: {error.what}", fix=error.fix) from None


def _instruction(message: Message) -> Message:
    """Return an instruction recorded in mid-conversation: a developer turn that knows its role."""
    if message.kind not in LEADING:
        return message
    if message.role == "system":
        return message.replace(role="developer", kind="recorded_system")
    if message.kind == "written":
        return message.replace(kind="recorded")
    return message


def mask_of(messages: list[Message]) -> int:
    """Return the mask of a run of recorded messages: has it calls, results, instructions.

    Recorded messages are of no other role than those of a conversation and of instructions.
    """
    surface = 0
    for message in messages:
        if message.plain is None or message.role not in _SPEAKERS:
            surface |= _ROLE_BITS[message.role]
    return RECORDED | surface << SHIFT


_SPEAKERS = ("user", "assistant")
"""Who says nothing but text in a message that is plain."""
_ROLE_BITS = {
    "assistant": CALL,
    "tool": RESULT,
    "user": RESULT,
    "developer": DEVELOPER,
    "system": DEVELOPER,
}


def _turn(message: Message, node: RecordedNode) -> Node:
    """Return the node of a recorded event or request-only turn; its text is from elsewhere."""
    content = tuple(_node(block, node) for block in message.content)
    options = Options(id=message.id, name=message.name, metadata=message.metadata)
    below = covering(content)
    if message.role == "event":
        mask = bits(TURN | EVENT, below)
        return make(
            TurnNode, content, mask=mask, at=node, options=options, role="event", kind="event"
        )
    return make(
        RequestOnlyNode,
        content,
        mask=bits(REQUEST, below),
        at=node,
        options=options,
        type=None,
        title=None,
        position=None,
        order=0,
        grounding=False,
    )


def _node(block: Block, node: RecordedNode) -> Node:
    if isinstance(block, UserActionBlock | StateChangeBlock | SystemEventBlock):
        return make(
            EventBlockNode, mask=bits(EVENT_BLOCK), at=node, block=block, trusted=frozenset()
        )
    if isinstance(block, TextBlock):
        return make(ValueNode, mask=TEXT, at=node, text=block.text, label=None)
    if isinstance(block, JsonBlock | CodeBlock):
        return data_node(block, node.at, is_value=True)
    if isinstance(block, MediaBlock):
        return make(MediaNode, mask=bits(MEDIA), at=node, block=block)
    kind = block.data.get("type") if isinstance(block, UnknownBlock) else block.type
    raise DataError(
        f"a recorded event or ephemeral message cannot hold a {kind!r} block",
        fix="events hold text, events, JSON, code and attachments",
    )
