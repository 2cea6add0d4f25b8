"""The ids of calls and the names of tools and arguments, as a template takes them."""

import re
from collections import Counter
from collections.abc import Callable, Container
from hashlib import sha256
from typing import TypeAlias

from promptdsl.foundation.json import JsonValue
from promptdsl.messages.prompt import ToolDefinition
from promptdsl.providers.chat_template.request import Templated
from promptdsl.providers.shared.ids import tool_name
from promptdsl.providers.shared.request import Location, Param

Containers: TypeAlias = list[dict[str, JsonValue] | list[JsonValue]]

_NINE = re.compile("[a-zA-Z0-9]{9}")
_MISFIT = re.compile(r"[^\w.-]")
"""A character that is refused in a name which the template prints in a tag."""


class SentIds:
    """The ids of calls and results as they are sent. The ids of calls are unique.

    They are the ids of the prompt, or nine letters and digits, which Mistral's templates require.
    """

    def __init__(self, request: Templated) -> None:
        self.request = request
        self.short = request.abilities.short_ids
        self.sent: dict[str, str] = {}
        self.taken: set[str] = set()

    def begin(self) -> None:
        """Begin a turn, whose calls may have the long ids of calls in earlier turns."""
        if not self.short:
            self.sent.clear()
            self.taken.clear()

    def fit(self, id: str) -> str:
        """Return the sent id for an id of the request. It depends on earlier ids only."""
        if id in self.sent:
            return self.sent[id]
        if self.short:
            fitting, count = id, 0
            while fitting in self.taken or not _NINE.fullmatch(fitting):
                fitting = sha256(f"{count}/{id}".encode()).hexdigest()[:9]
                count += 1
        else:
            harmless, prompt_ids = self.request.harmless, self.request.prompt_ids
            fitting = stem = harmless(prompt_ids.get(id, id) or "_")
            count = 1
            while fitting in self.taken:
                count += 1
                fitting = harmless(f"{stem}_{count}")
        self.sent[id] = fitting
        self.taken.add(fitting)
        return fitting


def mended_name(request: Templated, subject: Location | ToolDefinition, name: str) -> str:
    """Return the name with which a tool is sent, mended if the template prints it in a tag."""
    if not request.abilities.tag_names:
        return name
    return tool_name(request, subject, name, longest=1_000, misfit=_MISFIT)


def mended_keys(request: Templated, location: Location, arguments: Param) -> Param:
    """Return arguments with keys that may be tags, at any depth; a hint if any key changed."""
    mended: list[str] = []

    def fitting(key: str) -> str:
        sent = _MISFIT.sub("_", key) or "_"
        if sent != key:
            mended.append(key)
        return sent

    rewrite([arguments], fitting)
    if mended:
        reason = "the template prints them in tags: mended"
        request.hint(location, "mended_name", "names of arguments", reason)
    return arguments


def rewrite(
    waiting: Containers,
    new_key: Callable[[str], str],
    new_value: Callable[[str, JsonValue], JsonValue] = lambda _, value: value,
    kept: Container[int] = (),
) -> None:
    """Rewrite the keys and values in containers, at any depth and in place.

    ``new_value`` takes the old key and the value. A key that is taken gets ``_2``, ``_3``. ``kept``
    are the ``id()`` of containers that are not changed.
    """
    while waiting:
        container = waiting.pop()
        if isinstance(container, list):
            container[:] = values = [new_value("", value) for value in container]
        else:
            entries, counts = [*container.items()], Counter[str]()
            container.clear()
            for key, value in entries:
                free = stem = new_key(key)
                while free in container:
                    counts[stem] += 1
                    free = f"{stem}_{counts[stem] + 1}"
                container[free] = new_value(key, value)
            values = [*container.values()]
        waiting += [v for v in values if isinstance(v, dict | list) and id(v) not in kept]
