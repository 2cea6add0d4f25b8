"""Facts about a model: the fields of :class:`ModelFacts`, and the check of users' facts."""

from collections.abc import Mapping, Sequence
from math import inf
from sys import maxsize
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypedDict, cast, get_args

import attrs

from promptdsl.config.schema_rules import RULE_NAMES
from promptdsl.config.wire import ImageFormula, MediaKind, Wire
from promptdsl.config.wires import wire_of
from promptdsl.foundation.errors import ConfigError, OptionError, is_one_of, nearest, shown
from promptdsl.foundation.unicode import is_valid_unicode
from promptdsl.messages.provider_names import ProviderName

if TYPE_CHECKING:
    from promptdsl.config.chat_template import ChatTemplate
    from promptdsl.config.wire import CacheRule

MappedRole: TypeAlias = Literal["user", "developer", "system"]
Roles: TypeAlias = tuple[tuple[str, MappedRole], ...]
"""The roles one layer sets: ``("event", role)`` and ``("ephemeral", role)``."""


class TokenFactors(NamedTuple):
    """The tokens of a model for one token of o200k_base, where its own encoding is not public.

    The typical factors are the usual ones; those that must fit are enough for nearly every text.
    The first two are for text in ASCII, the others for text in other scripts.
    """

    typical: float
    must_fit: float
    other_typical: float
    other_must_fit: float


ReasoningBack: TypeAlias = Literal["never", "turn", "always"]
"""When reasoning goes back: never, since the last turn of the user alone, or always."""
ListRole: TypeAlias = Literal["system", "user", "assistant", "tool"]


