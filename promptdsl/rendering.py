"""Rendering: a tree becomes messages, and messages become one provider's payload."""

import os
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import attrs

from promptdsl.adapters import anthropic, openai_chat
from promptdsl.blocks import ToolResultBlock, ToolUseBlock
from promptdsl.components.deferred import LazyContext, acall, call, part_of
from promptdsl.components.placing import check_place
from promptdsl.components.timeline import write_timeline
from promptdsl.components.writing import finish
from promptdsl.config import Resolved, Transformation, as_layer, resolve
from promptdsl.errors import (
    ConfigError,
    ContentError,
    LossError,
    OptionError,
    PendingToolCalls,
    TargetError,
    nearest,
)
from promptdsl.losses import Loss
from promptdsl.lower import lower
from promptdsl.messages import Message
from promptdsl.models import ModelFacts, facts_for
from promptdsl.nodes import Fragment, Recorded, Root
from promptdsl.passes.fill import Ask, Waiting
from promptdsl.passes.select import select
from promptdsl.pipeline import (
    BEFORE_TARGET,
    CHANGING,
    FORMATS,
    Pass,
    before_target,
    for_target,
)
from promptdsl.rewriting import with_content
from promptdsl.scope import detached
from promptdsl.settling import settle
from promptdsl.sources import author
from promptdsl.tree import FRAGMENT, REQUEST, SECTION, TURN, Node, bits, make
from promptdsl.views.outline import outline

if TYPE_CHECKING:
    from promptdsl.adapters.anthropic import Payload as AnthropicPayload
    from promptdsl.adapters.openai_chat import Payload as OpenAIPayload

ADAPTERS: Mapping[str, Any] = {
    "openai": openai_chat,
    "openai_compatible": openai_chat,
    "anthropic": anthropic,
}
METHODS = {"openai": "to_openai", "openai_compatible": "to_openai", "anthropic": "to_anthropic"}


class Stage(NamedTuple):
    """The tree after a pass; the first stage is the tree as ``written``."""

    name: str
    tree: Node


@attrs.frozen
class _Request:
    """What a render was asked for."""

    model: str | None
    provider: str | None
    layer: Transformation | None
    roots: tuple[str | os.PathLike[str], ...]
    strict: bool
    audience: str


def render(
    tree: Node,
    *,
    model: str | None = None,
    provider: str | None = None,
    transformation: Transformation | None = None,
    audience: str = "model",
    strict: bool = False,
    media_roots: Iterable[str | os.PathLike[str]] = (),
) -> "Rendered":
    """Return what a prompt comes to: its messages and, for a target, the payload and its losses.

    ``tree`` is a Timeline, or a turn, Section or Fragment alone. ``provider`` names the target
    (``openai``, ``openai_compatible``, ``anthropic``); with only a ``model``, its name tells it. A
    path that came in data is read only under one of ``media_roots``.

    Raises a :class:`PromptError`: for a tree that is not finished, a configuration that is wrong,
    calls and results that do not pair, an attachment or template that cannot be read, a ``Lazy``
    that has to be awaited, and with ``strict=True`` a :class:`LossError` for text or media the
    target cannot say in its voice.
    """
    request = _request(model, provider, transformation, audience, strict, media_roots)
    return _rendered(_root(tree), request, partial(_ask, request))


def arender(
    tree: Node,
    *,
    model: str | None = None,
    provider: str | None = None,
    transformation: Transformation | None = None,
    audience: str = "model",
    strict: bool = False,
    media_roots: Iterable[str | os.PathLike[str]] = (),
) -> Coroutine[Any, Any, "Rendered"]:
    """Return what :func:`render` does, to be awaited: the functions of lazies run concurrently.

    What they return stands in document order, whichever is done first. When some raise, the first
    in the document is raised, once all are done. What is wrong with the arguments is raised by the
    call itself.
    """
    request = _request(model, provider, transformation, audience, strict, media_roots)
    _facts(request)
    return _awaited(_root(tree), request)


async def _awaited(root: Root, request: "_Request") -> "Rendered":
    answers: list[list[Node | None]] = []
    while True:
        try:
            return _rendered(root, request, _replaying(answers))
        except _Unanswered as wanted:
            waiting = wanted.waiting
        answers.append(await _gathered(waiting, request))


