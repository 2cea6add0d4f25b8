"""The arguments of a render, checked, and the configuration and facts they come to."""

import os
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, cast

import attrs

from promptdsl.config.model_facts import ModelFacts, Roles
from promptdsl.config.models import facts_for
from promptdsl.config.transformation import Resolved, Transformation, as_layer, resolve
from promptdsl.foundation.errors import (
    ConfigError,
    ContentError,
    OptionError,
    TargetError,
    nearest,
)
from promptdsl.foundation.source import Source, author
from promptdsl.messages.prompt import Prompt
from promptdsl.rendering.text.blocks import MediaRoots
from promptdsl.tree.turn_nodes import RootNode

if TYPE_CHECKING:
    from promptdsl.budget.budget import Budget
    from promptdsl.config.chat_template import ChatTemplate


@attrs.define(eq=False, repr=False)
class RenderRequest:
    """The arguments of a render, checked, and the share of a budget that lazies have.

    ``budget`` is ``None`` where nobody asked for one.
    """

    model: str | None
    provider: str | None
    layer: Transformation | None
    media_roots: MediaRoots
    strict: bool
    audience: str
    cache: str | None
    tool_choice: str | None
    chosen_at: Source | None
    template: "ChatTemplate | None"
    budget: "Budget | None"
    tokens_per_weight: float | None = None
    """How many tokens a lazy of weight one has; noted before the first one runs."""


def checked_request(
    tree: object,
    *,
    model: object,
    provider: object,
    budget: object,
    reserve: object,
    counter: object,
    transformation: object,
    audience: str,
    strict: bool,
    cache: str | None,
    tool_choice: object,
    media_roots: object,
    chat_template: object,
) -> RenderRequest:
    """Return the arguments of a render; :class:`OptionError` names the one that is wrong.

    Of a prompt that was read, its own choice of tools holds where no other is given.
    """
    asked = None
    if budget is not None or counter is not None or reserve != 0:
        from promptdsl.budget.budget import checked_budget

        asked = checked_budget(budget, reserve, counter)
    _check_one_of("audience", audience, ("model", "people"))
    if cache is not None:
        _check_one_of("cache", cache, ("auto",))
    if strict is not True and strict is not False:
        raise OptionError(f"strict={strict!r}", fix="write True or False", at=(author(),))
    layer = None if transformation is None else as_layer(transformation, at=author())
    roots = _folders(media_roots) if media_roots != () else ()
    template = None if chat_template is None else _template(chat_template)
    names = (_checked_name("model", model), _checked_name("provider", provider))
    if tool_choice is None and isinstance(tree, Prompt):
        tool_choice = tree.tool_choice
    choice = _checked_name("tool_choice", tool_choice)
    # Looked up at once: when a prompt is awaited, nobody of its author's is on the stack.
    at = None if choice is None else author()
    return RenderRequest(
        *names,
        layer=layer,
        media_roots=roots,
        strict=strict,
        audience=audience,
        cache=cache,
        tool_choice=choice,
        chosen_at=at,
        template=template,
        budget=asked,
    )


def _check_one_of(name: str, given: object, known: tuple[str, ...]) -> None:
    if given not in known:
        raise OptionError(f"{name}={given!r}", fix=nearest(str(given), known), at=(author(),))


def _template(given: object) -> "ChatTemplate":
    from promptdsl.config.chat_template import ChatTemplate

    try:
        return ChatTemplate.of(given)
    except ContentError as error:
        raise error.located(author()) from None


def _checked_name(name: str, given: object) -> str | None:
    if given is None or isinstance(given, str):
        return given
    raise OptionError(f"{name}={given!r}", fix="write its name, a string", at=(author(),))


def _folders(media_roots: object) -> MediaRoots:
    """Return the folders that data may name files in; a string alone is one folder, not many."""
    given: object = (media_roots,) if isinstance(media_roots, str | os.PathLike) else media_roots  # pyright: ignore[reportUnknownVariableType]
    if isinstance(given, Iterable):
        found = tuple(cast("Iterable[object]", given))
        if all(isinstance(root, str | os.PathLike) for root in found):
            return cast("MediaRoots", found)
    raise OptionError(f"media_roots={media_roots!r}", fix="write a list of folders", at=(author(),))


def facts_of(request: RenderRequest) -> ModelFacts:
    """Return the facts of the target; :class:`TargetError` for an unknown one."""
    template = request.template
    try:
        facts = facts_for(request.model, request.provider)
        if template is None:
            return facts
        if facts.provider not in (None, "chat_template"):
            raise TargetError(
                f"{facts.provider} takes no chat template",
                fix="leave chat_template out, or render with provider='chat_template'",
            )
        facts = facts_for(request.model, "chat_template")
    except TargetError as error:
        raise error.located(author()) from None
    return attrs.evolve(facts, template=template)


class Settings(NamedTuple):
    """The facts of a target, and the configuration that holds for a tree there."""

    facts: ModelFacts
    config: Resolved


def settings_of(request: RenderRequest, root: RootNode) -> Settings:
    """Return the facts of the target, and the configuration that holds for a tree there."""
    facts = facts_of(request)
    if root.transformation is None and request.layer is None:
        return Settings(facts, _default_config(facts.role_layers))
    layers = (*facts.layers(), ("Timeline", root.transformation), ("render", request.layer))
    try:
        return Settings(facts, resolve(layers, model=request.model, provider=facts.provider))
    except ConfigError as error:
        raise error.located(root.source) from None


@lru_cache(maxsize=256)
def _default_config(layers: tuple[tuple[str, Roles], ...]) -> Resolved:
    """Return the configuration of a target where its author sets none."""
    return resolve([(name, {"role_mapping": dict(roles)}) for name, roles in layers])
