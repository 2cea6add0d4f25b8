"""The facts about a model: the fields of :class:`ModelFacts`, and the checks of users' facts.

:class:`ModelFacts` explains each fact; :func:`checked_facts` checks those that a user registers.
"""

from collections.abc import Mapping, Sequence
from math import inf
from sys import maxsize
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypedDict, cast, get_args

import attrs

from promptdsl.config.wire import (
    OPENAI_MARKS,
    RULE_NAMES,
    CacheRule,
    ImageFormula,
    MediaKind,
    Wire,
)
from promptdsl.config.wires import wire_of
from promptdsl.foundation.errors import ConfigError, OptionError, is_one_of, nearest, shown
from promptdsl.foundation.unicode import is_valid_unicode
from promptdsl.messages.names import ProviderName

if TYPE_CHECKING:
    from promptdsl.config.chat_template import ChatTemplate

MappedRole: TypeAlias = Literal["user", "developer", "system"]
Roles: TypeAlias = tuple[tuple[str, MappedRole], ...]
"""The roles that one layer of settings sets: ``("event", role)`` and ``("ephemeral", role)``."""


class TokenFactors(NamedTuple):
    """How many tokens a model has for one token of o200k_base, if its encoding is not public.

    With the typical factors the count is about right. With the ``must_fit`` factors it is high
    enough for nearly every text. The first two factors are for text in ASCII, the others for text
    in other scripts.
    """

    typical: float
    must_fit: float
    other_typical: float
    other_must_fit: float


ReasoningBack: TypeAlias = Literal["never", "turn", "always"]
"""When reasoning is sent back: never, only reasoning after the last user turn, or always."""
ListRole: TypeAlias = Literal["system", "user", "assistant", "tool"]


class Facts(TypedDict, total=False):
    """The facts about a model or a server that a user can register; see :class:`ModelFacts`."""

    event_role: MappedRole
    ephemeral_role: MappedRole
    system: bool
    developer: bool
    instructions: bool
    several_systems: bool
    later_system: bool | None
    result_instructions: bool
    names: bool
    user_after_results: bool
    result_names: bool
    list_roles: Sequence[ListRole]
    prefill: bool
    cache_marks: bool
    answer_marks: bool
    tool_marks: bool
    lasting_marks: bool
    message_marks: bool
    cache_minimum: int | None
    binds_reasoning: bool
    reasoning_key: str | None
    reasoning_back: ReasoningBack
    missing_reasoning: str | None
    thinking_tags: Sequence[str] | None
    kept_keys: Sequence[str]
    litellm_keys: bool
    joins_texts: bool
    signatures: bool
    chat: bool
    chat_tools: bool
    typed_tools: bool
    strict_tools: bool
    forced_tools: bool
    schema_output: bool
    media: Sequence[MediaKind]
    document_types: Sequence[str] | None
    file_addresses: bool
    result_media: Sequence[str]
    beside_results: Sequence[str] | None
    s3_media: bool
    exact_id: int | None
    longest_id: int | None
    signed_reasoning: bool
    tool_schemas: str | None
    strict_schemas: str | None
    image_tokens: ImageFormula | None
    encoding: str | None
    token_factors: Sequence[float] | None
    window: int | None
    output: int | None
    template: object
    transformation: object


