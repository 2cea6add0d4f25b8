"""What requests and replies of a provider look like: plain data, which every floor above reads."""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Literal, NamedTuple, TypeAlias

import attrs

from promptdsl.foundation.frozen import FrozenDict

CacheBlock: TypeAlias = tuple[object, bool]
"""A block of a request: what it is compared by, and whether a cache mark ends it."""


class CacheRule(NamedTuple):
    """What a cache serves of a request after an earlier one.

    A cache that ``needs_marks`` serves what ends at a mark of the earlier request, if each block up
    to it is equal and it is among the ``lookback`` blocks that end at a mark of the later request.
    Any other cache serves equal tokens from the beginning, in whole steps. ``ends_marked`` is
    whether the provider itself puts a mark at the end of each request. Below ``minimum`` tokens
    nothing is served.
    """

    needs_marks: bool = False
    step: int = 1
    minimum: int = 0
    lookback: int | None = None
    ends_marked: bool = False

    def served_tokens(self, equal: int) -> int:
        """Return how many tokens are served, of those that may be."""
        served = equal // self.step * self.step
        return served if served >= self.minimum else 0

    def served_blocks(self, before: Sequence[CacheBlock], after: Sequence[CacheBlock]) -> int:
        """Return how many blocks of a request a cache that needs marks serves after another."""
        written, read = (
            [n for n, it in enumerate(side, 1) if it[1] or (self.ends_marked and n == len(side))]
            for side in (before, after)
        )
        equal, reach = self.equal_blocks(before, after), self.lookback or len(after) + 1
        found = (end for end in written if any(0 <= mark - end < reach for mark in read))
        return max((end for end in found if end <= equal), default=0)

    @staticmethod
    def equal_blocks(before: Sequence[CacheBlock], after: Sequence[CacheBlock]) -> int:
        """Return how many blocks two requests have in common at their beginning."""
        pairs = zip(before, after, strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0][0] == pair[1][0], pairs))


OPENAI_MARKS = CacheRule(needs_marks=True, minimum=1_024, ends_marked=True)
"""The rule of OpenAI's models that take marks: one is found at any distance, and one is implicit.

Source: OpenAI, "Prompt caching", and ``prompt_cache_options`` in its SDK, November 2026."""


MediaKind: TypeAlias = Literal["image", "audio", "document", "video"]
ImageFormula: TypeAlias = Literal[
    "tiles-512", "patches-32", "patches-28", "tiles-258", "resolution"
]
"""The tokens of a picture: OpenAI's tiles and patches, Claude's patches, Gemini 2's tiles, or
by media resolution (Gemini 3)."""

Path: TypeAlias = tuple[str, ...]
"""The keys on the way to a value; empty where there is none."""


class Part(NamedTuple):
    """A type of part, and its keys that the model reads."""

    texts: tuple[str, ...] = ()
    """Keys of texts; other values count as their JSON."""
    contents: tuple[str, ...] = ()
    """Keys of texts, parts, and lists of these."""
    path: Path = ()
    """The way to the object that has these keys, where it is not the part itself."""
    media: MediaKind | None = None
    """The kind of the attachment that the part is."""
    source: Literal["sourced", "addressed", "inline"] = "sourced"
    """How the part holds this attachment."""
    own: str = ""
    """A key by which other providers recognise and refuse it: the type is of this one only."""


TEXT = Part(texts=("text",))
CALL = Part(texts=("name", "arguments", "input", "args"))
CONTENT = Part(contents=("content",))
MEDIA_KINDS: tuple[MediaKind, ...] = ("image", "document", "audio", "video")
ATTACHED: Mapping[str, Part] = {
    kind: Part(contents=("title", "name", "context"), media=kind) for kind in MEDIA_KINDS
}


def _last_name(module: str) -> str:
    return module.rpartition(".")[2]


