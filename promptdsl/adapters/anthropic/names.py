"""Ids and tool names, as the service takes them."""

import re
from collections import deque

from promptdsl.adapters.anthropic.request import Request

_MISFIT = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_TOOL_NAME = 128


def call_id(request: Request, given: str) -> str:
    """Return the id a call is sent with, which no other call has, and keep it for its result."""
    id = given
    if given in request.uses or not (given.isascii() and given.isidentifier()):
        id = _unique(request, given)
    else:
        request.uses[given] = 1
    if given in request.calls:
        request.again.setdefault(given, deque()).append(id)
    else:
        request.calls[given] = id
    return id


def result_id(request: Request, given: str) -> str:
    """Return the id a result is sent with: that of the first call by this id not answered yet."""
    id = request.calls.pop(given, None) or _fit(given)
    if request.again and (waiting := request.again.get(given)):
        request.calls[given] = waiting.popleft()
    return id


def _unique(request: Request, given: str) -> str:
    """Return a fitting id: the n-th use gets ``_n``. It depends on earlier calls only."""
    uses, stem = request.uses, _fit(given)
    count = uses.get(given, 0) + 1
    found = stem if count == 1 else f"{stem}_{count}"
    while found in uses:
        count += 1
        found = f"{stem}_{count}"
    uses[found] = 0
    uses[given] = count
    return found


def tool_name(request: Request, name: str) -> str:
    """Return a tool's name with ``_`` for what it may not hold, cut to 128 characters."""
    fit = _fit(name)[:_LONGEST_TOOL_NAME]
    if fit != name:
        request.lose("hint", f"tool name {name!r}", f"it has other letters: sent as {fit}")
    else:
        request.tool_names.add(name)
    return fit


def _fit(name: str) -> str:
    return _MISFIT.sub("_", name) or "_"
