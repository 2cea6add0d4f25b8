"""The facts about a model that can be stated, and the check of each."""

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypedDict, cast, get_args

import attrs

from promptdsl.foundation.errors import OptionError, nearest

if TYPE_CHECKING:
    from promptdsl.config.chat_template import ChatTemplate

MappedRole: TypeAlias = Literal["user", "developer", "system"]
Roles: TypeAlias = tuple[tuple[str, MappedRole], ...]
"""The roles one layer sets: ``("event", role)`` and ``("ephemeral", role)``."""

MediaKind: TypeAlias = Literal["image", "audio", "document", "video"]
ImageFormula: TypeAlias = Literal[
    "tiles-512", "patches-32", "patches-28", "tiles-258", "resolution"
]
"""The tokens of a picture: OpenAI's tiles and patches, Claude's patches, Gemini 2's tiles, or
by media resolution (Gemini 3)."""


class TokenFactors(NamedTuple):
    """The tokens of a model to one token of o200k_base, where its own encoding is not public.

    Typical, and enough for nearly every text; for text in ASCII and in other scripts.
    """

    typical: float
    must_fit: float
    other_typical: float
    other_must_fit: float


class Facts(TypedDict, total=False):
    """The facts about a model that can be stated; :class:`ModelFacts` explains each."""

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
    """The abilities of a target. ``known`` is whether a pattern matched the model's name."""

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
    """Whether it may follow the result of a tool directly."""
    names: bool = False
    """Whether a message may carry a speaker's name."""
    prefill: bool = False
    """Whether the last message may be an assistant turn that the model continues."""
    cache_marks: bool = False
    """Whether the request can carry cache marks."""
    answer_marks: bool = False
    """Whether the answers of the model may carry one."""
    tool_marks: bool = False
    """Whether tools may carry one."""
    cache_minimum: int | None = None
    """The tokens a prompt needs to be cached; ``None`` where it is not known."""
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
    """The formula of a picture's tokens; ``None`` where it is not known.

    Its figures go by the model's name (``tokens.images``): a name that is not known there has the
    usual ones, and no other formula can be added."""
    encoding: str | None = None
    """The model's encoding, as tiktoken calls it; ``None`` where it is not public or not known."""
    token_factors: TokenFactors | None = None
    """The counts of o200k_base are multiplied by these; ``None`` where ``encoding`` is exact, for a
    model of OpenAI, and without a model."""
    window: int | None = None
    """The tokens of input the model takes; ``None`` where it is not known."""
    output: int | None = None
    """The tokens of the longest answer; ``None`` where it is not known."""
    template: "ChatTemplate | None" = attrs.field(default=None, hash=False)
    """The chat template of an open model; ``None`` where it is not known."""
    role_layers: tuple[tuple[str, Roles], ...] = ()
    """The roles that each layer sets: the provider's defaults, then the model's own."""

    @property
    def label(self) -> str:
        """The name of a known model, else the provider whose careful defaults these are."""
        if self.provider is None:
            return "no target"
        if self.known:
            return f"{self.model}"
        why = "no model given" if self.model is None else f"model {self.model!r} is not known"
        return f"careful defaults of {self.provider} ({why})"

    def layers(self) -> tuple[tuple[str, Mapping[str, Any]], ...]:
        """Return the configuration layers of this target, the provider's before the model's.

        Each is a name and a plain configuration, such as ``("provider anthropic",
        {"role_mapping": {"event": "developer", "ephemeral": "developer"}})``. A layer that sets
        nothing is left out, so without a provider there is none.
        """
        return tuple((name, {"role_mapping": dict(roles)}) for name, roles in self.role_layers)


def checked_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return facts as they are kept; :class:`OptionError` names the one that is wrong."""
    for name, value in facts.items():
        if name not in FACT_CHECKS:
            raise OptionError(f"unknown fact {name!r}", fix=nearest(name, FACT_CHECKS))
        fix = FACT_CHECKS[name](value)
        if fix is not None:
            raise OptionError(f"{name}={value!r}", fix=fix)
    return {name: _kept(name, value) for name, value in facts.items()}


def _kept(name: str, value: Any) -> Any:
    if name == "media":
        return tuple(kind for kind in get_args(MediaKind) if kind in value)
    if name == "token_factors" and value is not None:
        return TokenFactors(*value)
    if name == "template" and value is not None:
        from promptdsl.config.chat_template import ChatTemplate

        return ChatTemplate.of(value)
    return value


Check: TypeAlias = Callable[[Any], str | None]
"""Returns what to write instead of a value, ``None`` for a value that is right."""


def _flag(value: object) -> str | None:
    return None if isinstance(value, bool) else "write True or False"


def _tokens(value: object) -> str | None:
    fits = value is None or (type(value) is int and value > 0)
    return None if fits else "write how many tokens, a whole number above 0, or None"


def _text(value: object) -> str | None:
    fits = value is None or (isinstance(value, str) and value != "")
    return None if fits else "write its name, a string, or None"


def _factors(value: object) -> str | None:
    """Check that other scripts count no less than ASCII, so that no letter makes a text shorter.

    Nor may the factors that must fit be less than the typical ones.
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
    """Leave the check to :class:`ChatTemplate`, which reads the value too."""


FACT_CHECKS: Mapping[str, Check] = {
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
"""The check of each fact."""
