"""Make the record of a render, with or without its texts: ``record_of``."""

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from operator import attrgetter
from typing import Any, cast

import attrs

from promptdsl.budget.dropped import Dropped
from promptdsl.config.model_facts import ModelFacts, TokenFactors
from promptdsl.config.transformation import Delimiter
from promptdsl.foundation.errors import OptionError
from promptdsl.foundation.frozen import is_mapping, plain
from promptdsl.foundation.json import JsonDict
from promptdsl.foundation.source import LibrarySection, Source, author
from promptdsl.foundation.unicode import is_valid_unicode
from promptdsl.messages.blocks import ToolResultBlock, shown_text
from promptdsl.messages.message import Message
from promptdsl.messages.prompt import Loss, OutputSchema, Prompt, ToolDefinition
from promptdsl.rendering.reports.cache_order import Payload
from promptdsl.rendering.reports.record import (
    COUNT_KEYS,
    FORMAT,
    PromptRecord,
    record_without_content,
    shorten_sources,
)
from promptdsl.rendering.reports.report_input import ReportInput
from promptdsl.rendering.reports.token_parts import TokenPart
from promptdsl.rendering.reports.token_view import TokenReport
from promptdsl.rendering.spans import Span
from promptdsl.tree.node import Node, walk
from promptdsl.tree.outline import outline_rows
from promptdsl.tree.part_nodes import TableNode
from promptdsl.tree.turn_nodes import RecordedNode, RootNode


def _fields_of(cls: type, *without: str) -> tuple[str, ...]:
    return tuple(name for name in attrs.fields_dict(cls) if name not in without)


PART_FIELDS = _fields_of(TokenPart)
DROPPED_FIELDS = _fields_of(Dropped, "gone", "text")
LOSS_FIELDS = _fields_of(Loss, "message")
TOOL_FIELDS, OUTPUT_FIELDS = (
    (*_fields_of(definition, "at"), "source") for definition in (ToolDefinition, OutputSchema)
)
"""The fields that a record has of each part, loss or definition; empty fields are left out."""
FACT_FIELDS = _fields_of(
    ModelFacts, "template", "transformation", "role_layers", "wire", "guesses_media"
)
_FIELDS_WITH_OBJECTS = ("source", "library", "at", "also", "message")
"""The fields with objects that become JSON data."""
_NAMES_IN_REPORT = {"form": "frame"}
"""The name of a count in the report, if a record has another key for it."""
_AS_DATA: Mapping[type, Callable[[Any], object]] = {  # Any: a value of the type
    Source: str,
    LibrarySection: attrgetter("name"),
    Delimiter: lambda ends: [ends.open, ends.close],
    TokenFactors: list,
    tuple: list,
}


def record_of(
    report_input: ReportInput,
    *,
    tokens: JsonDict | None,
    dropped: Iterable[Dropped],
    report: TokenReport | None = None,
    inputs: object = None,
    content: bool = True,
) -> PromptRecord:
    """Return the record of a render; ``tokens`` is the result of :func:`tokens_of`.

    With a ``report``, spans have their tokens, and dropped parts their location.

    Raises :class:`OptionError` if ``inputs`` is not a mapping, and :class:`DataError` for an input
    that JSON cannot express.
    """
    if inputs is not None and not is_mapping(inputs):
        fix = "pass a dictionary of the arguments by name"
        raise OptionError("inputs is not a mapping", fix=fix, at=(author(),))
    sent_prompt, payload, facts = (
        report_input.sent,
        report_input.written_payload,
        report_input.facts,
    )
    data: JsonDict = {
        "format": FORMAT,
        "content": content,
        "digest": payload_digest(payload.shared) if payload and report_input.can_be_sent else None,
        "model": dict(_known_facts(facts)),
        "messages": [message.to_dict() for message in sent_prompt.messages],
        "outline": outline_rows(report_input.tree),
        "sent": report_input.sent_blocks(),
        "spans": _span_rows(report_input.spans(), () if report is None else report.spans),
        "tokens": tokens,
        "budget": None,
        "dropped": _dropped_rows(tuple(dropped), report_input.stages["fit"], report),
        "losses": _rows(report_input.losses(), LOSS_FIELDS),
        "tools": _rows(sent_prompt.tools, TOOL_FIELDS),
        "tool_choice": sent_prompt.tool_choice,
        "output": _output_row(sent_prompt),
        "libraries": [*map(attrs.asdict, report_input.libraries())],
        "settings": {
            key: {"value": _as_data(value), "layer": layer}
            for key, value, layer in report_input.config.origins
        },
        "inputs": None if inputs is None else _as_read(plain(inputs, "inputs")),
    }
    if sent_as := report_input.sent_as():
        data["sent_as"] = {str(index): role for index, role in sent_as.items()}
    if report_input.is_masked:
        data["dropped"] = [{**row, "said": "", "text": ""} for row in data["dropped"]]
    use = None if tokens is None else report_input.budget_use(tokens["total"])
    if use is not None:
        data["budget"] = attrs.asdict(use)
    if not content:
        return PromptRecord(record_without_content(data))
    shorten_sources(data)
    return PromptRecord(data)


def tokens_of(report: TokenReport) -> JsonDict:
    """Return a report on tokens as JSON data."""
    return {
        **{key: getattr(report, _NAMES_IN_REPORT.get(key, key)) for key in COUNT_KEYS},
        "messages": [*report.messages],
        "sections": dict(report.sections),
        "sources": [{"source": str(at), "tokens": n} for at, n in report.sources.items()],
        "parts": _rows(report.parts, PART_FIELDS),
    }


