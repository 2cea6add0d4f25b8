"""What requests and replies of a provider look like: :class:`Wire`, :class:`CacheRule` and others.

All classes here are plain data, which higher packages read. Read :class:`Wire`, the last class,
first: it is the record of one provider, and ``records.py`` has all records. :class:`SchemaRules`
are the rules for JSON schemas, which are in ``schema_rules.toml``. :class:`CacheRule` is the rule
of a prompt cache. A *word* is a keyword of a JSON schema.
"""

import os
import re
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import attrs

from promptdsl.foundation.frozen import EMPTY, FrozenDict
from promptdsl.foundation.unicode import equal_start

# The rules for JSON schemas: which keywords of a schema a target takes (``schema_rules.toml``).

Treatment: TypeAlias = Literal["sent", "described", "any_of", "enum", "open"]
"""What happens to a keyword of a schema; ``schema_rules.toml`` explains each treatment."""
RULE_NAMES = (
    *("claude_tools", "claude_strict", "bedrock_claude_strict", "bedrock_strict", "nova_tools"),
    *("openai_tools", "openai_strict", "servers_strict", "gemini_all"),
)
"""The names of all rules. They are listed here, so that the file is read only when it is needed."""
OTHER_WORDS = "*"
"""The name of the row for all other keywords."""


@attrs.frozen(eq=False)
class WordRow:
    """What happens to a keyword of a schema.

    ``sent_values`` are values of the keyword that are sent unchanged, whatever the treatment is.
    ``source`` is where the rule is from.
    """

    treatment: Treatment
    sent_values: tuple[object, ...] = ()
    look_around: bool = False
    """Whether the row is only for a regular expression with look-around, such as ``(?=a)``."""
    references: bool = False
    """Whether the row is only for a regular expression that refers to its own groups."""
    source: str = ""


@attrs.frozen(eq=False, slots=False)
class SchemaRules:
    """The rules of a target for JSON schemas.

    They are for all tools, or for strict tools and the output schema.
    """

    name: str
    title: str
    """The target in words: ``Claude: any tool``."""
    words: Mapping[str, WordRow]
    """The row of each keyword, also at the root, unless ``root`` has a row for it."""
    root: Mapping[str, WordRow] = EMPTY
    closes: bool = False
    """Whether each object is sent with ``additionalProperties: false``."""
    inlines: bool = False
    """Whether each reference is replaced by its definition."""
    recursion: bool = True
    """Whether a definition may refer to itself."""
    pointers: bool = True
    """Whether a reference may point to something that is not a definition."""
    limits: Mapping[str, int] = EMPTY
    """The maximum numbers: ``nesting`` levels, ``properties``, ``optional`` properties, ``unions``
    and ``tools``.

    The last three are totals of a request: of all its strict schemas, and of its strict tools."""
    only_strict: bool = False
    """Whether the target takes only output schemas that it can enforce."""
    source: str = ""
    """Where the rules are from."""

    def may_change(self, text: str) -> bool:
        """Return whether a schema, as JSON text, may change by ``words``.

        The rules of ``root`` do not count, because the caller looks at the root itself.
        """
        if self._changed_keys is None:
            return True
        return bool(self.words) and self._changed_keys.search(text) is not None

    @cached_property
    def _changed_keys(self) -> re.Pattern[str] | None:
        """A pattern for the keywords that may change; ``None`` if any schema may change."""
        if OTHER_WORDS in {*self.words, *self.root} or self.closes or self.inlines or self.limits:
            return None
        words = "|".join(map(re.escape, sorted(self.words)))
        return re.compile(rf'"(?:{words})"\s*:')


@cache
def all_rules() -> Mapping[str, SchemaRules]:
    """Return all rules by name."""
    import tomllib

    with open(os.path.join(os.path.dirname(__file__), "schema_rules.toml"), "rb") as file:
        tables = tomllib.load(file)
    return {name: _rules(name, table, tables) for name, table in tables.items()}


NO_RULES = SchemaRules("", "", EMPTY)
"""The rules of a target that takes all keywords."""


def rules_of(name: str | None) -> SchemaRules:
    """Return the rules with a name; without a name all keywords are sent."""
    return NO_RULES if name is None else all_rules()[name]


_LIMITS = ("nesting", "properties", "optional", "unions", "tools")
"""The keys of a table that are ``limits`` of its rules."""


