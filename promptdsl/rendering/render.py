"""The functions :func:`render` and :func:`arender`, from arguments to the result.

Read ``_rendered`` first: it runs the passes that do not depend on the target. ``_for_target`` makes
the result, ``_prepared`` the messages and the payload.
"""

from collections.abc import Callable, Coroutine, Generator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Never, TypeAlias, Unpack, cast

import attrs

from promptdsl.components.block import finish
from promptdsl.config.model_facts import ModelFacts
from promptdsl.config.wires import wires
from promptdsl.foundation.errors import (
    OptionError,
    PromptError,
    UnknownNameError,
    is_one_of,
    nearest,
)
from promptdsl.foundation.source import (
    AWAITED,
    Source,
    author,
    end_traceback,
    listed_signature,
    public_api,
)
from promptdsl.messages.message import Message
from promptdsl.messages.prompt import FIXED_CHOICES, Joints, Loss, Prompt, StoredConversation, hint
from promptdsl.rendering.passes.bound_reasoning import check_bound
from promptdsl.rendering.passes.extract_tools import equipment_of, lost_marks, output_hints
from promptdsl.rendering.passes.fill import Ask, PendingLazy
from promptdsl.rendering.pipeline import (
    ANY,
    BEFORE_TARGET,
    CHANGING,
    FIT,
    FOR_TARGET,
    Outgoing,
    before_target,
)
from promptdsl.rendering.request import (
    RENDER_DEFAULTS,
    AsyncRenderOptions,
    RenderOptions,
    RenderRequest,
    Settings,
    checked_request,
    facts_of,
    request_hints,
    settings_of,
)
from promptdsl.rendering.result import Rendered
from promptdsl.rendering.root import root_around
from promptdsl.rendering.text.blocks import sendable
from promptdsl.rendering.text.encode import LONE_SURROGATE
from promptdsl.rendering.text.format import FORMATS
from promptdsl.rendering.text.lower import lower
from promptdsl.tree.masks import EVENT, FAILED, OPAQUE, OPEN, REQUEST, SHIFT
from promptdsl.tree.node import Node
from promptdsl.tree.rewrite import leaves_no_choice, opaque_nodes
from promptdsl.tree.turn_nodes import ConversationNode, PromptedOutputNode, RootNode

if TYPE_CHECKING:
    from promptdsl.budget.dropped import Dropped
    from promptdsl.budget.edited_history import Trimmed
    from promptdsl.providers.written import WrittenPayload


# The coroutine of ``arender``, whose errors advise to await it.


class coroutine(Coroutine[Any, Any, Rendered]):  # noqa: N801 (errors name its type)
    """A coroutine for a result; reading an attribute of the result is an error with advice.

    It runs another coroutine, whose values for an event loop are of any type.
    """

    __slots__ = ("_wrapped",)

    def __init__(self, wrapped: Coroutine[Any, Any, Rendered]) -> None:
        self._wrapped = wrapped

    def __await__(self) -> Generator[Any, None, Rendered]:
        return self._wrapped.__await__()

    def send(self, value: object, /) -> object:
        """Run the coroutine to its next pause."""
        return self._wrapped.send(value)

    def throw(self, *error: Any) -> object:  # Any: an exception, or its three parts
        """Raise an exception in the coroutine."""
        return self._wrapped.throw(*error)

    def close(self) -> None:
        """End the coroutine."""
        self._wrapped.close()

    if not TYPE_CHECKING:
        # For a type checker, a __getattr__ has every attribute.
        def __getattr__(self, name: str) -> object:
            """Return an attribute of the coroutine that asyncio reads; refuse all others."""
            if name.startswith(("cr_", "__name__", "__qualname__")):
                return getattr(self._wrapped, name)
            if name.startswith("_"):
                return object.__getattribute__(self, name)
            raise UnknownNameError(
                f"arender() returns a coroutine, which has no {name!r}",
                fix="await it: rendered = await arender(...)",
                at=(author(),),
            )


# Rendering a prompt: its tree becomes messages, and these become a provider's payload.
#
# ``_rendered`` runs the passes that no target changes, ``_for_target`` those of the target.

Stages: TypeAlias = tuple[tuple[str, RootNode], ...]
"""The trees after each pass, with its name; the first is the tree as written."""
WITH_FENCES = OPAQUE | (EVENT | REQUEST) << SHIFT
"""The bits of a tree that may have values in a fence."""


