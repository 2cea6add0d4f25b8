"""Place: request-only turns go where they belong, and nothing stands in a batch of tool calls."""

from collections.abc import Iterable, Iterator, Sequence

from promptdsl.config.transformation import Resolved
from promptdsl.foundation.errors import PlacementError
from promptdsl.foundation.escaping import attribute, field, inline_line
from promptdsl.messages import ToolResultBlock
from promptdsl.messages.message import Message
from promptdsl.messages.roles import CONVERSATION
from promptdsl.rendering.text.format import fence
from promptdsl.tree.calls import answers_in, answers_of, calls_in, calls_of
from promptdsl.tree.masks import (
    CALL,
    DEEP,
    DEVELOPER,
    EVENT,
    REQUEST,
    RESULT,
    SHIFT,
    SYSTEM,
    TEXT,
    TURN,
    bits,
)
from promptdsl.tree.node import Child, Node, make
from promptdsl.tree.part_nodes import VerbatimNode
from promptdsl.tree.recorded import cut
from promptdsl.tree.rewrite import says_something, with_content
from promptdsl.tree.turn_nodes import RecordedNode, RequestOnlyNode, TurnNode


def place(root: Node, *, config: Resolved) -> Node:
    """Return the tree with every request-only turn mapped to its role, once, at its position.

    What is not part of the conversation and stands inside an unanswered batch of tool calls moves
    behind the batch's last result. Raises :class:`PlacementError` for a ``Developer`` turn there.
    """
    content: Sequence[Child] = root.content
    if root.mask & REQUEST << SHIFT:
        content = _positioned(content, config)
    if root.mask & CALL << SHIFT:
        content = _behind_batches(content)
    return with_content(root, tuple(content))


def _positioned(content: Iterable[Node], config: Resolved) -> list[Node]:
    system: list[Node] = []
    conversation: list[Node] = []
    waiting: dict[str, list[RequestOnlyNode]] = {}
    for child in content:
        if isinstance(child, RequestOnlyNode):
            at = child.position or ("before_user" if child.grounding else config.ephemeral_position)
            if at != "flow":
                waiting.setdefault(at, []).append(child)
                continue
            conversation.append(_turn(child, config))
        elif child.mask & SYSTEM:
            system.append(child)
        else:
            conversation.append(child)
    there = {
        at: [_turn(request, config) for request in sorted(requests, key=lambda one: one.order)]
        for at, requests in waiting.items()
    }
    anchored = _before_user(conversation, there.get("before_user", []))
    return [
        *system,
        *there.get("after_system", []),
        *there.get("start", []),
        *anchored,
        *there.get("end", []),
    ]


def _turn(request: RequestOnlyNode, config: Resolved) -> TurnNode:
    """Return the turn of a request-only part: its content in a fence, in its mapped role."""
    delimiter = config.delimiters.ephemeral
    content = request.content
    shown = (("type", request.type), ("title", request.title))
    attributes = "".join(f' {name}="{attribute(value)}"' for name, value in shown if value)
    if request.title and delimiter.kind != "default":
        title = field(request.title) if delimiter.close else inline_line(request.title)
        heading = make(VerbatimNode, mask=TEXT, at=request, text=title, cache=None, said=())
        content = (heading, *content)
    fenced = fence(
        delimiter,
        content,
        attributes=attributes,
        at=request,
        values=request.grounding,
        said=tuple(value for _, value in shown if value),
    )
    return make(
        TurnNode,
        (fenced,),
        mask=_REQUEST_TURN | request.mask & DEEP,
        at=request,
        options=request.options,
        role=config.ephemeral_role,
        kind="request",
    )


_REQUEST_TURN = bits(TURN | REQUEST)


def _before_user(conversation: list[Node], entries: list[TurnNode]) -> list[Node]:
    """Put entries directly before the last turn a user wrote; at the end when there is none."""
    if not entries:
        return conversation
    for index in range(len(conversation) - 1, -1, -1):
        child = conversation[index]
        if isinstance(child, RecordedNode):
            last = _last_user(child.items)
            if last is not None:
                parts = _around(child, last, entries)
                return [*conversation[:index], *parts, *conversation[index + 1 :]]
        elif _is_written_by_user(child):
            return [*conversation[:index], *entries, *conversation[index:]]
    return [*conversation, *entries]


def _is_written_by_user(node: Node) -> bool:
    if not isinstance(node, TurnNode) or node.role != "user" or node.kind != "written":
        return False
    return says_something(node)


def _last_user(messages: tuple[Message, ...]) -> int | None:
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if message.role == "user" and message.kind in CONVERSATION:
            if message.plain is None and all(
                isinstance(block, ToolResultBlock) for block in message.content
            ):
                continue
            return index
    return None


def _around(node: RecordedNode, index: int, entries: list[TurnNode]) -> Iterator[Node]:
    if index:
        yield cut(node, 0, index)
    yield from entries
    yield cut(node, index)


# Batches of tool calls.


def _behind_batches(content: Iterable[Node]) -> list[Node]:
    placed: list[Node] = []
    held: list[Node] = []
    waiting: set[str] = set()
    for child, calls, answers in _units(content):
        if waiting and child.mask & (EVENT | DEVELOPER | REQUEST):
            held.append(child)
            continue
        if answers:
            # A result that answers no open call is not this pass's to judge.
            if answers & waiting:
                _refuse_developer(held, child)
            waiting = waiting - answers
        else:
            waiting = set()
            placed += held
            held = []
        placed.append(child)
        if not waiting:
            placed += held
            held = []
        waiting = waiting | calls
    return placed + held


def _units(content: Iterable[Node]) -> Iterator[tuple[Node, set[str], set[str]]]:
    """Yield the turns with the calls they leave open and the ones they answer.

    A recording is taken apart where something could have to move: its head of results, its last
    turn, and all of it when it holds instructions.
    """
    for child in content:
        if not isinstance(child, RecordedNode):
            paired = child.mask & (CALL | RESULT) << SHIFT
            calls, answers = (calls_of(child), answers_of(child)) if paired else ((), ())
            yield child, set(calls), set(answers)
            continue
        messages = child.items
        if child.mask & DEVELOPER << SHIFT:
            head, tail = len(messages), len(messages)
        else:
            plain = (i for i, m in enumerate(messages) if m.plain is not None or not answers_in(m))
            head = next(plain, len(messages))
            tail = max(head, _last_assistant(messages))
        for start, stop in _cuts(head, tail, len(messages)):
            run = messages[start:stop]
            alone = stop - start == 1
            surface = DEVELOPER if alone and run[0].role in ("developer", "system") else 0
            part = cut(child, start, stop, mask=child.mask | surface)
            if alone:
                silent = run[0].plain is not None
                calls, answers = ((), ()) if silent else (calls_in(run[0]), answers_in(run[0]))
                yield part, set(calls), set(answers)
            else:
                yield part, set(), set()


def _cuts(head: int, tail: int, length: int) -> Iterator[tuple[int, int]]:
    yield from ((index, index + 1) for index in range(head))
    if head < tail:
        yield head, tail
    yield from ((index, index + 1) for index in range(tail, length))


def _last_assistant(messages: tuple[Message, ...]) -> int:
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].role == "assistant":
            return index
    return len(messages)


def _refuse_developer(held: list[Node], answer: Node) -> None:
    for node in held:
        if isinstance(node, TurnNode) and node.kind == "written":
            raise PlacementError(
                "a Developer turn stands between a tool call and its result",
                fix="write it behind the last result of these calls",
                at=(node.source, answer.source),
            )