@attrs.frozen(cache_hash=True)
class ModelFacts:
    """The abilities and limits of a target, which is a model at a provider.

    ``known`` is whether the model is known by its name. If not, the facts are the careful defaults
    of the provider. :func:`register_model` adds facts.

    >>> from promptdsl import Timeline, User, render
    >>> facts = render(Timeline(User("Hi.")), model="gpt-4o").facts
    >>> facts.provider, facts.known, facts.window, facts.encoding
    ('openai', True, 128000, 'o200k_base')
    """

    provider: ProviderName | None = None
    model: str | None = None
    known: bool = False
    event_role: MappedRole = "user"
    ephemeral_role: MappedRole = "user"
    system: bool = True
    """Whether requests have a system role."""
    developer: bool = False
    """Whether requests have a developer role."""
    instructions: bool = False
    """Whether requests can carry an instruction in the middle of a conversation."""
    several_systems: bool = True
    """Whether Chat takes several leading system messages. If not, they are sent as one."""
    later_system: bool | None = None
    """Whether Chat takes a system message after the first one.

    ``None``: it is not known, so the message is sent. If not, its text is sent as a user message
    between delimiters, in the same position."""
    result_instructions: bool = True
    """Whether an instruction may directly follow the result of a tool."""
    names: bool = False
    """Whether a message may carry a speaker's name."""
    user_after_results: bool = True
    """Whether a user's message may follow the result of a tool in Chat."""
    result_names: bool = False
    """Whether the result of a tool has to carry the name of the tool."""
    list_roles: tuple[ListRole, ...] = ("system", "user", "assistant", "tool")
    """The roles whose content may be a list of parts in Chat. For other roles it is one text."""
    prefill: bool = False
    """Whether the last message may be an assistant turn that the model continues."""
    cache_marks: bool = False
    """Whether the request can carry cache marks."""
    answer_marks: bool = False
    """Whether assistant messages may carry a cache mark."""
    tool_marks: bool = False
    """Whether tools may carry a cache mark."""
    lasting_marks: bool = False
    """Whether the cache marks of Chat are ``cache_control`` with a lifetime, as at OpenRouter."""
    message_marks: bool = False
    """Whether the mark of a tool message is on the message, as at LiteLLM, not on its last part."""
    cache_minimum: int | None = None
    """The number of tokens from which a prompt is cached; ``None`` if it is not known."""
    binds_reasoning: bool = False
    """Whether reasoning is valid only after exactly the bytes that were before it."""
    reasoning_key: str | None = None
    """The key of an assistant message in Chat in which its reasoning is sent back.

    ``content`` is for a server that takes reasoning in the text, between ``thinking_tags``."""
    reasoning_back: ReasoningBack = "never"
    """When reasoning without a signature is sent back to its server."""
    missing_reasoning: str | None = None
    """The text that is sent if an assistant message with calls needs reasoning and has none."""
    thinking_tags: tuple[str, str] | None = None
    """The tags around reasoning at the beginning of a text in Chat, if a server writes tags."""
    kept_keys: tuple[str, ...] = ()
    """The keys of an assistant message, or of a call, that are sent back unchanged.

    Only servers that send such keys have them here."""
    litellm_keys: bool = False
    """Whether Chat has LiteLLM's keys for signed reasoning and for the signatures of calls."""
    joins_texts: bool = True
    """Whether neighbouring texts are joined in Chat. If not, each text is a separate part."""
    signatures: bool = False
    """Whether the first call of each step of the current turn needs a thought signature."""
    chat: bool = True
    """Whether OpenAI serves the model in Chat Completions. If not, it is only in Responses."""
    chat_tools: bool = True
    """Whether the model takes tools in Chat Completions. If not, it takes them in Responses."""
    typed_tools: bool = True
    """Whether every tool of Chat needs the key ``type`` with the value ``function``."""
    strict_tools: bool = True
    """Whether a tool may be ``strict``, at a provider that has strict tools."""
    forced_tools: bool = True
    """Whether a request can force the model to call a tool: any tool, or a tool by its name."""
    schema_output: bool = False
    """Whether a request can ask for an answer that fits a JSON schema."""
    media: tuple[MediaKind, ...] = ()
    """The kinds of attachments that a request can carry and the model is not known to refuse."""
    document_types: tuple[str, ...] | None = None
    """The media types of documents that are sent as files; ``None``: all types of the provider."""
    file_addresses: bool = False
    """Whether Chat takes the address of a document instead of its bytes."""
    result_media: tuple[str, ...] = ()
    """The attachments that the result of a tool may contain: kinds, or media types."""
    beside_results: tuple[str, ...] | None = None
    """The types of blocks that may be in a turn with tool results; ``None``: all types."""
    s3_media: bool = True
    """Whether the address of an attachment may be in S3, at a provider that takes S3 addresses."""
    exact_id: int | None = None
    """The exact number of letters and digits of a call's id in Chat; ``None``: any number."""
    longest_id: int | None = 40
    """The maximum number of characters of a call's id in Chat; ``None``: no limit."""
    signed_reasoning: bool = True
    """Whether the model takes signed reasoning back, at a provider that can carry it."""
    tool_schemas: str | None = None
    """The name of the rules in ``schema_rules.toml`` for the schemas of all tools.

    ``None``: all keywords are sent."""
    strict_schemas: str | None = None
    """The name of the rules for strict tools and for the output schema."""
    image_tokens: ImageFormula | None = None
    """The formula for the tokens of an image; ``None`` if it is not known.

    The numbers in it depend on the model's name (``tokens/attachments.py``). An unknown name has
    the usual numbers. You cannot add another formula."""
    encoding: str | None = None
    """The tiktoken name of the model's encoding; ``None`` if it is not public or not known."""
    token_factors: TokenFactors | None = None
    """The factors for counts of o200k_base.

    ``None`` if ``encoding`` is exact, for a model of OpenAI, and without a model."""
    window: int | None = None
    """The maximum number of input tokens; ``None`` if it is not known."""
    output: int | None = None
    """The maximum number of tokens of an answer; ``None`` if it is not known."""
    template: "ChatTemplate | None" = attrs.field(default=None, hash=False)
    """The chat template of an open model; ``None`` if it is not known."""
    # Any: a configuration, of a module that imports this one
    transformation: tuple[str, Any] | None = attrs.field(default=None, hash=False)
    """The settings that were registered for the model: the name of the layer, and the layer."""
    guesses_media: bool = attrs.field(default=False, eq=False)
    """Whether ``media`` is a guess: no fact about the model or its family lists these kinds."""
    wire: Wire = attrs.field(
        default=attrs.Factory(lambda facts: wire_of(facts.provider), takes_self=True),
        eq=False,
        repr=False,
    )
    """The record of the provider's requests and replies. It is kept if the server is removed."""
    behind: "ModelFacts | None" = None
    """The facts of the model at its own provider, if the target is a gateway."""
    role_layers: tuple[tuple[str, Roles], ...] = ()
    """The roles that each layer sets: first the provider's defaults, then the model's."""

    @property
    def label(self) -> str:
        """The name of a known model, or else which careful defaults these facts are, and why."""
        if self.provider is None:
            return "no target"
        if self.known:
            return f"{self.model}"
        unknown = f"model {self.model!r} is not known"
        reason = "no model given" if self.model is None else unknown
        return f"careful defaults of {self.provider} ({reason})"

    @property
    def own_keys(self) -> tuple[str, ...]:
        """The keys of an assistant message in Chat that only this server has, also reasoning."""
        key = self.reasoning_key
        return self.kept_keys if key in (None, "content") else (*self.kept_keys, str(key))

    @property
    def model_wire(self) -> Wire:
        """The record of the model's own provider; for a gateway it is not that of the gateway."""
        return (self.behind or self).wire

    @property
    def origins(self) -> tuple[str, ...]:
        """The origins of the blocks and tools that the target takes; see :attr:`Wire.origins`.

        A model behind a gateway takes blocks of its own provider only if the gateway has the same
        format.
        """
        if self.behind is None:
            return self.wire.origins
        if self.behind.wire.provider_format == self.wire.provider_format:
            return (self.wire.name, *self.behind.origins)
        return (self.wire.name,)

    @property
    def answer_origins(self) -> tuple[str, ...]:
        """The origins of the reasoning and of the special keys that the target takes back.

        For a gateway these are the origins of the gateway and of the model.
        """
        if self.behind is None:
            return self.origins
        if self.behind.wire.chat:
            # Messages of OpenAI's Chat are sent back. Chat cannot carry the reasoning of Responses.
            return (self.wire.name, self.behind.wire.chat)
        return (self.wire.name, *self.behind.origins)

    @property
    def cache_rule(self) -> CacheRule:
        """The rule of the target's prompt cache, with the minimum of the model."""
        rule = self.wire.cache
        rule = OPENAI_MARKS if self.cache_marks and not rule.needs_marks else rule
        return rule._replace(minimum=self.cache_minimum or rule.minimum)

    def layers(self) -> tuple[tuple[str, Any], ...]:  # Any: as above
        """Return the configuration layers of this target: first the provider's, then the model's.

        A layer is a name and a plain configuration, such as ``("provider anthropic",
        {"role_mapping": {"event": "developer", "ephemeral": "developer"}})``. A layer that sets
        nothing is left out. So there are no layers without a provider.
        """
        layers = [(name, {"role_mapping": dict(roles)}) for name, roles in self.role_layers]
        if self.transformation:
            layers.append(self.transformation)
        return tuple(layers)


