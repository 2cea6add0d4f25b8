"""Facts about models and providers, found by name in ``models.toml`` and in what users add."""

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from math import inf
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Literal, NamedTuple, TypeAlias, TypedDict, Unpack, cast, get_args

import attrs

from promptdsl.chat_templates import ChatTemplate
from promptdsl.errors import OptionError, PromptError, TargetError, nearest
from promptdsl.json_text import EMPTY
from promptdsl.sources import author

MappedRole: TypeAlias = Literal["user", "developer", "system"]
Roles: TypeAlias = tuple[tuple[str, MappedRole], ...]
"""What one layer says of the roles: ``("event", role)`` and ``("ephemeral", role)``."""

MediaKind: TypeAlias = Literal["image", "audio", "document", "video"]
ImageFormula: TypeAlias = Literal[
    "tiles-512", "patches-32", "patches-28", "tiles-258", "resolution"
]
"""How many tokens a picture is: OpenAI's tiles and patches, Claude's patches, Gemini 2's tiles, or
by media resolution (Gemini 3)."""


class TokenFactors(NamedTuple):
    """How many tokens of a model one token of o200k_base is, where its own encoding is not public.

    What is usual, and what is enough for nearly every text; for text in ASCII and in other scripts.
    """

    typical: float
    must_fit: float
    other_typical: float
    other_must_fit: float


class Facts(TypedDict, total=False):
    """What can be said of a model; :class:`ModelFacts` says what each of these means."""

    event_role: MappedRole
    ephemeral_role: MappedRole
    system: bool
    developer: bool
    instructions: bool
    result_instructions: bool
    names: bool
    prefill: bool
    cache_marks: bool
    answer_marks: bool
    tool_marks: bool
    cache_minimum: int | None
    binds_reasoning: bool
    signatures: bool
    chat_tools: bool
    forced_tools: bool
    schema_output: bool
    media: Sequence[MediaKind]
    result_media: bool
    image_tokens: ImageFormula | None
    encoding: str | None
    token_factors: Sequence[float] | None
    window: int | None
    output: int | None
    template: object


@attrs.frozen(cache_hash=True)
class ModelFacts:
    """What a target can take. ``known`` is whether a pattern matched the model's name."""

    provider: str | None = None
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
    result_instructions: bool = True
    """Whether it may stand directly behind the result of a tool."""
    names: bool = False
    """Whether a message may carry a speaker's name."""
    prefill: bool = False
    """Whether the last message may be an assistant turn that the model continues."""
    cache_marks: bool = False
    """Whether the request can carry cache marks."""
    answer_marks: bool = False
    """Whether one may stand on what the model said."""
    tool_marks: bool = False
    """Whether one may stand behind a tool."""
    cache_minimum: int | None = None
    """How many tokens a prompt needs to be cached; ``None`` where it is not known."""
    binds_reasoning: bool = False
    """Whether reasoning is bound to the exact bytes before it."""
    signatures: bool = False
    """Whether the first call of each step of the current turn needs a thought signature."""
    chat_tools: bool = True
    """Whether the model takes tools in Chat Completions; where not, only in Responses."""
    forced_tools: bool = True
    """Whether the model can be made to call a tool (``required``, or a tool's name)."""
    schema_output: bool = False
    """Whether the request can ask for an answer in the form of a JSON schema."""
    media: tuple[MediaKind, ...] = ()
    """The types of attachments the request has a form for and the model is not known to refuse."""
    result_media: bool = False
    """Whether the result of a tool may hold attachments."""
    image_tokens: ImageFormula | None = None
    """The formula of how many tokens a picture is; ``None`` where it is not known."""
    encoding: str | None = None
    """The model's encoding, as tiktoken calls it; ``None`` where it is not public or not known."""
    token_factors: TokenFactors | None = None
    """What o200k_base counts is multiplied by these; ``None`` where ``encoding`` says it exactly,
    for a model of OpenAI, and for none."""
    window: int | None = None
    """How many tokens of input the model takes; ``None`` where it is not known."""
    output: int | None = None
    """How many tokens the model answers with at most; ``None`` where it is not known."""
    template: ChatTemplate | None = attrs.field(default=None, hash=False)
    """The chat template of an open model; ``None`` where it is not known."""
    role_layers: tuple[tuple[str, Roles], ...] = ()
    """Which layer said which role: the provider's default, then the model's own."""

    @property
    def label(self) -> str:
        """How sure this is: the name of a known model, else whose careful defaults these are."""
        if self.provider is None:
            return "no target"
        if self.known:
            return f"{self.model}"
        why = "no model given" if self.model is None else f"model {self.model!r} is not known"
        return f"careful defaults of {self.provider} ({why})"

    def layers(self) -> tuple[tuple[str, Mapping[str, Any]], ...]:
        """Return the configuration layers of this target, the provider's before the model's.

        Each is a name and a plain configuration, such as ``("provider anthropic",
        {"role_mapping": {"event": "developer", "ephemeral": "developer"}})``. A layer that says
        nothing is left out, so without a provider there is none.
        """
        return tuple((name, {"role_mapping": dict(roles)}) for name, roles in self.role_layers)


