"""The result of rendering: messages, losses, and each provider's payload.

``render.py`` makes a :class:`Rendered`. Few users need hints, spans and token counts, so these are
made when they are first read.

A name without an underscore is for users. A field with an underscore, such as ``_losses``, has what
``render.py`` passed. The property without it, such as ``losses``, is made of this field for users.
Five more names with an underscore are for other packages: ``_is_waiting``, ``_asks_nothing``,
``_through_gateway``, ``_text`` and ``_request_view``. Each of them says who reads it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Never, cast

import attrs

from promptdsl.config.model_facts import ModelFacts
from promptdsl.config.transformation import Resolved, SettingValue
from promptdsl.foundation.old_names import OldAttribute, PassName
from promptdsl.foundation.source import made_by_render, public_api
from promptdsl.messages.message import Message, open_calls
from promptdsl.messages.names import AdapterName, ProviderName
from promptdsl.messages.prompt import Loss, OutputMode, OutputSchema, Prompt, ToolDefinition
from promptdsl.rendering.text.layout import packed, unpacked
from promptdsl.tree.masks import CACHE, REQUEST, SHIFT
from promptdsl.tree.node import Node, walk
from promptdsl.tree.part_nodes import VolatileNode
from promptdsl.tree.rewrite import is_compacted, opaque_nodes
from promptdsl.tree.turn_nodes import ComponentNode, RootNode

if TYPE_CHECKING:
    from promptdsl.budget.budget import Budget
    from promptdsl.budget.dropped import Dropped
    from promptdsl.foundation.source import LibrarySection
    from promptdsl.providers.anthropic.write import AnthropicPayload
    from promptdsl.providers.bedrock.write import BedrockPayload
    from promptdsl.providers.chat_template.write import ChatTemplatePayload
    from promptdsl.providers.gemini.write import GeminiPayload
    from promptdsl.providers.openai_chat.write import OpenAIPayload
    from promptdsl.providers.openai_responses.write import ResponsesPayload
    from promptdsl.providers.shared.request import SentLocation
    from promptdsl.providers.written import WrittenPayload
    from promptdsl.rendering.reports import ReportInput, TokenReport
    from promptdsl.rendering.reports.cards import DroppedCard, RequestView
    from promptdsl.rendering.reports.record import PromptRecord
    from promptdsl.rendering.reports.text_view import Paint
    from promptdsl.rendering.spans import Span, SpanReader
    from promptdsl.rendering.text.blocks import MediaRoots
    from promptdsl.rendering.text.layout import Layout


class Stage(NamedTuple):
    """The tree after one pass; the first stage is the tree as ``written``.

    >>> from promptdsl import Timeline, User, render
    >>> [stage.name for stage in render(Timeline(User("Hi"))).stages()][:3]
    ['written', 'select', 'fill']
    """

    name: str
    tree: RootNode


@made_by_render
@attrs.frozen(eq=False, repr=False, slots=False)
class Rendered:
    """The result of :func:`render`. Immutable: every payload is made of new containers.

    >>> from promptdsl import Timeline, User, render
    >>> rendered = render(Timeline(User("Hi")), model="gpt-5")
    >>> rendered
    <Rendered for openai gpt-5: 1 message, 8 tokens, 2b6ed11d9a19>
    >>> rendered.to_openai()
    {'messages': [{'role': 'user', 'content': 'Hi'}]}

    ``messages`` are provider-neutral. ``losses`` are the parts that the target does not take,
    ``hints`` are lost details and possible mistakes. ``config`` is the configuration that was used,
    ``facts`` are the known facts of the target.

    ``str(rendered)`` is the request as people read it, with escapes for control and invisible
    characters. A line that begins with ``─`` is a heading or a label; a line of the prompt that
    begins so has a backslash before it. ``repr`` is one line with a digest of all that is sent.
    Notebooks and the library ``rich`` show the messages as boxes. An f-string of it is an error.
    """

    # An alias is the name of the argument: that of the field without its underscore. attrs would
    # take it without these aliases, too, but a type checker does not know that.
    _messages: tuple[Message, ...] = attrs.field(alias="messages")
    config: Resolved
    facts: ModelFacts
    _dropped: "Callable[[], tuple[Dropped, ...]]" = attrs.field(alias="dropped")
    """Returns the parts that a budget or a limit dropped, in any order.

    The property ``dropped`` sorts them, and adds the calls and results that ``tool_pairing``
    removed.
    """
    _stages: tuple[tuple[str, RootNode], ...] = attrs.field(alias="stages")
    """The tree as ``written``, then the tree after each pass, with the name of the pass."""
    _prompt: Prompt = attrs.field(alias="prompt")
    """The messages, tools and output schema, with the cache marks of the author only.

    ``messages``, ``tools`` and ``output`` show this one.
    """
    _prompt_with_marks: Prompt = attrs.field(alias="prompt_with_marks")
    """The prompt that is sent: also with automatic cache marks, and with the bytes that a
    ``media_loader`` returned. The number and order of its messages are the same.

    The payload is made of this one, and so are spans, views and reports.
    """
    _render_for: "Callable[..., Rendered]" = attrs.field(alias="render_for")
    """Renders the same tree for another provider, by its name, or without a budget."""
    _written_payload: "WrittenPayload | None" = attrs.field(alias="written_payload")
    """The payload and its losses, ``None`` without a target."""
    _budget: "Budget | None" = attrs.field(alias="budget")
    _media_roots: "MediaRoots" = attrs.field(alias="media_roots")
    """The folders whose files may be sent."""
    _losses: tuple[Loss, ...] = attrs.field(alias="losses")
    """The losses and hints of passes and of the payload, without addresses and source lines.

    The properties ``losses`` and ``hints`` add these, and the hints about what the author wrote.
    """
    _wants_hints: bool = attrs.field(alias="wants_hints")
    """Whether there are hints: the option ``hints`` of ``render``."""
    _is_recorded: bool = attrs.field(alias="is_recorded")
    """Whether the prompt was read from a payload, so that no author wrote it."""
    _is_part: bool = attrs.field(alias="is_part")
    """Whether a part of a conversation was rendered, so that hints about its end do not apply."""
    _is_cached: bool = attrs.field(alias="is_cached")
    """Whether it was rendered with ``cache="auto"``."""
    _layout: "Layout" = attrs.field(alias="layout")
    """Which node of the last tree wrote which piece of the messages."""
    _write_payload: "Callable[[Prompt, ModelFacts], WrittenPayload]" = attrs.field(
        alias="write_payload"
    )
    """Writes the payload of a prompt for a target with these facts.

    It also adds the automatic cache marks and the loaded bytes that these facts allow.
    """
    _is_masked: bool = attrs.field(default=False, alias="is_masked")
    """Whether volatile values have other texts; then no text of a dropped part is shown."""

    @property
    def _last_tree(self) -> RootNode:
        """The tree after all passes, which the messages were made of."""
        return self._stages[-1][1]

    # A property, because jedi, which completes names in editors, does not know the type of the
    # items of a tuple that is a field.
    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages that are sent, in the same format for every provider."""
        return self._messages

    @cached_property
    def losses(self) -> tuple[Loss, ...]:
        """The content and roles that the target does not take, each with its line."""
        return self.located(loss for loss in self._losses if loss.kind != "hint")

    @cached_property
    def hints(self) -> tuple[Loss, ...]:
        """The details that the target does not take, and possible mistakes, each with its line.

        A line has one hint for each cause. The ``count`` of the hint is the number of locations.
        There are no hints with ``hints=False``, and none with a name in ``silent_hints``.
        """
        if not self._wants_hints:
            return ()
        from promptdsl.rendering.conversation_hints import end_hints, recording_hints
        from promptdsl.rendering.hints import (
            author_hints,
            grounding_volatile_hints,
            has_tag_values,
            tag_hints,
            unread_hints,
            volatile_hints,
        )

        # Each hint reads the stage that it needs. ``written`` has all that the author wrote.
        # ``fill`` also has what functions returned; its recordings are not read yet. ``read`` has
        # all recordings as messages, and all values of templates.
        stages = dict(self._stages)
        names = [tool.name for tool in self.tools]
        hints = [
            *author_hints(stages, self.messages),
            *recording_hints(stages, self.messages, names),
        ]
        hints += self._clearing_hints(stages["read"])
        # ``_mask`` has the bit ``CACHE`` if a part of the tree has a cache mark. Only then may a
        # ``Volatile`` value be before one.
        if stages["written"]._mask & CACHE:
            hints += volatile_hints(self.messages, self.spans())
        if self._is_cached and stages["written"]._mask & REQUEST << SHIFT:
            hints += grounding_volatile_hints(self.messages, self.spans())
        if has_tag_values(stages["read"], self.messages):
            hints += tag_hints(self.spans())
        if self.facts.provider is not None and not self._is_part:
            hints += end_hints(self.messages, self.facts, stages["written"])
        # Keys of recorded messages that promptdsl does not read.
        hints += unread_hints(stages["fill"])
        hints += [loss for loss in self._losses if loss.kind == "hint"]
        return self.located(hints)

    def _clearing_hints(self, tree: RootNode) -> Iterator[Loss]:
        """Yield the hints about histories that clear results, in a budget or a known window."""
        from promptdsl.rendering.conversation_hints import clearing_hints, clearing_histories

        histories, budget, window = clearing_histories(tree), self._budget, self.facts.window
        limit = budget.of(window, self.facts.model) if histories and budget else None
        token_limit = window if limit is None else limit
        if histories and token_limit is not None:
            total = None if limit is None else self._report_input().total()
            yield from clearing_hints(histories, token_limit, total, self.dropped)

    @public_api
    def located(self, losses: Iterable[Loss]) -> tuple[Loss, ...]:
        """Return losses and hints with the address and the line of each, the hints last.

        This is for losses of a conversion to another library: with ``at=(0, 1)``, a loss is about
        the second block of the first message.
        """
        from promptdsl.rendering.losses import counted_losses, losses_with_lines

        requested = tuple(loss for loss in losses if self._wants_hints or loss.kind != "hint")
        with_lines = losses_with_lines(requested, self._last_tree.source, lambda: self._span_reader)
        return counted_losses(with_lines, silent=self.config.silent_hints)

    @cached_property
    @public_api
    def dropped(self) -> "tuple[Dropped, ...]":
        """The parts that a budget or a limit removed, in the order they were written.

        After them come the tool calls and results that ``tool_pairing`` removed.
        """
        stages, dropped = dict(self._stages), self._dropped()
        if dropped:
            from promptdsl.rendering.reports.dropped_parts import in_written_order

            dropped = in_written_order(dropped, stages["read"])
        # The same tree before and after ``pair``: it removed no call and no result.
        if stages["place"] is stages["pair"]:
            return dropped
        from promptdsl.rendering.reports.report_input import dropped_by_pairing

        return (*dropped, *dropped_by_pairing(stages["place"], self._report_input()))

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        """The tools that a model may call, in the order they were written."""
        return self._prompt.tools

    @property
    def tool_choice(self) -> str | None:
        """The tools to call: ``auto``, ``none``, ``required`` or the name of one."""
        return self._prompt.tool_choice

    @property
    def output(self) -> OutputSchema | None:
        """The schema of the answer, ``None`` without one."""
        return self._prompt.output

    @property
    def output_mode(self) -> OutputMode | None:
        """How the schema of the answer is sent: ``native`` as a setting, ``prompted`` as text.

        ``None`` without a schema.
        """
        if self._prompt.output is None:
            return None
        return "prompted" if self._prompt.prompts_output else "native"

    @public_api
    def stages(self) -> tuple[Stage, ...]:
        """Return the tree as written and after each pass; a pass without work keeps the tree."""
        # A ``PassName`` is also equal to the old name of its pass, with a warning.
        return tuple(Stage(PassName(name), tree) for name, tree in self._stages)

    @public_api
    def explain(self) -> dict[str, tuple[SettingValue, str]]:
        """Return every configuration value with the name of the layer that set it.

        If the target takes an event, ``Ephemeral``, ``Grounding`` or ``Developer`` turn only in a
        user message, there is a row for it: ``"sent.event[0]": ("user", "target anthropic")``.
        """
        sent_rows: dict[str, tuple[SettingValue, str]] = {
            f"sent.{turn.address}": (role, f"target {self.facts.provider}")
            for index, role in self._sent_as.items()
            for turn in self.messages[index].sources
        }
        return self.config.explain() | sent_rows

    @cached_property
    def _sent_as(self) -> dict[int, str]:
        """By index, the role ``user`` of instructions that the target takes in no other role."""
        return self._report_input().sent_as()

    @cached_property
    def _known_sent_as(self) -> dict[int, str]:
        """The rows of ``_sent_as`` that are known without writing a payload."""
        return self._report_input().known_sent_as()

    @public_api
    def spans(self) -> "tuple[Span, ...]":
        """Return each piece of the messages: its location, its kind, and the line that wrote it.

        The spans of a text are in order, without overlaps and gaps: joined, they are the text. A
        tool result has the spans of the blocks in it. Any other block has one span without text.
        """
        return self._spans

    @cached_property
    def _spans(self) -> "tuple[Span, ...]":
        return tuple(self._span_reader.spans(self._prompt_with_marks.messages))

    @cached_property
    def _span_reader(self) -> "SpanReader":
        """The reader of what wrote each piece; made once, for losses, spans and reports."""
        from promptdsl.rendering.spans import SpanReader

        return SpanReader(self._last_tree, self.messages, self._layout)

    def __getstate__(self) -> dict[str, object]:
        """Return the state to pickle or copy.

        A masked result can be copied, not pickled: its function for other targets is local.
        """
        # These cached properties are left out: they are large, or have functions that cannot be
        # pickled (``tokens``). Any other cached property is kept. ``_spans``, ``losses`` and
        # ``hints`` must be kept, because a masked result cannot make them again.
        made_again = {
            "_span_reader",
            "_summary",
            "_locations",
            "_sent_as",
            "_known_sent_as",
            "tokens",
        }
        state = {name: value for name, value in vars(self).items() if name not in made_again}
        # Locations of dropped parts are found by nodes that trees share. Trees of a copy share
        # none, so find them now.
        state["_shown_dropped"] = self._shown_dropped
        return {**state, "_layout": packed(self._layout, self._last_tree)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        layout = unpacked(state["_layout"], state["_stages"][-1][1])
        vars(self).update({**state, "_layout": layout})

    @public_api
    def masked(self, mask: "Callable[[Span], str]") -> "Rendered":
        """Return the result with other texts for its :class:`Volatile` values, to compare it.

        ``mask`` gets the span of a value and returns the new text. Messages, payload, spans and
        ``tokens.total`` have these texts; ``losses``, ``hints`` and ``dropped`` do not change.
        Records and views have no text of dropped parts. A text of white space alone is not sent,
        so it is not masked.

        >>> from promptdsl import System, Volatile, render
        >>> rendered = render(System("It is ", Volatile("12:00", label="now"), "."))
        >>> rendered.masked(lambda span: f"<{span.label}>").messages[0].text
        'It is <now>.'
        """
        from promptdsl.providers.written import WrittenPayload
        from promptdsl.rendering.spans import masked_spans, with_texts

        dropped_nodes = (
            node
            for dropped_part in self.dropped
            for node in dropped_part.gone
            if isinstance(node, Node)
        )
        is_dropped = any(
            isinstance(inner, VolatileNode) for node in dropped_nodes for inner, _ in walk(node)
        )
        if not is_dropped and all(span.kind != "volatile" for span in self._spans):
            return self
        spans = tuple(masked_spans(self._spans, mask))
        prompt = with_texts(self._prompt, spans)
        prompt_with_marks = with_texts(self._prompt_with_marks, spans)

        def render_for(provider: str | None, *, without_budget: bool = False) -> Rendered:
            return self._render_for(provider, without_budget=without_budget).masked(mask)

        # This prompt has its automatic cache marks and loaded bytes already: write it unchanged.
        masked = attrs.evolve(
            self,
            messages=prompt.messages,
            prompt=prompt,
            prompt_with_marks=prompt_with_marks,
            render_for=render_for,
            written_payload=self._written_payload and WrittenPayload(prompt_with_marks, self.facts),
            is_masked=True,
        )
        # Keep these: hints that are made again would be about the new texts, because they read the
        # messages. Spans that are made again would have the old texts, because they read the tree.
        vars(masked).update(losses=self.losses, hints=self.hints, _spans=spans)
        return masked

    @public_api
    def outline(self, *, width: int | None = None) -> str:
        """Return the parts of the request, one per line, with their size and their source line.

        Lines fit ``width`` columns; without it, nothing is cut.
        """
        from promptdsl.tree.outline import outline

        return outline(self._last_tree, width)

    @public_api
    def record(
        self, inputs: Mapping[str, object] | None = None, *, content: bool = True
    ) -> "PromptRecord":
        """Return what is sent, and why, as one JSON value that can be kept and printed later.

        ``inputs`` are the arguments that the prompt was made with. Without ``content``, the record
        has no texts, names, ids and files. Raises what ``tokens`` raises, :class:`OptionError` if
        ``inputs`` is not a mapping, and :class:`DataError` for an input that JSON cannot express.
        """
        from promptdsl.rendering.reports.recorded import record_of, tokens_of

        # The record has the tokens as JSON data; the report also has those of each span.
        tokens, dropped = tokens_of(self.tokens), self.dropped
        return record_of(
            self._report_input(),
            tokens=tokens,
            dropped=dropped,
            report=self.tokens,
            inputs=inputs,
            content=content,
        )

    @cached_property
    def libraries(self) -> "tuple[LibrarySection, ...]":
        """The sections of libraries that are sent, in the order of their first use.

        A section that a template includes counts. A section that is overridden does not.
        """
        # In the stage ``fit`` the budget has dropped its parts, and components are still in the
        # tree. Later passes dissolve them.
        tree = dict(self._stages)["fit"]
        used: dict[LibrarySection, None] = {}
        for node, _depth in walk(tree):
            # A section of a library is a component with a ``section``. The text of a template has
            # the sections that it includes in its options; ``None`` is an overridden section.
            section = node.section if isinstance(node, ComponentNode) else None
            sections = node.options.libraries if section is None else (section,)
            used.update(dict.fromkeys(section for section in sections if section))
        return tuple(used)

    @cached_property
    @public_api
    def tokens(self) -> "TokenReport":
        """The tokens of the request by message, section and line; counted at the first call.

        The counter is that of the budget; without a budget, it is chosen for the target's model.
        """
        from promptdsl.rendering.reports import TokenReport

        return TokenReport(self._report_input())

    @public_api
    def payload(self) -> dict[str, Any]:
        """Return the content of a request for the target, as arguments of its SDK.

        The first call returns the payload that ``render`` wrote to know its losses. A second call
        writes it again. Raises :class:`TargetError` without a target, and
        :class:`PendingToolCalls` if the last tool calls have no results yet. For each line of the
        author with a block, a tool or an output schema that is not sent, there is a
        :class:`LostContentWarning`.
        """
        return self._payload_to_send()

    def _payload_to_send(self) -> dict[str, Any]:
        payload = self._payload()
        self._warn_of(self._losses)
        return payload

    def _payload(self) -> dict[str, Any]:
        """Return the payload without a warning, to show it or to compare it."""
        return self._sendable().payload()

    def _warn_of(self, losses: Sequence[Loss]) -> None:
        """Warn of the author's content among the losses, which have no lines yet."""
        if not self._is_recorded and any(loss.kind == "content" for loss in losses):
            from promptdsl.rendering.losses import warn_of_losses

            warn_of_losses(losses, self._span_reader)

    @public_api
    def prefix(self) -> dict[str, Any]:
        """Return the payload up to its last cache mark, as a request that warms the cache.

        If calls are open at the cache mark, their results are kept, too. If the request would not
        end with a user's message, one with the text ``.`` is added. Raises :class:`TargetError` for
        a target that takes no cache marks and for a payload without any, and all that
        :meth:`payload` raises. It warns like :meth:`payload`.
        """
        from promptdsl.rendering.cached_prefix import cached_prefix

        prefix = cached_prefix(self._sendable())
        self._warn_of(self._losses)
        return prefix

    @public_api
    def locations(self) -> "tuple[SentLocation, ...]":
        """Return where each block is in the payload, and what was added, in the payload's order.

        A block without a location is not sent. The first call writes the payload again. Raises
        :class:`TargetError` and :class:`PendingToolCalls` like :meth:`payload`.
        """
        self._sendable()
        return self._locations

    places = OldAttribute("Rendered.places")  # the old name of ``locations``, which warns

    @cached_property
    def _locations(self) -> "tuple[SentLocation, ...]":
        """The locations, also of open calls; empty without a target."""
        return () if self._written_payload is None else self._written_payload.locations()

    @property
    def _is_waiting(self) -> bool:
        """Whether the last tool calls have no results yet, so that nothing can be sent.

        A snapshot shows this. With the setting ``tool_pairing="keep"`` the calls are sent.
        """
        return self.config.tool_pairing != "keep" and bool(open_calls(self.messages))

    @property
    def _asks_nothing(self) -> bool:
        """Whether nothing of the user's turns or history is sent.

        Batches leave out such a row (``batch/renderer.py``).
        """
        from promptdsl.rendering.conversation_hints import asks_nothing

        losses = self.located(self._losses) if self._losses else ()
        return asks_nothing(dict(self._stages), losses)

    def _sendable(self) -> "WrittenPayload":
        """Return the written payload.

        Raises :class:`TargetError` without a target. Raises :class:`PendingToolCalls` if the last
        tool calls have no results yet, unless ``tool_pairing`` is ``keep``.
        """
        if self._written_payload is None:
            from promptdsl.rendering.losses import no_target

            raise no_target(self.facts.model)
        if self._is_waiting:
            from promptdsl.rendering.losses import unanswered

            raise unanswered(self.messages)
        return self._written_payload

    @public_api
    def to_openai(self) -> "OpenAIPayload":
        """Return the arguments of OpenAI's ``chat.completions.create``: ``messages``, ``tools``.

        Also ``tool_choice`` and ``response_format``, if the prompt has them. Raises
        :class:`TargetError` when rendered for another target, :class:`PendingToolCalls`.
        """
        return cast("OpenAIPayload", self._to("openai"))

    @public_api
    def to_openai_responses(self) -> "ResponsesPayload":
        """Return the arguments of OpenAI's ``responses.create``: ``input``, ``tools``, ...

        Also ``tool_choice`` and ``text``, if the prompt has them. Raises
        :class:`TargetError` when rendered for another target, :class:`PendingToolCalls`.
        """
        return cast("ResponsesPayload", self._to("openai_responses"))

    @public_api
    def to_anthropic(self) -> "AnthropicPayload":
        """Return the arguments of Anthropic's ``messages.create``: ``system``, ``messages``, ...

        Also ``tools``, ``tool_choice`` and ``output_config``. Raises :class:`TargetError`
        when rendered for another target, :class:`PendingToolCalls`.
        """
        return cast("AnthropicPayload", self._to("anthropic"))

    @public_api
    def to_gemini(self) -> "GeminiPayload":
        """Return the arguments of Gemini's ``models.generate_content``: ``contents``, ``config``.

        ``config`` holds the system text, the tools and the schema of the answer. Raises
        :class:`TargetError` when rendered for another target, :class:`PendingToolCalls`.
        """
        return cast("GeminiPayload", self._to("gemini"))

    @public_api
    def to_bedrock(self) -> "BedrockPayload":
        """Return the arguments of Bedrock's ``converse``: ``system``, ``messages``, ...

        Also ``toolConfig`` and ``outputConfig``. Raises :class:`TargetError` when rendered
        for another target, :class:`PendingToolCalls`.
        """
        return cast("BedrockPayload", self._to("bedrock"))

    @public_api
    def to_chat_template(self) -> "ChatTemplatePayload":
        """Return the variables of an open model's chat template: ``messages`` and ``tools``.

        With a known template, ``prompt`` is its text for them. Raises
        :class:`TargetError` when rendered for another target, :class:`PendingToolCalls`.
        """
        return cast("ChatTemplatePayload", self._to("chat_template"))

    @public_api
    def for_target(self, provider: ProviderName) -> "Rendered":
        """Return the same prompt rendered for another provider, with the losses of that provider.

        If no model is known, careful defaults of the provider are used. Lazies are not called
        again. Raises :class:`TargetError` for an unknown provider.
        """
        return self._render_for(provider)

    def _through_gateway(
        self,
        gateway: str,
        **changes: Any,  # Any: each fact has its type
    ) -> "Rendered":
        """Return the same messages for the same model, written in the format of a gateway.

        ``gateway`` is the name of a provider that passes requests on to this model. ``changes`` are
        facts of the gateway that depend on the model. The facts of the model itself become the fact
        ``behind`` of the gateway. ``integrations/litellm.py`` calls it.
        """
        from promptdsl.config.models import facts_for, facts_with

        known_facts = facts_for(self.facts.model, gateway)
        facts = facts_with(known_facts, (*changes.items(), ("behind", self.facts)))
        payload = self._write_payload(self._prompt_with_marks, facts)
        # The losses of the gateway's payload replace those of the first payload. These are found
        # by identity, because a loss of a pass may be equal to one of them.
        first_payload = self._written_payload
        replaced = {id(loss) for loss in (first_payload.losses if first_payload else ())}
        kept_losses = tuple(loss for loss in self._losses if id(loss) not in replaced)
        return attrs.evolve(
            self,
            facts=facts,
            prompt_with_marks=payload.prompt,
            written_payload=payload,
            losses=kept_losses + payload.losses,
        )

    def _to(self, target: AdapterName) -> dict[str, Any]:
        """Return the payload in a provider's format; without a target, render for that provider."""
        provider = self.facts.provider
        if provider is None:
            return self.for_target(target).payload()
        if self.facts.wire.provider_format != target:
            from promptdsl.rendering.losses import other_target

            raise other_target(target, self.facts)
        return self._payload_to_send()

    @public_api
    def to_otel(
        self, content: bool = False, *, name: str | None = None, conversation: str | None = None
    ) -> dict[str, str | bool]:
        """Return attributes for the span of a request, by OpenTelemetry's GenAI conventions 0.1.0.

        ``name`` is the name of the prompt, ``conversation`` the id of the conversation. The version
        of the prompt is a digest of the author's text as written, without values. A budget does not
        change it. With ``content``, messages, instructions and tools are included as JSON texts,
        without signatures. A provider that the conventions do not know is left out.

        >>> from promptdsl import User, render
        >>> attributes = render(User("Hi."), model="gpt-5").to_otel(name="greeting")
        >>> attributes["gen_ai.provider.name"], attributes["gen_ai.prompt.name"]
        ('openai', 'greeting')
        """
        from promptdsl.rendering.reports.otel import (
            lacks_author_text,
            otel_attributes,
            otel_content,
        )

        report_input, has_output = self._report_input(), self.output is not None
        # The version is that of the prompt as it was written, so that a budget does not change it.
        unfitted = self
        if self._budget is not None and lacks_author_text(self.dropped):
            unfitted = self._render_for(self.facts.provider, without_budget=True)
        attributes = otel_attributes(
            report_input,
            stages=dict(self._stages),
            spans=unfitted.spans(),
            has_output=has_output,
        )
        labels = {"gen_ai.prompt.name": name, "gen_ai.conversation.id": conversation}
        attributes |= {key: value for key, value in labels.items() if value}
        if content:
            attributes.update(otel_content(report_input, self.tools))
        return attributes

    def _report_input(self) -> "ReportInput":
        """Return the input of all reports on this result."""
        from promptdsl.rendering.reports import ReportInput
        from promptdsl.tokens import tokens_for

        counter = None if self._budget is None else self._budget.counter
        # What takes time to make is passed as a function: most reports need only some of it.
        return ReportInput(
            tree=self._last_tree,
            messages=self.messages,
            sent=self._prompt_with_marks,
            written_payload=self._written_payload,
            locations=lambda: self._locations,
            dropped=lambda: self.dropped,
            config=self.config,
            facts=self.facts,
            tokens=tokens_for(self.facts, counter),
            media_roots=self._media_roots,
            spans=self.spans,
            # A timeline entry is a turn, several merged turns, or a recording.
            timeline=lambda: self._span_reader.timeline_entries,
            losses=lambda: (*self.losses, *self.hints),
            libraries=lambda: self.libraries,
            budget=self._budget,
            stages=dict(self._stages),
            is_masked=self._is_masked,
        )

    @cached_property
    def _summary(self) -> str:
        """The target of the request, its size and its digest, on one line."""
        from promptdsl.rendering.reports.cards import RequestView, or_none_on_error

        tokens = or_none_on_error(lambda: (self.tokens.total, self.tokens.messages))
        return RequestView(
            prompt=self._prompt_with_marks,
            facts=self.facts,
            losses=self.losses,
            hints=self.hints,
            dropped=or_none_on_error(lambda: self.dropped) or (),
            tokens=tokens,
            budget=None if tokens is None else self._report_input().budget_use(tokens[0]),
        ).summary

    @property
    def _request_view(self) -> "RequestView":
        """The request with the cache marks of the author alone, and the spans of its blocks.

        A snapshot is made of it.
        """
        from promptdsl.rendering.reports.cards import RequestView

        return RequestView(self._prompt, self.facts, self.losses, self.hints, spans=self.spans())

    def _text_view(self, spans: "Sequence[Span]" = ()) -> "RequestView":
        """Return the request as a text shows it: no tokens are counted, no payload is written."""
        from promptdsl.rendering.reports.cards import RequestView

        return RequestView(
            prompt=self._prompt_with_marks,
            facts=self.facts,
            losses=self._losses,
            sent_as=self._known_sent_as,
            located=self._shown_dropped,
            spans=spans,
        )

    if not TYPE_CHECKING:
        # For a type checker, a __getattr__ has every attribute.
        def __getattr__(self, name: str) -> object:
            """Raise :class:`UnknownNameError` for a public name that a result does not have."""
            if name.startswith("_") or hasattr(type(self), name):
                # Python's own error: of this name, or of the property with this name.
                return object.__getattribute__(self, name)
            from promptdsl.rendering.losses import unknown_name

            raise unknown_name(
                name, [public_name for public_name in dir(self) if not public_name.startswith("_")]
            )

    def __str__(self) -> str:
        from promptdsl.rendering.reports.text_view import text_view

        return text_view(self._text_view())

    def _text(self, paint: "Paint") -> str:
        """Return the request as text, in the styles of a terminal, which ``paint`` adds.

        Values in texts have a style, too. The command ``promptdsl render`` calls it.
        """
        from promptdsl.rendering.reports.text_view import text_view

        return text_view(self._text_view(self.spans()), paint)

    @cached_property
    def _shown_dropped(self) -> "Sequence[DroppedCard]":
        """The parts that are not sent, and where they were; no tokens are counted for it.

        It is empty if a provider's compaction replaced messages, because these must be counted.
        """
        from promptdsl.rendering.reports.cards import or_none_on_error

        return or_none_on_error(self._located_dropped) or ()

    def _located_dropped(self) -> "Sequence[DroppedCard]":
        """Return the dropped parts with the locations where they were written."""
        stages = dict(self._stages)
        if any(map(is_compacted, opaque_nodes(stages["read"]))):
            return ()
        dropped = self._dropped()
        if not dropped and stages["place"] is stages["pair"]:
            return ()
        from promptdsl.rendering.reports.dropped_parts import uncounted_dropped

        return uncounted_dropped(self._report_input(), dropped)

    def __repr__(self) -> str:
        return f"<{self._summary}>"

    def _view_record(self) -> "PromptRecord":
        """Return the record that the views of notebooks and of ``rich`` show."""
        from promptdsl.rendering.reports.cards import or_none_on_error
        from promptdsl.rendering.reports.recorded import record_of, tokens_of

        tokens = or_none_on_error(lambda: tokens_of(self.tokens))
        dropped = or_none_on_error(lambda: self.dropped) or ()
        return record_of(self._report_input(), tokens=tokens, dropped=dropped)

    def _repr_html_(self) -> str:
        return self._view_record().html()

    def _repr_markdown_(self) -> str:
        from promptdsl.rendering.reports.text_view import markdown_view

        return markdown_view(self._view_record()._request_view)

    def __rich__(self) -> object:
        from promptdsl.rendering.reports.rich_view import rich_view

        return rich_view(self._view_record()._request_view)

    def __format__(self, spec: object) -> Never:
        from promptdsl.rendering.losses import no_text

        raise no_text()

    # Adding a result to a text is the same error as formatting it.
    __add__ = __radd__ = __format__
