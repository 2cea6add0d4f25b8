"""Rendering: a tree becomes messages, and messages become one provider's payload."""

import os
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from typing import Any, Literal, cast

import attrs

from promptdsl.budget.budget import checked_budget
from promptdsl.budget.dropped import Dropped
from promptdsl.budget.fit import fit
from promptdsl.budget.lazy_shares import room_for
from promptdsl.budget.places import hollow, is_settled
from promptdsl.config.model_facts import ModelFacts
from promptdsl.config.transformation import Resolved, Transformation
from promptdsl.foundation.errors import OptionError, PromptError, nearest
from promptdsl.foundation.source import author
from promptdsl.messages.loss import Loss
from promptdsl.messages.message import Message
from promptdsl.messages.prompt import CHOICES, Prompt
from promptdsl.providers.registry import Written
from promptdsl.providers.shared.cache_marks import auto_marked
from promptdsl.rendering.lazies import Unanswered, await_lazies, call_lazies, replay, skip_lazies
from promptdsl.rendering.losses import located_losses, surrogate_loss
from promptdsl.rendering.measure import Measuring, total_tokens
from promptdsl.rendering.passes.bound_reasoning import check_bound
from promptdsl.rendering.passes.fill import Ask
from promptdsl.rendering.passes.tools import equipment_of, lost_marks
from promptdsl.rendering.pipeline import BEFORE_TARGET, CHANGING, FORMATS, before_target, passes_for
from promptdsl.rendering.request import (
    RenderRequest,
    checked_request,
    config_of,
    facts_of,
    tool_choice_of,
)
from promptdsl.rendering.result import Rendered
from promptdsl.rendering.root import root_of
from promptdsl.rendering.text.blocks import settle
from promptdsl.rendering.text.lower import lower
from promptdsl.tokens import TokenCounter, Tokens, tokens_for
from promptdsl.tree.masks import HOLLOW
from promptdsl.tree.node import Node
from promptdsl.tree.nodes import Lazy, Root


def render(
    tree: Node | Prompt,
    *,
    model: str | None = None,
    provider: str | None = None,
    budget: int | Literal["window"] | None = None,
    reserve: int = 0,
    counter: TokenCounter | Callable[[str], int] | None = None,
    transformation: Transformation | None = None,
    audience: str = "model",
    strict: bool = False,
    cache: str | None = None,
    tool_choice: str | None = None,
    media_roots: Iterable[str | os.PathLike[str]] = (),
    chat_template: object = None,
) -> "Rendered":
    """Return what a prompt comes to: its messages and, for a target, the payload and its losses.

    ``tree`` is a Timeline, or a turn, Section or Fragment alone, or a :class:`Prompt` that was read
    from a payload. ``provider`` names the target
    (``openai``, ``openai_responses``, ``openai_compatible``, ``anthropic``, ``gemini``,
    ``bedrock``, ``chat_template``); with only a ``model``, its name tells it. ``tool_choice`` is
    ``auto``, ``none``, ``required`` or the name of the tool that has to be called. With
    ``cache="auto"`` marks stand behind the tools, the system text and the last stable turn, where
    the target has any. ``chat_template`` is the Jinja template of an open model: its text, a
    :class:`ChatTemplate`, or a tokenizer that has one. A path that came in data is read only under
    one of ``media_roots``.

    Raises a :class:`PromptError`: for a tree that is not finished, a configuration that is wrong,
    calls and results that do not pair, an attachment or template that cannot be read, a ``Lazy``
    that has to be awaited, and with ``strict=True`` a :class:`LossError` for text or media the
    target cannot say in its voice.
    """
    request = checked_request(
        model,
        provider,
        transformation,
        audience,
        media_roots,
        strict=strict,
        cache=cache,
        tool_choice=tool_choice_of(tree, tool_choice),
        chat_template=chat_template,
        budget=checked_budget(budget, reserve, counter),
    )
    return _rendered(root_of(tree), request, partial(call_lazies, request))


def arender(
    tree: Node | Prompt,
    *,
    model: str | None = None,
    provider: str | None = None,
    budget: int | Literal["window"] | None = None,
    reserve: int = 0,
    counter: TokenCounter | Callable[[str], int] | None = None,
    transformation: Transformation | None = None,
    audience: str = "model",
    strict: bool = False,
    cache: str | None = None,
    tool_choice: str | None = None,
    media_roots: Iterable[str | os.PathLike[str]] = (),
    chat_template: object = None,
) -> Coroutine[Any, Any, "Rendered"]:
    """Return what :func:`render` does, to be awaited: the functions of lazies run concurrently.

    What they return stands in document order, whichever is done first. When some raise, the first
    in the document is raised, once all are done. What is wrong with the arguments is raised by the
    call itself.
    """
    request = checked_request(
        model,
        provider,
        transformation,
        audience,
        media_roots,
        strict=strict,
        cache=cache,
        tool_choice=tool_choice_of(tree, tool_choice),
        chat_template=chat_template,
        budget=checked_budget(budget, reserve, counter),
    )
    facts_of(request)
    return _awaited(root_of(tree), request)


async def _awaited(root: Root, request: "RenderRequest") -> "Rendered":
    answers: list[list[Node | None]] = []
    while True:
        try:
            return _rendered(root, request, replay(answers))
        except Unanswered as wanted:
            waiting = wanted.waiting
        answers.append(await await_lazies(waiting, request))