class Facts(TypedDict, total=False):
    """The facts about a model or a server that can be registered; :class:`ModelFacts` has each."""

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
    """The abilities and limits of a target: of a model at a provider.

    ``known`` is whether the name of the model matched a pattern. Without a match, the facts are the
    careful defaults of the provider. :func:`register_model` adds facts.

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
    """Whether the wire has a system role."""
    developer: bool = False
    """Whether the wire has a developer role."""
    instructions: bool = False
    """Whether an instruction in mid-conversation has a native form."""
    several_systems: bool = True
    """Whether Chat takes several leading system messages; where not, they are sent as one."""
    later_system: bool | None = None
    """Whether Chat takes a system message after the first; ``None``: not known, so it is sent.

    Where it takes none, it is sent as fenced text of a user, in its place."""
    result_instructions: bool = True
    """Whether it may follow the result of a tool directly."""
    names: bool = False
    """Whether a message may carry a speaker's name."""
    user_after_results: bool = True
    """Whether a user's message may follow the result of a tool in Chat."""
    result_names: bool = False
    """Whether the result of a tool has to carry the name of the tool."""
    list_roles: tuple[ListRole, ...] = ("system", "user", "assistant", "tool")
    """The roles whose content may be a list of parts in Chat; that of others is one text."""
    prefill: bool = False
    """Whether the last message may be an assistant turn that the model continues."""
    cache_marks: bool = False
    """Whether the request can carry cache marks."""
    answer_marks: bool = False
    """Whether the answers of the model may carry one."""
    tool_marks: bool = False
    """Whether tools may carry one."""
    lasting_marks: bool = False
    """Whether the marks of Chat are ``cache_control``, with a time to live, as at OpenRouter."""
    message_marks: bool = False
    """Whether such a mark is on the whole result of a tool, as at LiteLLM, not on its last part."""
    cache_minimum: int | None = None
    """The tokens a prompt needs to be cached; ``None`` where it is not known."""
    binds_reasoning: bool = False
    """Whether reasoning is bound to the exact bytes before it."""
    reasoning_key: str | None = None
    """The key of an answer of Chat in which its reasoning goes back, or ``content``.

    ``content`` is for a server that takes it in the text, between ``thinking_tags``."""
    reasoning_back: ReasoningBack = "never"
    """When a server's own reasoning goes back without a signature of the provider's form."""
    missing_reasoning: str | None = None
    """The text in place of reasoning that an answer with calls does not have, where it must."""
    thinking_tags: tuple[str, str] | None = None
    """The tags around reasoning at the beginning of a text of Chat, where a server writes these."""
    kept_keys: tuple[str, ...] = ()
    """The further keys of an answer, or of a call, that go back to the server as they came."""
    litellm_keys: bool = False
    """Whether Chat has LiteLLM's own keys, for signed reasoning and the signatures of calls."""
    joins_texts: bool = True
    """Whether Chat joins texts side by side; where not, each is a part of its own."""
    signatures: bool = False
    """Whether the first call of each step of the current turn needs a thought signature."""
    chat: bool = True
    """Whether OpenAI serves the model in Chat Completions; where not, only in Responses."""
    chat_tools: bool = True
    """Whether the model takes tools in Chat Completions; where not, only in Responses."""
    typed_tools: bool = True
    """Whether every tool of Chat has to say its type, ``function``."""
    strict_tools: bool = True
    """Whether a tool may be ``strict``, where the provider has that."""
    forced_tools: bool = True
    """Whether the model can be made to call a tool (``required``, or a tool's name)."""
    schema_output: bool = False
    """Whether the request can ask for an answer in the form of a JSON schema."""
    media: tuple[MediaKind, ...] = ()
    """The types of attachments that a request can carry and the model is not known to refuse."""
    document_types: tuple[str, ...] | None = None
    """The media types of documents that are sent as files; ``None`` for all that the target has."""
    file_addresses: bool = False
    """Whether Chat takes the address of a document in place of its bytes."""
    result_media: tuple[str, ...] = ()
    """The attachments that the result of a tool may contain: types of blocks, or media types."""
    beside_results: tuple[str, ...] | None = None
    """The types of blocks that may be in one turn with results; ``None`` for all."""
    s3_media: bool = True
    """Whether the address of an attachment may be in S3, where the request has such addresses."""
    exact_id: int | None = None
    """The letters and digits of the id of a call in Chat, where it has just so many."""
    longest_id: int | None = 40
    """The characters that the id of a call may have in Chat; ``None`` for no limit."""
    signed_reasoning: bool = True
    """Whether the model takes signed reasoning again, where the request can carry it."""
    tool_schemas: str | None = None
    """The rules for the schema of any tool, of ``schema_rules.toml``; ``None``: all is sent."""
    strict_schemas: str | None = None
    """The rules for what is held to its schema: strict tools, and the form of the answer."""
    image_tokens: ImageFormula | None = None
    """The formula of a picture's tokens; ``None`` where it is not known.

    Its figures depend on the model's name (``tokens.images``): an unknown name has the usual ones,
    and no other formula can be added."""
    encoding: str | None = None
    """The model's encoding, as tiktoken calls it; ``None`` where it is not public or not known."""
    token_factors: TokenFactors | None = None
    """The factors for counts of o200k_base; ``None`` where ``encoding`` is exact, for a model of
    OpenAI, and without a model."""
    window: int | None = None
    """The tokens of input the model takes; ``None`` where it is not known."""
    output: int | None = None
    """The tokens of the longest answer; ``None`` where it is not known."""
    template: "ChatTemplate | None" = attrs.field(default=None, hash=False)
    """The chat template of an open model; ``None`` where it is not known."""
    # Any: a configuration, of a module above
    transformation: tuple[str, Any] | None = attrs.field(default=None, hash=False)
    """The layer of the settings that were registered for the model, with its name."""
    guesses_media: bool = attrs.field(default=False, eq=False)
    """Whether ``media`` is a guess: neither the model nor its family is known to take them."""
    wire: Wire = attrs.field(
        default=attrs.Factory(lambda facts: wire_of(facts.provider), takes_self=True),
        eq=False,
        repr=False,
    )
    """What requests and replies of the provider look like; it stays when a server is gone."""
    behind: "ModelFacts | None" = None
    """The facts of the model at its own provider, where the target is a gateway to it."""
    role_layers: tuple[tuple[str, Roles], ...] = ()
    """The roles that each layer sets: the provider's defaults, then the model's own."""

    @property
    def label(self) -> str:
        """The name of a known model, else the provider whose careful defaults these are."""
        if self.provider is None:
            return "no target"
        if self.known:
            return f"{self.model}"
        unknown = f"model {self.model!r} is not known"
        reason = "no model given" if self.model is None else unknown
        return f"careful defaults of {self.provider} ({reason})"

    @property
    def own_keys(self) -> tuple[str, ...]:
        """The keys of an answer of Chat that only this server has."""
        key = self.reasoning_key
        return self.kept_keys if key in (None, "content") else (*self.kept_keys, str(key))

    @property
    def origins(self) -> tuple[str, ...]:
        """The origins of what the target takes as its own; see :attr:`Wire.origins`.

        Behind a gateway, only a model with an API of the same form has blocks and tools of its own.
        """
        if self.behind is None:
            return self.wire.origins
        if self.behind.wire.form == self.wire.form:
            return (self.wire.name, *self.behind.origins)
        return (self.wire.name,)

    @property
    def answer_origins(self) -> tuple[str, ...]:
        """The origins whose reasoning, and further keys of an answer, the target takes again.

        Behind a gateway these are the gateway's own and the model's.
        """
        if self.behind is None:
            return self.origins
        if self.behind.wire.chat:
            # What OpenAI's Chat wrote goes back there; the reasoning of Responses has no place.
            return (self.wire.name, self.behind.wire.chat)
        return (self.wire.name, *self.behind.origins)

    @property
    def cache_rule(self) -> "CacheRule":
        """What the prompt cache of the target serves of a request after an earlier one."""
        from promptdsl.config.wire import OPENAI_MARKS

        rule = self.wire.cache
        rule = OPENAI_MARKS if self.cache_marks and not rule.needs_marks else rule
        return rule._replace(minimum=self.cache_minimum or rule.minimum)

    def layers(self) -> tuple[tuple[str, Any], ...]:  # Any: as above
        """Return the configuration layers of this target, the provider's before the model's.

        Each is a name and a plain configuration, such as ``("provider anthropic",
        {"role_mapping": {"event": "developer", "ephemeral": "developer"}})``. A layer that sets
        nothing is left out, so without a provider there are no layers.
        """
        roles = ((name, {"role_mapping": dict(roles)}) for name, roles in self.role_layers)
        return (*roles, *([self.transformation] if self.transformation else ()))