class _Unanswered(Exception):
    """Lazies that have to be awaited before rendering goes on."""

    def __init__(self, waiting: Sequence[Waiting]) -> None:
        self.waiting = waiting


def _ask(request: "_Request", waiting: Sequence[Waiting]) -> list[Node | None]:
    context = _context(request)
    return [_part(one, call(one.lazy, context), request) for one in waiting]


def _context(request: "_Request") -> LazyContext:
    """Return what a lazy is told."""
    return LazyContext(request.model, _facts(request).provider)


def _replaying(answers: Iterable[list[Node | None]]) -> Ask:
    """Return what gives the answers that are there, round by round."""
    rounds = iter(tuple(answers))

    def ask(waiting: Sequence[Waiting]) -> Sequence[Node | None]:
        answer = next(rounds, None)
        if answer is None:
            raise _Unanswered(waiting)
        return answer

    return ask


async def _gathered(waiting: Sequence[Waiting], request: "_Request") -> list[Node | None]:
    from asyncio import gather

    context = _context(request)
    asked = (_answer(one, context, request) for one in waiting)
    answers = await gather(*asked, return_exceptions=True)
    for error in answers:
        if isinstance(error, BaseException):
            raise error
    return cast("list[Node | None]", answers)


async def _answer(waiting: Waiting, context: LazyContext, request: "_Request") -> Node | None:
    return _part(waiting, await acall(waiting.lazy, context), request)


def _part(waiting: Waiting, returned: object, request: "_Request") -> Node | None:
    """Return what a lazy came to, without what another audience reads.

    Lazies in that are not called, and a note is gone before it is dissolved.
    """
    part = part_of(returned, waiting.lazy)
    if part is None:
        return None
    checked = check_place(part, waiting.holders, waiting.lazy)
    whole = with_content(make(Fragment, mask=bits(FRAGMENT)), (checked,))
    return next(iter(select(whole, audience=request.audience).content), None)


def _request(  # noqa: PLR0917 (what render() takes, in its order)
    model: object,
    provider: object,
    transformation: Transformation | None,
    audience: str,
    strict: bool,
    media_roots: Iterable[str | os.PathLike[str]],
) -> "_Request":
    if audience not in ("model", "people"):
        raise OptionError(
            f"audience={audience!r}",
            fix=nearest(str(audience), ("model", "people")),
            at=(author(),),
        )
    layer = None if transformation is None else as_layer(transformation, at=author())
    roots = _folders(media_roots) if media_roots != () else ()
    names = (_checked_name("model", model), _checked_name("provider", provider))
    return _Request(*names, layer, roots, strict, audience)


def _rendered(root: Root, request: "_Request", ask: Ask) -> "Rendered":
    if not root.mask & CHANGING:
        unchanged = [(name, cast("Node", root)) for name in ("written", *BEFORE_TARGET)]
        return _for_target(request, tuple(unchanged), ())
    lost: list[tuple[Node, int]] = []
    stages: list[tuple[str, Node]] = [("written", root)]
    ready = partial(settle, roots=request.roots, lost=lost)
    passed: Node = root
    for name, run in before_target(audience=request.audience, ask=ask, settle=ready):
        passed = run(passed)
        stages.append((name, passed))
    return _for_target(request, tuple(stages), tuple(_replaced(*place) for place in lost))


def _replaced(node: Node, number: int) -> Loss:
    """Return the loss of a lone surrogate in a recorded message."""
    why = "it is no character, U+FFFD is sent"
    return Loss("content", "a lone surrogate", why, f"history[{number}]", node.source)


def _checked_name(name: str, given: object) -> str | None:
    if given is None or isinstance(given, str):
        return given
    raise OptionError(f"{name}={given!r}", fix="write its name, a string", at=(author(),))


def _folders(roots: object) -> tuple[str | os.PathLike[str], ...]:
    """Return the folders that data may name files in; a string alone is one folder, not many."""
    given: object = (roots,) if isinstance(roots, str | os.PathLike) else roots  # pyright: ignore[reportUnknownVariableType]
    if isinstance(given, Iterable):
        found = tuple(cast("Iterable[object]", given))
        if all(isinstance(root, str | os.PathLike) for root in found):
            return cast("tuple[str | os.PathLike[str], ...]", found)
    raise OptionError(f"media_roots={roots!r}", fix="write a list of folders", at=(author(),))


