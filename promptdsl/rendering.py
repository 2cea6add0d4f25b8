"""Rendering: a tree becomes messages, and messages become one provider's payload."""

import os
from collections.abc import Callable, Container, Coroutine, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import compress, count
from operator import is_not
from typing import Any, Literal, cast

import attrs

from promptdsl.binding import check_bound
from promptdsl.budgeting import Budget, checked_budget, fit, held, room_for, share
from promptdsl.caching import auto_marked
from promptdsl.chat_templates import ChatTemplate
from promptdsl.components.deferred import LazyContext, acall, call, part_of
from promptdsl.components.definitions import Output, Tool
from promptdsl.components.history import History
from promptdsl.components.placing import check_place
from promptdsl.components.timeline import write_timeline
from promptdsl.components.writing import finish
from promptdsl.config import Resolved, Transformation, as_layer, resolve
from promptdsl.errors import (
    ConfigError,
    ContentError,
    LossError,
    OptionError,
    PromptError,
    TargetError,
    nearest,
)
from promptdsl.fitting.dropping import Dropped
from promptdsl.fitting.places import hollow, is_settled
from promptdsl.losses import Loss
from promptdsl.lower import lower
from promptdsl.measuring import Measuring, beside_tokens, message_counts
from promptdsl.messages import Message
from promptdsl.models import ModelFacts, facts_for
from promptdsl.nodes import CacheBreakpoint, Fragment, Lazy, Recorded, Root
from promptdsl.passes.equip import equipment_of, lost_marks
from promptdsl.passes.fill import Ask, Waiting
from promptdsl.passes.select import select
from promptdsl.pipeline import BEFORE_TARGET, CHANGING, FORMATS, before_target, passes_for
from promptdsl.prompts import CHOICES, Prompt
from promptdsl.rendered import Rendered
from promptdsl.rewriting import with_content
from promptdsl.scope import detached
from promptdsl.settling import settle
from promptdsl.sources import Source, author
from promptdsl.targets import Written
from promptdsl.tokens import TokenCounter, Tokens, tokens_for
from promptdsl.tokens.frames import REPLY
from promptdsl.tree import FRAGMENT, HOLLOW, REQUEST, SECTION, TOOL, TURN, Node, bits, make


@attrs.define(eq=False)
class _Request:
    """What a render was asked for."""

    model: str | None
    provider: str | None
    layer: Transformation | None
    roots: tuple[str | os.PathLike[str], ...]
    strict: bool
    audience: str
    cache: str | None
    tool_choice: str | None
    chosen_at: Source | None
    template: ChatTemplate | None
    budget: Budget
    rooms: dict[str, float] = attrs.field(factory=dict[str, float])
    """How many tokens a lazy of weight one has, once that is known."""


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
    request = _request(
        model,
        provider,
        transformation,
        audience,
        media_roots,
        strict=strict,
        cache=cache,
        tool_choice=_choice(tree, tool_choice),
        chat_template=chat_template,
        budget=checked_budget(budget, reserve, counter),
    )
    return _rendered(_root(tree), request, partial(_ask, request))


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
    request = _request(
        model,
        provider,
        transformation,
        audience,
        media_roots,
        strict=strict,
        cache=cache,
        tool_choice=_choice(tree, tool_choice),
        chat_template=chat_template,
        budget=checked_budget(budget, reserve, counter),
    )
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
    return [_part(one, call(one.lazy, _context(one, request)), request) for one in waiting]


def _context(waiting: Waiting, request: "_Request") -> LazyContext:
    """Return what a lazy is told."""
    return LazyContext(request.model, _facts(request).provider, _share(waiting, request))


def _share(waiting: Waiting, request: "_Request") -> int | None:
    """Return how many tokens a lazy may fill, ``None`` without a budget."""
    room = request.rooms.get("weight")
    if room is None:
        return None
    facts = _facts(request)
    total = request.budget.of(facts.window, facts.model) or 0
    return share(room, waiting.lazy.weight, total)


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

    asked = (_answer(one, request) for one in waiting)
    answers = await gather(*asked, return_exceptions=True)
    for error in answers:
        if isinstance(error, BaseException):
            raise error
    return cast("list[Node | None]", answers)


