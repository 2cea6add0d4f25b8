"""The checked arguments of ``render``, and the facts and configuration of its target."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict, cast

import attrs

from promptdsl.config.model_facts import ModelFacts, Roles
from promptdsl.config.models import OPEN, facts_for, near_name
from promptdsl.config.transformation import (
    ConfigOptions,
    Resolved,
    Transformation,
    as_layer,
    resolve,
)
from promptdsl.config.wires import tables, wire_of, wires
from promptdsl.foundation.errors import ConfigError, OptionError, TargetError, nearest, shown
from promptdsl.foundation.source import author
from promptdsl.messages.field_checks import kind_of
from promptdsl.messages.names import ProviderName
from promptdsl.messages.prompt import Loss, Prompt, ToolChoice, hint
from promptdsl.rendering.text.blocks import MediaLoader, MediaRoots
from promptdsl.tokens.count import TokenCounter
from promptdsl.tree.node import Node
from promptdsl.tree.turn_nodes import RootNode

if TYPE_CHECKING:
    from promptdsl.budget.budget import Budget
    from promptdsl.config.chat_template import ChatTemplate
    from promptdsl.rendering.media_loading import MediaLoading


class AnyRenderOptions(TypedDict, total=False):
    """The options of ``render`` and ``arender``."""

    model: str | None
    provider: ProviderName | None
    budget: int | Literal["window"] | None
    reserve: int
    counter: TokenCounter | Callable[[str], int] | None
    transformation: Transformation | None
    audience: Literal["model", "people"]
    strict: bool
    cache: Literal["auto"] | None
    tool_choice: ToolChoice | None
    media_roots: Iterable[str | os.PathLike[str]]
    chat_template: object
    hints: bool


class RenderOptions(AnyRenderOptions, total=False):
    """The options of ``render``."""

    media_loader: Callable[[str], bytes | bytearray] | None


class AsyncRenderOptions(AnyRenderOptions, total=False):
    """The options of ``arender``, which awaits an asynchronous loader."""

    media_loader: MediaLoader | None


_NO_FOLDERS: MediaRoots = ()

RENDER_DEFAULTS: Mapping[str, object] = {
    **dict.fromkeys(AnyRenderOptions.__annotations__),
    **{"reserve": 0, "audience": "model", "strict": False, "media_roots": _NO_FOLDERS},
    **{"media_loader": None, "hints": True},
}


@attrs.define(eq=False, repr=False)
class RenderRequest:
    """The checked arguments of a render."""

    model: str | None
    provider: str | None
    layer: Transformation | None
    media_roots: MediaRoots
    strict: bool
    hints: bool
    is_part: bool
    """Whether ``tree`` is no ``Timeline``, or the audience are people."""
    audience: str
    cache: str | None
    tool_choice: str | None
    recorded: Prompt | None
    """The prompt to render, if it was read from a payload, with the author's ``tool_choice``."""
    template: "ChatTemplate | None"
    budget: "Budget | None"
    loading: "MediaLoading | None"
    again: bool = False  # ``for_target`` chose the provider
    tokens_per_weight: float | None = None
    """The tokens for a lazy of weight 1; set before the first lazy runs."""


# The advice for options that other libraries have, and that belong elsewhere here.
_ELSEWHERE = {
    **dict.fromkeys(("temperature", "top_p", "stop", "stream"), "pass it to the client yourself"),
    **dict.fromkeys(
        ("max_tokens", "max_completion_tokens", "max_output_tokens"),
        "pass it to the client yourself; budget= limits the prompt",
    ),
    **dict.fromkeys(("tools", "functions"), "write them in the prompt: Tool(function)"),
    **dict.fromkeys(
        ("response_format", "output", "schema"), "write it in the prompt: Output(schema)"
    ),
    **dict.fromkeys(("messages", "history"), "write them in the prompt: History(messages)"),
    "config": "write transformation=...",
    **{
        name: f'it is a setting: transformation={{"{name}": ...}}'
        for name in ConfigOptions.__annotations__
    },
    **dict.fromkeys(("variables", "vars"), "pass them to the function that builds the prompt"),
}