FACT_NAMES = tuple(Facts.__annotations__)
_FLAGS = frozenset(name for name, kind in Facts.__annotations__.items() if kind is bool)
_COUNTS = ("cache_minimum", "exact_id", "longest_id", "window", "output")
_TEXTS = ("encoding", "reasoning_key", "missing_reasoning")
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "event_role": get_args(MappedRole),
    "ephemeral_role": get_args(MappedRole),
    "reasoning_back": get_args(ReasoningBack),
    "image_tokens": get_args(ImageFormula),
    "tool_schemas": RULE_NAMES,
    "strict_schemas": RULE_NAMES,
}
_MEDIA_TYPES = "media types such as text/csv"
_KEYS = "keys such as reasoning_details"
_LISTS: Mapping[str, tuple[str, ...]] = {
    "media": get_args(MediaKind),
    "document_types": (_MEDIA_TYPES,),
    "result_media": (*get_args(MediaKind), _MEDIA_TYPES),
    "beside_results": ("text", *get_args(MediaKind)),
    "list_roles": get_args(ListRole),
    "kept_keys": (_KEYS,),
}
"""By fact that is a list of types, the types it may name."""
_OPTIONAL = frozenset(
    {*_COUNTS, *_TEXTS, "image_tokens", "token_factors", "template", "later_system"}
    | {"tool_schemas", "strict_schemas"}
    | {"document_types", "beside_results", "thinking_tags"}
)


def facts_in(table: Mapping[str, object]) -> Facts:
    """Return the facts in a table of a data file; lists become tuples."""
    facts = {
        name: tuple(cast("list[object]", value)) if isinstance(value, list) else value
        for name, value in table.items()
        if name in FACT_NAMES
    }
    return cast("Facts", facts)


