"""What a snapshot keeps of a prompt: its texts between marks, and what became of each message."""

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

import attrs

from promptdsl import (
    AudioBlock,
    Block,
    DocumentBlock,
    ImageBlock,
    Message,
    ReasoningBlock,
    Rendered,
    Source,
    Span,
    TextBlock,
    TokenReport,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
    VideoBlock,
)
from promptdsl.comparing.marks import (
    attachment,
    cache_mark,
    json_text,
    reasoning,
    schema_text,
    word,
)
from promptdsl.comparing.sent import SentBlock, SentPrompt, sent_prompt
from promptdsl.comparing.shown_texts import Scrubber, ShownTexts
from promptdsl.comparing.snapshot_file import WITHIN, FileEntry, FilePart, PromptFile
from promptdsl.comparing.titles import ABOVE, NOT_SENT, EntryTitle

NAMED = 3
"""The most places that a line of the header names."""
OPEN_MARKS = ("─⚑", "─■ failed", "─■ result")
"""The beginnings of marks after which a text needs no mark of its own."""


def prompt_file(
    rendered: Rendered, *, scrubbers: Mapping[str, Scrubber] | None = None
) -> PromptFile:
    """Return what a snapshot of a prompt keeps.

    ``scrubbers`` replace values that change from run to run, by name: a regular expression, or a
    function that returns the values in a text. Equal values get equal signs, such as ``⟦uuid-1⟧``.
    They change texts, arguments and ids of calls, ids of turns, and names of files; nothing else.

    >>> from promptdsl import Section, System, render
    >>> from promptdsl.comparing.snapshot_file import serialise
    >>> rendered = render(System(Section("role", "Ticket T-4711: be brief.")))
    >>> print(serialise(prompt_file(rendered, scrubbers={"ticket": r"T-[0-9]+"})))
    ---
    promptdsl-snapshot: 1
    model: none
    tokens: ~16 (o200k_base)
    cache: no mark
    ---
    <BLANKLINE>
    ──▶ system
    ─▷ role
    Ticket ⟦ticket-1⟧: be brief.
    <BLANKLINE>
    """
    texts = ShownTexts(scrubbers or {})
    return FileWriter(rendered.masked(texts.volatile), texts).file(rendered.tokens.total)


def fixed_tokens(rendered: Rendered) -> TokenReport:
    """Return the tokens of a prompt without its volatile texts, which may be of any length."""
    return rendered.masked(lambda _: "").tokens


@attrs.define
class FileTurn:
    """A turn, and its blocks by their number in the message, each with its spans."""

    address: str
    word: str
    blocks: dict[int, list[Span]] = attrs.field(factory=dict[int, list[Span]])