def facts_for(model: str | None, provider: str | None) -> ModelFacts:
    """Return what is known of a model and a provider; either may be ``None``.

    The provider given wins; of a model that belongs to another one it takes what holds there too.
    With only a model, its name tells the provider. What nobody knows gets the careful defaults.
    Raises :class:`TargetError` for a provider that has no adapter.
    """
    if provider is not None:
        _check_provider(provider)
    return _look_up(model, provider, _added)


@attrs.frozen(eq=False)
class _Entry:
    """What is said of the models of one name. ``on`` are facts that hold on another provider."""

    name: str
    provider: str
    facts: Mapping[str, Any]
    on: Mapping[str, Mapping[str, Any]] = EMPTY


@attrs.frozen(eq=False)
class _Added:
    """What users have added, by pattern. Never changed: the next one takes its place."""

    entries: Mapping[str, _Entry] = EMPTY


_CHANGING = Lock()
_added = _Added()


@lru_cache(maxsize=1024)
def _look_up(model: str | None, provider: str | None, added: _Added) -> ModelFacts:
    entries = _entries(model or "", added)
    target = provider or _owner(_bare(model or ""), entries)
    if target is None:
        unknown = _counting(model, entries, _OPEN) if model else {}
        return ModelFacts(model=model, **unknown)
    said = [(f"model {entry.name}", _holding(entry, target)) for entry in entries]
    models = [(layer, facts) for layer, facts in said if facts is not None]
    layers = [(f"provider {target}", _stated(_providers()[target])), *models]
    roles = [(layer, _roles(facts)) for layer, facts in layers]
    stated: dict[str, Any] = {key: value for _, facts in layers for key, value in facts.items()}
    stated["token_factors"] = None
    if stated.get("encoding") is None:
        stated |= _counting(model or "", entries, target)
    return ModelFacts(
        **stated,
        provider=target,
        model=model,
        known=bool(models),
        role_layers=tuple(layer for layer in roles if layer[1]),
    )


def _holding(entry: _Entry, target: str) -> Mapping[str, Any] | None:
    """Return what an entry says of a target, ``None`` when nothing of it holds there."""
    if entry.provider == target:
        return entry.facts
    table = _providers()[target]
    takes = table.get("takes", ())
    if entry.provider not in table.get("takes_from", (entry.provider,)):
        return None
    taken = {key: value for key, value in entry.facts.items() if key in takes}
    if "media" in taken:
        taken["media"] = tuple(kind for kind in taken["media"] if kind in table["media"])
    return {**taken, **entry.on.get(target, {})} or None


_OPEN = "openai_compatible"
"""Whose models a name that nobody knows is counted like."""


