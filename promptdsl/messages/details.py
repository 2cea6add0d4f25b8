"""The roles and kinds of messages, their details and origins, and the checks of these."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Literal, TypeAlias, get_args

import attrs

from promptdsl.foundation.errors import DataError, nearest
from promptdsl.foundation.escaping import is_rare
from promptdsl.foundation.frozen import EMPTY, Around, frozen, is_list, is_mapping, json_leaf, plain
from promptdsl.foundation.json import ABSENT, JsonObject
from promptdsl.foundation.source import Position, Source, looked_up
from promptdsl.messages.blocks import Block, ToolResultBlock
from promptdsl.messages.field_checks import kind_of, mapping, optional_string, string

# Roles, and kinds, which say where a message comes from.

Role: TypeAlias = Literal["system", "developer", "user", "assistant", "tool", "event", "ephemeral"]

ROLES: tuple[Role, ...] = get_args(Role)

Kind: TypeAlias = Literal[
    "written", "recorded", "recorded_system", "summary", "event", "request", "mixed", "trailed"
]
"""Where a message comes from.

- ``written``: a turn in code.
- ``recorded``: a recorded message.
- ``recorded_system``: a recorded system message after the beginning of the conversation.
- ``summary``: the summary of a transcript.
- ``event``: an event.
- ``request``: a grounding, which is only in this request.
- ``mixed``: a turn of the conversation that is merged with a grounding before it.
- ``trailed``: a turn of the conversation that is merged with a grounding after it.
"""

KINDS: tuple[Kind, ...] = get_args(Kind)

CONVERSATION: tuple[Kind, ...] = ("written", "recorded", "summary", "mixed", "trailed")
"""The kinds of messages that belong to the conversation, completely or in part."""

SPOKEN_KINDS: frozenset[Kind] = frozenset({*CONVERSATION, "recorded_system"})
"""The kinds that belong to the conversation: neither events nor groundings."""

RECORDED_KINDS: frozenset[Kind] = frozenset({"recorded", "recorded_system"})
"""The kinds of messages that are sent as they were recorded."""

LEADING: tuple[Kind, ...] = ("written", "recorded")
"""The kinds of system messages that are joined with the first system message."""

FLEETING: tuple[Kind, ...] = ("request", "mixed", "trailed")
"""The kinds of messages that are not in the next request, completely or in part."""


# The details of a message, such as its id, and its origins: the turns that became the message.


def _frozen_output(value: object) -> object:
    return value if value is ABSENT else frozen(value)


@attrs.frozen
class Details:
    """The id, name and notes of a message. Most messages share one object of defaults."""

    id: str | None = None
    name: str | None = None
    metadata: Mapping[str, object] = attrs.field(default=EMPTY, converter=frozen)
    tags: tuple[str, ...] = ()
    token_usage: Mapping[str, object] | None = attrs.field(default=None, converter=frozen)
    structured_output: object = attrs.field(default=ABSENT, converter=_frozen_output)
    finish_reason: str | None = None
    raw_finish_reason: str | None = None
    extra: JsonObject = attrs.field(default=EMPTY, converter=frozen)


NO_DETAILS = Details()


@lru_cache(maxsize=512)
def named(name: str) -> Details:
    """Return the details of a message that has only a name."""
    return Details(name=name)


JOINED = "joined_turns"
"""The key, in the metadata of a recorded answer that was several turns, for their number."""
DETAIL_KEYS = frozenset(field.name for field in attrs.fields(Details))
"""The keys of a message's dictionary that its details have."""

RawOrigin: TypeAlias = tuple[str, int, Position | Source | None, Details, tuple[str, ...]]
"""An :class:`Origin` before its line is looked up.

Its address is a name and an index, which is written in brackets; -1 means no index."""


@attrs.frozen
class Origin:
    """One of the turns that became a message: its address in the prompt, and its line.

    ``id``, ``metadata``, ``tags``, ``token_usage``, ``structured_output``, ``finish_reason``,
    ``raw_finish_reason`` and ``extra`` are those of the turn. For a message made of several turns,
    only its origins have them. ``components`` are the names of the components that contain the
    turn, the outermost first.

    >>> from promptdsl import Timeline, User, render
    >>> (origin,) = render(Timeline(User("Hi.", id="first"))).messages[0].sources
    >>> origin.address, origin.id
    ('first', 'first')
    """

    address: str
    source: Source | None
    id: str | None = None
    metadata: Mapping[str, object] = EMPTY
    components: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    token_usage: Mapping[str, object] | None = None
    structured_output: object = None
    finish_reason: str | None = None
    raw_finish_reason: str | None = None
    extra: JsonObject = EMPTY