FACT_NAMES = tuple(Facts.__annotations__)
_FLAGS = frozenset(name for name, kind in Facts.__annotations__.items() if kind is bool)
"""The facts that are ``True`` or ``False``."""
_COUNTS = ("cache_minimum", "exact_id", "longest_id", "window", "output")
"""The facts that are whole numbers above 0."""
_TEXTS = ("encoding", "reasoning_key", "missing_reasoning")
"""The facts that are texts."""
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "event_role": get_args(MappedRole),
    "ephemeral_role": get_args(MappedRole),
    "reasoning_back": get_args(ReasoningBack),
    "image_tokens": get_args(ImageFormula),
    "tool_schemas": RULE_NAMES,
    "strict_schemas": RULE_NAMES,
}
"""The facts that are one of several words, each with these words."""
_MEDIA_TYPES = "media types such as text/csv"
"""It means all media types, in a row of ``_LISTS`` and in an error."""
_KEYS = "keys such as reasoning_details"
"""It means all keys that only one server has, in a row of ``_LISTS`` and in an error."""
_LISTS: Mapping[str, tuple[str, ...]] = {
    "media": get_args(MediaKind),
    "document_types": (_MEDIA_TYPES,),
    "result_media": (*get_args(MediaKind), _MEDIA_TYPES),
    "beside_results": ("text", *get_args(MediaKind)),
    "list_roles": get_args(ListRole),
    "kept_keys": (_KEYS,),
}
"""The values that each list fact may contain, by the name of the fact."""
_OPTIONAL = frozenset(
    {*_COUNTS, *_TEXTS, "image_tokens", "token_factors", "template", "later_system"}
    | {"tool_schemas", "strict_schemas"}
    | {"document_types", "beside_results", "thinking_tags"}
)
"""The facts that may be ``None``."""