@public_api
def render(tree: Node | Prompt, *surplus: Never, **options: Unpack[RenderOptions]) -> Rendered:
    """Return the messages of a prompt and, for a target, its payload and losses.

    >>> from promptdsl import System, Timeline, User, render
    >>> prompt = Timeline(System("You are a support agent."), User("Where is my order?"))
    >>> rendered = render(prompt, model="claude-opus-5-5")
    >>> rendered.to_anthropic()["messages"]
    [{'role': 'user', 'content': [{'type': 'text', 'text': 'Where is my order?'}]}]

    ``tree`` is a Timeline, a single turn, Section or Fragment, or a :class:`Prompt` that was read
    from a payload. The options:

    - ``model``, ``provider``: the target. Providers are ``openai``, ``openai_responses``,
      ``openai_compatible``, ``anthropic``, ``gemini``, ``bedrock`` and ``chat_template``; the name
      of a known model is enough. Without both, ``payload()`` is an error, but
      ``to_anthropic()`` and the others work.
    - ``budget``: the maximum tokens of the request, or ``"window"`` for the context window of the
      model; by default there is no limit. ``reserve`` of them stay free for the answer (0).
    - ``counter``: a token counter instead of the one for the model.
    - ``transformation``: the roles of events and groundings, and how they are written.
    - ``audience``: ``"model"`` (the default) or ``"people"``.
    - ``strict``: with ``True``, a loss of text or media is an error (``False``).
    - ``cache``: ``"auto"`` puts cache marks after the tools, the system text and the last stable
      turn, where the target has such marks; by default only marks of the author are sent.
    - ``tool_choice``: ``"auto"``, ``"none"``, ``"required"`` or the name of a tool to call.
    - ``media_roots``: the folders in which a path from data may be read; none by default.
    - ``media_loader``: a function that returns the bytes at an address. It is called once for each
      address of an attachment that the target takes only as bytes, even if a budget drops the
      attachment. By default such an attachment is a loss.
    - ``chat_template``: the Jinja template of an open model: its text, a :class:`ChatTemplate`, or
      a tokenizer with a template.
    - ``hints``: with ``False``, the result has no hints (``True``).

    Raises a :class:`PromptError` that names the author's line:

    - for a tree that is not finished, and for a wrong option or configuration;
    - for calls and results that do not pair;
    - for an attachment or template that cannot be read or loaded;
    - for a ``Lazy`` with an async function;
    - for parts that have to stay but exceed the budget (:class:`BudgetError`);
    - with ``strict=True`` for a loss (:class:`LossError`).
    """
    request = checked_request(render, tree, surplus, options)
    return _rendered(_root(tree), request, partial(_call_lazies, request))


@public_api
def arender(
    tree: Node | Prompt, *surplus: Never, **options: Unpack[AsyncRenderOptions]
) -> Coroutine[None, None, Rendered]:
    """Return a coroutine for the result of :func:`render`: its lazies run concurrently.

    >>> import asyncio
    >>> from promptdsl import Lazy, Timeline, User, arender
    >>> async def weather(context):
    ...     return "sunny"
    >>> prompt = Timeline(User(Lazy(weather)))
    >>> asyncio.run(arender(prompt)).messages[0].text
    'sunny'

    The options are those of :func:`render`. ``media_loader`` may be asynchronous, too, and loads
    all addresses concurrently. The results of lazies are in document order. If lazies fail, all are
    awaited first; then the error of the first failed lazy in the document is raised. A wrong
    argument raises at the call, before anything is awaited.
    """
    request = checked_request(arender, tree, surplus, options, waits=True)
    facts_of(request)

    return coroutine(_awaited(_root(tree), request, author()))


def _call_lazies(request: RenderRequest, lazies: Sequence[PendingLazy]) -> list[Node | None]:
    from promptdsl.rendering.budgeting import call_lazies

    return call_lazies(request, lazies)


async def _awaited(root: RootNode, request: RenderRequest, line: Source) -> Rendered:
    """Return the result: render repeatedly, each time with the results of one more round."""
    from promptdsl.rendering.budgeting import Unanswered, await_lazies, replay
    from promptdsl.rendering.media_loading import Unloaded

    AWAITED.set(line)
    answers: list[list[Node | None]] = []
    try:
        while True:
            try:
                return _rendered(root, request, replay(answers))
            except (Unanswered, Unloaded) as raised:
                needed = raised
            if isinstance(needed, Unanswered):
                answers.append(await await_lazies(needed.lazies, request))
            else:
                await needed.load()
    except PromptError as error:
        end_traceback(error)
        raise


for function, options in ((render, RenderOptions), (arender, AsyncRenderOptions)):
    setattr(function, "__signature__", listed_signature(function, options, RENDER_DEFAULTS))  # noqa: B010

_awaited.__qualname__ = "arender"  # Python's warning names it, if nobody awaits it


def _root(tree: Node | Prompt) -> RootNode:
    # OPEN without CLOSED: the block of the timeline is still open, which ``root_around`` refuses.
    if isinstance(tree, RootNode) and tree._mask & FAILED != OPEN:
        return cast("RootNode", finish(tree))
    return root_around(tree)