def _counting(model: str, entries: tuple[_Entry, ...], target: str) -> dict[str, Any]:
    """Return how a model counts, if no encoding is stated: that goes with its name, not the target.

    What is said of the model goes first, then a word of its name, then the target.
    """
    name = model.lower()
    words = (table for table in _tables()["vocabularies"] if _is_named(name, table["words"]))
    said = (*(entry.facts for entry in reversed(entries)), *words, _providers()[target])
    found: Mapping[str, Any] = next(
        (facts for facts in said if "token_factors" in facts or "words" in facts), EMPTY
    )
    factors = found.get("token_factors")
    counting = {"token_factors": None if factors is None else TokenFactors(*factors)}
    # An entry's encoding holds where the model is taken for known, a vocabulary's wherever.
    return {**counting, "encoding": found["encoding"]} if found.keys() >= _WITH else counting


_WITH = {"words", "encoding"}


def _is_named(name: str, words: Sequence[str]) -> bool:
    """Return whether one of some words stands in a name, not as a part of a longer word."""
    return any(re.search(rf"(?<![a-z]){re.escape(word)}(?![a-z])", name) for word in words)


def _roles(facts: Mapping[str, Any]) -> Roles:
    return tuple((key, facts[f"{key}_role"]) for key in _MAPPED if f"{key}_role" in facts)


_MAPPED = ("event", "ephemeral")


# The data file.


@cache
def _tables() -> Mapping[str, Any]:
    return tomllib.loads(Path(__file__).with_name("models.toml").read_text("utf-8"))


def _providers() -> Mapping[str, Any]:
    providers: Mapping[str, Any] = _tables()["providers"]
    return providers


@cache
def _built_in() -> Mapping[str, _Entry]:
    """Return the entry of every pattern that comes with promptdsl."""
    models: Mapping[str, Any] = _tables()["models"]
    return {
        pattern: _Entry(name, table["provider"], _stated(table), table.get("on", EMPTY))
        for name, table in models.items()
        for pattern in table["patterns"]
    }


