"""The ids of calls and the names of tools and arguments, as a template takes them."""

import re
from collections import Counter
from collections.abc import Callable, Container
from hashlib import sha256
from typing import Any

from promptdsl.messages.prompt import ToolDefinition
from promptdsl.providers.chat_template.request import Templated
from promptdsl.providers.shared.ids import tool_name
from promptdsl.providers.shared.request import Param, Place

_NINE = re.compile("[a-zA-Z0-9]{9}")


class Ids:
    """The ids of a request: those that were given, or short ones, no two of them the same.

    Short ones are nine letters and digits, as the templates of Mistral ask for.
    ``given`` tells what an id of the request was before, ``harmless`` breaks the tokens in it.
    """

    def __init__(
        self, *, short: bool, given: dict[str, str], harmless: Callable[[str], str]
    ) -> None:
        self.short = short
        self.given = given
        self.harmless = harmless
        self.sent: dict[str, str] = {}
        self.taken: set[str] = set()

    def begin(self) -> None:
        """Begin a turn: what was given may be given again, and is not the same call."""
        if not self.short:
            self.sent.clear()
            self.taken.clear()

    def fit(self, id: str) -> str:
        """Return the id that one of the request is sent with; it depends on earlier ones only."""
        if id not in self.sent:
            self.sent[id] = found = self._short(id) if self.short else self._kept(id)
            self.taken.add(found)
        return self.sent[id]

    def _short(self, id: str) -> str:
        found, count = id, 0
        while found in self.taken or not _NINE.fullmatch(found):
            found = sha256(f"{count}/{id}".encode()).hexdigest()[:9]
            count += 1
        return found

    def _kept(self, id: str) -> str:
        found = stem = self.harmless(self.given.get(id, id) or "_")
        count = 1
        while found in self.taken:
            count += 1
            found = self.harmless(f"{stem}_{count}")
        return found


_MISFIT = re.compile(r"[^\w.-]")
_LONGEST = 1_000


def mended_name(request: Templated, subject: Place | ToolDefinition, name: str) -> str:
    """Return the name a tool is sent with: mended where a template prints it in a tag."""
    if not request.abilities.tag_names:
        return name
    return tool_name(request, subject, name, longest=_LONGEST, misfit=_MISFIT)


def mended_keys(request: Templated, place: Place, arguments: Param) -> Param:
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
        why = "the template prints them in tags: mended"
        request.lose(place, "hint", "names of arguments", why)
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