@attrs.define
class FileWriter:
    """Writes the parts of a file, one after the other."""

    rendered: Rendered
    texts: ShownTexts
    marked: list[str] = attrs.field(factory=list[str])
    """The places of the cache marks."""
    calls: dict[str, str] = attrs.field(factory=dict[str, str])
    """The name of the tool of the last call with each id."""
    ids: dict[str, str] = attrs.field(factory=dict[str, str])
    """The ids of turns, and as what each is shown."""
    parts: list[FilePart] = attrs.field(factory=list[FilePart])
    """The parts of the entry that is written."""
    turn: FileTurn = attrs.field(factory=lambda: FileTurn("", ""))
    """The turn that is written."""
    here: tuple[str, ...] = ()
    """The sections around the last text."""
    lost: Container[tuple[int, ...]] = ()
    """The places of the blocks that are not sent, such as blank texts."""
    source: Source | None = None
    """The line that wrote the block that is written."""

    def file(self, total: int) -> PromptFile:
        """Return the whole file of a prompt of ``total`` tokens."""
        sent = sent_prompt(self.rendered)
        entries = (*self.equipment(sent), *self.messages(sent))
        versions = {it.library: it.version for it in self.rendered.libraries}
        return PromptFile(tuple(self.header()), entries, total, tuple(versions.items()))

    def header(self) -> Iterator[tuple[str, str]]:
        """Yield the lines of the header."""
        rendered, line = self.rendered, self.texts.line
        facts = rendered.facts
        provider = f"({facts.provider})" if facts.provider else ""
        yield "model", line(f"{facts.model or ''} {provider}".strip() or "none")
        tokens = fixed_tokens(rendered)
        yield "tokens", line(f"~{_rounded(tokens.total)} ({tokens.method})")
        count = len(self.marked)
        places = " and ".join(self.marked)
        yield "cache", f"{count} mark{'s' * (count > 1)}, after {places}" if count else "no mark"
        libraries = dict.fromkeys(section.library for section in rendered.libraries)
        yield from (("library", line(name)) for name in libraries)
        if rendered.tool_choice is not None:
            yield "tool choice", line(rendered.tool_choice)
        if rendered._is_waiting:
            yield "waiting", "the last calls have no results yet, so nothing can be sent"
        losses: dict[tuple[str, str], dict[str, None]] = {}
        for loss in rendered.losses:
            # The title of a message tells what became of it.
            why = loss.why.partition(", so ")[0]
            said = why if len(loss.at) == 1 else f"{loss.what}: {loss.why}"
            name = "hint" if loss.kind == "hint" else "loss"
            losses.setdefault((name, said), {}).update(dict.fromkeys((loss.path, *loss.also)))
        for (name, said), paths in losses.items():
            names = [self.place(path) for path in paths if path]
            more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
            places = ", ".join(names[:NAMED]) + more
            yield name, f"{places}: {line(said)}" if places else line(said)
        for part in rendered.dropped:
            place = self.place(part.path or part.what)
            yield "dropped", f"{place}, " + line(f"~{_rounded(part.tokens)} tokens: {part.why}")

    def place(self, path: str) -> str:
        """Return a path on one line; the id of a turn, alone in the header, may be scrubbed."""
        first = _ID.match(path)
        turn = first[0] if first else ""
        return self.ids.get(turn, self.texts.line(turn)) + self.texts.line(path[len(turn) :])

    def equipment(self, sent: SentPrompt | None) -> Iterator[FileEntry]:
        """Yield the tools, and the form of the answer."""
        if self.rendered.tools:
            parts = [part for tool in self.rendered.tools for part in self.tool(tool)]
            yield FileEntry("tools", tuple(parts))
        output = self.rendered.output
        if output is not None and self.rendered.output_mode == "native":
            title = EntryTitle(
                f"answer {self.texts.line(output.name)}",
                is_strict=output.strict,
                is_named=_is_sent(output.name, sent),
            )
            described = self.described("", output.description, output.schema)
            yield FileEntry(title, tuple(described))

    def tool(self, tool: ToolDefinition) -> Iterator[FilePart]:
        """Yield the parts of a tool."""
        name = self.texts.line(tool.name)
        if tool.raw is not None:
            yield FilePart(f"─■ tool {name} of {tool.origin}", self.texts.data(json_text(tool.raw)))
        else:
            yield from self.described(f"─■ tool {name}", tool.description, tool.input_schema)
        if tool.extra:
            yield FilePart(f"─■ only for {tool.origin}", self.texts.data(json_text(tool.extra)))
        if tool.cache:
            yield self.mark(tool.cache, f"tool {name}")

    def described(self, mark: str, description: str | None, schema: object) -> Iterator[FilePart]:
        """Yield a description, and the schema after it."""
        if mark or description:
            yield FilePart(mark, self.texts.text(description or ""))
        yield FilePart("─■ takes" if mark else "─■ form", schema_text(schema, self.texts))

    def mark(self, cache: str, place: str) -> FilePart:
        """Return a cache mark, and note its place."""
        self.marked.append(place)
        return FilePart(cache_mark(cache))

    def messages(self, sent: SentPrompt | None) -> Iterator[FileEntry]:
        """Yield the turns of all messages; those of a merged message each for itself."""
        losses = self.rendered.losses
        self.lost = {it.at for it in losses if it.kind == "content" or it.what == "text block"}
        before: int | None = None
        for index, (message, turns) in enumerate(_turns(self.rendered)):
            self.calls |= {call.id: call.name for call in message.calls}
            results = [block for block in message.content if isinstance(block, ToolResultBlock)]
            for turn in turns:
                self.parts, self.turn, self.here = [], turn, ()
                title = EntryTitle(self.title(turn, message.name, results))
                places = {n: sent.blocks[index][n] for n in turn.blocks} if sent else {}
                wire = next((place for place in places.values() if place.role), None)
                if wire:
                    first = message.content[min(places)]
                    is_result = isinstance(first, ToolResultBlock) and len(places) == 1
                    title = EntryTitle(
                        title.what,
                        role=wire.role if wire.role != turn.word else "",
                        fence=_fence([*places.values()]),
                        is_named=_is_sent(message.name, sent),
                        id=self.sent_id(first, wire) if is_result else "",
                        place=ABOVE if wire.number == before else "",
                    )
                    before = max(place.number or 0 for place in places.values() if place.role)
                elif places and all((index, number) in self.lost for number in places):
                    title = attrs.evolve(title, place=NOT_SENT)
                for number, spans in turn.blocks.items():
                    place = places.get(number)
                    yield from self.added(place.turns if place else ())
                    self.block(message.content[number], spans, place, (index, number))
                yield FileEntry(title, tuple(self.parts))
        yield from self.added(sent.tail if sent else ())

    def added(self, turns: Iterable[tuple[str, str]]) -> Iterator[FileEntry]:
        """Yield messages that nobody wrote: the target asks for them."""
        for role, text in turns:
            yield FileEntry(f"{role}, added for the target", (FilePart("", self.texts.text(text)),))

    def title(self, turn: FileTurn, speaker: str | None, results: list[ToolResultBlock]) -> str:
        """Return the kind of a turn, with its id and the name of its speaker, or of its tool.

        ``results`` are those of its message.
        """
        line, name = self.texts.line, self.texts.name
        words = [turn.word]
        if turn.address and not _NUMBERED.fullmatch(turn.address):
            self.ids[turn.address] = name(turn.address)
            words.append(self.ids[turn.address])
        for block in results:
            tool = block.name or self.calls.get(block.tool_use_id)
            words += [line(word(tool))] if tool else []
            words.append(name(word(block.tool_use_id)))
        words += [line(f"named {word(speaker)}")] if speaker else []
        return " ".join(words)

    def block(
        self, block: Block, spans: Sequence[Span], sent: SentBlock | None, at: tuple[int, ...]
    ) -> None:
        """Write a block, with what is added for the target, and its cache mark."""
        self.source = spans[0].source if spans else None
        if sent and not getattr(block, "is_error", False):
            self.write(*(("─■ added for the target", text) for text in sent.before))
        note = NOT_SENT if at in self.lost else ""
        if isinstance(block, TextBlock):
            self.text(spans, ", changed for the target" if sent and sent.is_changed else note)
        elif isinstance(block, ToolResultBlock):
            self.result(block, spans, sent, at)
        else:
            is_left_out = sent and sent.number is None and not note
            self.other(block, NOT_SENT if is_left_out else note, sent)
        extra = getattr(block, "extra", None)
        self.write(*([("─■ with", json_text(extra))] if extra else ()))
        self.write(*(("─■ added for the target", text) for text in (sent.after if sent else ())))
        own = getattr(block, "cache", None) or (spans[-1].cache if spans else None)
        cache = sent.cache if sent else own
        if cache:
            path = _sections(spans[-1], self.turn) if spans else ()
            self.parts.append(self.mark(cache, "/".join((self.turn.word, *path))))
        elif own:
            instead = "; an empty line instead" if sent and sent.is_joined else ""
            self.parts.append(FilePart(f"{cache_mark(own)}{NOT_SENT}{instead}"))

    def write(self, *parts: tuple[str, str]) -> None:
        """Write marks, each with a text after it."""
        self.parts += [FilePart(mark, self.texts.text(text), self.source) for mark, text in parts]

    def sent_id(self, block: Block, sent: SentBlock | None) -> str:
        """Return the id of a call or a result as sent, where it is another one."""
        own = getattr(block, "tool_use_id", getattr(block, "id", None))
        id = sent.id if sent else None
        return "" if id in (None, own) else self.texts.name(word(id))

    def text(self, spans: Sequence[Span], note: str = "") -> None:
        """Write a text; a part begins where a section begins or ends."""
        first, *more = self.pieces(spans)
        last = self.parts[-1] if self.parts else None
        is_open = last is not None and last.mark.startswith(OPEN_MARKS) and not last.text
        if note or (last and not is_open) or not (first.mark or first.text):
            # A text of its own.
            text = "" if first.mark else first.text
            self.parts.append(FilePart(f"─■ text{note}", text, self.source))
            self.parts += [first, *more] if first.mark else more
        elif last and not first.mark:
            self.parts[-1] = attrs.evolve(last, text=first.text, source=first.source)
            self.parts += more
        else:
            self.parts += [first, *more]

    def pieces(self, spans: Sequence[Span]) -> Iterator[FilePart]:
        """Yield the text of a block: from the beginning of a section to that of another one."""
        mark, pieces = "", list[tuple[str, Span]]()
        for span in spans:
            text, path = span.text, _sections(span, self.turn)
            if path != self.here and text.strip():
                body = text.lstrip("\n")
                if body != text:
                    pieces.append((text[: -len(body)], span))
                if mark or pieces:
                    yield self.piece(mark, pieces)
                goes_on = ", continued" if self.here[: len(path)] == path else ""
                section = f"{'/'.join(path)}{goes_on}" if path else "(no section)"
                mark = self.texts.line(f"{WITHIN}{section}")
                self.here, text, pieces = path, body, []
            pieces.append((text, span))
        yield self.piece(mark, pieces)

    def piece(self, mark: str, pieces: Sequence[tuple[str, Span]]) -> FilePart:
        """Return the part of some pieces of text, with the line that wrote the first one."""
        return FilePart(mark, self.texts.of_spans(pieces), pieces[0][1].source if pieces else None)

    def result(
        self,
        block: ToolResultBlock,
        spans: Sequence[Span],
        sent: SentBlock | None,
        at: tuple[int, ...],
    ) -> None:
        """Write the result of a tool."""
        if len(self.turn.blocks) > 1:
            id = EntryTitle(self.texts.name(word(block.tool_use_id)), id=self.sent_id(block, sent))
            self.write((f"─■ result {id}", ""))
        if block.is_error:
            words = f"─■ failed {block.error_type or ''}".rstrip()
            words += ", flag not sent" if sent and sent.role and not sent.is_error else ""
            added = json_text("".join(sent.before)) if sent and sent.before else ""
            mark = words + (added and f"; {added} put before the text")
            self.write((self.texts.line(mark), ""))
        for inner, run in groupby(spans, lambda span: span.inner or 0):
            self.block(block.content[inner], list(run), None, (*at, inner))

    def other(self, block: Block, note: str, sent: SentBlock | None) -> None:
        """Write a block other than text or a result."""
        line, name = self.texts.line, self.texts.name
        match block:
            case ToolUseBlock():
                call = f"{line(f'call {word(block.name)}')} {name(word(block.id))}"
                fence = f"<{sent.fence}>" if sent and sent.fence else ""
                words = str(EntryTitle(call, fence=fence, id=self.sent_id(block, sent)))
                text = block.arguments
            case ReasoningBlock():
                words, text = reasoning(block, self.texts), block.text
            case ImageBlock() | AudioBlock() | DocumentBlock() | VideoBlock():
                words, text = attachment(block, self.texts), ""
            case UnknownBlock():
                of = f" of {block.origin}" if block.origin else ""
                words, text = line(f"block{of}"), json_text(block.data)
            case _:
                words, text = line(block.type), json_text(block.to_dict())
        self.write((f"─■ {words}{note}", text))