def _rendered(root: RootNode, request: RenderRequest, ask: Ask) -> Rendered:
    """Return the result: run the passes that do not depend on the target, then those that do."""
    tree = root
    if not tree._mask & CHANGING:  # no pass has work to do, so each stage is the same tree
        return _for_target(request, tuple((name, tree) for name in ("written", *BEFORE_TARGET)))
    lost: list[tuple[Node, int]] = []
    stages = [("written", tree)]
    make_sendable = partial(sendable, media_roots=request.media_roots, lost=lost)
    passes = before_target(audience=request.audience, ask=ask, make_sendable=make_sendable)
    for name, mask, run in passes:
        if tree._mask & mask:
            if name == "fill" and request.budget is not None:
                from promptdsl.rendering.budgeting import share_budget

                share_budget(tree, request)
            tree = run(tree)
        stages.append((name, tree))
    lose = partial(attrs.evolve, LONE_SURROGATE)
    losses = (lose(path=f"history[{index}]", source=node.source) for node, index in lost)
    fits_as_is = not tree._mask & OPAQUE or leaves_no_choice(opaque_nodes(tree))
    return _for_target(request, tuple(stages), tuple(losses), fits_as_is=fits_as_is)


def _for_target(
    request: RenderRequest,
    stages: Stages,
    losses: tuple[Loss, ...] = (),
    *,
    fits_as_is: bool = True,
) -> Rendered:
    """Return the result for the target of a request, fitted into its budget, if any.

    ``stages`` are the trees up to the pass ``read``. ``losses`` are those that every target has.
    ``fits_as_is`` says that the tree has no limits and no alternatives, which are applied even
    without a budget.
    """
    tree = stages[-1][1]
    settings = settings_of(request, stages[0][1])
    facts = settings.facts
    is_fitted = request.budget is not None
    if is_fitted or _may_have_fences(tree) or FORMATS[settings.config.format].tagged:
        from promptdsl.rendering.text.reserved_tags import with_reserved_tags

        tree = with_reserved_tags(tree, settings.config)
    if facts.binds_reasoning and facts.known:
        check_bound(dict(stages)["select"], settings.config, facts.model)
    dropped: Callable[[], tuple[Dropped, ...]] = tuple
    if request.budget is None and fits_as_is:
        outgoing = _prepared(tree, request=request, settings=settings)
    else:
        from promptdsl.rendering.budgeting import fit_tree

        prepare = partial(_prepared, request=request, settings=settings)
        dropped, outgoing = fit_tree(tree, request, settings, prepare)
    rendered = Rendered(
        messages=outgoing.prompt.messages,
        losses=(*losses, *outgoing.losses, *request_hints(request, facts)),
        config=settings.config,
        facts=facts,
        dropped=dropped,
        stages=(*stages, *outgoing.stages),
        prompt=outgoing.prompt,
        prompt_with_marks=outgoing.prompt_with_marks,
        render_for=partial(_again, request, stages, losses),
        written_payload=outgoing.payload,
        budget=request.budget,
        media_roots=request.media_roots,
        wants_hints=request.hints,
        is_part=request.is_part,
        is_recorded=request.recorded is not None,
        is_cached=request.cache is not None,
        layout=outgoing.layout,
        write_payload=partial(
            _written_payload, tree=outgoing.stages[-1][1], request=_again_at_once(request)
        ),
    )
    if request.strict and any(loss.kind != "hint" for loss in losses + outgoing.losses):
        fix = "write it another way for this target, or render without strict=True"
        Loss.refuse(rendered.losses, "sent", fix=fix)
    return rendered


def _may_have_fences(root: RootNode) -> bool:
    """Return whether a tree may have values in a fence."""
    # A history always has the bit OPAQUE, so look at its runs: recorded text has no such value.
    groups = (
        child.content if isinstance(child, ConversationNode) else (child,) for child in root.content
    )
    masks = (child._mask for group in groups for child in group)
    return root._mask & WITH_FENCES != 0 and any(mask & WITH_FENCES for mask in masks)


def _again(
    request: RenderRequest,
    stages: Stages,
    losses: tuple[Loss, ...],
    provider: str | None,
    *,
    without_budget: bool = False,
) -> Rendered:
    """Return the result for another provider, or with ``without_budget`` for no budget."""
    if without_budget:
        request = attrs.evolve(request, budget=None, strict=False)
    template = request.template
    if template is not None and not is_one_of(
        provider, [wire.name for wire in wires() if wire.templated]
    ):
        template = None
    other = attrs.evolve(_repeated(request), provider=provider, template=template, again=True)
    return _for_target(
        other, stages, losses, fits_as_is=leaves_no_choice(opaque_nodes(stages[-1][1]))
    )