def _for_target(
    request: _Request, stages: tuple[tuple[str, Node], ...], losses: tuple[Loss, ...]
) -> "Rendered":
    """Return the result of the passes that depend on the target, and of its adapter."""
    facts = _facts(request)
    root = cast("Root", stages[0][1])
    config = _config(request, facts, root)
    tree = stages[-1][1]
    passed = list(stages)
    for name, run in _passes(config):
        tree = run(tree)
        passed.append((name, tree))
    messages, lowered = lower(tree, forms=FORMATS, config=config, roots=request.roots)
    ready: list[Any] = []
    if facts.provider is not None:
        payload, written = ADAPTERS[facts.provider].write(messages, facts)
        ready.append(payload)
        lowered += _placed(written, tree)
    rendered = Rendered(
        messages, losses + lowered, config, facts, tuple(passed), request, ready, losses
    )
    return _checked(rendered) if request.strict else rendered


def _facts(request: _Request) -> ModelFacts:
    try:
        return facts_for(request.model, request.provider)
    except TargetError as error:
        raise error.located(author()) from None


def _passes(config: Resolved) -> tuple[Pass, ...]:
    try:
        return for_target(config)
    except TypeError:  # a format_block that cannot be hashed
        return for_target.__wrapped__(config)


def _config(request: _Request, facts: ModelFacts, root: Root) -> Resolved:
    if root.transformation is None and request.layer is None:
        return _default_config(request.model, request.provider)
    layers = (*facts.layers(), ("Timeline", root.transformation), ("render", request.layer))
    try:
        return resolve(layers, model=request.model, provider=facts.provider)
    except ConfigError as error:
        raise error.located(root.source) from None


@lru_cache(maxsize=256)
def _default_config(model: str | None, provider: str | None) -> Resolved:
    facts = facts_for(model, provider)
    return resolve(facts.layers(), model=model, provider=facts.provider)


def _root(tree: object) -> Root:
    if not isinstance(tree, Node):
        raise ContentError(
            "render() takes a Timeline, a turn, a Section or a Fragment, "
            f"not {type(tree).__name__}",
            fix="call the function that builds the prompt",
            at=(author(),),
        )
    node = finish(tree)
    if isinstance(node, Root):
        return node
    if not node.mask & (TURN | REQUEST | SECTION | FRAGMENT) and not isinstance(node, Recorded):
        raise ContentError(
            "render() takes a Timeline, a turn, a Section or a Fragment",
            fix="put it in a User or a System",
            at=(author(), node.source),
        )
    with detached():
        return cast("Root", finish(write_timeline((node,), author())))


def _placed(losses: tuple[Loss, ...], tree: Node) -> tuple[Loss, ...]:
    """Give the losses of recorded messages the line of their ``History``."""
    if not losses or all(loss.source is not None or loss.message is None for loss in losses):
        return losses
    places = {
        id(message): (index, node)
        for node in tree.content
        if isinstance(node, Recorded)
        for index, message in enumerate(node.items, node.start)
    }
    return tuple(_located(loss, places) for loss in losses)


def _located(loss: Loss, places: Mapping[int, tuple[int, Node]]) -> Loss:
    found = places.get(id(loss.message))
    if loss.source is not None or found is None:
        return loss
    index, node = found
    return attrs.evolve(loss, path=loss.path or f"history[{index}]", source=node.source)


def _checked(rendered: "Rendered") -> "Rendered":
    serious = [loss for loss in rendered.losses if loss.kind != "hint"]
    if serious:
        first = serious[0]
        more = f" (and {len(serious) - 1} more)" if len(serious) > 1 else ""
        raise LossError(
            f"{first.what} cannot be sent: {first.why}{more}",
            fix="write it another way for this target, or render without strict=True",
            at=(first.source or first.path or None,),
        )
    return rendered


