"""Making a record of the outcome of a render, and leaving its texts out."""

import base64
import json
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import sha256
from operator import attrgetter
from typing import Any

import attrs

from promptdsl.budget.dropped import Dropped
from promptdsl.budget.slots import reserved
from promptdsl.config.delimiters import Delimiter
from promptdsl.config.model_facts import ModelFacts
from promptdsl.foundation.errors import OptionError
from promptdsl.foundation.frozen import is_mapping, plain
from promptdsl.foundation.json import JsonDict
from promptdsl.foundation.source import Source, author
from promptdsl.messages.blocks import CLASSES
from promptdsl.messages.loss import Loss
from promptdsl.messages.message import open_calls
from promptdsl.messages.prompt import CHOICES, OutputSchema, ToolDefinition
from promptdsl.rendering.reports.cache_order import Payload
from promptdsl.rendering.reports.outcome import Outcome
from promptdsl.rendering.reports.record import FORMAT, PromptRecord
from promptdsl.rendering.spans import Span
from promptdsl.tree.outline import outline_rows

_NO_DATA = ("template", "transformation", "role_layers")
_FACTS = [name for name in attrs.fields_dict(ModelFacts) if name not in _NO_DATA]
"""The facts that are plain data."""
_get_facts = attrgetter(*_FACTS)


def record_of(
    outcome: Outcome,
    *,
    tokens: JsonDict | None,
    dropped: Iterable[Dropped],
    inputs: object = None,
    content: bool = True,
) -> PromptRecord:
    """Return the record of the outcome of a render; ``tokens`` are the data of its report.

    Raises :class:`OptionError` for ``inputs`` that are no mapping, :class:`DataError` for one
    that JSON cannot express.
    """
    if inputs is not None and not is_mapping(inputs):
        fix = "give a mapping of the arguments by name"
        raise OptionError("inputs are no mapping", fix=fix, at=(author(),))
    sent, written = outcome.sent, outcome.written_payload
    can_be_sent = written is not None and not open_calls(sent.messages)
    data: JsonDict = {
        "format": FORMAT,
        "content": True,
        "digest": payload_digest(written.shared) if written and can_be_sent else None,
        "model": dict(_facts_dict(outcome.facts)),
        "messages": [message.to_dict() for message in sent.messages],
        "outline": outline_rows(outcome.tree),
        "spans": _span_rows(outcome.spans()),
        "tokens": tokens,
        "budget": _budget_dict(outcome, tokens),
        "dropped": [*map(_dropped_dict, dropped)],
        "losses": [*map(_loss_dict, outcome.losses())],
        "tools": [*map(_equipment_dict, sent.tools)],
        "tool_choice": sent.tool_choice,
        "output": sent.output and _equipment_dict(sent.output),
        "libraries": [*map(attrs.asdict, outcome.libraries())],
        "settings": {
            key: {"value": _plain(value), "layer": layer}
            for key, value, layer in outcome.config.origins
        },
        "inputs": None if inputs is None else plain(inputs, "inputs"),
    }
    return PromptRecord(data if content else without_content(data))


def payload_digest(payload: Payload) -> str:
    """Return the SHA-256 of a payload as JSON text: sorted keys, no white space, UTF-8.

    Bytes are base64, as in the body of a request.
    """

    def as_text(value: object) -> object:
        return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)

    text = json.dumps(
        payload, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=as_text
    )
    return sha256(text.encode()).hexdigest()


@lru_cache(maxsize=64)
def _facts_dict(facts: ModelFacts) -> JsonDict:
    values = zip(_FACTS, _get_facts(facts), strict=True)
    known = {name: _plain(value) for name, value in values if value}
    return {"provider": None, "model": None, "known": False} | known