def _again_at_once(request: RenderRequest) -> RenderRequest:
    """Return a request for another payload of the same messages; it awaits no function."""
    if request.loading is not None and request.loading.waits:
        return attrs.evolve(request, loading=None)
    return _repeated(request)


def _repeated(request: RenderRequest) -> RenderRequest:
    """Return a request that may load failed addresses again, without awaiting a function."""
    if request.loading is None:
        return request
    loading = attrs.evolve(request.loading, waits=False, failed={}, counted={})
    return attrs.evolve(request, loading=loading)


def _prepared(
    tree: RootNode,
    trimmed: "Trimmed | None" = None,
    *,
    request: RenderRequest,
    settings: Settings,
) -> Outgoing:
    """Run the passes of the target, lower the tree to messages, and write the payload.

    ``trimmed`` is what a budget removed from the tree, ``None`` for nothing.
    """
    facts, config = settings
    stages = [(FIT, tree)]
    for name, mask, run in FOR_TARGET:
        if tree._mask & mask or mask == ANY:
            tree = run(tree, config, facts)
        stages.append((name, tree))
    joints: Joints = {}
    messages, losses, layout = lower(
        tree, config=config, media_roots=request.media_roots, joints=joints
    )
    if tree.equipment:
        losses += (*lost_marks(tree), *output_hints(tree, facts))
    prompt = _prompt(messages, tree, request)
    if trimmed is not None:
        prompt = attrs.evolve(prompt, untrimmed_from=trimmed.untrimmed_from(messages))
    if config.lone_text or joints or not (config.join_texts and config.merge_consecutive):
        prompt = attrs.evolve(
            prompt,
            lone_text=config.lone_text,
            joints=joints,
            join_texts=config.join_texts,
            merges=config.merge_consecutive,
        )
    sent_prompt = prompt
    if config.json_keys is not None:
        from promptdsl.providers.shared.sorted_keys import with_sorted_keys

        sent_prompt = with_sorted_keys(prompt)
    if facts.provider is None:
        return Outgoing(tuple(stages), layout, losses, prompt, sent_prompt, None)
    payload = _written_payload(sent_prompt, facts, tree=tree, request=request)
    losses += payload.losses
    if prompt.stored is not None:
        losses += (_stored_elsewhere(prompt.stored, facts),)
    return Outgoing(tuple(stages), layout, losses, prompt, payload.prompt, payload)


def _written_payload(
    prompt: Prompt, facts: ModelFacts, *, tree: RootNode, request: RenderRequest
) -> "WrittenPayload":
    """Return the payload of a prompt, with loaded bytes and automatic cache marks."""
    from promptdsl.providers.written import WrittenPayload

    if request.loading is not None:
        prompt = request.loading.with_loaded_bytes(prompt, facts, tree)
    if request.cache is not None:
        from promptdsl.providers.shared.cache_marks import auto_marked

        prompt = auto_marked(prompt, facts)
    return WrittenPayload(prompt, facts)


def _stored_elsewhere(stored: StoredConversation, facts: ModelFacts) -> Loss:
    """Return the loss of a conversation that is stored elsewhere, or the hint to name its id."""
    what = "the conversation before"
    if stored.origin in facts.origins:
        why = (
            "it is stored at the server: add its previous_response_id or conversation to the "
            "request"
        )
        return hint("needed_key", what, why)
    return Loss("content", what, f"it is stored at the server of {stored.origin}")


def _prompt(messages: tuple[Message, ...], tree: RootNode, request: RenderRequest) -> Prompt:
    """Return the prompt to send; raises :class:`OptionError` if it lacks the chosen tool."""
    choice, recorded = request.tool_choice, request.recorded
    if choice is None and not tree.equipment and recorded is None:
        return Prompt(messages)
    tools, output = equipment_of(tree)
    is_prompted = any(isinstance(node, PromptedOutputNode) for node in tree.equipment)
    if choice is not None and choice not in FIXED_CHOICES:
        names = [tool.name for tool in tools]
        if choice not in names:
            advice = nearest(choice, names) if names else "the prompt has no tools"
            fix = "did you mean 'required'?" if choice == "any" else advice
            choices = f"{', '.join(FIXED_CHOICES)} or a tool's name: {fix}"
            raise OptionError(f"tool_choice={choice!r}", fix=choices, at=(author(),))
    if choice == "required" and not tools:
        problem = "tool_choice='required', and there are no tools"
        raise OptionError(problem, fix="write them: Tool(...)", at=(author(),))
    if recorded is None:
        return Prompt(messages, tools, choice, output, prompts_output=is_prompted)
    # ``recorded`` has the settings of the payload; the author's ``tool_choice`` replaced its own.
    return attrs.evolve(
        recorded,
        messages=messages,
        tools=tools,
        output=output,
        untrimmed_from=0,
        prompts_output=is_prompted,
    )