def _refuse_arguments(name: str, surplus: Sequence[object], options: Iterable[str]) -> None:
    """Raise :class:`OptionError` for surplus arguments and unknown options."""
    for value in surplus:
        fix = f"name it: {name}(tree, model={shown(value)})"
        if isinstance(value, Node):
            fix = f"write one Timeline: {name}(Timeline(...))"
        elif not isinstance(value, str):
            fix = f"name it: {name}(tree, option=...)"
        problem = f"{name}() takes one prompt, then options by name, not {kind_of(value)}"
        raise OptionError(problem, fix=fix, at=(author(),))
    for option in options:
        if option not in RENDER_DEFAULTS:
            fix = _ELSEWHERE.get(option) or nearest(option, RENDER_DEFAULTS)
            raise OptionError(f"{name}() takes no {option!r}", fix=fix, at=(author(),))


def checked_request(
    function: Callable[..., object],
    tree: object,
    surplus: Sequence[object],
    options: Mapping[str, object],
    *,
    waits: bool = False,
) -> RenderRequest:
    """Return the checked arguments of a render; raises :class:`OptionError` for a wrong one.

    Without ``tool_choice``, a prompt that was read from a payload keeps its own. ``waits`` says
    whether ``function`` awaits asynchronous functions.
    """
    arguments: dict[str, Any] = {**RENDER_DEFAULTS, **options}  # Any: each is checked below
    if surplus or len(arguments) > len(RENDER_DEFAULTS):
        _refuse_arguments(function.__name__, surplus, options)
    # In the order of the defaults, which a test checks.
    model, provider, budget, reserve, counter, layer, audience, *more_options = arguments.values()
    strict, cache, choice, roots, template, hints, loading = more_options
    checked = None
    if budget is not None or counter is not None or type(reserve) is not int or reserve:
        from promptdsl.budget.budget import checked_budget

        checked = checked_budget(budget, reserve, counter)
    _check_one_of("audience", audience, ("model", "people"))
    if cache is not None:
        _check_one_of("cache", cache, ("auto",))
    for name, flag in (("strict", strict), ("hints", hints)):
        if flag is not True and flag is not False:
            raise OptionError(f"{name}={shown(flag)}", fix="write True or False", at=(author(),))
    if layer is not None:
        layer = as_layer(layer, at=author())
    if loading is not None:
        from promptdsl.rendering.media_loading import checked_loading

        loading = checked_loading(loading, waits=waits)
    if template is not None:
        from promptdsl.config.chat_template import ChatTemplate

        template = ChatTemplate.of(template)
    recorded = tree if isinstance(tree, Prompt) else None
    if recorded is not None and choice is None:
        choice = recorded.tool_choice
    elif recorded is not None:
        recorded = attrs.evolve(recorded, tool_choice=choice, raw_choice=None)
    return RenderRequest(
        _checked_name("model", model),
        _checked_name("provider", provider),
        layer=layer,
        media_roots=roots if roots is _NO_FOLDERS else _folders(roots),
        strict=strict,
        hints=hints,
        is_part=not isinstance(tree, RootNode) or audience == "people",
        audience=audience,
        cache=cache,
        tool_choice=_checked_name("tool_choice", choice),
        recorded=recorded,
        template=template,
        budget=checked,
        loading=loading,
    )