async def _answer(waiting: Waiting, request: "_Request") -> Node | None:
    return _part(waiting, await acall(waiting.lazy, _context(waiting, request)), request)


def _part(waiting: Waiting, returned: object, request: "_Request") -> Node | None:
    """Return what a lazy came to, without what another audience reads.

    Lazies in that are not called, and a note is gone before it is dissolved.
    """
    part = part_of(returned, waiting.lazy)
    if part is None:
        return None
    checked = check_place(part, waiting.holders, waiting.lazy)
    whole = with_content(make(Fragment, mask=bits(FRAGMENT)), (checked,))
    said = next(iter(select(whole, audience=request.audience).content), None)
    return said if said is None else held(said, _share(waiting, request), waiting.lazy)


def _request(  # noqa: PLR0917 (what render() takes, in its order)
    model: object,
    provider: object,
    transformation: Transformation | None,
    audience: str,
    media_roots: Iterable[str | os.PathLike[str]],
    *,
    strict: bool,
    cache: str | None,
    tool_choice: object,
    chat_template: object,
    budget: Budget,
) -> "_Request":
    _check_one_of("audience", audience, ("model", "people"))
    if cache is not None:
        _check_one_of("cache", cache, ("auto",))
    if strict is not True and strict is not False:
        raise OptionError(f"strict={strict!r}", fix="write True or False", at=(author(),))
    layer = None if transformation is None else as_layer(transformation, at=author())
    roots = _folders(media_roots) if media_roots != () else ()
    template = None if chat_template is None else _template(chat_template)
    names = (_checked_name("model", model), _checked_name("provider", provider))
    choice = _checked_name("tool_choice", tool_choice)
    # Looked up at once: when a prompt is awaited, nobody of its author's is on the stack.
    at = None if choice is None else author()
    return _Request(
        *names,
        layer=layer,
        roots=roots,
        strict=strict,
        audience=audience,
        cache=cache,
        tool_choice=choice,
        chosen_at=at,
        template=template,
        budget=budget,
    )


def _choice(tree: object, given: object) -> object:
    """Return the choice of tools that is given, else that of a prompt that was read."""
    return tree.tool_choice if given is None and isinstance(tree, Prompt) else given


def _check_one_of(name: str, given: object, known: tuple[str, ...]) -> None:
    if given not in known:
        raise OptionError(f"{name}={given!r}", fix=nearest(str(given), known), at=(author(),))


def _template(given: object) -> ChatTemplate:
    try:
        return ChatTemplate.of(given)
    except ContentError as error:
        raise error.located(author()) from None


def _rendered(root: Root, request: "_Request", ask: Ask) -> "Rendered":
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
    return _for_target(request, tuple(stages), tuple(_replaced(*place) for place in lost))


def _make_room(root: Node, request: "_Request") -> None:
    """Find out how many tokens lazies have, before the first of them runs."""
    if request.rooms or not any(isinstance(node, Lazy) for node in hollow(root)):
        return
    ready = partial(settle, roots=request.roots, lost=[])
    read = before_target(audience=request.audience, ask=_nothing, settle=ready)[-1].run
    try:
        room = room_for(root, request.budget, _measure(request, cast("Root", root)), read)
    except PromptError as error:
        raise error.located(request.budget.at) from None
    request.rooms["weight"] = room


def _nothing(waiting: Sequence[Waiting]) -> Sequence[Node | None]:
    return [None for _ in waiting]


def _measure(request: "_Request", root: Root) -> Measuring:
    facts = _facts(request)
    tokens = tokens_for(facts, request.budget.counter)
    return Measuring(_config(request, facts, root), facts, tokens, request.roots)


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
    return _checked(rendered) if request.strict else rendered


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
        if self.written is not None:
            return self.written.tally(self.counter).total
        counts = message_counts(self.stages[-1][1], self.messages, self.counter, self.facts)
        return sum(counts) + beside_tokens(self.prompt, self.counter, self.facts) + REPLY