def checked_facts(facts: Facts) -> Facts:
    """Return checked facts in the types of :class:`ModelFacts`; a wrong one is an error."""
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
    kept = cast("Facts", {**facts, **tuples})
    if "media" in facts:
        kept["media"] = tuple(kind for kind in get_args(MediaKind) if kind in facts["media"])
    if (factors := facts.get("token_factors")) is not None:
        kept["token_factors"] = TokenFactors(*factors)
    if (tags := facts.get("thinking_tags")) is not None:
        kept["thinking_tags"] = tuple(tags)
    if (template := facts.get("template")) is not None:
        from promptdsl.config.chat_template import ChatTemplate

        kept["template"] = ChatTemplate.of(template)
    return kept


def _fix(name: str, value: object) -> str | None:
    """Return the advice for a wrong value, ``None`` for a right one."""
    if name in ("template", "transformation") or (value is None and name in _OPTIONAL):
        return None  # these are checked when they are read
    if name in _FLAGS or name == "later_system":
        is_right, fix = isinstance(value, bool), "write True or False"
    elif name in _COUNTS:
        most = 64 if name == "exact_id" else maxsize
        is_right = type(value) is int and 0 < value <= most
        fix = "write how many, a whole number above 0, or None"
        if name == "exact_id":
            fix = "write how many, from 1 to 64, or None"
    elif name in _TEXTS:
        is_right = isinstance(value, str) and (value != "" or name == "missing_reasoning")
        fix = "write a string, or None"
        if name == "reasoning_key" and value in _TAKEN and value != "content":
            is_right, fix = False, "write a key of its own, such as 'reasoning_content'"
        is_right = is_right and is_valid_unicode(str(value))
    elif name == "thinking_tags":
        is_right = _are_tags(value)
        fix = "write two texts, such as ('<think>', '</think>'), or None"
    elif name == "token_factors":
        is_right = _are_factors(value)
        fix = "write four numbers, as (typical, must fit, other scripts typical, other must fit)"
    elif name not in _LISTS:
        choices = _CHOICES[name]
        is_right, fix = is_one_of(value, choices), nearest(value, choices)
    elif isinstance(value, list | tuple):
        choices, kinds = _LISTS[name], cast("Sequence[object]", value)
        wrong = [kind for kind in kinds if not is_one_of(kind, choices)]
        if choices[-1] == _MEDIA_TYPES:
            wrong = [kind for kind in wrong if not (isinstance(kind, str) and "/" in kind)]
        if choices[-1] == _KEYS:
            wrong = [it for it in wrong if not _is_own_key(it)]
        is_right, fix = not wrong, nearest(next(iter(wrong), ""), choices)
    else:
        is_right, fix = False, f"write a tuple of these: {', '.join(_LISTS[name])}"
    return None if is_right else fix


def settings_in(facts: Facts, subject: str) -> Any:  # Any: a configuration, of a module above
    """Return the transformation of a model or a server; :class:`ConfigError` for a function."""
    settings = facts.get("transformation")
    if callable(settings):
        problem = f"the transformation of a {subject} is no function: {shown(settings)}"
        raise ConfigError(problem, fix="pass the function to render(transformation=...)")
    return settings


_TAKEN = (
    *("role", "content", "name", "refusal", "audio", "tool_calls", "tool_call_id", "function_call"),
    *("id", "type", "function", "custom", "index", "item", "origin_of_keys", ""),
)
"""The keys of messages, calls and blocks that every server has: none of them is a further one."""


def _is_own_key(key: object) -> bool:
    """Return whether a key may be one that only a server has."""
    return isinstance(key, str) and key not in _TAKEN and is_valid_unicode(key)


def _are_tags(value: object) -> bool:
    match value:
        case [str() as opening, str() as closing]:
            return "" not in (opening, closing)
        case _:
            return False


def _are_factors(value: object) -> bool:
    """Return whether other scripts count no less than ASCII, so that no letter shortens a text.

    Nor may the factors that must fit be less than the typical ones.
    """
    match value:
        case [
            int() | float() as typical,
            int() | float() as must_fit,
            int() | float() as other_typical,
            int() | float() as other_must_fit,
        ] if bool not in map(type, value):
            upwards = 0 < typical <= must_fit <= other_must_fit < inf
            return upwards and typical <= other_typical <= other_must_fit
        case _:
            return False