@attrs.frozen(eq=False)
class Wire:
    """The record of one provider, in the file of its name in ``config/wires/``.

    What is left out is the usual, or what the provider does not have.
    """

    name: str = attrs.field(converter=_last_name)
    """The provider's name: that of the file, which passes its ``__name__``."""
    form: str = attrs.field(
        default=attrs.Factory(lambda wire: wire.name, takes_self=True), converter=_last_name
    )
    """The provider whose form it is: the ``x`` in ``Rendered.to_x`` and ``History.from_x``."""
    folder: str = attrs.field(default=attrs.Factory(lambda wire: wire.form, takes_self=True))
    """The folder of its adapter in ``providers/``."""
    adapter: str = attrs.field(
        default=attrs.Factory(lambda wire: wire.name, takes_self=True), converter=_last_name
    )
    """The provider that a server is like: its own name for a provider."""

    unnamed: str = attrs.field(default=attrs.Factory(lambda wire: wire.name, takes_self=True))
    """The origin of the reasoning that is read in this form where no server is named."""

    # Names.
    other_names: tuple[str, ...] = ()
    """Other names of it, and of services with its interface: an error suggests the right one."""
    any_model: bool = False
    """Whether its models have any name."""
    deploys: bool = False
    """Whether its users name deployments after their model: ``gpt-4o-prod``."""
    own_models: bool = False
    """Whether it serves its own models alone."""
    some_models: bool = False
    """Whether it serves only those of its models that have the fact ``chat``."""
    templated: bool = False
    """Whether it takes a chat template."""
    telemetry: tuple[str, str] = ("", "chat")
    """Its name in OpenTelemetry, if it has one there, and the name of the operation."""

    # A request.
    entries: str = "messages"
    """The key of its messages, turns or items."""
    system: Path = ()
    """The way to system text that is not among the entries."""
    tools: Path = ("tools",)
    choice: Path = ("tool_choice",)
    output: Path = ()
    """The way to the form of the answer, an object with a schema."""
    output_schema: str = "schema"
    """The key of this schema."""

    # Messages and parts.
    contents: tuple[str, ...] = ("content",)
    """The keys of a message that the model reads."""
    own_keys: tuple[str, ...] = ()
    """The keys of a message that carry content at this provider only."""
    parts: Mapping[str, Part] = attrs.field(factory=dict[str, Part])
    """The parts of messages, by their type."""
    keyed: bool = False
    """Whether parts have no type: the key of the content is the type."""
    nulls: Mapping[str, tuple[str, ...]] = attrs.field(factory=dict[str, tuple[str, ...]])
    """By type of an object, the keys that a request needs, also where their value is null."""
    silent: tuple[str, ...] = ()
    """The keys of parts that the model does not read, beside its mark: ids, signatures."""
    chat: str | None = None
    """The same provider in Chat, where it has a form of its own beside that."""
    two_sided: bool = False
    """Whether neighbours of one side are one message."""
    takes_neighbours: bool = False
    """Whether it also takes messages of one side one after the other."""
    results_apart: bool = False
    """Whether results, which are the user's, are in a message of their own even so."""
    joins: bool = False
    """Whether the texts of a message are one text, with blank lines between them."""
    signs: bool = False
    """Whether reasoning is whole only with its signature."""
    image_tokens: ImageFormula = "patches-28"
    """The costliest formula for a picture, for models of which none is known."""

    # The cache.
    mark: str = ""
    """The key of a cache mark."""
    cache: CacheRule = attrs.field(factory=CacheRule)
    cached_choice: bool = False
    """Whether another choice of a tool ends what its cache serves."""

    # Tools and calls.
    wrappers: tuple[str, ...] = ()
    """The keys of a tool with its definition, or with a list of these."""
    tool_schema: str = ""
    """The key of a tool's schema."""
    strict_tools: bool = False
    """Whether tools have ``strict``: every call has to fit the schema exactly."""
    tools_prompt: bool = False
    """Whether the model gets a system text of the provider's own with tools."""
    choices: Mapping[str, str] = attrs.field(factory=dict[str, str])
    """The words for the choice of a tool, by ours; ``tool`` is that of a named tool."""
    longest_name: int = 64
    """The characters of a tool's name, at most."""

    # Replies.
    response: tuple[Mapping[str, object], ...] = ()
    """The signs of a response: one of them has keys with these values, or values of these types."""
    event: tuple[str, ...] = ()
    """The signs of a stream's event, such as ``type: message_``: where it is, and its beginning.

    That is ``type``, ``object``, any ``key``, or a key of the items of a list, such as
    ``choices[]``. Without a sign, an event is a response.
    """
    finish_reasons: Mapping[str, tuple[str, ...]] = attrs.field(factory=dict[str, tuple[str, ...]])
    """Its words for why a reply ended, by ours; ``""`` for a reply that has not."""
    compactions: tuple[tuple[str, str], ...] = ()
    """The types of a block that stands for all that was said before it, each with a key.

    Without a value of this key, compaction failed, and the block stands for nothing."""
    keeps_questions: bool = False
    """Whether it also returns a shorter conversation: questions alone, and then such a block."""

    @property
    def is_server(self) -> bool:
        """Whether it is a server with the interface of a provider."""
        return self.name != self.adapter

    @property
    def origins(self) -> tuple[str, ...]:
        """The origins of what is its own: its name, and that of the provider that it is like.

        What is read of Chat without the name of a server is of ``openai_compatible``.
        """
        return (self.name, self.adapter, self.form, *((self.unnamed,) if self.is_server else ()))

    def __attrs_post_init__(self) -> None:
        # All prompts share a record: nobody changes its tables.
        for name in ("parts", "nulls", "choices", "finish_reasons"):
            object.__setattr__(self, name, FrozenDict(getattr(self, name)))


NO_WIRE = Wire("")
"""The record of a target without a provider."""