def _rules(name: str, table: Mapping[str, Any], tables: Mapping[str, Any]) -> SchemaRules:
    """Return the rules of a table and of its base; rows of the table replace those of the base."""
    base = tables.get(table.get("base", ""), {})
    merged: dict[str, Any] = {**base, **table}
    rows: list[dict[str, Any]] = [*base.get("rows", ()), *table.get("rows", ())]
    words: dict[str, WordRow] = {}
    root: dict[str, WordRow] = {}
    for row in rows:
        values = tuple(row.get("sent_values", ()))
        patterns = (row.get("look_around", False), row.get("references", False))
        word_row = WordRow(row["is"], values, *patterns, row["source"])
        rows_by_word = root if row.get("at_root") else words
        rows_by_word.update(dict.fromkeys(row["words"], word_row))
    return SchemaRules(
        name,
        merged["title"],
        words,
        root,
        closes=merged.get("closes", False),
        inlines=merged.get("inlines", False),
        recursion=merged.get("recursion", True),
        pointers=merged.get("pointers", True),
        limits={key: merged[key] for key in _LIMITS if key in merged},
        only_strict=merged.get("only_strict", False),
        source=merged.get("source", ""),
    )


# The rule of a prompt cache: which part of a request is read from it, and what that costs.

CACHED_COST = 0.1
"""The approximate cost of a token from a cache; a token that is not cached costs 1."""

CacheBlock: TypeAlias = tuple[object, bool]
"""A block of a request: a value to compare it by, and whether a cache mark is at its end."""


class CacheRule(NamedTuple):
    """The rule for what a prompt cache serves of a request after an earlier request.

    There are two kinds of caches. A cache that ``needs_marks`` serves the blocks up to a cache mark
    of the earlier request. These blocks have to be equal in both requests, and the last of them has
    to be among the ``lookback`` blocks before a cache mark of the later request. With
    ``ends_marked`` the provider adds a mark at the end of each request.

    Any other cache serves equal tokens from the beginning, in multiples of ``step``.

    Both serve nothing if they would serve fewer than ``minimum`` tokens.
    """

    needs_marks: bool = False
    step: int = 1
    minimum: int = 0
    lookback: int | None = None
    ends_marked: bool = False

    def served_tokens(self, equal: int) -> int:
        """Return how many of the ``equal`` tokens at the beginning the cache serves."""
        in_steps = equal // self.step * self.step
        return in_steps if in_steps >= self.minimum else 0

    def served_blocks(self, before: Sequence[CacheBlock], after: Sequence[CacheBlock]) -> int:
        """Return how many blocks of the request ``after`` a cache that needs marks serves."""
        marks_before = self._marked_ends(before)
        marks_after = self._marked_ends(after)
        equal = self.equal_blocks(before, after)
        reach = self.lookback or len(after) + 1  # without a limit every distance is in reach
        in_reach = (
            end for end in marks_before if any(0 <= later - end < reach for later in marks_after)
        )
        return max((end for end in in_reach if end <= equal), default=0)

    def _marked_ends(self, blocks: Sequence[CacheBlock]) -> list[int]:
        """Return for each cache mark of a request the number of blocks up to it."""
        return [
            count
            for count, (_, is_marked) in enumerate(blocks, 1)
            if is_marked or (self.ends_marked and count == len(blocks))
        ]

    @staticmethod
    def equal_blocks(before: Sequence[CacheBlock], after: Sequence[CacheBlock]) -> int:
        """Return how many blocks two requests have in common at their beginning."""
        return equal_start([key for key, _ in before], [key for key, _ in after])

    @staticmethod
    def cost(cached_tokens: int, total: int) -> float:
        """Return the cost of a request of ``total`` tokens, in tokens that are billed in full."""
        return cached_tokens * CACHED_COST + total - cached_tokens

    @staticmethod
    def bill(cached_tokens: int, total: int, suffix: str = "") -> str:
        """Return in words how many tokens of a request a cache serves, and how many it does not.

        ``suffix`` is written after the number of tokens from the cache.
        """
        cached_text = f"{cached_tokens:,} tokens" if cached_tokens else "nothing"
        return f"{cached_text}{suffix} from the cache, {total - cached_tokens:,} billed in full"


