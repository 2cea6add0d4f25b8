"""How many tokens a payload is: what is really sent, whatever the provider."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

import attrs

from promptdsl.config.model_facts import ModelFacts
from promptdsl.tokens.count import TextTokens
from promptdsl.tokens.frames import PER_MESSAGE, PER_NAME, REPLY
from promptdsl.tokens.payload_parts import Part, Parts
from promptdsl.tokens.tools import definition_tokens, definitions, form_tokens, tools_frame


@attrs.frozen
class Tally:
    """The tokens of a payload.

    ``entries`` are those of each message, turn or item in the order of the payload, frames
    included; ``fixed`` is all that is beside them: system text, tools, the form of the answer, and
    what the reply begins with. ``media`` and ``tools`` are how much of these are estimates of
    attachments, and of tools and the form of the answer.
    """

    fixed: int
    entries: list[int]
    media: int = 0
    tools: int = 0

    @property
    def total(self) -> int:
        """All tokens of the payload."""
        return self.fixed + sum(self.entries)


ENTRIES = ("messages", "input", "contents")
"""The keys of a payload that may hold its entries: messages, items or turns."""
SYSTEM = (("system",), ("instructions",), ("config", "system_instruction", "parts"))
"""Where a payload may hold its system text, each a path of keys."""
TOOLS = (("tools",), ("config", "tools"), ("toolConfig", "tools"))
"""Where it may hold its tools."""


def entries_key(payload: Mapping[str, Any]) -> str | None:
    """Return the key of a payload that holds its entries, ``None`` where none of ours does."""
    return next((key for key in ENTRIES if isinstance(payload.get(key), list | tuple | str)), None)


def value_at(value: Any, *keys: str) -> Any:
    """Return the value under one key after the other, ``None`` where one is missing."""
    for key in keys:
        value = cast("Part", value).get(key) if isinstance(value, Mapping) else None
    return value


def entry_tokens(payload: Mapping[str, Any], tokens: TextTokens, facts: ModelFacts) -> Tally:
    """Return how many tokens each entry of a payload is, and all that is beside them.

    Counted are texts, names, arguments (of an object: its JSON without white space), attachments by
    formula, OpenAI's frame around each message, turn or item (one without a role is the model's, or
    the tool's where it is an output) and around system text, and 3 for the reply. Ids, marks,
    signatures, encrypted reasoning and the keys of parts are no tokens. Where a chat template made
    a text, it is counted as it is, and of the messages only what is attached.
    """
    parts = Parts(tokens, facts)
    entries = _entries(payload)
    text = payload.get("prompt")
    if isinstance(text, str):
        attached = [_attached(parts, entry) for entry in entries]
        return Tally(tokens.of(text), attached, parts.media)
    counted = _counted(parts, entries)
    tools = _tools(payload, tokens, facts) + _form(payload, tokens)
    return Tally(REPLY + tools + _system(parts, payload), counted, parts.media, tools)


def _entries(payload: Mapping[str, Any]) -> list[Any]:
    key = entries_key(payload)
    found: Any = [] if key is None else payload[key]
    return [{"role": "user", "content": found}] if isinstance(found, str) else found


def _counted(parts: Parts, entries: list[Any]) -> list[int]:
    """Return the tokens of each entry; what conversations mostly consist of, without a call."""
    frames: dict[str, int] = {}
    of, counted = parts.tokens.of, list[int]()
    for entry in entries:
        role, text = _spoken(entry) if entry.__class__ is dict and len(entry) == 2 else (None, None)
        if type(role) is str and type(text) is str:
            frame = frames.get(role)
            if frame is None:
                frame = frames[role] = PER_MESSAGE + of(role)
            counted.append(frame + of(text))
        else:
            counted.append(_entry(parts, entry))
    return counted


def _spoken(entry: Any) -> tuple[Any, Any]:
    """Return role and text of an entry that is nothing else."""
    said = entry.get("content")
    if said is None:
        said = entry.get("parts")
    if said.__class__ is list and len(said) == 1 and said[0].__class__ is dict:
        part = said[0]
        plain = len(part) == 1 or (len(part) == 2 and part.get("type") in _TEXTS)
        said = part.get("text") if plain else None
    return entry.get("role"), said


_TEXTS = ("text", "input_text", "output_text")


def _entry(parts: Parts, entry: Any) -> int:
    if not isinstance(entry, Mapping):
        return PER_MESSAGE + parts.content(entry)
    said, of = cast("Part", entry), parts.tokens.of
    role, name = said.get("role"), said.get("name")
    if not isinstance(role, str):
        if not _is_message(said):
            return PER_MESSAGE + of(_speaker(said)) + parts.content(said)
        role = "user"
    named = PER_NAME + of(name) if isinstance(name, str) and name else 0
    return PER_MESSAGE + of(role) + named + parts.content(*(said.get(key) for key in _SAID))


def _is_message(said: Part) -> bool:
    """Whether an entry without a role is a user's, as Gemini has it."""
    return "type" not in said and ("parts" in said or "content" in said)


_SAID = ("content", "parts", "reasoning_content", "refusal", "tool_calls")
"""The keys of a message that are said."""


def _speaker(item: Part) -> str:
    return "tool" if str(item.get("type")).endswith("_output") else "assistant"


def _attached(parts: Parts, entry: Any) -> int:
    """Return the tokens of what is attached to a message whose text is counted elsewhere."""
    content = cast("Part", entry).get("content") if isinstance(entry, Mapping) else None
    if not isinstance(content, list):
        return 0
    before = parts.media
    parts.content(*(part for part in content if not _is_text(part)))  # pyright: ignore[reportUnknownVariableType]
    return parts.media - before


def _is_text(part: Any) -> bool:
    return not isinstance(part, Mapping) or cast("Part", part).get("type") in _TEXTS


# What stands beside the entries.


def _system(parts: Parts, payload: Part) -> int:
    """Return the tokens of the system text: a message of its own, as far as frames go."""
    said = [value for path in SYSTEM if (value := value_at(payload, *path))]
    return PER_MESSAGE + parts.tokens.of("system") + parts.content(*said) if said else 0


def _tools(payload: Part, tokens: TextTokens, facts: ModelFacts) -> int:
    given = filter(None, (value_at(payload, *path) for path in TOOLS))
    said = [tool for tools in given for tool in definitions(tools)]
    if not said:
        return 0
    return tools_frame(facts) + sum(definition_tokens(tool, tokens) for tool in said)


_FORMS = (
    ("response_format", "json_schema"),
    ("text", "format"),
    ("output_config", "format"),
    ("outputConfig", "textFormat", "structure", "jsonSchema"),
)


def _form(payload: Part, tokens: TextTokens) -> int:
    """Return the tokens of the form of the answer, which each provider has in another place."""
    return sum(form_tokens(form, tokens) for form in _forms(payload))


def _forms(payload: Part) -> Iterator[Part]:
    for path in _FORMS:
        form = value_at(payload, *path)
        if value_at(form, "schema") is not None:
            yield form
    schema = value_at(payload, "config", "response_json_schema")
    if schema is not None:
        yield {"schema": schema}
