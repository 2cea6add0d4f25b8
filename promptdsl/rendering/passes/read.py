"""Read: render templates to text, and read recorded conversations as messages."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from promptdsl.config.wires import compacts
from promptdsl.foundation.errors import DataError, PromptError
from promptdsl.foundation.unicode import is_valid_unicode
from promptdsl.messages import (
    Block,
    DataBlock,
    EventBlock,
    MediaBlock,
    TextBlock,
    UnknownBlock,
    conversation_cache,
)
from promptdsl.messages.conversation_cache import ReadCache, recording_of
from promptdsl.messages.details import LEADING, Role
from promptdsl.messages.message import Message, set_turn
from promptdsl.tree import masks
from promptdsl.tree.masks import bits
from promptdsl.tree.node import DEFAULTS, Child, Node, Options, implied, make
from promptdsl.tree.part_nodes import (
    EventBlockNode,
    MediaNode,
    TemplateNode,
    TextNode,
    ValueNode,
    VolatileNode,
    data_node,
)
from promptdsl.tree.recorded import options_of
from promptdsl.tree.rewrite import deep_bits, make_turn, numbered, rewrite, with_content
from promptdsl.tree.turn_nodes import (
    ConversationNode,
    RecordedNode,
    RequestOnlyNode,
    RootNode,
    TurnNode,
)

if TYPE_CHECKING:
    from promptdsl.templates.render import RenderedTemplate

FENCED = ("event", "ephemeral")
"""The roles of recorded messages whose text is a value, which is encoded later."""

Reader: TypeAlias = Callable[[str, Any], tuple[Message, ...]]  # Any: a provider's dictionaries
MakeSendable: TypeAlias = Callable[[Message, Node, int], tuple[Message, bool]]
"""A function that makes a recorded message ready to be sent.