OPENAI_MARKS = CacheRule(needs_marks=True, minimum=1_024, ends_marked=True)
"""The rule of OpenAI's models with cache marks: any distance, and a mark at the end.

Source: OpenAI, "Prompt caching", and ``prompt_cache_options`` in its SDK, November 2026."""


# The record of a provider's requests and replies.

MediaKind: TypeAlias = Literal["image", "audio", "document", "video"]
ImageFormula: TypeAlias = Literal[
    "tiles-512", "patches-32", "patches-28", "tiles-258", "resolution"
]
"""The formula for the tokens of an image.

In this order: OpenAI's tiles, OpenAI's patches, Claude's patches, Gemini 2's tiles, and the media
resolution of Gemini 3."""

Path: TypeAlias = tuple[str, ...]
"""The keys that lead to a value in a request; empty if the provider does not have the value."""


class Part(NamedTuple):
    """A type of payload part, and its keys that the model reads."""

    texts: tuple[str, ...] = ()
    """The keys of texts; a value that is not a text is counted as JSON."""
    contents: tuple[str, ...] = ()
    """The keys of texts, payload parts, and lists of these."""
    path: Path = ()
    """The keys that lead to the object with these keys; empty if the part itself has them."""
    media: MediaKind | None = None
    """The kind of attachment, if the part is one."""
    source: Literal["sourced", "addressed", "inline"] = "sourced"
    """How the part contains this attachment.

    - ``sourced``: in an object such as ``source``, or directly in the part;
    - ``addressed``: as an address, as in OpenAI's parts;
    - ``inline``: as bytes or an address, with a media type that shows the kind, as in Gemini's
      parts."""
    recognised_by: str = ""
    """A key that only this provider's part has: other providers recognise the part by it."""


TEXT = Part(texts=("text",))
"""A part with a text."""
CALL = Part(texts=("name", "arguments", "input", "args"))
"""A part that is a tool call, with the keys of all providers."""
CONTENT = Part(contents=("content",))
"""A part that contains other parts."""
MEDIA_KINDS: tuple[MediaKind, ...] = ("image", "document", "audio", "video")
ATTACHED: Mapping[str, Part] = {
    kind: Part(contents=("title", "name", "context"), media=kind) for kind in MEDIA_KINDS
}
"""The part of each kind of attachment."""