def _stated(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of a table, lists as tuples."""
    return {
        key: tuple(value) if isinstance(value, list) else value  # pyright: ignore[reportUnknownArgumentType]
        for key, value in table.items()
        if key in _CHECKS
    }


# Names.

_PREFIX = re.compile(
    r"(?:.*/)?(?:(?:[a-z-]+\.)?(?:(?:anthropic|openai)\.|(?=amazon\.)))?", re.DOTALL
)
"""What gateways and clouds write before a name: ``openrouter/anthropic/``, ``us.anthropic.``. The
name of a model of Amazon begins with ``amazon.``: without it, others have models called so."""

_TUNED = re.compile(r"ft:([^:]+):.*", re.DOTALL)
"""A fine-tuned model names the one it was made of: ``ft:gpt-4o-2024-08-06:organisation::id``."""

_SUFFIX = re.compile(
    r"(?:[-@](?:\d{8}|\d{4}-\d{2}-\d{2}|\d{3,4}|latest|default|v\d+"
    r"|(?:preview|exp)(?:-\d{2}-\d{2}(?:\d{2})?)?))*(?::\w+)*",
    re.ASCII,
)
"""A date or a version: ``-20261001``, ``@20261001``, ``-2026-10-01``, ``-0613``, ``-001``,
``-latest``, ``-preview``, ``-preview-09-2025``, ``-v1:0``. One or two digits are not: they are
another model."""


def _bare(model: str) -> str:
    name = _PREFIX.sub("", model, count=1)
    tuned = _TUNED.fullmatch(name)
    return tuned[1] if tuned else name


def _entries(model: str, added: _Added) -> tuple[_Entry, ...]:
    """Return what the longest pattern that matches says: what comes with promptdsl goes first."""
    names = (model, _bare(model))
    for pattern in _patterns(added):
        if any(_is_called(name, pattern) for name in names):
            return tuple(
                entries[pattern] for entries in (_built_in(), added.entries) if pattern in entries
            )
    return ()


def _is_called(name: str, pattern: str) -> bool:
    return name.startswith(pattern) and _SUFFIX.fullmatch(name, len(pattern)) is not None


@lru_cache(maxsize=2)
def _patterns(added: _Added) -> tuple[str, ...]:
    """Return every pattern, the longest first."""
    return tuple(sorted({**_built_in(), **added.entries}, key=len, reverse=True))


def _owner(name: str, entries: tuple[_Entry, ...]) -> str | None:
    """Return the provider of the last entry, or of the family a name without one belongs to."""
    if entries:
        return entries[-1].provider
    families = (family for family in _tables()["families"] if _is_family(name, family))
    return next((family["provider"] for family in families), None)


def _is_family(name: str, family: Mapping[str, Any]) -> bool:
    if family["name"].endswith("."):
        return name.startswith(family["name"])
    head, _, rest = name.partition("-")
    generation = _GENERATION.match(rest)
    number = int(generation[0]) if generation else 0
    oldest: int = family.get("from", 0)
    return head == str(family["name"]) and number >= oldest


_GENERATION = re.compile(r"[0-9]{1,3}(?![0-9])")


# What users add.


class RegisteredModel:
    """A model that was registered; as a context manager it takes that back at the end."""

    __slots__ = ("_entry", "_pattern")

    def __init__(self, pattern: str, entry: _Entry) -> None:
        self._pattern = pattern
        self._entry = entry

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with _CHANGING:
            _take_back(self._pattern, self._entry)


def register_model(pattern: str, /, *, provider: str, **facts: Unpack[Facts]) -> RegisteredModel:
    """Say what models of a name can take, for the whole process: fields of :class:`ModelFacts`.

    It holds for names that are ``pattern``, or ``pattern`` and a date or version; the longest
    pattern counts. ``provider`` is the target that such a name alone stands for. What comes with
    promptdsl for the same pattern still holds where nothing else is said here; registering a
    pattern again replaces what was registered. ``window``, ``output`` and ``cache_minimum`` are
    tokens, ``template`` is a chat template's text or a Hugging Face tokenizer. What is returned is
    a context manager for those who want it for a while: ``with register_model(...): ...``.

    Raises :class:`TargetError` for an unknown provider, :class:`OptionError` for a fact that is
    unknown or has a value it cannot take, :class:`ContentError` for what is no chat template.
    """
    try:
        _check_pattern(pattern)
        _check_provider(provider)
        entry = _Entry(pattern, provider, _checked(facts))
    except PromptError as error:
        raise error.located(author()) from None
    with _CHANGING:
        _put(pattern, (*_registered.get(pattern, ()), entry))
    return RegisteredModel(pattern, entry)


_registered: dict[str, tuple[_Entry, ...]] = {}
"""By pattern, what was registered and not taken back; the last one holds."""


def _take_back(pattern: str, entry: _Entry) -> None:
    """Take one registration back, in whatever order they are left."""
    _put(pattern, tuple(one for one in _registered.get(pattern, ()) if one is not entry))


def _put(pattern: str, entries: tuple[_Entry, ...]) -> None:
    global _added  # noqa: PLW0603
    _registered[pattern] = entries
    others = {name: other for name, other in _added.entries.items() if name != pattern}
    _added = _Added({**others, pattern: entries[-1]} if entries else others)


def _check_pattern(pattern: object) -> None:
    if not isinstance(pattern, str) or not pattern:
        raise OptionError(
            f"a pattern is the name of a model, not {pattern!r}",
            fix="write it as it begins: register_model('my-model', ...)",
        )


def _check_provider(provider: object) -> None:
    if not isinstance(provider, str) or provider not in _providers():
        meant = _ALSO_CALLED.get(str(provider).lower().replace("-", "_"))
        fix = f"did you mean {meant!r}?" if meant else nearest(str(provider), _providers())
        raise TargetError(f"unknown provider {provider!r}", fix=fix)


_ALSO_CALLED = {
    **dict.fromkeys(("google", "google_genai", "vertex", "vertexai", "vertex_ai"), "gemini"),
    **dict.fromkeys(("aws", "amazon", "bedrock_converse", "converse"), "bedrock"),
    **dict.fromkeys(("azure", "azure_openai", "openai_chat", "chat", "openai"), "openai"),
    **dict.fromkeys(("responses", "openai_response"), "openai_responses"),
    **dict.fromkeys(("claude", "anthropic"), "anthropic"),
    **dict.fromkeys(("huggingface", "hf", "transformers"), "chat_template"),
    **dict.fromkeys(
        ("mistral", "cohere", "litellm", "vllm", "ollama", "deepseek", "groq", "openrouter"),
        "openai_compatible",
    ),
}
"""What providers are called elsewhere, or who serves as one of them."""


def _checked(facts: Mapping[str, Any]) -> dict[str, Any]:
    for name, value in facts.items():
        if name not in _CHECKS:
            raise OptionError(f"unknown fact {name!r}", fix=nearest(name, _CHECKS))
        fix = _CHECKS[name](value)
        if fix is not None:
            raise OptionError(f"{name}={value!r}", fix=fix)
    return {name: _kept(name, value) for name, value in facts.items()}


def _kept(name: str, value: Any) -> Any:
    if name == "media":
        return tuple(kind for kind in get_args(MediaKind) if kind in value)
    if name == "token_factors" and value is not None:
        return TokenFactors(*value)
    if name == "template" and value is not None:
        return ChatTemplate.of(value)
    return value


Check: TypeAlias = Callable[[Any], str | None]
"""A function of a value, which returns what to write instead, ``None`` for one that is right."""


def _flag(value: object) -> str | None:
    return None if isinstance(value, bool) else "write True or False"


def _tokens(value: object) -> str | None:
    fits = value is None or (type(value) is int and value > 0)
    return None if fits else "write how many tokens, a whole number above 0, or None"


def _text(value: object) -> str | None:
    fits = value is None or (isinstance(value, str) and value != "")
    return None if fits else "write its name, a string, or None"


def _factors(value: object) -> str | None:
    """See to it that other scripts count no less than ASCII, so that no letter makes a text less.

    And that what must fit is no less than what is usual.
    """
    if value is None:
        return None
    given = cast("Sequence[object]", value) if isinstance(value, list | tuple) else ()
    numbers = [number for number in given if type(number) in (int, float)]
    if len(numbers) == len(given) == 4:
        typical, must_fit, other_typical, other_must_fit = cast("Sequence[float]", numbers)
        upwards = 0 < typical <= must_fit <= other_must_fit < inf
        if upwards and typical <= other_typical <= other_must_fit:
            return None
    return "write four numbers, as (typical, must fit, other scripts typical, other must fit)"


def _role(value: object) -> str | None:
    roles = get_args(MappedRole)
    return None if value in roles else nearest(str(value), roles)


def _formula(value: object) -> str | None:
    formulas = get_args(ImageFormula)
    return None if value is None or value in formulas else nearest(str(value), formulas)


def _kinds(value: object) -> str | None:
    kinds = get_args(MediaKind)
    if not isinstance(value, list | tuple):
        return f"write a tuple of these: {', '.join(kinds)}"
    return next((nearest(str(kind), kinds) for kind in value if kind not in kinds), None)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def _template(value: object) -> str | None:
    """Leave it to :class:`ChatTemplate`, which reads it too."""


_CHECKS: Mapping[str, Check] = {
    **dict.fromkeys(("event_role", "ephemeral_role"), _role),
    **dict.fromkeys(("system", "developer", "instructions", "names", "prefill"), _flag),
    **dict.fromkeys(
        ("cache_marks", "answer_marks", "binds_reasoning", "signatures", "chat_tools"), _flag
    ),
    **dict.fromkeys(("forced_tools", "schema_output", "result_media", "tool_marks"), _flag),
    "result_instructions": _flag,
    **dict.fromkeys(("cache_minimum", "window", "output"), _tokens),
    "media": _kinds,
    "image_tokens": _formula,
    "encoding": _text,
    "token_factors": _factors,
    "template": _template,
}
"""The facts, each with what its values have to be."""