def _rendered(root: Root, request: "RenderRequest", ask: Ask) -> "Rendered":
    if not root.mask & CHANGING:
        unchanged = [(name, cast("Node", root)) for name in ("written", *BEFORE_TARGET)]
        return _for_target(request, tuple(unchanged), ())
    lost: list[tuple[Node, int]] = []
    stages: list[tuple[str, Node]] = [("written", root)]
    ready = partial(settle, roots=request.roots, lost=lost)
    passed: Node = root
    for name, run in before_target(audience=request.audience, ask=ask, settle=ready):
        if name == "fill" and request.budget.tokens is not None:
            _make_room(passed, request)
        passed = run(passed)
        stages.append((name, passed))
    return _for_target(request, tuple(stages), tuple(surrogate_loss(*place) for place in lost))


def _make_room(root: Node, request: "RenderRequest") -> None:
    """Find out how many tokens lazies have, before the first of them runs."""
    if request.rooms or not any(isinstance(node, Lazy) for node in hollow(root)):
        return
    ready = partial(settle, roots=request.roots, lost=[])
    read = before_target(audience=request.audience, ask=skip_lazies, settle=ready)[-1].run
    try:
        room = room_for(root, request.budget, _measure(request, cast("Root", root)), read)
    except PromptError as error:
        raise error.located(request.budget.at) from None
    request.rooms["weight"] = room


def _measure(request: "RenderRequest", root: Root) -> Measuring:
    facts = facts_of(request)
    tokens = tokens_for(facts, request.budget.counter)
    return Measuring(config_of(request, facts, root), facts, tokens, request.roots)


def _for_target(
    request: RenderRequest, stages: tuple[tuple[str, Node], ...], losses: tuple[Loss, ...]
) -> "Rendered":
    """Return the result of the passes that depend on the target, and of its adapter."""
    facts = facts_of(request)
    root = cast("Root", stages[0][1])
    config = config_of(request, facts, root)
    if facts.binds_reasoning and facts.known:
        check_bound(stages[1][1], config, facts.model)
    tree = stages[-1][1]
    tokens = tokens_for(facts, request.budget.counter)
    send = partial(_sent, request, config, facts, tokens)
    dropped: Callable[[], tuple[Dropped, ...]] = tuple
    if request.budget.tokens is None and (not tree.mask & HOLLOW or is_settled(tree)):
        sent = send(tree, trimmed=False)
    else:
        measure = Measuring(config, facts, tokens, request.roots)
        try:
            dropped, sent = fit(tree, request.budget, measure, send)
        except PromptError as error:
            raise error.located(request.budget.at or author()) from None
    again = partial(_rendered_for, request, stages, losses)
    rendered = Rendered(
        sent.messages,
        losses + sent.losses,
        config,
        facts,
        dropped,
        (*stages, *sent.stages),
        sent.prompt,
        sent.marked,
        again,
        sent.written,
        tokens,
        request.roots,
    )
    if request.strict:
        fix = "write it another way for this target, or render without strict=True"
        Loss.refuse(rendered.losses, "sent", fix=fix)
    return rendered


@attrs.define(eq=False)
class _Sent:
    """What a fitted tree came to: its stages, its messages, its payload and what was lost."""

    stages: tuple[tuple[str, Node], ...]
    messages: tuple[Message, ...]
    losses: tuple[Loss, ...]
    prompt: Prompt
    marked: Prompt
    written: Written | None
    facts: ModelFacts
    counter: Tokens

    @property
    def tokens(self) -> int:
        """How many tokens are sent."""
        tree = self.stages[-1][1]
        return total_tokens(self.prompt, self.written, tree, tokens=self.counter, facts=self.facts)


def _sent(  # noqa: PLR0917 (what a render is, in the order it is found)
    request: RenderRequest,
    config: Resolved,
    facts: ModelFacts,
    tokens: Tokens,
    tree: Node,
    trimmed: bool,
) -> _Sent:
    """Return what a tree comes to that has everything it will have."""
    passed = [("fit", tree)]
    for name, run in passes_for(config):
        tree = run(tree)
        passed.append((name, tree))
    messages, lowered = lower(tree, forms=FORMATS, config=config, roots=request.roots)
    if cast("Root", tree).equipment:
        lowered += tuple(lost_marks(cast("Root", tree)))
    sent = prompt = _prompt(messages, cast("Root", tree), request, trimmed=trimmed)
    written = None
    if facts.provider is not None:
        if request.cache is not None:
            sent = auto_marked(prompt, facts)
        written = Written(sent, facts)
        lowered += located_losses(written.losses, tree, sent.messages, messages)
    return _Sent(tuple(passed), messages, lowered, prompt, sent, written, facts, tokens)


def _rendered_for(
    request: RenderRequest,
    stages: tuple[tuple[str, Node], ...],
    losses: tuple[Loss, ...],
    provider: str,
) -> "Rendered":
    template = request.template if provider == "chat_template" else None
    again = attrs.evolve(request, provider=provider, template=template)
    return _for_target(again, stages, losses)


def _prompt(
    messages: tuple[Message, ...], tree: Root, request: RenderRequest, *, trimmed: bool
) -> Prompt:
    """Return what is sent; :class:`OptionError` for a choice of a tool that is not there."""
    choice = request.tool_choice
    if choice is None and not tree.equipment:
        return Prompt(messages, trimmed=trimmed)
    tools, output = equipment_of(tree)
    if choice is not None and choice not in CHOICES:
        names = [tool.name for tool in tools]
        if choice not in names:
            fix = "did you mean 'required'?" if choice == "any" else nearest(choice, names)
            known = f"{', '.join(CHOICES)} or a tool's name: {fix}"
            raise OptionError(f"tool_choice={choice!r}", fix=known, at=(request.chosen_at,))
    if choice == "required" and not tools:
        what, fix = "tool_choice='required', and there are no tools", "write them: Tool(...)"
        raise OptionError(what, fix=fix, at=(request.chosen_at,))
    return Prompt(messages, tools, choice, output, trimmed)