@attrs.frozen(eq=False)
class Wire:
    """The record of one provider: what its requests and replies look like.

    ``config/records.py`` has the records of all providers. The default of a field is the usual
    value, or it means that the provider does not have this.
    """

    name: str = attrs.field()
    """The provider's name."""
    provider_format: str = attrs.field(
        default=attrs.Factory(lambda wire: wire.name, takes_self=True)
    )
    """The provider format: the ``x`` in ``Rendered.to_x`` and ``History.from_x``."""
    folder: str = attrs.field(
        default=attrs.Factory(lambda wire: wire.provider_format, takes_self=True)
    )
    """The folder of its adapter in ``providers/``."""
    adapter: str = attrs.field(default=attrs.Factory(lambda wire: wire.name, takes_self=True))
    """The provider whose adapter is used.

    For a provider this is its own name, for a server such as Groq the provider whose API it has."""

    unnamed: str = attrs.field(default=attrs.Factory(lambda wire: wire.name, takes_self=True))
    """The origin of reasoning that is read in this format when no server is named."""

    # Names.
    other_names: tuple[str, ...] = ()
    """Other names of the provider, or of services with its API. For these names an error suggests
    the right name."""
    any_model: bool = False
    """Whether its models may have any name."""
    deploys: bool = False
    """Whether its users name deployments after the model, such as ``gpt-4o-prod``."""
    own_models: bool = False
    """Whether it serves only its own models."""
    some_models: bool = False
    """Whether it serves only models with the fact ``chat``."""
    templated: bool = False
    """Whether it takes a chat template."""
    telemetry: tuple[str, str] = ("", "chat")
    """Its name in OpenTelemetry (empty if it has none), and the name of the operation."""

    # The keys of a request.
    messages_key: str = "messages"
    """The key of the list of messages."""
    system: Path = ()
    """The keys that lead to the system text, if it is not in the list of messages."""
    tools: Path = ("tools",)
    """The keys that lead to the list of tools."""
    choice: Path = ("tool_choice",)
    """The keys that lead to the tool choice."""
    output: Path = ()
    """The keys that lead to the object with the output schema."""
    output_schema: str = "schema"
    """The key of the schema in this object."""

    # Messages and their payload parts.
    contents: tuple[str, ...] = ("content",)
    """The keys of a message that the model reads."""
    own_keys: tuple[str, ...] = ()
    """The keys of a message that only this provider has."""
    parts: Mapping[str, Part] = attrs.field(factory=dict[str, Part])
    """The types of payload parts in a message."""
    keyed: bool = False
    """Whether payload parts have no ``type``: the key of their content is the type."""
    nulls: Mapping[str, tuple[str, ...]] = attrs.field(factory=dict[str, tuple[str, ...]])
    """The keys that are sent even if their value is null, by the type of the object."""
    silent: tuple[str, ...] = ()
    """The keys of payload parts that the model does not read: ids and signatures."""
    chat: str | None = None
    """The name of the same provider in the Chat Completions API, if this record is for another API
    of it."""
    two_sided: bool = False
    """Whether messages have only two sides, user and assistant.

    Neighbouring messages of one side are sent as one message, unless it ``takes_neighbours``."""
    takes_neighbours: bool = False
    """Whether a target with two sides takes several messages of one side in a row."""
    results_apart: bool = False
    """Whether tool results are sent in a separate message, although they are on the user's side."""
    joins: bool = False
    """Whether the model reads the texts of a message as one text, with blank lines between them."""
    signs: bool = False
    """Whether the reasoning in a reply is complete only when it has a signature."""
    image_tokens: ImageFormula = "patches-28"
    """The formula for models whose formula is unknown: the most expensive one of the provider."""

    # The cache.
    cache_mark_key: str = ""
    """The key of a cache mark."""
    cache: CacheRule = attrs.field(factory=CacheRule)
    """The rule of its prompt cache."""
    cached_choice: bool = False
    """Whether the cache depends on ``tool_choice``: with another value nothing is served."""

    # Tools and calls.
    wrappers: tuple[str, ...] = ()
    """The keys of a tool that contain its definition, or a list of definitions."""
    tool_schema: str = ""
    """The key of a tool's schema."""
    strict_tools: bool = False
    """Whether a tool may be ``strict``: then every call fits the schema exactly."""
    tools_prompt: bool = False
    """Whether the provider adds a system text to a request with tools."""
    choices: Mapping[str, str] = attrs.field(factory=dict[str, str])
    """The provider's words for a tool choice, by our words; ``tool`` is the choice of one tool."""
    longest_name: int = 64
    """The maximum number of characters of a tool's name."""

    # Replies.
    response: tuple[Mapping[str, object], ...] = ()
    """How a response is recognised: it has all keys of one of these mappings.

    The value in the mapping is the value of the key, or its type."""
    event: tuple[str, ...] = ()
    """How an event of a stream is recognised.

    ``type: message_`` is a key and the beginning of its value; the key is ``type`` or ``object``.
    ``key: messageSt`` is the beginning of the name of a key. ``choices[]: delta`` is a key of the
    items in a list. If the tuple is empty, an event looks like a response.
    """
    finish_reasons: Mapping[str, tuple[str, ...]] = attrs.field(factory=dict[str, tuple[str, ...]])
    """The provider's words for why a reply ended, by our words; ``""`` is for a reply that did not
    end yet."""
    compactions: tuple[tuple[str, str], ...] = ()
    """The types of blocks that replace all earlier messages (a compaction), each with a key.

    If this key has no value, the compaction failed, and the block replaces nothing."""
    keeps_questions: bool = False
    """Whether the provider can also return a compacted conversation: the user's questions, then a
    compaction."""

    @property
    def is_server(self) -> bool:
        """Whether it is a server with the API of a provider."""
        return self.name != self.adapter

    @property
    def origins(self) -> tuple[str, ...]:
        """The origins whose content it takes back: its own name, and the names of its adapter.

        A server also takes content that was read in its format without the name of a server
        (``unnamed``).
        """
        return (
            self.name,
            self.adapter,
            self.provider_format,
            *((self.unnamed,) if self.is_server else ()),
        )

    def __attrs_post_init__(self) -> None:
        # Its tables are frozen, because all prompts use the same record.
        for name in ("parts", "nulls", "choices", "finish_reasons"):
            object.__setattr__(self, name, FrozenDict(getattr(self, name)))


NO_WIRE = Wire("")
"""The record of a target without a provider."""