def facts_in(table: Mapping[str, object]) -> Facts:
    """Return the facts in a table of a data file; lists become tuples."""
    facts = {name: value for name, value in table.items() if name in FACT_NAMES}
    for name, value in facts.items():
        if isinstance(value, list):
            facts[name] = tuple(cast("list[object]", value))
    return cast("Facts", facts)


def checked_facts(facts: Facts) -> Facts:
    """Return a user's facts in the types of :class:`ModelFacts`.

    Raises :class:`OptionError` for a fact that is unknown or has a wrong value, and
    :class:`ContentError` for a wrong template.
    """
    for name, value in facts.items():
        if name not in FACT_NAMES:
            raise OptionError(f"unknown fact {name!r}", fix=nearest(name, FACT_NAMES))
        fix = _fix(name, value)
        if fix is not None:
            raise OptionError(f"{name}={shown(value)}", fix=fix)
    tuples = {
        name: tuple(cast("Sequence[str]", value))
        for name, value in facts.items()
        if name in _LISTS and value is not None
    }
    typed_facts = cast("Facts", {**facts, **tuples})
    if "media" in facts:
        typed_facts["media"] = tuple(kind for kind in get_args(MediaKind) if kind in facts["media"])
    if (factors := facts.get("token_factors")) is not None:
        typed_facts["token_factors"] = TokenFactors(*factors)
    if (tags := facts.get("thinking_tags")) is not None:
        typed_facts["thinking_tags"] = tuple(tags)
    if (template := facts.get("template")) is not None:
        from promptdsl.config.chat_template import ChatTemplate

        typed_facts["template"] = ChatTemplate.of(template)
    return typed_facts


