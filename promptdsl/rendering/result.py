"""What a prompt comes to: messages, losses, and each provider's payload."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import attrs

from promptdsl.config.model_facts import ModelFacts
from promptdsl.config.models import facts_for
from promptdsl.config.transformation import Resolved
from promptdsl.foundation.errors import ContentError, PendingToolCalls, TargetError
from promptdsl.foundation.source import author
from promptdsl.messages import ToolResultBlock, ToolUseBlock
from promptdsl.messages.loss import Loss
from promptdsl.messages.message import Message
from promptdsl.messages.prompt import OutputSchema, Prompt, ToolDefinition
from promptdsl.tree.node import Node
from promptdsl.tree.turn_nodes import Root

if TYPE_CHECKING:
    from promptdsl.budget.dropped import Dropped
    from promptdsl.providers.anthropic.write import Payload as AnthropicPayload
    from promptdsl.providers.bedrock.write import Payload as BedrockPayload
    from promptdsl.providers.chat_template.write import ChatTemplatePayload
    from promptdsl.providers.gemini.write import Payload as GeminiPayload
    from promptdsl.providers.openai_chat.write import Payload as OpenAIPayload
    from promptdsl.providers.openai_responses.write import Payload as OpenAIResponsesPayload
    from promptdsl.providers.written import WrittenPayload
    from promptdsl.rendering.reports import Outcome, PrefixReport, TokenReport
    from promptdsl.rendering.text.blocks import MediaRoots
    from promptdsl.tokens import TokenCounter


class Stage(NamedTuple):
    """The tree after a pass; the first stage is the tree as ``written``."""

    name: str
    tree: Node


@attrs.frozen(eq=False, repr=False)
class Rendered:
    """What a prompt comes to. Immutable: every payload is made of fresh containers.

    ``messages`` are provider-neutral, ``losses`` what the target cannot say, ``config`` the
    configuration that held, ``facts`` what is known of the target. ``render`` has written the
    payload already, for its losses; the methods for a provider give it away.
    """

    messages: tuple[Message, ...]
    losses: tuple[Loss, ...]
    config: Resolved
    facts: ModelFacts
    _dropped: "Callable[[], tuple[Dropped, ...]]" = attrs.field(alias="dropped")
    _stages: tuple[tuple[str, Node], ...] = attrs.field(alias="stages")
    _prompt: Prompt = attrs.field(alias="prompt")
    _marked: Prompt = attrs.field(alias="marked")
    _again: "Callable[[str], Rendered]" = attrs.field(alias="again")
    _written: "WrittenPayload | None" = attrs.field(alias="written")
    _counter: "TokenCounter | Callable[[str], int] | None" = attrs.field(alias="counter")
    _media_roots: "MediaRoots" = attrs.field(alias="media_roots")
    _reports: "list[TokenReport]" = attrs.field(init=False, factory=list["TokenReport"])
    _gone: "list[tuple[Dropped, ...]]" = attrs.field(
        init=False, factory=list["tuple[Dropped, ...]"]
    )

    @property
    def dropped(self) -> "tuple[Dropped, ...]":
        """What a budget or a limit took away, in the order it was written."""
        if not self._gone:
            self._gone.append(self._dropped())
        return self._gone[0]

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        """The tools a model may call, in the order they were written."""
        return self._prompt.tools

    @property
    def tool_choice(self) -> str | None:
        """Which tools have to be called: ``auto``, ``none``, ``required`` or a tool's name."""
        return self._prompt.tool_choice

    @property
    def output(self) -> OutputSchema | None:
        """The form the answer has to have, ``None`` where nobody said."""
        return self._prompt.output

    def stages(self) -> tuple[Stage, ...]:
        """Return the tree as written and after every pass; one a pass left alone is the same."""
        return tuple(Stage(name, tree) for name, tree in self._stages)

    def explain(self) -> dict[str, tuple[Any, str]]:
        """Return for every configuration value what holds and the name of the layer that set it."""
        return self.config.explain()

    def outline(self) -> str:
        """Return the parts of what is sent, a line each, with size and where they were written."""
        from promptdsl.rendering.reports.outline import outline

        return outline(self._stages[-1][1])

    @property
    def tokens(self) -> "TokenReport":
        """How many tokens are sent, by message, section and line; counted when first asked for.

        They are those of the budget's counter, without a budget those of the target's model. Raises
        :class:`MediaError` for an attachment whose file is not there any more.
        """
        if not self._reports:
            from promptdsl.rendering.reports import TokenReport

            self._reports.append(TokenReport(self._outcome()))
        return self._reports[0]

    def payload(self) -> dict[str, Any]:
        """Return the request arguments for the target, content only.

        They were written by ``render``. The first call gives away what was written there, so that
        another one may write it again. Raises :class:`TargetError` when rendered for no target,
        :class:`PendingToolCalls` when the last calls are not answered yet.
        """
        if self._written is None:
            raise self._no_target()
        self._refuse_pending()
        return self._written.payload()

    def to_openai(self) -> "OpenAIPayload":
        """Return the arguments of OpenAI's ``chat.completions.create``: ``messages``, ``tools``.

        Beside them ``tool_choice`` and ``response_format``, where the prompt says them. Raises
        :class:`TargetError` when rendered for another target, :class:`PendingToolCalls`.
        """
        return cast("OpenAIPayload", self._to("openai"))

    def to_openai_responses(self) -> "OpenAIResponsesPayload":
        """Return the arguments of OpenAI's ``responses.create``: ``input``, ``tools``, ...

        Beside them ``tool_choice`` and ``text``, where the prompt says them. Raises
        :class:`TargetError` when rendered for another target, :class:`PendingToolCalls`.
        """
        return cast("OpenAIResponsesPayload", self._to("openai_responses"))

    def to_anthropic(self) -> "AnthropicPayload":
        """Return the arguments of Anthropic's ``messages.create``: ``system``, ``messages``, ...

        Beside them ``tools``, ``tool_choice`` and ``output_config``. Raises :class:`TargetError`
        when rendered for another target, :class:`PendingToolCalls`.
        """
        return cast("AnthropicPayload", self._to("anthropic"))

    def to_gemini(self) -> "GeminiPayload":
        """Return the arguments of Gemini's ``models.generate_content``: ``contents``, ``config``.

        ``config`` holds the system text, the tools and the form of the answer. Raises
        :class:`TargetError` when rendered for another target, :class:`PendingToolCalls`.
        """
        return cast("GeminiPayload", self._to("gemini"))

    def to_bedrock(self) -> "BedrockPayload":
        """Return the arguments of Bedrock's ``converse``: ``system``, ``messages``, ...

        Beside them ``toolConfig`` and ``outputConfig``. Raises :class:`TargetError` when rendered
        for another target, :class:`PendingToolCalls`.
        """
        return cast("BedrockPayload", self._to("bedrock"))

    def to_chat_template(self) -> "ChatTemplatePayload":
        """Return what an open model's chat template takes: ``messages`` and ``tools``.

        Where the template is known, ``prompt`` is the text it comes to. Raises
        :class:`TargetError` when rendered for another target, :class:`PendingToolCalls`.
        """
        return cast("ChatTemplatePayload", self._to("chat_template"))

    def for_target(self, provider: str) -> "Rendered":
        """Return the same prompt rendered for a provider, with what is lost there in ``losses``.

        It goes on from the tree after ``read``, with that provider's careful defaults where no
        model was given. Raises :class:`TargetError` for an unknown provider.
        """
        return self._again(provider)

    def _to(self, target: str) -> dict[str, Any]:
        provider = self.facts.provider
        if provider is None:
            return self.for_target(target).payload()
        from promptdsl.providers.registry import TARGETS

        method = TARGETS[target].method
        if TARGETS[provider].method != method:
            model = self.facts.model
            there = facts_for(model, target).known
            named = f"model={model!r}, " if there else ""
            raise TargetError(
                f"this was rendered for {provider}, so it has no {method}()",
                fix=f"render it for that target: render(tree, {named}provider={target!r})",
                at=(author(),),
            )
        return self.payload()

    def _outcome(self) -> "Outcome":
        """Return what reports are made of."""
        from promptdsl.rendering.reports import Outcome
        from promptdsl.tokens import tokens_for

        return Outcome(
            cast("Root", self._stages[-1][1]),
            self.messages,
            self._marked,
            self._written,
            lambda: self.dropped,
            self.config,
            self.facts,
            tokens_for(self.facts, self._counter),
            self._media_roots,
        )

    def _no_target(self) -> TargetError:
        model = self.facts.model
        if model is None:
            what, fix = "this was rendered for no target", "say one: render(tree, model=...)"
        else:
            what = f"nothing is known of the model {model!r}, so there is no target"
            fix = f"name its provider: render(tree, model={model!r}, provider=...)"
        return TargetError(what, fix=fix, at=(author(),))

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


def prefix_report(before: Rendered, after: Rendered) -> "PrefixReport":
    """Return how many tokens two requests share at their beginning, and which node broke it there.

    So much of the second one a provider's cache can give after the first. Marks make no difference,
    and the tokens are those of the second one's counter. What was rendered for no target is
    compared as OpenAI would get it. Raises :class:`TargetError` for two targets: they share no
    cache.
    """
    for given in (before, after):
        if not isinstance(given, Rendered):  # pyright: ignore[reportUnnecessaryIsInstance]
            what = f"prefix_report() compares what render() returned, not {type(given).__name__}"
            fix = "render both: prefix_report(render(before, ...), render(after, ...))"
            raise ContentError(what, fix=fix, at=(author(),))
    from promptdsl.rendering.reports import compared

    try:
        return compared(before._outcome(), after._outcome())  # pyright: ignore[reportPrivateUsage]
    except TargetError as error:
        raise error.located(author()) from None


def pending(messages: tuple[Message, ...]) -> list[tuple[Message, ToolUseBlock]]:
    """Return the calls of the last assistant turn that have no result, each with its message."""
    answered: set[str] = set()
    for message in reversed(messages):
        if message.plain is not None:
            if message.role == "assistant":
                return []
            continue
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