It gets the message, the node of its recording, and its index there. It returns the message, and
whether the message contains JSON or code that must become text later."""
Pieces: TypeAlias = "Callable[[TemplateNode], RenderedTemplate]"


def read(
    root: RootNode, *, reader: Reader, make_sendable: MakeSendable, pieces: Pieces
) -> RootNode:
    """Return the tree with templates rendered and recorded conversations read.

    ``reader`` returns the messages of a conversation in a provider's format. ``make_sendable``
    makes a message ready to be sent. ``pieces`` renders a template. Raises :class:`DataError` for
    recorded data that cannot be read, and the error of a template, each with its line.
    """

    def change(node: Node) -> Node | None:
        if isinstance(node, ConversationNode):
            return _conversation(node, reader, make_sendable)
        if not isinstance(node, TemplateNode):
            return node
        try:
            rendered, compiled, sections, tags = pieces(node)
            object.__setattr__(node, "compiled", compiled)
        except PromptError as error:
            raise error.located(node.source) from None
        children: list[Child] = []
        if node.template.keeps_ends and rendered and rendered[0][:1] == "\n":
            # This text is not dedented: only a text whose first string begins with a line end is.
            children.append("")
        for piece in rendered:
            if isinstance(piece, str):
                children.append(piece)
                continue
            text, label, is_volatile = piece
            cls = VolatileNode if is_volatile else ValueNode
            children.append(make(cls, mask=masks.TEXT, at=node, text=text, label=label))
        if not rendered:
            return None
        tags = tuple(filter(any, tags))
        options = Options(libraries=sections, tags_of_source=tags) if sections or tags else DEFAULTS
        return make(TextNode, tuple(children), mask=masks.TEXT, at=node, options=options)

    new_root = rewrite(root, change, within=masks.OPAQUE | masks.RECORDED)
    # The nodes of lazies and recordings may repeat an id: number such ids.
    return with_content(new_root, numbered(new_root.content))


def _conversation(
    history: ConversationNode, reader: Reader, make_sendable: MakeSendable
) -> ConversationNode:
    """Return a history whose recordings are read."""
    nodes: list[Node] = []
    for node in history.content:
        if not isinstance(node, RecordedNode):
            nodes.append(node)
            continue
        try:
            if node.provider_format == "messages":
                nodes += _of_messages(node, make_sendable)
            else:
                items = reader(node.provider_format, node.items)
                nodes += _read_nodes(node, items, make_sendable, fresh=True)
        except PromptError as error:
            raise error.located(node.source) from None
    return with_content(history, tuple(nodes))


def _of_messages(node: RecordedNode, make_sendable: MakeSendable) -> list[Node]:
    """Return the nodes of a history of messages; a long one may be in the cache already."""
    if len(node.items) >= conversation_cache.SHORTEST:
        complete = recording_of(node.items)
        if complete is not None:
            return _complete_run(node, complete)
    return _read_nodes(
        node, node.items, make_sendable, read_cache=getattr(node, "read_cache", None)
    )


def _read_nodes(
    node: RecordedNode,
    items: Sequence[object],
    make_sendable: MakeSendable,
    *,
    fresh: bool = False,
    read_cache: ReadCache | None = None,
) -> list[Node]:
    """Return the nodes of a history: runs of messages, and between them events and groundings.

    ``read_cache`` is that of its beginning, if there is one. ``fresh`` says that the messages were
    just made from a provider's format.
    """
    nodes: list[Node] = []
    run: list[Message] = []
    # ``leading``: so far all messages may be system text. ``opaque``: the run has JSON or code.
    # ``is_unchanged``: all messages are the objects of the recording, so they may be cached.
    leading, opaque, is_unchanged = True, False, not fresh
    start = 0
    if read_cache is not None:
        leading, opaque, start = read_cache.leading, read_cache.opaque, len(read_cache.messages)
    for index, item in enumerate(items[start:], start):
        if isinstance(item, Message):
            message = item
        else:
            try:
                message = Message.from_dict(item)
            except DataError as error:
                raise DataError(f"messages[{index}]: {error.what}", fix=error.fix) from None
        only_text, role = message._plain, message.role
        is_valid_text = only_text is not None and (
            only_text.isascii() or is_valid_unicode(only_text)
        )
        if not is_valid_text and role not in FENCED:
            message, waits = make_sendable(message, node, index)
            opaque = opaque or waits
        if fresh or message is not item:
            is_unchanged = False
            set_turn(message, node, index)
        if role in ("user", "assistant", "tool"):
            leading = False
            run.append(message)
        elif role in ("developer", "system"):
            leading = leading and role == "system" and message.kind in LEADING
            if not leading and message.kind in LEADING:
                # A later instruction is a developer turn; its kind keeps the recorded role.
                if role == "system":
                    message = message.replace(role="developer", kind="recorded_system")
                elif message.kind == "written":
                    message = message.replace(kind="recorded")
            run.append(message)
        else:
            leading = False
            nodes += _run_before(node, run, index, opaque=opaque, read_cache=read_cache)
            nodes.append(_turn(message, node))
            run, opaque, read_cache, is_unchanged = [], False, None, False
    if not is_unchanged or (read_cache is None and len(items) < conversation_cache.SHORTEST):
        return [*nodes, *_run_before(node, run, len(items), opaque=opaque, read_cache=read_cache)]
    joined_recording = _joined(read_cache, tuple(items), run, opaque=opaque)
    joined_recording.leading, joined_recording.opaque = leading, opaque
    return _complete_run(node, joined_recording.kept(read_cache))


def _joined(
    read_cache: ReadCache | None,
    written_items: tuple[Any, ...],
    run: list[Message],
    *,
    opaque: bool,
) -> ReadCache:
    """Return the read cache of a run, which continues ``read_cache``, if there is one."""
    mask = mask_of(run, opaque=opaque)
    if read_cache is None:
        return ReadCache(written_items, tuple(run), mask)
    joined = ReadCache(written_items, (*read_cache.items, *run), read_cache.mask | mask)
    joined.findings = read_cache.findings
    return joined


def _run_before(
    node: RecordedNode, run: list[Message], stop: int, *, opaque: bool, read_cache: ReadCache | None
) -> list[Node]:
    """Return the run of messages that ends before the message with the index ``stop``.

    ``opaque`` says whether it contains JSON or code that must become text later.
    """
    if read_cache is not None:
        joined = _joined(read_cache, (), run, opaque=opaque)
        return [_run(node, joined.items, joined.mask)]
    if not run:
        return []
    return [_run(node, tuple(run), mask_of(run, opaque=opaque), stop - len(run))]


def _complete_run(node: RecordedNode, read_cache: ReadCache) -> list[Node]:
    """Return a complete recording as one run, with the read cache of its history."""
    run = _run(node, read_cache.items, read_cache.mask)
    object.__setattr__(run, "read_cache", read_cache)
    return [run] if read_cache.items else []


def _run(node: RecordedNode, items: tuple[Message, ...], mask: int, start: int = 0) -> RecordedNode:
    """Return messages as a run with the line of their recording."""
    return make(
        RecordedNode,
        at=node,
        mask=mask,
        options=node.options,
        items=items,
        provider_format="messages",
        start=start,
    )


def mask_of(messages: list[Message], *, opaque: bool = False) -> int:
    """Return the mask of a run: whether it has calls, results, instructions or a compaction.

    ``opaque`` says whether it contains JSON or code that must become text later.
    """
    surface, mask = 0, masks.RECORDED
    for message in messages:
        if message._plain is None or message.role not in _SPEAKERS:
            surface |= _ROLE_BITS[message.role]
        if message._plain is None and message.role == "assistant":
            for block in message.content:
                if type(block) is UnknownBlock and compacts(block.origin, block.data):
                    mask = masks.COMPACTED
    if opaque:
        mask |= masks.OPAQUE
    return mask | surface << masks.SHIFT


_SPEAKERS = ("user", "assistant")
"""The roles whose messages of one text need no bit in the mask."""
# What a message may contain, by its role. In the mask of a run, these are deep bits.
_ROLE_BITS = {
    "assistant": masks.CALL,
    "tool": masks.RESULT,
    "user": masks.RESULT,
    "developer": masks.DEVELOPER,
    "system": masks.DEVELOPER,
}


def _turn(message: Message, node: RecordedNode) -> Node:
    """Return the node of a recorded event or grounding; its text is a value."""
    content = tuple(_node(block, node, message.role) for block in message.content)
    options = options_of(message)
    if message.role == "event":
        return make_turn(
            TurnNode, content, masks.EVENT, at=node, role="event", kind="event", options=options
        )
    return make(
        RequestOnlyNode,
        content,
        mask=bits(masks.REQUEST, deep_bits(content)) | implied(options),
        at=node,
        options=options,
        type=None,
        title=None,
        position=None,
        order=0,
        grounding=False,
    )


def _node(block: Block, node: RecordedNode, role: Role) -> Node:
    """Return the node of a block of a recorded event or grounding; its text is a value."""
    if isinstance(block, EventBlock) and role == "event":
        mask = bits(masks.EVENT_BLOCK)
        return make(EventBlockNode, mask=mask, at=node, block=block, trusted=frozenset[str]())
    if isinstance(block, TextBlock):
        return make(ValueNode, mask=masks.TEXT, at=node, text=block.text)
    if isinstance(block, DataBlock):
        return data_node(block, node._at, is_value=True)
    if isinstance(block, MediaBlock):
        return make(MediaNode, mask=bits(masks.MEDIA), at=node, block=block)
    kind = block.data.get("type") if isinstance(block, UnknownBlock) else block.type
    raise DataError(
        f"a recorded {role} message cannot contain a {kind!r} block",
        fix="it may contain text, JSON, code and attachments; an event message also events",
    )