def _fix(name: str, value: object) -> str | None:
    """Return the advice for a wrong value of a fact, ``None`` for a right value."""
    if name in ("template", "transformation") or (value is None and name in _OPTIONAL):
        return None  # a template and a transformation are checked when they are read
    if name in _FLAGS or name == "later_system":
        is_right, fix = isinstance(value, bool), "write True or False"
    elif name in _COUNTS:
        maximum = 64 if name == "exact_id" else maxsize
        is_right = type(value) is int and 0 < value <= maximum
        fix = "write a whole number above 0, or None"
        if name == "exact_id":
            fix = "write a whole number from 1 to 64, or None"
    elif name in _TEXTS:
        is_right = isinstance(value, str) and (value != "" or name == "missing_reasoning")
        fix = "write a string, or None"
        if name == "reasoning_key" and value in _USUAL_KEYS and value != "content":
            is_right, fix = False, "write a key that is not used, such as 'reasoning_content'"
        is_right = is_right and is_valid_unicode(str(value))
    elif name == "thinking_tags":
        is_right = _are_tags(value)
        fix = "write two texts, such as ('<think>', '</think>'), or None"
    elif name == "token_factors":
        is_right = _are_factors(value)
        fix = "write four numbers: (typical, must fit, other scripts typical, other must fit)"
    elif name not in _LISTS:
        choices = _CHOICES[name]
        is_right, fix = is_one_of(value, choices), nearest(value, choices)
    elif isinstance(value, list | tuple):
        choices, kinds = _LISTS[name], cast("Sequence[object]", value)
        wrong = [kind for kind in kinds if not is_one_of(kind, choices)]
        if choices[-1] == _MEDIA_TYPES:
            wrong = [kind for kind in wrong if not (isinstance(kind, str) and "/" in kind)]
        if choices[-1] == _KEYS:
            wrong = [key for key in wrong if not _is_special_key(key)]
        is_right, fix = not wrong, nearest(next(iter(wrong), ""), choices)
    else:
        is_right, fix = False, f"write a tuple of these: {', '.join(_LISTS[name])}"
    return None if is_right else fix


def settings_in(facts: Facts, subject: str) -> Any:  # Any: a configuration of another module
    """Return the transformation of a model or a server (``subject``).

    Raises :class:`ConfigError` for a function.
    """
    settings = facts.get("transformation")
    if callable(settings):
        problem = f"the transformation of a {subject} cannot be a function: {shown(settings)}"
        raise ConfigError(problem, fix="pass the function to render(transformation=...)")
    return settings


_USUAL_KEYS = (
    *("role", "content", "name", "refusal", "audio", "tool_calls", "tool_call_id", "function_call"),
    *("id", "type", "function", "custom", "index", "item", "origin_of_keys", ""),
)
"""The keys of messages, calls and blocks that every server has."""


def _is_special_key(key: object) -> bool:
    """Return whether a key may be a key that only one server has."""
    return isinstance(key, str) and key not in _USUAL_KEYS and is_valid_unicode(key)


def _are_tags(value: object) -> bool:
    """Return whether a value is two texts that are not empty."""
    match value:
        case [str() as opening, str() as closing]:
            return "" not in (opening, closing)
        case _:
            return False


def _are_factors(value: object) -> bool:
    """Return whether a value is four factors that are possible.

    A factor for other scripts may not be less than that for ASCII, because then one more letter
    could lower the count of a text. A ``must_fit`` factor may not be less than the typical one.
    """
    match value:
        case [
            int() | float() as typical,
            int() | float() as must_fit,
            int() | float() as other_typical,
            int() | float() as other_must_fit,
        ] if bool not in map(type, value):
            are_possible = 0 < typical <= must_fit <= other_must_fit < inf
            return are_possible and typical <= other_typical <= other_must_fit
        case _:
            return False