@attrs.frozen(eq=False, repr=False)
class Rendered:
    """What a prompt comes to. Immutable: every payload is made of fresh containers.

    ``messages`` are provider-neutral, ``losses`` what the target cannot say, ``config`` the
    configuration that held, ``facts`` what is known of the target.
    """

    messages: tuple[Message, ...]
    losses: tuple[Loss, ...]
    config: Resolved
    facts: ModelFacts
    _stages: tuple[tuple[str, Node], ...]
    _request: _Request
    _ready: list[Any]
    _before: tuple[Loss, ...]

    def stages(self) -> tuple[Stage, ...]:
        """Return the tree as written and after every pass; one a pass left alone is the same."""
        return tuple(Stage(name, tree) for name, tree in self._stages)

    def explain(self) -> dict[str, tuple[Any, str]]:
        """Return for every configuration value what holds and the name of the layer that set it."""
        return self.config.explain()

    def outline(self) -> str:
        """Return the parts of what is sent, a line each, with size and where they were written."""
        return outline(self._stages[-1][1])

    def payload(self) -> dict[str, Any]:
        """Return the request arguments for the target, content only.

        Raises :class:`TargetError` when rendered for no target, :class:`PendingToolCalls` when the
        last calls are not answered yet.
        """
        provider = self.facts.provider
        if provider is None:
            raise TargetError(
                "this was rendered for no target",
                fix="say one: render(tree, model=...) or render(tree, provider=...)",
                at=(author(),),
            )
        self._refuse_pending()
        try:
            return cast("dict[str, Any]", self._ready.pop())
        except IndexError:
            return cast("dict[str, Any]", ADAPTERS[provider].write(self.messages, self.facts)[0])

    def to_openai(self) -> "OpenAIPayload":
        """Return the arguments of OpenAI's ``chat.completions.create``: ``messages``.

        Raises :class:`TargetError` when rendered for another target, :class:`PendingToolCalls`.
        """
        return cast("OpenAIPayload", self._to("openai"))

    def to_anthropic(self) -> "AnthropicPayload":
        """Return the arguments of Anthropic's ``messages.create``: ``system`` and ``messages``.

        Raises :class:`TargetError` when rendered for another target, :class:`PendingToolCalls`.
        """
        return cast("AnthropicPayload", self._to("anthropic"))

    def for_target(self, provider: str) -> "Rendered":
        """Return the same prompt rendered for a provider, with what is lost there in ``losses``.

        It goes on from the expanded tree, with that provider's careful defaults where no model was
        given. Raises :class:`TargetError` for an unknown provider.
        """
        request = attrs.evolve(self._request, provider=provider)
        before = [name for name, _ in self._stages].index("consolidate")
        return _for_target(request, self._stages[:before], self._before)

    def _to(self, target: str) -> dict[str, Any]:
        provider = self.facts.provider
        if provider is None:
            return self.for_target(target).payload()
        if METHODS[provider] != METHODS[target]:
            raise TargetError(
                f"this was rendered for {provider}, so it has no {METHODS[target]}()",
                fix=f"render it for that target: render(tree, provider={target!r})",
                at=(author(),),
            )
        return self.payload()

    def _refuse_pending(self) -> None:
        open_calls = pending(self.messages)
        if open_calls:
            message, call = open_calls[0]
            names = ", ".join(repr(block.id) for _, block in open_calls)
            source = message.sources[0].source if message.origins else None
            raise PendingToolCalls(
                f"the last calls are not answered yet: {names}",
                fix=f"answer them: ToolMessage({call.id!r}, ...)",
                at=(source,),
            )

    def __repr__(self) -> str:
        target = self.facts.provider or "no target"
        return f"<Rendered for {target}: {len(self.messages)} messages, {len(self.losses)} losses>"


def pending(messages: tuple[Message, ...]) -> list[tuple[Message, ToolUseBlock]]:
    """Return the calls of the last assistant turn that have no result, each with its message."""
    answered: set[str] = set()
    for message in reversed(messages):
        if message.role == "assistant":
            return [
                (message, block)
                for block in message.content
                if isinstance(block, ToolUseBlock) and block.id not in answered
            ]
        for block in message.content:
            if isinstance(block, ToolResultBlock):
                answered.add(block.tool_use_id)
    return []
