"""Ids and tool names, as a service takes them: mended on both sides, and never two the same."""

import re
from collections import deque

from promptdsl.messages.prompt import ToolDefinition
from promptdsl.providers.shared.clean import utf8
from promptdsl.providers.shared.request import Place, Request
from promptdsl.providers.shared.two_sided import Turns

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
    subject: Place | ToolDefinition,
    name: str,
    *,
    longest: int,
    misfit: re.Pattern[str] = _MISFIT,
) -> str:
    """Return the name a tool is sent with: ``_`` for other letters, cut, and unlike all others.

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
        request.lose(subject, "hint", f"tool name {name!r}", why)
    return sent