def _plain(value: Any) -> Any:  # Any: a fact or a setting
    """Return a fact or a setting as data."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, tuple):
        return [*value]
    if isinstance(value, Delimiter):
        return [value.open, value.close]
    return getattr(value, "__qualname__", type(value).__name__)


def _equipment_dict(part: ToolDefinition | OutputSchema) -> JsonDict:
    """Return a tool, or the form of the answer, without the fields that have their defaults."""
    fields = attrs.fields(type(part))
    data = {it.name: getattr(part, it.name) for it in fields if it.name != "at"}
    known = {name: value for name, value in data.items() if value or name == "strict"}
    return known | _source_dict(part.source)


def _source_dict(source: Source | None) -> JsonDict:
    return {} if source is None else {"source": str(source)}


def _dropped_dict(part: Dropped) -> JsonDict:
    data: JsonDict = {"what": part.what, "path": part.path, "tokens": part.tokens}
    data |= {"priority": part.priority, "why": part.why, "text": part.text}
    return data | ({"said": part.said} if part.said else {}) | _source_dict(part.source)


def _loss_dict(loss: Loss) -> JsonDict:
    data: JsonDict = {"kind": loss.kind, "what": loss.what, "why": loss.why, "path": loss.path}
    more = {"name": loss.name, "at": [*loss.at], "also": [*loss.also]}
    known = {name: value for name, value in more.items() if value}
    return data | known | _source_dict(loss.source)


def _budget_dict(outcome: Outcome, tokens: JsonDict | None) -> JsonDict | None:
    facts, budget = outcome.facts, outcome.budget
    limit = budget and budget.of(facts.window, facts.model)
    if budget is None or limit is None or tokens is None:
        return None
    used, reserve = tokens["total"], budget.reserve + reserved(outcome.given)
    return {"limit": limit, "used": used, "reserve": reserve, "free": limit - used - reserve}


def _span_rows(spans: Iterable[Span]) -> list[JsonDict]:
    rows: list[JsonDict] = []
    places: dict[int, str] = {}
    """The text of each source, by its id: many spans have one."""
    for span in spans:
        row: JsonDict = {
            "message": span.message,
            "block": span.block,
            "start": span.start,
            "end": span.end,
            "kind": span.kind,
            "role": span.role,
            "address": span.address,
        }
        if span.inner is not None:
            row["inner"] = span.inner
        if span.turn != span.address:
            row["turn"] = span.turn
        if span.label is not None:
            row["label"] = span.label
        if span.cache is not None:
            row["cache"] = span.cache
        if span.library is not None:
            row["library"] = span.library.name
        source = span.source
        if source is not None:
            place = places.get(id(source))
            if place is None:
                place = places[id(source)] = f"{source.file}:{source.line}"
            row["source"] = place
        rows.append(row)
    return rows


_SPAN = ("message", "block", "inner", "start", "end", "kind", "role", "cache")
_COUNTS = ("total", "label", "method", "typical", "messages", "tools", "form")


def without_content(data: JsonDict) -> JsonDict:
    """Return a record without the texts, names, ids, files and inputs: only what is listed here.

    The ids of sections stay: their author wrote them in code.
    """
    tokens, output = data["tokens"], data["output"]
    kept: JsonDict = _only(data, "format", "digest", "model", "budget", "libraries")
    kept |= {"content": False, "outline": [], "inputs": None}
    kept["messages"] = [
        _only(message, "role", "kind") | {"content": _bare_blocks(message["content"])}
        for message in data["messages"]
    ]
    kept["spans"] = [_only(span, *_SPAN) for span in data["spans"]]
    kept["tokens"] = tokens and {
        **_only(tokens, *_COUNTS),
        "parts": [_bare_part(part, "depth", "tokens", "cache") for part in tokens["parts"]],
    }
    kept["dropped"] = [_bare_part(part, "tokens", "priority") for part in data["dropped"]]
    kept["losses"] = [_only(loss, "kind", "name", "at") for loss in data["losses"]]
    kept["tools"] = [_only(tool, "cache") for tool in data["tools"]]
    kept["tool_choice"] = data["tool_choice"] if data["tool_choice"] in CHOICES else None
    kept["output"] = output and _only(output, "strict")
    kept["settings"] = {
        key: _only(row, *(("layer",) if isinstance(row["value"], list) else ("value", "layer")))
        for key, row in data["settings"].items()
    }
    return kept


def _only(row: JsonDict, *names: str) -> JsonDict:
    return {name: row[name] for name in names if name in row}


def _bare_blocks(blocks: Sequence[JsonDict]) -> list[JsonDict]:
    bare: list[JsonDict] = []
    for block in blocks:
        kind = block["type"] if block["type"] in CLASSES else "unknown"
        inner = block.get("content")
        results = {"content": _bare_blocks(inner)} if kind == "tool_result" and inner else {}
        bare.append({"type": kind} | _only(block, "cache", "is_error", "error_type") | results)
    return bare


def _bare_part(part: JsonDict, *names: str) -> JsonDict:
    """Return a part with its kind in the place of its name, and with the address of a section."""
    what = part["what"]
    what = what if what.startswith("section ") else re.split(" ['\"]", what)[0]
    return {"what": what} | _only(part, *names) | ({"dropped": ""} if "dropped" in part else {})
