"""Expand: put in place what stands for something else (fragments and recorded conversations)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from promptdsl.blocks import (
    Block,
    CodeBlock,
    JsonBlock,
    MediaBlock,
    StateChangeBlock,
    SystemEventBlock,
    TextBlock,
    UnknownBlock,
    UserActionBlock,
)
from promptdsl.dissolving import dissolved, dissolved_in_turn
from promptdsl.encoding import is_whole, json_text
from promptdsl.errors import DataError, PromptError
from promptdsl.messages import LEADING, Message, place
from promptdsl.nodes import (
    CacheBreakpoint,
    Code,
    Happening,
    Json,
    Media,
    Note,
    Recorded,
    Request,
    Template,
    Text,
    ToolTurn,
    Turn,
    Value,
)
from promptdsl.rewriting import covering, rewrite, says_something, with_content
from promptdsl.tree import (
    CALL,
    DEVELOPER,
    EVENT,
    HAPPENING,
    HOLLOW,
    MEDIA,
    RECORDED,
    REQUEST,
    RESULT,
    SHIFT,
    TEXT,
    TURN,
    Child,
    Node,
    Options,
    bits,
    make,
    walk,
)

FENCED = ("event", "ephemeral")
"""Roles whose text is a value: it is encoded later, as it came."""

Reader = Callable[[Any], tuple[Message, ...]]
Settle = Callable[[Message, Node, int], tuple[Message, bool]]
"""Makes a message of a recording ready to be sent; the number is which of it.

Returns it, and whether JSON or code in it has to become text yet."""
Pieces = Callable[[Any, Mapping[str, Any]], Sequence[str | tuple[str, str | None]]]
"""Renders a template with its variables: strings, and values each with what it is called."""
WITHIN = HOLLOW | RECORDED << SHIFT


def expand(root: Node, *, readers: Mapping[str, Reader], settle: Settle, pieces: Pieces) -> Node:
    """Return the tree with fragments dissolved among the turns and recorded conversations read.

    ``readers`` turn a provider's form into messages, ``settle`` makes a message ready to be sent,
    ``pieces`` renders a template. Raises :class:`DataError` with the line of a ``History`` that
    cannot be read, :class:`TemplateError` with that of a template that cannot be rendered.
    """
    if not root.mask & WITHIN:
        return root
    content: list[Child] = []
    for child in dissolved(_with_templates(root, pieces).content):
        if isinstance(child, Recorded):
            content.extend(_read(child, readers, settle))
        elif isinstance(child, Note):
            content.append(_spoken(child))
        elif child.mask & HOLLOW:
            content += _emptied(child)
        else:
            content.append(child)
    return with_content(root, tuple(content))


def _with_templates(root: Node, pieces: Pieces) -> Node:
    """Return the tree with the text of every template in its place."""
    if not (root.mask & HOLLOW and any(isinstance(node, Template) for node in _hollow(root))):
        return root

    def change(node: Node) -> Node | None:
        return _text_of(node, pieces) if isinstance(node, Template) else node

    return rewrite(root, change, within=HOLLOW)


def _hollow(root: Node) -> Iterator[Node]:
    """Yield the nodes in which something has to be dissolved."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [c for c in node.content if not isinstance(c, str) and c.mask & HOLLOW]


def _text_of(node: Template, pieces: Pieces) -> Node | None:
    try:
        made = pieces(node.template, node.variables)
    except PromptError as error:
        raise error.located(node.source) from None
    parts = tuple(piece if isinstance(piece, str) else _inserted(piece, node.at) for piece in made)
    return make(Text, parts, mask=bits(TEXT), at=node.at) if parts else None


def _inserted(piece: tuple[str, str | None], at: Any) -> Value:
    return make(Value, mask=bits(TEXT), at=at, text=piece[0], label=piece[1])


def _emptied(turn: Node) -> list[Node]:
    """Return a turn without the fragments directly in it, or nothing when it says nothing.

    What is empty but has a title or a cache breakpoint stays, so that it is noticed.
    """
    turn = with_content(turn, dissolved_in_turn(turn))
    silent = isinstance(turn, Turn) and turn.role != "system" and not isinstance(turn, ToolTurn)
    if not silent or turn.mask & RESULT << SHIFT or says_something(turn):
        return [turn]
    return [turn] if any(_is_noticed(part) for part, _ in walk(turn)) else []