def _turns(rendered: Rendered) -> Iterator[tuple[Message, list[FileTurn]]]:
    """Yield each message with its turns; system text is one turn, its parts are sections."""
    nodes = dict(rendered.stages())["narrate"].content
    groundings = {it.options.address for it in nodes if getattr(it, "grounding", False)}
    blocks: dict[int, dict[int, list[Span]]] = {}
    for span in rendered.spans():
        blocks.setdefault(span.message, {}).setdefault(span.block, []).append(span)
    for index, message in enumerate(rendered.messages):
        turns: list[FileTurn] = []
        for number, spans in blocks.get(index, {}).items():
            address = "" if message.role == "system" else spans[0].turn
            if not turns or turns[-1].address != address:
                word = "grounding" if address in groundings else spans[0].role
                turns.append(FileTurn(address, word))
            turns[-1].blocks[number] = spans
        yield message, turns or [FileTurn("", message.role)]


_NUMBERED = re.compile(r"[a-z]+\[[0-9]+\]")
"""The address of a turn without an id."""
_ID = re.compile(r'"(?:[^"\\]|\\.)*"[^/]*|[^/]+')
"""One id of a path; a quoted one may have slashes."""


def _sections(span: Span, turn: FileTurn) -> tuple[str, ...]:
    """Return the ids of the sections around a text, from the outside."""
    path = span.address.removeprefix(turn.address)
    return () if _NUMBERED.fullmatch(path) else tuple(_ID.findall(path))


def _fence(places: Sequence[SentBlock]) -> str:
    """Take the fence around the blocks of a turn, and return it for its title."""
    first, last = places[0], places[-1]
    around = f"<{first.fence}>", f"</{first.fence}>"
    if (first.before, last.after) != ((around[0],), (around[1],)):
        return ""
    first.before = last.after = ()
    return around[0]


def _is_sent(name: str | None, sent: SentPrompt | None) -> bool:
    """Return whether the name of a speaker or of an answer is sent, or there is none."""
    return not name or sent is None or name in sent.names


def _rounded(count: int) -> str:
    """Return a number rounded up to two digits."""
    unit = 10 ** max(len(str(count)) - 2, 0)
    return f"{-(-count // unit) * unit:,}"
