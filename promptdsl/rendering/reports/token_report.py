"""Counting: how many tokens a request is, as it is sent, and which parts they are."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from promptdsl.budget.dropped import Dropped
from promptdsl.config.model_facts import ModelFacts
from promptdsl.foundation.source import Source
from promptdsl.foundation.unicode import on_one_line
from promptdsl.messages.prompt import Prompt
from promptdsl.rendering.measure import beside_tokens
from promptdsl.rendering.reports.outcome import Outcome
from promptdsl.rendering.reports.token_parts import Ledger, TokenPart
from promptdsl.tokens import Count, Tokens
from promptdsl.tokens.count import EXACT
from promptdsl.tokens.frames import REPLY, label_of
from promptdsl.tokens.messages import has_media, message_tokens
from promptdsl.tokens.payloads import entry_tokens
from promptdsl.tokens.tools import output_tokens, tool_tokens

OWN = "the target's own form"
SHOWN = 5
"""How many of the largest parts a summary names."""


class TokenReport:
    """How many tokens a request is. Where that is an estimate, it is one that is enough.

    What takes longer is worked out when somebody asks: everything but ``total``.
    """

    __slots__ = ("_found", "_outcome", "total")

    total: int
    """The tokens of the whole request, as it is sent."""

    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome
        self._found: dict[str, Any] = {}
        self.total = outcome.total()

    @property
    def label(self) -> str:
        """How sure the total is: ``"exact text, assumed frame"``, or an estimate and its method."""
        return str(self._kept("label", lambda: _total(self._outcome, self._outcome.tokens)[1]))

    @property
    def typical(self) -> int | None:
        """What an estimate usually comes to, where that is less; ``None`` where it is not."""
        usual: int = self._kept("typical", lambda: _total(self._outcome, _Typical(self._tokens))[0])
        return usual if usual < self.total else None

    @property
    def messages(self) -> tuple[int, ...]:
        """The tokens of each message, its frame included."""
        found: tuple[int, ...] = self._kept("messages", self._outcome.counts)
        return found

    @property
    def tools(self) -> int:
        """The tokens of the tools and of the form of the answer."""
        return beside_tokens(self._outcome.sent, self._tokens, self._outcome.facts)

    @property
    def form(self) -> int:
        """What the target's own form adds: fences, the frame of the reply. It may be below 0."""
        return self.total - sum(self.messages) - self.tools

    @property
    def sections(self) -> Mapping[str, int]:
        """The tokens of each section by its address, with all that is in it."""
        return MappingProxyType(self._ledger.sections)

    @property
    def sources(self) -> Mapping[Source, int]:
        """The tokens by the line that wrote them: messages and tools."""
        return MappingProxyType(self._ledger.sources)

    @property
    def parts(self) -> tuple[TokenPart, ...]:
        """All parts in the order of the request, also those that were dropped."""
        found: tuple[TokenPart, ...] = self._kept("parts", self._all_parts)
        return found

    @property
    def _tokens(self) -> Tokens:
        return self._outcome.tokens

    @property
    def _ledger(self) -> Ledger:
        found: Ledger = self._kept("ledger", self._written)
        return found

    def _kept(self, name: str, find: Callable[[], Any]) -> Any:
        if name not in self._found:
            self._found[name] = find()
        return self._found[name]

    def _written(self) -> Ledger:
        ledger = Ledger(self._outcome, self.messages)
        _add_tools(ledger, self._outcome.sent, self.tools)
        ledger.add_messages()
        ledger.parts.append(TokenPart(0, OWN, "", self.form))
        return ledger

    def _all_parts(self) -> tuple[TokenPart, ...]:
        return tuple(_with_dropped(self._ledger.parts, self._outcome.dropped()))

    def __str__(self) -> str:
        usually = "" if self.typical is None else f", usually {self.typical:,}"
        lines = [f"{self.total:,} tokens{usually}: {self.label}"]
        largest = sorted(self._tops(), key=lambda part: -part.tokens)
        lines += [f"  {part.tokens:,} {_named(part)}" for part in largest[:SHOWN]]
        rest = largest[SHOWN:]
        if rest:
            lines.append(f"  {sum(part.tokens for part in rest):,} in {len(rest):,} other parts")
        gone = [part for part in self.parts if part.dropped is not None]
        lines += [f"  dropped: {part.tokens:,} {_named(part)}" for part in gone[:SHOWN]]
        if len(gone) > SHOWN:
            lines.append(f"  dropped: {len(gone) - SHOWN:,} other parts")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<TokenReport: {self.total:,} tokens in {len(self.messages):,} messages>"

    def _tops(self) -> Iterable[TokenPart]:
        return (part for part in self.parts if not part.depth and part.dropped is None)


def _named(part: TokenPart) -> str:
    return on_one_line(f"{part.what} {part.source}" if part.source else part.what)


