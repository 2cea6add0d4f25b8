"""The tokens of a payload, for all providers.

An entry is a message, turn or item of a payload; each provider has its own name for it.
"""

from collections.abc import Mapping, Sequence

import attrs

from promptdsl.config.model_facts import ModelFacts
from promptdsl.config.wires import of_all
from promptdsl.tokens.count import TextTokens
from promptdsl.tokens.frames import PER_MESSAGE, PER_NAME, REPLY
from promptdsl.tokens.payload_parts import Parts
from promptdsl.tokens.tools import definition_tokens, definitions, output_schema_tokens, tools_frame
from promptdsl.tokens.wire_json import WireObject, WireValue


@attrs.frozen
class Tally:
    """The tokens of a payload.

    ``entries`` has the tokens of each message, turn or item in the order of the payload, with its
    frame. ``fixed`` is the rest: system text, tools, the output schema, and the beginning of the
    reply. The estimated shares of both are ``media`` (attachments) and ``tools`` (tools and the
    output schema).
    """

    fixed: int
    entries: list[int]
    media: int = 0
    tools: int = 0

    @property
    def total(self) -> int:
        """All tokens of the payload."""
        return self.fixed + sum(self.entries)


ENTRY_KEYS = of_all(lambda wire: (wire.entries,))
"""The keys that entries may have in a payload: messages, items or turns."""
SYSTEM_PATHS = tuple(filter(None, of_all(lambda wire: (wire.system,))))
TOOL_PATHS = of_all(lambda wire: (wire.tools,))
_OUTPUT_PATHS = tuple(
    path for path in of_all(lambda wire: ((wire.output, wire.output_schema),)) if path[0]
)
"""The paths that an output schema may have, each with the key of the schema itself."""
TEXT_TYPES = ("text", "input_text", "output_text")
"""The types of parts that are only a text."""
CONTENT_KEYS = of_all(lambda wire: wire.contents)
"""The keys of a message that the model reads."""


def entries_key(payload: WireObject) -> str | None:
    """Return the key of a payload under which its entries are, or ``None``."""
    return next(
        (key for key in ENTRY_KEYS if isinstance(payload.get(key), list | tuple | str)), None
    )


def value_at(value: WireValue, *keys: str) -> WireValue:
    """Return the value at a path of keys, ``None`` if a key is missing."""
    for key in keys:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def entry_tokens(payload: WireObject, tokens: TextTokens, facts: ModelFacts) -> Tally:
    """Return the tokens of each entry of a payload, and of the rest of the payload.

    - Texts, names, arguments (an object as JSON without white space) and attachments (by formula)
      are counted.
    - The system text and each entry have OpenAI's frame; the reply has 3 tokens.
    - An entry without a role is the model's, or the tool's if it is an output.
    - Ids, cache marks, signatures, encrypted reasoning and the keys of parts have no tokens.
    - If a chat template wrote the prompt, its text is counted, and of the messages only the
      attachments.
    """
    parts = Parts(tokens, facts)
    key = entries_key(payload)
    entries = None if key is None else payload[key]
    if isinstance(entries, str):
        entries = [{"role": "user", "content": entries}]
    elif not isinstance(entries, list | tuple):
        entries = []
    prompt = payload.get("prompt")
    if isinstance(prompt, str):
        attached = [_attachment_tokens(parts, entry) for entry in entries]
        return Tally(tokens.of(prompt), attached, parts.media)
    counts = _entry_counts(parts, entries)
    # System text has the frame of a message.
    fixed = REPLY
    system = [value for path in SYSTEM_PATHS if (value := value_at(payload, *path))]
    if system:
        fixed += PER_MESSAGE + tokens.of("system") + parts.content(*system)
    lists = [value for path in TOOL_PATHS if (value := value_at(payload, *path))]
    tools = [tool for values in lists for tool in definitions(values)]
    estimated = tools_frame(facts) if tools else 0
    estimated += sum(definition_tokens(tool, tokens) for tool in tools)
    wire = facts.wire
    output_paths = ((wire.output, wire.output_schema),) if wire.output else _OUTPUT_PATHS
    for path, key in output_paths:
        output_format = value_at(payload, *path)
        if isinstance(output_format, Mapping) and output_format.get(key) is not None:
            output_format = output_format if key == "schema" else {"schema": output_format[key]}
            estimated += output_schema_tokens(output_format, tokens)
    return Tally(fixed + estimated, counts, parts.media, estimated)


def _entry_counts(parts: Parts, entries: Sequence[WireValue]) -> list[int]:
    """Return the tokens of each entry.

    An entry with a role and one text is counted here, without a call. Measured on 1,000 such
    entries that were counted before: 0.3 us each instead of 1.3 us, or 0.4 us instead of 3 us if
    the text is in a part.
    """
    of, counts = parts.tokens.of, list[int]()
    frames: dict[str, int] = {}
    for entry in entries:
        role = text = None
        if isinstance(entry, dict) and len(entry) == 2:
            role, text = entry.get("role"), entry.get("content", entry.get("parts"))
            part = text[0] if isinstance(text, list) and len(text) == 1 else None
            if isinstance(part, dict):
                is_text = len(part) == 1 or (len(part) == 2 and part.get("type") in TEXT_TYPES)
                text = part.get("text") if is_text else None
        if not isinstance(role, str) or not isinstance(text, str):
            counts.append(_entry_tokens(parts, entry))
            continue
        frame = frames.get(role)
        if frame is None:
            frame = frames[role] = PER_MESSAGE + of(role)
        counts.append(frame + of(text))
    return counts


def _entry_tokens(parts: Parts, entry: WireValue) -> int:
    if not isinstance(entry, Mapping):
        return PER_MESSAGE + parts.content(entry)
    of, role, name = parts.tokens.of, entry.get("role"), entry.get("name")
    if isinstance(role, str):
        frame = PER_MESSAGE + of(role)
    elif "type" not in entry and ("parts" in entry or "content" in entry):
        # For Gemini, a turn without a role is the user's.
        frame = PER_MESSAGE + of("user")
    else:
        speaker = "tool" if str(entry.get("type")).endswith("_output") else "assistant"
        return PER_MESSAGE + of(speaker) + parts.content(entry)
    if isinstance(name, str) and name:
        frame += PER_NAME + of(name)
    keys = dict.fromkeys((*CONTENT_KEYS, *parts.facts.wire.contents))
    return frame + parts.content(*(entry[key] for key in keys if key in entry))


def _attachment_tokens(parts: Parts, entry: WireValue) -> int:
    """Return the tokens of the attachments of a message. Its text is counted elsewhere."""
    content = entry.get("content") if isinstance(entry, Mapping) else None
    if not isinstance(content, list):
        return 0
    before = parts.media
    objects = [part for part in content if isinstance(part, Mapping)]
    parts.content(*(part for part in objects if part.get("type") not in TEXT_TYPES))
    return parts.media - before
