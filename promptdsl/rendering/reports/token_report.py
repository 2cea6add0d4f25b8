"""The token report: the tokens of a request, as it is sent, and of each part."""

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType

from promptdsl.budget.dropped import named
from promptdsl.config.model_facts import ModelFacts
from promptdsl.foundation.old_names import OldAttribute
from promptdsl.foundation.source import Source
from promptdsl.foundation.terminal_width import terminal_width
from promptdsl.rendering.measure import definition_tokens
from promptdsl.rendering.reports.cache_order import Payload
from promptdsl.rendering.reports.dropped_parts import PlacedPart, placed_parts, with_dropped
from promptdsl.rendering.reports.report_input import ReportInput
from promptdsl.rendering.reports.token_parts import Ledger, TokenPart, span_tokens
from promptdsl.rendering.reports.token_view import TokenView
from promptdsl.tokens import Count, Tokens
from promptdsl.tokens.count import EXACT
from promptdsl.tokens.frames import OWN, REPLY, label_of
from promptdsl.tokens.messages import has_media, message_tokens
from promptdsl.tokens.payloads import entry_tokens


class TokenReport:
    """The tokens of a request and its parts; an estimate is rounded up, so that it is enough.

    ``total`` is counted at once, everything else when it is first read. ``str(report)`` shows
    the budget, the largest parts and the dropped parts; on a terminal its lines fit the width.

    >>> from promptdsl import Timeline, User, render
    >>> report = render(Timeline(User("One two.")), counter=lambda text: len(text.split())).tokens
    >>> report.total, report.messages
    (9, (6,))
    >>> [(part.what, part.tokens) for part in report.parts]
    [('user turn', 6), ("the target's own form", 3)]
    """

    total: int
    """The tokens of the complete request, as it is sent."""

    def __init__(self, report_input: ReportInput) -> None:
        self._report_input = report_input
        self._tokens = report_input.tokens
        self.total = report_input.total()

    @cached_property
    def label(self) -> str:
        """How exact the total is: ``"exact text, assumed frame"``, or the method of an estimate."""
        return _total(self._report_input, self._tokens)[1]

    @property
    def method(self) -> str:
        """The tokenizer, and its factor if it has one: ``"o200k_base x 1.35"``."""
        return self._tokens.method

    @cached_property
    def typical(self) -> int | None:
        """The usual count of an estimate if it is less than ``total``, otherwise ``None``."""
        usual = _total(self._report_input, _TypicalTokens(self._tokens))[0]
        return usual if usual < self.total else None

    @cached_property
    def messages(self) -> tuple[int, ...]:
        """The tokens of each message, its frame included."""
        return self._report_input.counts()

    @cached_property
    def tools(self) -> int:
        """The tokens of the tools and of the output schema that are sent."""
        return definition_tokens(
            self._report_input.equipped, self._tokens, self._report_input.facts
        )

    @property
    def frame(self) -> int:
        """The tokens of the target's own text, such as the frame of the reply.

        Below 0, it is what the target saves, as one that joins messages; then ``parts`` leaves it
        out.
        """
        return self.total - sum(self.messages) - self.tools

    form = OldAttribute("TokenReport.form")

    @property
    def savings(self) -> str:
        """The tokens that the target's own text saves, in words; empty where it saves nothing."""
        return f"{OWN} saves {-self.frame:,} tokens" if self.frame < 0 else ""

    @property
    def sections(self) -> Mapping[str, int]:
        """The tokens of each section by its address, those of all parts in it included."""
        return MappingProxyType(self._ledger.sections)

    @cached_property
    def spans(self) -> tuple[int, ...]:
        """The tokens of each of ``rendered.spans()``, in the same order; those of a text add up."""
        report_input = self._report_input
        return tuple(
            span_tokens(
                report_input.spans(), report_input.messages, self._tokens, report_input.facts
            )
        )

    @property
    def sources(self) -> Mapping[Source, int]:
        """The tokens by the line that wrote them: messages and tools."""
        return MappingProxyType(self._ledger.sources)

    @cached_property
    def parts(self) -> tuple[TokenPart, ...]:
        """All parts in the order of the request; dropped ones where their author wrote them."""
        return tuple(with_dropped(self._ledger.parts, self.placed))

    @cached_property
    def placed(self) -> tuple[PlacedPart, ...]:
        """Where the dropped parts stood among the other parts."""
        ledger, stages = self._ledger, self._report_input.stages
        dropped = self._report_input.dropped()
        trees = {"written": stages["read"], "fitted": stages["fit"]}
        return tuple(placed_parts(dropped, ledger.parts, ledger.nodes, **trees))

    @cached_property
    def _ledger(self) -> Ledger:
        ledger = Ledger(self._report_input, self.messages)
        ledger.add_tools(self.tools)
        ledger.add_messages()
        if self.frame > 0:
            ledger.parts.append(TokenPart(0, OWN, "", self.frame))
        return ledger

    @cached_property
    def view(self) -> TokenView:
        """What views of the tokens show."""
        budget = self._report_input.budget_use(self.total)
        noted = (part for part in self._report_input.dropped() if part.note)
        notes = [f"{named(part.what, part.path)}: {part.note}" for part in noted]
        return TokenView(
            self.total, self.label, self.typical, self.savings, budget, self.parts, notes
        )

    def __str__(self) -> str:
        return self.view.text(width=terminal_width())

    def __repr__(self) -> str:
        budget = self._report_input.budget_use(self.total)
        size = f"{self.total:,} tokens" if budget is None else budget.line(" tokens")
        return f"<TokenReport: {size} in {len(self.messages):,} messages>"


def total_of(payload: Payload, tokens: Tokens, facts: ModelFacts) -> tuple[int, str]:
    """Return the tokens of a payload, and a label for how exact the count is."""
    counter = _LabelledTokens(tokens)
    tally = entry_tokens(payload, counter, facts)
    label = label_of(
        counter.label,
        has_media=bool(tally.media),
        has_tools=bool(tally.tools),
        framed=not isinstance(payload.get("prompt"), str),
    )
    return tally.total, label


def _total(report_input: ReportInput, tokens: Tokens) -> tuple[int, str]:
    """Return the tokens that are sent, and a label for how exact the count is."""
    sent, facts = report_input.sent, report_input.facts
    if report_input.payload is not None:
        return total_of(report_input.payload, tokens, facts)
    counter = _LabelledTokens(tokens)
    total = sum(message_tokens(message, counter, facts) for message in sent.messages)
    total += definition_tokens(sent, counter, facts) + REPLY
    attached = any(map(has_media, sent.messages))
    equipped = bool(sent.tools or sent.output)
    return total, label_of(counter.label, has_media=attached, has_tools=equipped)


class _LabelledTokens(Tokens):
    """A counter with the counts of another counter, and the label of its least exact count."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._label = tokens.label

    @property
    def label(self) -> str:
        return self._label

    def count(self, text: str, /) -> Count:
        return self._tokens.count(text)

    def of(self, text: str, /) -> int:
        if self._label == EXACT:
            self._label = self._tokens.count(text).label
        return self._tokens.of(text)


class _TypicalTokens(_LabelledTokens):
    """A counter of the usual tokens of texts, without rounding up."""

    def of(self, text: str, /) -> int:
        return self._tokens.typical(text)
