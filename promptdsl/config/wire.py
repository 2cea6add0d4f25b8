"""What requests and replies of a provider look like: plain data, which every floor above reads."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

import attrs

from promptdsl.config.cache_rule import CacheRule

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
    silent: tuple[str, ...] = ()
    """The keys of parts that the model does not read, beside its mark: ids, signatures."""
    two_sided: bool = False
    """Whether neighbours of one side are one message."""
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
    exact_id: int = 0
    """The letters and digits of a call's id, where it has just so many."""

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

    def __attrs_post_init__(self) -> None:
        # All prompts share a record: nobody changes its tables.
        for name in ("parts", "choices", "finish_reasons"):
            object.__setattr__(self, name, MappingProxyType({**getattr(self, name)}))


NO_WIRE = Wire("")
"""The record of a target without a provider."""