def origin_of(raw: RawOrigin) -> Origin:
    """Return an origin with its address and its line."""
    head, index, at, details, components = raw
    address = head if index < 0 else f"{head}[{index}]"
    notes = {key: getattr(details, key) for key in DETAIL_KEYS - {"name"}}
    if details.structured_output is ABSENT:
        notes["structured_output"] = None
    return Origin(address, looked_up(at), components=components, **notes)


# Checks of the keys and details of a message.

KEYS = frozenset({"role", "content", "kind", "files", *DETAIL_KEYS})
"""The keys that the dictionary of a message may have."""


def checked_details(details: Mapping[str, object]) -> Details:
    """Return the checked details of a message; :class:`DataError` names the wrong key."""
    metadata, token_usage = details.get("metadata"), details.get("token_usage")
    extra = details.get("extra")
    return Details(
        id=optional_string(details.get("id"), "id"),
        name=optional_string(details.get("name"), "name"),
        metadata=EMPTY
        if metadata is None
        else plain(mapping(metadata, "metadata"), "metadata", _notes_leaf),
        tags=_tags(details.get("tags")),
        token_usage=None if token_usage is None else mapping(token_usage, "token_usage"),
        structured_output=details.get("structured_output", ABSENT),
        finish_reason=optional_string(details.get("finish_reason"), "finish_reason"),
        raw_finish_reason=optional_string(details.get("raw_finish_reason"), "raw_finish_reason"),
        extra=EMPTY if extra is None else plain(mapping(extra, "extra"), "extra"),
    )


def _notes_leaf(item: object, enclosing: Around, key: object) -> object:
    """Return a value in metadata; :class:`DataError` for a value that metadata may not have."""
    # Metadata may have JSON values, and dates, times, ``Decimal`` and the like.
    return item if is_rare(item) else json_leaf(item, enclosing, key)


def _tags(value: object) -> tuple[str, ...]:
    tags = () if value is None else value
    if not is_list(tags):
        raise DataError(f"'tags' must be a list of strings, not {kind_of(value)}")
    return tuple(string(tag, f"tags[{index}]") for index, tag in enumerate(tags))


_ROLES_ELSEWHERE = {
    **dict.fromkeys(("human", "customer", "person"), "user"),
    **dict.fromkeys(("ai", "bot", "model", "llm", "agent"), "assistant"),
    **dict.fromkeys(("function", "tool_result"), "tool"),
}
"""The role of this library, by its name in other libraries."""


def checked_role(role: object) -> Role:
    """Return a role; :class:`DataError` for an unknown role."""
    if is_mapping(role):
        fix = "write Message.from_dict(data) for the dictionary of a message"
        raise DataError(f"'role' must be a string, not {kind_of(role)}", fix=fix)
    name = string(role, "role")
    if name not in ROLES:
        meant = _ROLES_ELSEWHERE.get(name.lower())
        fix = f"did you mean {meant!r}?" if meant else nearest(name[:60], ROLES)
        raise DataError(f"unknown role {name[:60]!r}", fix=fix)
    return ROLES[ROLES.index(name)]


def check_results(blocks: Iterable[Block]) -> None:
    """Raise :class:`DataError` for a block in a tool message that is not a result."""
    for block in blocks:
        if not isinstance(block, ToolResultBlock):
            raise DataError(
                f"a tool message contains tool results, not a {block.type!r} block",
                fix='write {"type": "tool_result", "tool_use_id": ..., "content": ...}, '
                "or Message.tool_result(tool_use_id, content)",
            )


def refuse_unknown_keys(data: Mapping[str, object], keys: frozenset[str]) -> None:
    """Raise :class:`DataError` for a key that is not one of ``keys``."""
    for key in data:
        if not isinstance(key, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise DataError(f"a key of a message must be a string, not {type(key).__name__}")
        if key not in keys:
            other = "did you mean 'content'?" if key == "text" else ""
            fix = foreign_format(data) or other or nearest(key[:60], KEYS)
            raise DataError(f"unknown key {key[:60]!r} in a message", fix=fix)


def foreign_format(data: Mapping[str, object]) -> str:
    """Return the advice for a message or reply of a provider, which its keys show; else ``""``."""
    from promptdsl.foundation.remedies import REPLY, is_reply

    if is_reply(data):
        return REPLY
    reader = next((reader for key, reader in READERS.items() if key in data), None)
    return f"read a list of these with History.{reader}(messages)" if reader else ""


READERS = {
    **dict.fromkeys(("tool_calls", "tool_call_id", "function_call", "refusal"), "from_openai"),
    "call_id": "from_openai_responses",
    "parts": "from_gemini",
}
"""By key of a provider's message, the constructor of :class:`History` that reads such messages."""
