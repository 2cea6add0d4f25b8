"""The ids of calls, and the names of tools and arguments, in the form a template takes."""

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable
from hashlib import sha256

from promptdsl.foundation.json import JsonValue
from promptdsl.messages.prompt import ToolDefinition
from promptdsl.providers.chat_template.request import Templated
from promptdsl.providers.shared.ids import tool_name
from promptdsl.providers.shared.request import Param, Place

_NINE = re.compile("[a-zA-Z0-9]{9}")


class SentIds:
    """The ids that a request is sent with, no two of them the same.

    ``short``: nine letters and digits, as the templates of Mistral require; otherwise the ids of
    the prompt. ``prompt_ids`` are these, by the id in the request. ``harmless`` breaks the control
    tokens in a text.
    """

    def __init__(
        self, *, short: bool, prompt_ids: dict[str, str], harmless: Callable[[str], str]
    ) -> None:
        self.short = short
        self.prompt_ids = prompt_ids
        self.harmless = harmless
        self.sent: dict[str, str] = {}
        self.taken: set[str] = set()

    def begin(self) -> None:
        """Begin a turn: long ids of earlier turns may be used again, for other calls."""
        if not self.short:
            self.sent.clear()
            self.taken.clear()

    def fit(self, id: str) -> str:
        """Return the id to send for an id of the request. It depends only on earlier ids."""
        if id in self.sent:
            return self.sent[id]
        if self.short:
            fitting, count = id, 0
            while fitting in self.taken or not _NINE.fullmatch(fitting):
                fitting = sha256(f"{count}/{id}".encode()).hexdigest()[:9]
                count += 1
        else:
            fitting = stem = self.harmless(self.prompt_ids.get(id, id) or "_")
            count = 1
            while fitting in self.taken:
                count += 1
                fitting = self.harmless(f"{stem}_{count}")
        self.sent[id] = fitting
        self.taken.add(fitting)
        return fitting


_MISFIT = re.compile(r"[^\w.-]")
_LONGEST_NAME = 1_000


def mended_name(request: Templated, subject: Place | ToolDefinition, name: str) -> str:
    """Return the name a tool is sent with: mended where the template prints it in a tag."""
    if not request.abilities.tag_names:
        return name
    return tool_name(request, subject, name, longest=_LONGEST_NAME, misfit=_MISFIT)


def mended_keys(request: Templated, place: Place, arguments: Param) -> Param:
    """Return arguments with keys that can be tags, at any depth; a hint when one was mended."""
    is_mended = False
    waiting: list[dict[str, JsonValue] | list[JsonValue]] = [arguments]
    while waiting:
        container = waiting.pop()
        values: Iterable[JsonValue] = container
        if isinstance(container, dict):
            if any(not key or _MISFIT.search(key) for key in container):
                is_mended = True
                entries, counts = [*container.items()], Counter[str]()
                container.clear()
                for key, value in entries:
                    container[unlike(_MISFIT.sub("_", key) or "_", container, counts)] = value
            values = container.values()
        waiting += [value for value in values if isinstance(value, dict | list)]
    if is_mended:
        reason = "the template prints them in tags: mended"
        request.lose(place, "hint", "names of arguments", reason)
    return arguments


def unlike(key: str, taken: Container[str], counts: Counter[str]) -> str:
    """Return a key that is not taken: a repeated key gets ``_2``, ``_3``, counted in ``counts``."""
    free = key
    while free in taken:
        counts[key] += 1
        free = f"{key}_{counts[key] + 1}"
    return free
