"""Ids and tool names, as a service takes them: mended on both sides, and never two the same."""

import json
import re
from collections import deque
from typing import Any, cast

from promptdsl.foundation.errors import DataError
from promptdsl.foundation.json import read_json, write_json
from promptdsl.foundation.unicode import whole
from promptdsl.messages import ToolUseBlock
from promptdsl.messages.prompt import ToolDefinition
from promptdsl.providers.shared.request import Request
from promptdsl.providers.shared.turns import Turns

_MISFIT = re.compile(r"[^a-zA-Z0-9_-]")


def call_id(request: Turns, given: str, name: str = "") -> str:
    """Return the id a call is sent with, which no other call has, and keep it for its result."""
    id = given
    short = len(given) <= request.dialect.longest_id
    if given in request.uses or not (short and given.isascii() and given.isidentifier()):
        id = _unique(request, given)
    else:
        request.uses[given] = 1
    request.called[id] = name
    if given in request.calls:
        request.again.setdefault(given, deque()).append(id)
    else:
        request.calls[given] = id
    return id


def result_id(request: Turns, given: str) -> str:
    """Return the id a result is sent with: that of the first call by this id not answered yet."""
    id = request.calls.pop(given, None) or _fit(request, given)
    if request.again and (waiting := request.again.get(given)):
        request.calls[given] = waiting.popleft()
    return id


def _unique(request: Turns, given: str) -> str:
    """Return a fitting id: the n-th use gets ``_n``. It depends on earlier calls only."""
    uses, stem = request.uses, _fit(request, given)
    count = uses.get(given, 0) + 1
    found = stem if count == 1 else _numbered(stem, count, request.dialect.longest_id)
    while found in uses:
        # What was found taken before is not looked at again.
        count = max(count, request.stems.get(stem, 1)) + 1
        found = _numbered(stem, count, request.dialect.longest_id)
        request.stems[stem] = count
    uses[found] = 0
    uses[given] = count
    return found


def _numbered(stem: str, count: int, longest: int) -> str:
    suffix = f"_{count}"
    return stem[: longest - len(suffix)] + suffix


def _fit(request: Turns, id: str) -> str:
    return (request.dialect.misfit.sub("_", id) or "_")[: request.dialect.longest_id]


def digested(id: str, longest: int) -> str:
    """Return the beginning of an id with a digest of all of it, which keeps it unique."""
    from hashlib import sha256

    digest = sha256(id.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"{utf8(id)[: longest - 33]}_{digest}"


def tool_name(
    request: Request,
    name: str,
    *,
    longest: int,
    misfit: re.Pattern[str] = _MISFIT,
    definition: ToolDefinition | None = None,
) -> str:
    """Return the name a tool is sent with: ``_`` for what it may not hold, cut, unlike all others.

    A tool keeps a name that may be sent; of others the first gets what its name was mended to, and
    the definitions come first. A hint when it had to be mended.
    """
    sent = request.tool_names.get(name)
    if sent is None:
        sent = stem = (misfit.sub("_", name) or "_")[:longest]
        while sent != name and sent in request.taken_names:
            count = request.numbers.get(stem, 1) + 1
            sent = _numbered(stem, count, longest)
            request.numbers[stem] = count
        request.tool_names[name] = sent
        request.taken_names.add(sent)
        if sent == name:
            request.legal_names.add(name)
    if sent != name:
        why = f"it has other letters, or is too long or taken: sent as {sent}"
        request.lose("hint", f"tool name {name!r}", why, subject=definition)
    return sent


_ESCAPED = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")


def utf8(text: str) -> str:
    """Return a text with U+FFFD for lone surrogates."""
    return whole(text)[0]


def json_copy(value: object) -> Any:
    """Return a copy of a JSON value, with U+FFFD for lone surrogates in its strings.

    Raises :class:`DataError` for what is no JSON value.
    """
    write_json(value)
    try:
        return read_json(utf8(json.dumps(value, ensure_ascii=False)))
    except RecursionError:
        raise DataError("JSON is nested too deep to be sent", fix="Python's own limit") from None


def arguments_of(request: Request, block: ToolUseBlock) -> dict[str, Any]:
    """Return the arguments of a call as an object; text that is none stands in one, a hint."""
    text = block.arguments
    value: Any = read_json(text) if text.strip() else {}
    if not isinstance(value, dict):
        why = "not a JSON object that can be sent: sent as text in one"
        request.lose("hint", f"arguments of {block.name}", why)
        return {"arguments": utf8(text)}
    if ("\\u" in text or not text.isascii()) and _ESCAPED.search(text):
        clean = json_copy(cast("object", value))
        if clean != value:
            request.lose_surrogate(f"arguments of {block.name}")
        return cast("dict[str, Any]", clean)
    return cast("dict[str, Any]", value)