def _sent(  # noqa: PLR0917 (what a render is, in the order it is found)
    request: _Request,
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
        lowered += _placed(written.losses, tree, sent.messages, messages)
    return _Sent(tuple(passed), messages, lowered, prompt, sent, written, facts, tokens)


def _rendered_for(
    request: _Request,
    stages: tuple[tuple[str, Node], ...],
    losses: tuple[Loss, ...],
    provider: str,
) -> "Rendered":
    template = request.template if provider == "chat_template" else None
    again = attrs.evolve(request, provider=provider, template=template)
    return _for_target(again, stages, losses)


def _prompt(
    messages: tuple[Message, ...], tree: Root, request: _Request, *, trimmed: bool
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


def _facts(request: _Request) -> ModelFacts:
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


def _config(request: _Request, facts: ModelFacts, root: Root) -> Resolved:
    if root.transformation is None and request.layer is None:
        return _default_config(facts)
    layers = (*facts.layers(), ("Timeline", root.transformation), ("render", request.layer))
    try:
        return resolve(layers, model=request.model, provider=facts.provider)
    except ConfigError as error:
        raise error.located(root.source) from None


@lru_cache(maxsize=256)
def _default_config(facts: ModelFacts) -> Resolved:
    return resolve(facts.layers(), model=facts.model, provider=facts.provider)


def _root(tree: object) -> Root:
    if isinstance(tree, Prompt):
        return _written(tree)
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
        beside = node.mask & TOOL or isinstance(node, CacheBreakpoint)
        raise ContentError(
            "render() takes a Timeline, a turn, a Section or a Fragment",
            fix="write it in a Timeline" if beside else "put it in a User or a System",
            at=(author(), node.source),
        )
    with detached():
        return cast("Root", finish(write_timeline((node,), author())))


def _written(prompt: Prompt) -> Root:
    """Return a prompt that was read, as its author would write it again."""
    with detached():
        equipment = [*map(Tool, prompt.tools), *map(Output, filter(None, (prompt.output,)))]
        said = (*equipment, History(prompt.messages))
        for component in said:
            component.code, component.offset = author(), -1
        return cast("Root", finish(write_timeline(said, author())))


def _placed(
    losses: tuple[Loss, ...],
    tree: Node,
    sent: Sequence[Message],
    lowered: Sequence[Message],
) -> tuple[Loss, ...]:
    """Give the losses of recorded messages the line of their ``History``.

    They are of the messages that were ``lowered``, not of those that were marked and ``sent``.
    """
    if not losses:
        return ()
    marked = compress(zip(sent, lowered, strict=True), map(is_not, sent, lowered))
    own = {id(one): other for one, other in marked}
    known = [_of_lowered(loss, own) for loss in losses] if own else losses
    places = _places(tree, {id(loss.message) for loss in known if loss.source is None})
    return tuple(_located(loss, places) for loss in known)


def _places(tree: Node, wanted: Container[int]) -> dict[int, tuple[int, Source | None]]:
    """Return where messages of these ids stand: which of its history it is, and its line."""
    found: dict[int, tuple[int, Source | None]] = {}
    for node in tree.content:
        if isinstance(node, Recorded):
            source = node.source
            for index in compress(count(), map(wanted.__contains__, map(id, node.items))):
                found[id(node.items[index])] = (node.start + index, source)
    return found


def _of_lowered(loss: Loss, own: Mapping[int, Message]) -> Loss:
    message = own.get(id(loss.message))
    return loss if message is None else attrs.evolve(loss, message=message)


def _located(loss: Loss, places: Mapping[int, tuple[int, Source | None]]) -> Loss:
    found = places.get(id(loss.message))
    if loss.source is not None or found is None:
        return loss
    index, source = found
    path = loss.path or f"history[{index}]"
    return Loss(loss.kind, loss.what, loss.why, path, source, loss.message)


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
