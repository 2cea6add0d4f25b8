"""Names that a template prints in a tag: with nothing in them that would end it."""

import re
from collections import Counter
from collections.abc import Container
from typing import Any

from promptdsl.adapters.chat_template.request import Templated
from promptdsl.prompts import ToolDefinition
from promptdsl.wire.names import tool_name
from promptdsl.wire.request import Param

_MISFIT = re.compile(r"[^\w.-]")
_LONGEST = 1_000


def mended_name(request: Templated, name: str, *, definition: ToolDefinition | None = None) -> str:
    """Return the name a tool is sent with: mended where a template prints it in a tag."""
    if not request.abilities.tag_names:
        return name
    return tool_name(request, name, longest=_LONGEST, misfit=_MISFIT, definition=definition)


def mended_keys(request: Templated, arguments: Param) -> Param:
    """Return arguments whose keys can be tags, however deep; a hint when one was mended."""
    held, mended = {"": arguments}, False
    waiting: list[Any] = [held[""]]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            mended |= _mend(value)  # pyright: ignore[reportUnknownArgumentType]
        inner = value.values() if isinstance(value, dict) else value  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        waiting += [one for one in inner if isinstance(one, dict | list)]  # pyright: ignore[reportUnknownVariableType]
    if mended:
        request.lose("hint", "names of arguments", "the template prints them in tags: mended")
    return arguments


def _mend(entries: dict[str, Any]) -> bool:
    """Mend the keys of a mapping in place; return whether any had to be."""
    if not any(not key or _MISFIT.search(key) for key in entries):
        return False
    given, counts = [*entries.items()], Counter[str]()
    entries.clear()
    for key, value in given:
        entries[unlike(_MISFIT.sub("_", key) or "_", entries, counts)] = value
    return True


def unlike(key: str, taken: Container[str], counts: Counter[str]) -> str:
    """Return a key that is not taken: the n-th of its name gets ``_n``, as ``counts`` has it."""
    found = key
    while found in taken:
        counts[key] += 1
        found = f"{key}_{counts[key] + 1}"
    return found