def _check_one_of(name: str, value: object, choices: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in choices:
        raise OptionError(f"{name}={shown(value)}", fix=nearest(value, choices), at=(author(),))


def _checked_name(name: str, value: object) -> str | None:
    if value is None or (isinstance(value, str) and value):
        return value
    is_empty = isinstance(value, str)
    fix = "write its name, or None for no target" if is_empty else "write its name, a string"
    raise OptionError(f"{name}={shown(value)}", fix=fix, at=(author(),))


def _folders(media_roots: object) -> MediaRoots:
    """Return the folders in which files may be read; a single string is one folder."""
    if isinstance(media_roots, str | os.PathLike):
        return (cast("str | os.PathLike[str]", media_roots),)
    if isinstance(media_roots, Iterable):
        folders = tuple(cast("Iterable[object]", media_roots))
        if all(isinstance(folder, str | os.PathLike) for folder in folders):
            return cast("MediaRoots", folders)
    problem = f"media_roots={shown(media_roots)}"  # pyright: ignore[reportUnknownArgumentType]
    raise OptionError(problem, fix="write a list of folders", at=(author(),))


def facts_of(request: RenderRequest) -> ModelFacts:
    """Return the facts of the target; raises :class:`TargetError` for an unknown target."""
    template = request.template
    try:
        facts = facts_for(request.model, request.provider)
        if not facts.chat and facts.wire.some_models:
            raise TargetError(
                f"OpenAI serves {facts.model!r} in the Responses API alone, not in Chat",
                fix="render with provider='openai_responses', or with the model alone, "
                "and call to_openai_responses()",
            )
        if template is None:
            recorded = request.recorded
            return facts if recorded is None else _with_recorded_output(facts, recorded)
        if facts.provider is not None and not facts.wire.templated:
            raise TargetError(
                f"{facts.provider} takes no chat template",
                fix="leave chat_template out, or render with provider='chat_template'",
            )
        templated = next(wire.name for wire in wires() if wire.templated)
        facts = facts_for(request.model, templated)
    except TargetError as error:
        raise error.located(author()) from None
    return attrs.evolve(facts, template=template)


def _with_recorded_output(facts: ModelFacts, recorded: Prompt) -> ModelFacts:
    """Return the facts of a target that takes the output schema of the payload that was read.

    The facts of a known model are returned unchanged: the payload may be for another model.
    """
    output = recorded.raw_output
    if output is None or facts.known or facts.schema_output or output.origin not in facts.origins:
        return facts
    return attrs.evolve(facts, schema_output=True)


def request_hints(request: RenderRequest, facts: ModelFacts) -> Iterator[Loss]:
    """Yield the hints about the options ``model``, ``provider`` and ``reserve``."""
    if facts.model and not facts.known:
        # There is advice if the name is like a known one, or new in a known family of models.
        provider = request.provider if request.template is None else facts.provider
        advice = near_name(facts.model, provider)
        if advice is not None:
            effect = "there is no target"
            if facts.provider is not None:
                effect = f"the defaults of {facts.provider} apply"
            why = f"this model is unknown, so {effect}: {advice}"
            yield hint("unknown_model", f"model {facts.model!r}", why, source=author())
    budget = request.budget
    if budget is not None and budget.tokens is None and budget.reserve:
        why = "it has no effect without budget=; write both, or neither"
        yield hint("useless_reserve", f"reserve={budget.reserve}", why, source=budget.at)
    model = request.model or "/"
    # A model name with a slash is that of a gateway.
    if request.provider is None or "/" in model or request.again:
        return
    wire = wire_of(request.provider)
    # All other providers are servers for any model.
    if not wire.own_models:
        return
    owner = facts_for(model, None).provider
    takes_from = tables()["providers"][wire.name].get("takes_from", ())
    if owner not in (None, wire.name, OPEN) and owner not in takes_from:
        why = (
            f"{model!r} is a model of {owner}; leave provider= out, or name a model of {wire.name}"
        )
        yield hint("other_provider", f"provider {wire.name!r}", why, source=author())


class Settings(NamedTuple):
    """The facts of a target, and the configuration of a tree for it."""

    facts: ModelFacts
    config: Resolved


def settings_of(request: RenderRequest, root: RootNode) -> Settings:
    """Return the facts of the target, and the configuration of a tree for it."""
    facts = facts_of(request)
    if root.transformation is None is request.layer and facts.transformation is None:
        return Settings(facts, _default_config(facts.role_layers))
    layers = (*facts.layers(), ("Timeline", root.transformation), ("render", request.layer))
    try:
        return Settings(facts, resolve(layers, model=request.model, provider=facts.provider))
    except ConfigError as error:
        raise error.located(root.source) from None


@lru_cache(maxsize=256)
def _default_config(layers: tuple[tuple[str, Roles], ...]) -> Resolved:
    return resolve([(name, {"role_mapping": dict(roles)}) for name, roles in layers])
