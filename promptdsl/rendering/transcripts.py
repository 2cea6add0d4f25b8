"""The functions that transcripts need from higher packages: for replies, turns and pairing.

``transcript/`` is on a lower layer, so it cannot import them: ``join`` hands them over.
"""

from typing import Any

from promptdsl.foundation.author_text import INTERRUPTED
from promptdsl.foundation.errors import ContentError, DataError, TranscriptError
from promptdsl.foundation.source import author
from promptdsl.messages import Block, EventBlock
from promptdsl.messages.message import Message
from promptdsl.messages.names import ProviderName
from promptdsl.transcript.transcript import Transcript as Transcript  # noqa: PLC0414
from promptdsl.transcript.values import Above, NewMessage, Repair, connect
from promptdsl.tree.node import Node, make


def _read_message(value: object, provider_name: ProviderName | None) -> NewMessage:
    """Return the message of a reply, of a stream that was read, or of a written turn."""
    from promptdsl.providers.replies import Reading, provider_of, read_response, response_id
    from promptdsl.providers.shared.reading import mapping

    if isinstance(value, Node):
        return NewMessage(_message_of_turn(value), {})
    if isinstance(value, Reading):
        message, (entries, found_provider) = value.message, value.response
        if provider_name not in (None, found_provider):
            what = f"this stream was read as a stream of {found_provider}, not of {provider_name}"
            fix = f"name the provider there: read_stream(stream, provider={provider_name!r})"
            raise DataError(what, fix=fix, at=(author(),))
    else:
        message, entries = read_response(value, provider=provider_name), mapping(value)
        found_provider = provider_name or provider_of(entries) or ""
    models = map(entries.get, ("model", "modelVersion", "model_version"))
    reply = {"id": response_id(entries), "model": next(filter(None, models), None)}
    reply["provider"] = found_provider
    return NewMessage(message, {key: text for key, text in reply.items() if isinstance(text, str)})


def _message_of_turn(turn: Any) -> Message:  # Any: a node, of one of many classes
    """Return the message of one written turn."""
    from promptdsl.components.history import History
    from promptdsl.components.scope import detached
    from promptdsl.components.turns import Timeline
    from promptdsl.rendering.render import render
    from promptdsl.rendering.root import root_around
    from promptdsl.tree.turn_nodes import ToolTurnNode, TurnNode

    if not isinstance(turn, TurnNode) or turn.role == "ephemeral":
        fix = "append User(...), Assistant(...), ToolMessage(...), Event(...), Developer(...)"
        raise ContentError(f"a {type(turn).__name__} is not a turn of a conversation", fix=fix)
    root_around(turn)  # refuses a turn of an open block
    if turn.role == "event":
        return _event(turn)
    calls: list[Message] = []
    if isinstance(turn, ToolTurnNode):
        call: dict[str, Any] = {
            "type": "tool_use",
            "id": turn.tool_use_id,
            "name": "tool",
            "input": {},
        }
        calls = [Message.from_dict({"role": "assistant", "content": [call]})]
    with detached():
        *_, message = render(Timeline(History(calls), turn), hints=False).messages or (None,)
    if message is None or len(message.sources) > 1:
        raise _nothing()
    return message


def _nothing() -> TranscriptError:
    return TranscriptError("this turn has nothing to record", fix="write its text")


def _event(turn: Any) -> Message:  # Any: a TurnNode
    """Return the message of an event; its text is written like that of a user turn."""
    from promptdsl.components.scope import detached
    from promptdsl.components.turns import Timeline, User
    from promptdsl.rendering.render import render
    from promptdsl.tree.part_nodes import EventBlockNode

    runs: list[list[Any]] = [[]]  # Any: an event block alone, or text nodes
    for node in turn.content:
        if isinstance(node, EventBlockNode):
            runs += [[node.block], [*node.content], []]
        else:
            runs[-1].append(node)
    blocks: list[Block] = []
    with detached():
        for run in filter(None, runs):
            if isinstance(run[0], EventBlock):
                blocks += run
                continue
            for message in render(Timeline(User(*run)), hints=False).messages:
                blocks += message.content
    if not blocks:
        raise _nothing()
    id, metadata, tags = turn.options.id, turn.options.metadata, turn.options.tags
    return Message("event", tuple(blocks), id=id, metadata=metadata, tags=tags)


def _recording(data: object, provider_format: str, origin: str | None) -> tuple[Message, ...]:
    from promptdsl.config.models import named_origin
    from promptdsl.providers.registry import read_recording

    return read_recording(named_origin(origin, provider_format), data)


def _check_provider(name: str) -> None:
    from promptdsl.config.models import check_provider

    check_provider(name)


def _repair(messages: list[Message], mode: Repair) -> tuple[list[tuple[int, Message]], list[str]]:
    """Return messages in which calls and results pair, and a report of each change.

    Each message has its index before the change, or -1 for a new one.
    """
    from promptdsl.rendering.passes.pair import pair, removed_by_pairing
    from promptdsl.rendering.passes.read import mask_of
    from promptdsl.tree.turn_nodes import RecordedNode, RootNode, ToolTurnNode

    at, items = author(), tuple(messages)
    mask = mask_of([message for message in items if message.role not in ("event", "ephemeral")])
    run = make(RecordedNode, mask=mask, at=at, items=items, provider_format="messages", start=0)
    root = make(RootNode, (run,), mask=mask, at=at, transformation=None, equipment=())
    paired_root = pair(root, mode=mode)
    located_messages: list[tuple[int, Message]] = []
    reports = (
        []
        if mode == "error"
        else [
            f"{removed.location[1]}: a call or a result is left out, because {removed.why}"
            for removed in removed_by_pairing(root, mode=mode)
        ]
    )
    for turn in paired_root.content:
        if isinstance(turn, RecordedNode):
            located_messages += enumerate(turn.items, turn.start)
        elif isinstance(turn, ToolTurnNode):
            result = Message.tool_result(turn.tool_use_id, INTERRUPTED, error_type="interrupted")
            located_messages.append((-1, result))
            reports.append(f"the call {turn.tool_use_id!r} is answered as interrupted")
    return located_messages, reports


connect(Above(_read_message, _recording, _check_provider, _repair))