def payload_digest(payload: Payload) -> str:
    """Return the SHA-256 of a payload as JSON text: sorted keys, no white space, UTF-8.

    Bytes are base64, as in the body of a request.
    """
    text = json.dumps(
        payload,
        ensure_ascii=False,
        sort_keys=True,
        separators=(",", ":"),
        default=lambda data: base64.b64encode(data).decode(),
    )
    return sha256(text.encode()).hexdigest()


@lru_cache(maxsize=64)
def _known_facts(facts: ModelFacts) -> JsonDict:
    known_facts = {name: _as_data(value) for name in FACT_FIELDS if (value := getattr(facts, name))}
    return {"provider": None, "model": None, "known": False} | known_facts


def _as_data(value: Any) -> Any:  # Any: a field, a fact or a setting
    convert = _AS_DATA.get(type(cast("object", value)))
    if convert is not None:
        return convert(value)
    return getattr(value, "__qualname__", type(value).__name__) if callable(value) else value


def _output_row(prompt: Prompt) -> JsonDict | None:
    """Return the fields of the output schema; ``prompted`` if it is text of the messages."""
    if prompt.output is None:
        return None
    (row,) = _rows([prompt.output], OUTPUT_FIELDS)
    return {**row, "prompted": True} if prompt.prompts_output else row


def _rows(parts: Iterable[object], names: Sequence[str]) -> list[JsonDict]:
    """Return the fields of objects as rows; empty fields are left out."""
    values, rows = attrgetter(*names), list[JsonDict]()
    for part in parts:
        fields = zip(names, values(part), strict=True)
        row = {name: field for name, field in fields if field or field == 0}
        for name in _FIELDS_WITH_OBJECTS:
            if name in row:
                row[name] = _AS_DATA[type(row[name])](row[name])
        rows.append(row)
    return rows


def _span_rows(spans: Iterable[Span], tokens: Sequence[int]) -> list[JsonDict]:
    """Return the fields of spans as rows; empty fields are left out.

    There may be many spans, and ``_rows`` would take three times as long.
    """
    rows: list[JsonDict] = []
    for span in spans:
        row: JsonDict = {"message": span.message, "block": span.block, "start": span.start}
        row["end"], row["kind"], row["role"] = span.end, span.kind, span.role
        row["address"], row["turn"] = span.address, span.turn
        if span.source is not None:
            row["source"] = f"{span.source.file}:{span.source.line}"
        rare = span.inner, span.label, span.cache, span.library and span.library.name
        if rare != _NONE_OF_THEM:
            names = zip(("inner", "label", "cache", "library"), rare, strict=True)
            row |= {name: value for name, value in names if value is not None}
        rows.append(row)
    for row, count in zip(rows, tokens, strict=False):
        row["tokens"] = count
    return rows


_NONE_OF_THEM = (None,) * 4


def _dropped_rows(
    dropped: Sequence[Dropped], fitted: RootNode, report: TokenReport | None
) -> list[JsonDict]:
    """Return the dropped parts as rows, with the texts that are not in the fitted tree."""
    rows = _rows(dropped, DROPPED_FIELDS)
    nodes = [node for node, _ in walk(fitted)] if rows else []
    sent_ids = {*map(id, nodes)}
    for node in nodes:
        if isinstance(node, RecordedNode):
            sent_ids.update(map(id, node.items))
    for part, row in zip(dropped, rows, strict=True):
        if part.text:
            row["said"] = part.text  # the key has the old name of the attribute
        pieces = [*_unsent_in(part.gone, sent_ids)]
        if calls := [*_calls_in(pieces)]:
            row["calls"] = calls
        text = part.text or "\n\n".join(filter(None, map(_text_of, pieces)))
        row["text"] = text if is_valid_unicode(text) else _as_read(text)
    for row, location in zip(rows, () if report is None else report.placed, strict=False):
        if location.at is not None:
            row["at"] = location.at
        if location.range is not None:
            row["range"] = [*location.range]
    return rows


def _unsent_in(items: Iterable[object], sent_ids: set[int]) -> Iterator[object]:
    """Yield the texts, recorded messages and nodes that are not sent, in document order.

    ``items`` were dropped, but those with an id in ``sent_ids`` are sent. A paragraph and a table
    are one piece.
    """
    stack = [*items][::-1]
    while stack:
        item = stack.pop()
        if id(item) in sent_ids:
            continue
        yield item
        if isinstance(item, RecordedNode):
            stack += reversed(item.items)
        elif isinstance(item, Node) and not isinstance(item, TableNode) and not item._is_prose:
            stack += reversed(item.content)


def _calls_in(pieces: Iterable[object]) -> Iterator[str]:
    """Yield the ids of the calls whose results are not sent, or not sent unchanged."""
    for piece in pieces:
        if isinstance(piece, Message):
            results = (block for block in piece.content if isinstance(block, ToolResultBlock))
            yield from (result.tool_use_id for result in results)


def _text_of(piece: object) -> str:
    """Return the text of something that is not sent, not encoded; ``""`` if it has no text."""
    match piece:
        case str():
            return piece
        case Message():
            calls = (f"{call.name}({call.arguments})" for call in piece.calls)
            return f"{piece.role}: {' '.join(filter(None, (piece.text, *calls)))}"
        case TableNode():
            return "\n".join(" | ".join(map(str, row)) for row in piece.rows)
        case Node() if piece._is_prose and piece.content:
            texts = (
                child if isinstance(child, str) else getattr(child, "text", "")
                for child in piece.content
            )
            return "".join(texts)
        case Node():
            block = getattr(piece, "block", None)
            return shown_text(block) if block else getattr(piece, "text", "")
        case _:
            return ""


def _as_read(value: object) -> object:
    """Return a value as a reader of its JSON text gets it: a surrogate pair is one character."""
    data: object = json.loads(json.dumps(value))
    return data
