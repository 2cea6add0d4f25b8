"""Ids of calls and names of tools as a service requires them: unique, and equal in the result.

``call_id`` and ``result_id`` are for providers with two sides; others use ``fitting_id``.
"""

import re

from promptdsl.foundation.unicode import is_valid_unicode
from promptdsl.messages.prompt import ToolDefinition
from promptdsl.providers.shared.clean import MISFIT, mended, utf8
from promptdsl.providers.shared.request import Location, Request
from promptdsl.providers.shared.two_sided import Turns


def call_id(request: Turns, id: str, name: str = "") -> str:
    """Return the id with which a call is sent, and keep it for the result. It is unique."""
    sent = id
    short = len(id) <= request.dialect.longest_id
    if id in request.uses or not (short and id.isascii() and id.isidentifier()):
        sent = _unique(request, id)
    else:
        request.uses[id] = 1
    request.called[sent] = name
    request.calls.add(id, sent)
    return sent


def result_id(request: Turns, id: str) -> str:
    """Return the id with which a result is sent: that of the first open call with this id."""
    dialect = request.dialect
    return request.calls.answer(id) or mended(id, dialect.longest_id, dialect.misfit)


def _unique(request: Turns, id: str) -> str:
    """Return a unique id; the n-th use of an id ends in ``_n``. Only earlier calls count."""
    uses, longest = request.uses, request.dialect.longest_id
    stem = mended(id, longest, request.dialect.misfit)
    count = uses.get(id, 0) + 1
    sent = stem if count == 1 else _numbered(stem, count, longest)
    while sent in uses:
        # Numbers that an earlier search has taken are skipped.
        count = max(count, request.stems.get(stem, 1)) + 1
        sent = _numbered(stem, count, longest)
        request.stems[stem] = count
    uses[sent] = 0
    uses[id] = count
    return sent


def _numbered(stem: str, count: int, longest: int) -> str:
    suffix = f"_{count}"
    return stem[: longest - len(suffix)] + suffix


def fitting_id(id: str, longest: int, shortest: int = 0) -> str:
    """Return an id with ``shortest`` to ``longest`` characters.

    An id that cannot be sent is replaced by its beginning and a digest, which keeps it unique.
    """
    if shortest <= len(id) <= longest and is_valid_unicode(id):
        return id
    from hashlib import sha256

    digest = sha256(id.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"{utf8(id)[: max(longest - 33, 0)]}_{digest}"[-longest:]


def exact_id(id: str, length: int) -> str:
    """Return an id with exactly ``length`` letters and digits; for any other id, its digest."""
    if len(id) == length and id.isascii() and id.isalnum():
        return id
    from hashlib import sha256

    return sha256(id.encode("utf-8", "surrogatepass")).hexdigest()[:length]


def tool_name(
    request: Request,
    subject: Location | ToolDefinition,
    name: str,
    *,
    longest: int | None = None,
    misfit: re.Pattern[str] = MISFIT,
) -> str:
    """Return the unique name with which a tool is sent: ``_`` replaces refused characters.

    A name that may be sent stays the same. If several names become equal, all but the first get a
    number; definitions come before calls. A changed name is a hint. ``longest`` is the greatest
    number of characters, by default that of the provider.
    """
    sent = request.tool_names.get(name)
    if sent is None:
        longest = longest or request.facts.wire.longest_name
        sent = stem = mended(name, longest, misfit)
        while sent != name and sent in request.taken_names:
            count = request.numbers.get(stem, 1) + 1
            sent = _numbered(stem, count, longest)
            request.numbers[stem] = count
        request.tool_names[name] = sent
        request.taken_names.add(sent)
    if sent != name:
        reason = f"it has characters that are refused, is too long, or is taken: sent as {sent}"
        request.hint(subject, "mended_name", f"tool name {name!r}", reason)
    return sent
