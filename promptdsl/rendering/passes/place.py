"""Place: move groundings to their position, and turns away from between a call and its result.

Here a grounding is the content of a ``Grounding`` or an ``Ephemeral``.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from operator import attrgetter

from promptdsl.config.transformation import Resolved
from promptdsl.foundation.errors import PlacementError
from promptdsl.foundation.escaping import inline_line, labelled
from promptdsl.messages.details import CONVERSATION
from promptdsl.messages.message import Message, answers_in, leading_systems, results_in
from promptdsl.messages.pairing import calls_in
from promptdsl.rendering.text.format import fence, line_in_fence
from promptdsl.tree import masks
from promptdsl.tree.node import Node, make
from promptdsl.tree.part_nodes import VerbatimNode
from promptdsl.tree.recorded import answers_of, calls_of, cut
from promptdsl.tree.rewrite import has_content, make_turn, mapped_role, with_content
from promptdsl.tree.turn_nodes import RecordedNode, RequestOnlyNode, RootNode, TurnNode


def place(root: RootNode, *, config: Resolved) -> RootNode:
    """Return the tree with every grounding at its position, as a turn of its mapped role.

    An event, a grounding, a note or a recorded instruction between tool calls and their results
    moves after the last of these results. Raises :class:`PlacementError` for a ``Developer`` turn
    there.
    """
    content: Sequence[Node] = root.content
    if root._mask & masks.REQUEST << masks.SHIFT:
        content = _positioned(content, config)
    if root._mask & masks.CALL << masks.SHIFT:
        content = _after_results(content)
    return with_content(root, tuple(content))


def _positioned(content: Iterable[Node], config: Resolved) -> list[Node]:
    """Return the turns with every grounding at its position, as a turn of its mapped role."""
    system: list[Node] = []
    conversation: list[Node] = []
    by_position: dict[str, list[RequestOnlyNode]] = {}
    for child in content:
        if isinstance(child, RequestOnlyNode):
            default = "before_user" if child.grounding else config.ephemeral_position
            position = child.position or default
            if position == "flow":
                conversation.append(_turn(child, config))
            else:
                by_position.setdefault(position, []).append(child)
        elif child._mask & masks.SYSTEM:
            system.append(child)
        elif (
            isinstance(child, RecordedNode)
            and not conversation
            and (count := leading_systems(child.items))
        ):
            # If the settings merge no turns, a recording still has its system messages.
            system.append(cut(child, 0, count))
            if count < len(child.items):
                conversation.append(cut(child, count))
        else:
            conversation.append(child)

    def turns_at(position: str) -> list[TurnNode]:
        requests = sorted(by_position.get(position, ()), key=attrgetter("order"))
        return [_turn(request, config) for request in requests]

    return [
        *system,
        *turns_at("after_system"),
        *turns_at("start"),
        *_before_user(conversation, turns_at("before_user")),
        *turns_at("end"),
    ]


def _turn(request: RequestOnlyNode, config: Resolved) -> TurnNode:
    """Return a grounding as a turn of its mapped role, with its content in a fence."""
    delimiter = config.delimiters.ephemeral
    content = request.content
    # HINTED is two bits together. A hint already says that this grounding is empty.
    has_hint = request._mask & masks.HINTED == masks.HINTED
    attributes_of_request = (("type", request.type), ("title", request.title))
    shown_attributes = [(name, value) for name, value in attributes_of_request if value]
    attributes = "".join(
        f' {name}="{_attribute(value, request, config)}"' for name, value in shown_attributes
    )
    raw_values = tuple(value for _, value in shown_attributes)
    if has_hint:  # with raw values, ``lower`` would report again that there is no content
        raw_values = ()
    # Only the default tag has attributes. In other fences the title is the first line.
    if request.title and delimiter.kind != "default":
        title = inline_line(request.title)
        if delimiter.close:
            title = _attribute(request.title, request, config)
        pieces = (labelled(title, getattr(request.title, "label", None)),)
        heading = make(VerbatimNode, mask=masks.TEXT, at=request, text=title, pieces=pieces)
        content = (heading, *content)
    fenced = fence(
        delimiter,
        content,
        attributes=attributes,
        at=request,
        values=request.grounding,
        raw_values=raw_values,
    )
    role, options = mapped_role(request, config.ephemeral_role), request.options
    return make_turn(
        TurnNode, (fenced,), masks.REQUEST, at=request, role=role, kind="request", options=options
    )


def _attribute(value: str, request: RequestOnlyNode, config: Resolved) -> str:
    """Return a value for an attribute of a fence; no reserved tag can begin in it."""
    names = request.options.reserved_tags or config.tags
    return line_in_fence(value, names, config.literals)


def _before_user(conversation: list[Node], turns: list[TurnNode]) -> list[Node]:
    """Return a conversation with turns directly before the last turn that a user wrote.

    If no user wrote a turn, they are at the end.
    """
    if not turns:
        return conversation
    for index in range(len(conversation) - 1, -1, -1):
        child = conversation[index]
        before, after = conversation[:index], conversation[index + 1 :]
        if isinstance(child, RecordedNode):
            last_index = _last_user(child.items)
            if last_index is not None:
                if last_index > 0:
                    before.append(cut(child, 0, last_index))
                return [*before, *turns, cut(child, last_index), *after]
        elif (
            isinstance(child, TurnNode)
            and child.role == "user"
            and child.kind == "written"
            and has_content(child.content)
        ):
            return [*before, *turns, child, *after]
    return [*conversation, *turns]


def _last_user(messages: tuple[Message, ...]) -> int | None:
    """Return the index of the last message that a user wrote, ``None`` for none.

    Summaries and messages with tool results alone do not count.
    """
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        asks = message.role == "user" and message.kind in _ASKING
        if asks and len(results_in(message)) < len(message.content):
            return index
    return None


_ASKING = frozenset(CONVERSATION) - {"summary"}
"""The kinds of messages that a user may have written."""


def _after_results(content: Iterable[Node]) -> list[Node]:
    """Return the turns; what is not of the conversation moves after the results of open calls."""
    turns: list[Node] = []
    delayed: list[Node] = []
    open_calls: set[str] = set()
    for child, calls, answers in _with_calls(content):
        if open_calls and child._mask & (masks.EVENT | masks.DEVELOPER | masks.REQUEST):
            delayed.append(child)
            continue
        if not answers:
            open_calls = set()
            turns += delayed
            delayed = []
        elif answers & open_calls:
            # A note and a recorded instruction are no ``written`` turns, so they may move.
            for node in delayed:
                if isinstance(node, TurnNode) and node.kind == "written":
                    raise PlacementError(
                        "a Developer turn is between a tool call and its result",
                        fix="write it after the last result of these calls",
                        at=(node.source, child.source),
                    )
        # A result that answers no open call is reported by the pass ``pair``.
        open_calls = open_calls - answers
        turns.append(child)
        if not open_calls:
            turns += delayed
            delayed = []
        open_calls = open_calls | calls
    return turns + delayed


def _with_calls(content: Iterable[Node]) -> Iterator[tuple[Node, set[str], set[str]]]:
    """Yield the turns, each with the ids of its calls and the ids of the calls that it answers.

    A recording is divided where a turn may have to move: into single messages for the results at
    its beginning, one run for the middle, and single messages from its last assistant message on.
    If it contains instructions, it is divided into single messages.
    """
    for child in content:
        if not isinstance(child, RecordedNode):
            has_any = child._mask & (masks.CALL | masks.RESULT) << masks.SHIFT
            calls, answers = (calls_of(child), answers_of(child)) if has_any else ((), ())
            yield child, set(calls), set(answers)
            continue
        messages: tuple[Message, ...] = child.items
        # The middle is from ``head`` to before ``tail``. With instructions, all is head.
        head = tail = len(messages)
        if not child._mask & masks.DEVELOPER << masks.SHIFT:
            head = next((i for i, m in enumerate(messages) if not answers_in(m)), len(messages))
            assistants = (
                i for i in reversed(range(len(messages))) if messages[i].role == "assistant"
            )
            tail = max(head, next(assistants, len(messages)))
        # The index of each single message, and of the middle, which is one run; then the end.
        starts = [*range(head + 1), *range(max(tail, head + 1), len(messages) + 1)]
        for start, stop in pairwise(starts):
            message = messages[start]
            if stop - start > 1:
                yield cut(child, start, stop), set(), set()
                continue
            # With this bit, an instruction moves like a turn of instructions.
            surface = masks.DEVELOPER if message.role in ("developer", "system") else 0
            run_of_one = cut(child, start, stop, mask=child._mask | surface)
            yield run_of_one, set(calls_in(message)), set(answers_in(message))
