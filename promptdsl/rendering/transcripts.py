"""The functions that transcripts need of higher packages: for replies, turns and pairing."""

from typing import Any

from promptdsl.foundation.author_text import INTERRUPTED
from promptdsl.foundation.errors import ContentError, DataError, TranscriptError
from promptdsl.foundation.source import author
from promptdsl.messages import Block, EventBlock
from promptdsl.messages.message import Message
from promptdsl.messages.names import ProviderName
from promptdsl.transcript.transcript import Transcript as Transcript  # noqa: PLC0414
from promptdsl.transcript.values import Above, NewMessage, Repair, join
from promptdsl.tree.node import Node, make


def _read(value: object, named: ProviderName | None) -> NewMessage:
    """Return the message of a reply, of a stream that was read, or of a written turn."""
    from promptdsl.providers.replies import Reading, provider_of, read_response, response_id
    from promptdsl.providers.shared.reading import mapping

    if isinstance(value, Node):
        return NewMessage(_written(value), {})
    if isinstance(value, Reading):
        message, (entries, provider) = value.message, value.response
        if named not in (None, provider):
            what = f"this stream was read as a stream of {provider}, not of {named}"
            fix = f"name it there: read_stream(stream, provider={named!r})"
            raise DataError(what, fix=fix, at=(author(),))
    else:
        message, entries = read_response(value, provider=named), mapping(value)
        provider = named or provider_of(entries) or ""
    models = map(entries.get, ("model", "modelVersion", "model_version"))
    reply = {"id": response_id(entries), "model": next(filter(None, models), None)}
    reply["provider"] = provider
    return NewMessage(message, {key: text for key, text in reply.items() if isinstance(text, str)})


def _written(turn: Any) -> Message:  # Any: a node, of one of many classes
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
    """Return the message of an event; its text is that of a user turn, and a value later."""
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
    """Return messages in pairs by the pass ``pair``, and a report of each change."""
    from promptdsl.rendering.passes.pair import pair, removed_by_pairing
    from promptdsl.rendering.passes.read import mask_of
    from promptdsl.tree.turn_nodes import RecordedNode, RootNode, ToolTurnNode

    at, items = author(), tuple(messages)
    mask = mask_of([message for message in items if message.role not in ("event", "ephemeral")])
    run = make(RecordedNode, mask=mask, at=at, items=items, provider_format="messages", start=0)
    root = make(RootNode, (run,), mask=mask, at=at, transformation=None, equipment=())
    done = pair(root, mode=mode)
    kept: list[tuple[int, Message]] = []
    reports = (
        []
        if mode == "error"
        else [
            f"{removed.location[1]}: a call or a result is left out, as {removed.why}"
            for removed in removed_by_pairing(root, mode=mode)
        ]
    )
    for turn in done.content:
        if isinstance(turn, RecordedNode):
            kept += enumerate(turn.items, turn.start)
        elif isinstance(turn, ToolTurnNode):
            result = Message.tool_result(turn.tool_use_id, INTERRUPTED, error_type="interrupted")
            kept.append((-1, result))
            reports.append(f"the call {turn.tool_use_id!r} is answered as interrupted")
    return kept, reports


join(Above(_read, _recording, _check_provider, _repair))