def _is_noticed(part: Node) -> bool:
    return isinstance(part, CacheBreakpoint) or getattr(part, "title", None) is not None


def _spoken(note: Note) -> Turn:
    """Return the turn of a note that stands among turns."""
    mask = bits(TURN | DEVELOPER, note.mask)
    return make(
        Turn,
        note.content,
        mask=mask,
        at=note.at,
        options=note.options,
        role="developer",
        kind="recorded",
    )


def _read(node: Recorded, readers: Mapping[str, Reader], settle: Settle) -> list[Node]:
    """Return a recording as runs of messages, its events and request-only turns as nodes."""
    parts: list[Node] = []
    run: list[Message] = []
    leading, hollow = True, False
    fresh = node.form != "messages"
    try:
        given = node.items if node.form == "messages" else readers[node.form](node.items)
        for index, item in enumerate(given):
            message = item if type(item) is Message else _message(item, index)
            plain, role = message.plain, message.role
            if (plain is None or not (plain.isascii() or is_whole(plain))) and role not in FENCED:
                message, waits = settle(message, node, index)
                hollow = hollow or waits
            if fresh or message is not item:
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
                parts += _run(node, run, index, hollow=hollow)
                parts.append(_turn(message, node))
                run, hollow = [], False
    except PromptError as error:
        raise error.located(node.source) from None
    return [*parts, *_run(node, run, len(given), hollow=hollow)]


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


def _run(node: Recorded, run: list[Message], stop: int, *, hollow: bool) -> list[Node]:
    """Return the run of messages that ends before the one of number ``stop``.

    It is hollow when something in it has to become text yet.
    """
    if not run:
        return []
    items, start = tuple(run), stop - len(run)
    mask = mask_of(run) | (HOLLOW if hollow else 0)
    fields: dict[str, Any] = {"items": items, "form": "messages", "start": start}
    return [make(Recorded, at=node.at, mask=mask, options=node.options, **fields)]


def mask_of(messages: list[Message]) -> int:
    """Return the mask of a run of recorded messages: has it calls, results, instructions."""
    surface = 0
    for message in messages:
        surface |= _ROLE_BITS.get(message.role, 0)
    return bits(RECORDED, surface << SHIFT)


_ROLE_BITS = {
    "assistant": CALL,
    "tool": RESULT,
    "user": RESULT,
    "developer": DEVELOPER,
    "system": DEVELOPER,
}


def _turn(message: Message, node: Recorded) -> Node:
    """Return the node of a recorded event or request-only turn; its text is from elsewhere."""
    content = tuple(_node(block, node) for block in message.content)
    options = Options(id=message.id, name=message.name, metadata=message.metadata)
    below = covering(content)
    if message.role == "event":
        mask = bits(TURN | EVENT, below)
        return make(
            Turn, content, mask=mask, at=node.at, options=options, role="event", kind="event"
        )
    return make(
        Request,
        content,
        mask=bits(REQUEST, below),
        at=node.at,
        options=options,
        type=None,
        title=None,
        position=None,
        order=0,
        grounding=False,
    )


def _node(block: Block, node: Recorded) -> Node:
    if isinstance(block, UserActionBlock | StateChangeBlock | SystemEventBlock):
        return make(Happening, mask=bits(HAPPENING), at=node.at, block=block, trusted=frozenset())
    if isinstance(block, TextBlock):
        return make(Value, mask=bits(TEXT), at=node.at, text=block.text, label=None)
    if isinstance(block, CodeBlock):
        text = make(Value, mask=bits(TEXT), at=node.at, text=block.text, label=None)
        return make(Code, (text,), mask=bits(TEXT), at=node.at, language=block.language)
    if isinstance(block, JsonBlock):
        return make(Json, mask=bits(TEXT), at=node.at, text=json_text(block.value))
    if isinstance(block, MediaBlock):
        return make(Media, mask=bits(MEDIA), at=node.at, block=block)
    kind = block.data.get("type") if isinstance(block, UnknownBlock) else block.type
    raise DataError(
        f"a recorded event or ephemeral message cannot hold a {kind!r} block",
        fix="events hold text, events, JSON, code and attachments",
    )