def total_of(payload: Mapping[str, Any], tokens: Tokens, facts: ModelFacts) -> tuple[int, str]:
    """Return the tokens of a payload, and how sure that is."""
    tally = entry_tokens(payload, heard := _Heard(tokens), facts)
    label = label_of(
        heard.label,
        has_media=bool(tally.media),
        has_tools=bool(tally.tools),
        framed=not isinstance(payload.get("prompt"), str),
    )
    return tally.total, label


def _total(outcome: Outcome, tokens: Tokens) -> tuple[int, str]:
    """Return the tokens that are sent, and how sure that is."""
    sent, facts = outcome.sent, outcome.facts
    if outcome.payload is not None:
        return total_of(outcome.payload, tokens, facts)
    heard = _Heard(tokens)
    total = sum(message_tokens(message, heard, facts) for message in sent.messages)
    total += beside_tokens(sent, heard, facts) + REPLY
    attached = any(map(has_media, sent.messages))
    equipped = bool(sent.tools or sent.output)
    return total, label_of(heard.label, has_media=attached, has_tools=equipped)


class _Heard(Tokens):
    """Counts as another does, and notes where it is less sure of a text than it says of itself."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._label = tokens.label

    @property
    def label(self) -> str:
        """How sure the counts are."""
        return self._label

    def count(self, text: str, /) -> Count:
        """Return how many tokens a text is."""
        return self._tokens.count(text)

    def of(self, text: str, /) -> int:
        """Return the tokens that a text needs room for."""
        if self._label == EXACT:
            self._label = self._tokens.count(text).label
        return self._tokens.of(text)


class _Typical(Tokens):
    """Counts the usual tokens of texts, where others count enough."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    @property
    def label(self) -> str:
        """How sure the counts are."""
        return self._tokens.label

    def count(self, text: str, /) -> Count:
        """Return how many tokens a text is."""
        return self._tokens.count(text)

    def of(self, text: str, /) -> int:
        """Return the tokens that a text usually comes to."""
        return self._tokens.typical(text)


# Tools and the form of the answer.


def _add_tools(ledger: Ledger, sent: Prompt, total: int) -> None:
    """Add the tools and the form of the answer, which a request begins with."""
    tokens, output = ledger.outcome.tokens, sent.output
    form = output_tokens(output, tokens) if output else 0
    if sent.tools:
        ledger.parts.append(TokenPart(0, "tools", "", total - form))
    for tool in sent.tools:
        counted = tool_tokens(tool, tokens)
        part = TokenPart(1, f"tool {tool.name!r}", tool.name, counted, tool.source, tool.cache)
        ledger.parts.append(part)
        ledger.charge(tool.source, counted)
    if output:
        ledger.parts.append(TokenPart(0, "form of the answer", output.name, form, output.source))
        ledger.charge(output.source, form)


# Dropped parts.


def _with_dropped(parts: list[TokenPart], dropped: Iterable[Dropped]) -> Iterable[TokenPart]:
    """Yield the parts, and after its holder each part that was dropped."""
    holders = _Holders(parts)
    behind: dict[int, list[TokenPart]] = {}
    for one in dropped:
        place, depth = holders.place(one)
        part = TokenPart(depth, one.what, one.path, one.tokens, one.source, None, one.why)
        behind.setdefault(place, []).append(part)
    for place, part in enumerate(parts):
        yield part
        # A deeper part was in one that is there, not in one that was dropped beside it.
        yield from sorted(behind.get(place, ()), key=lambda one: -one.depth)


class _Holders:
    """Holders of dropped parts that are still there.

    Turns are numbered by what was kept, so a holder is found only in the system text and, by its
    line, in a history. All other dropped parts come last.
    """

    def __init__(self, parts: list[TokenPart]) -> None:
        self._end = len(parts) - 1
        self._held: dict[str | Source | None, tuple[int, int]] = {}
        self._last: dict[int, int] = {}
        open_parts: list[int] = []
        in_system = False
        for place, part in enumerate([*parts, TokenPart(0, "", "", 0)]):
            while open_parts and parts[open_parts[-1]].depth >= part.depth:
                self._last[open_parts.pop()] = place - 1
            open_parts.append(place)
            in_system = part.what in _SYSTEM if not part.depth else in_system
            if part.what == "history":
                self._held.setdefault(part.source, (place, part.depth))
            elif in_system:
                is_section = part.depth and part.what.startswith("section ")
                self._held.setdefault(part.path if is_section else "", (place, part.depth))

    def place(self, one: Dropped) -> tuple[int, int]:
        """Return the part after which a dropped one is listed, and its depth."""
        if one.what == "history":
            held = self._held.get(one.source)
            return (held[0], 1) if held else (self._end, 0)
        around, _, _ = one.path.rpartition("/")
        held = self._held.get(around) if one.what.startswith("section ") else None
        if held is None:
            return self._end, 0
        return self._last[held[0]], held[1] + 1


_SYSTEM = ("system text", "system turn")
