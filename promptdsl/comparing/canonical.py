"""The snapshot of a rendered prompt: its header, and an entry for each turn.

Read :func:`prompt_file` first, then :class:`FileWriter` for the header and the entries, then
:class:`TurnWriter` for the content of one entry. A snapshot consists of entries, and an entry of
parts; ``snapshot_file.py`` has their classes.

- An entry has a title: it is one turn, the tools, or the output schema.
- A part is a mark, and the text below it. The mark is one line, such as ``─▷ rules``.
- A cache mark, such as ``─⚑ cache``, is a mark after the text that a provider caches.
"""

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

import attrs

from promptdsl import (
    AudioBlock,
    Block,
    DocumentBlock,
    ImageBlock,
    Loss,
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
    as_one_word,
    attachment,
    cache_mark,
    json_text,
    reasoning,
    schema_text,
)
from promptdsl.comparing.sent import SentBlock, SentPrompt, sent_prompt
from promptdsl.comparing.shown_texts import Scrubber, ShownTexts
from promptdsl.comparing.snapshot_file import WITHIN, FileEntry, FilePart, PromptFile
from promptdsl.comparing.titles import ABOVE, NOT_SENT, EntryTitle

NAMED = 3
"""The most paths that a line of the header names."""
OPEN_MARKS = ("─⚑", "─■ failed", "─■ result")
"""The beginnings of the marks below which a text needs no mark of its own."""


def prompt_file(
    rendered: Rendered, *, scrubbers: Mapping[str, Scrubber] | None = None
) -> PromptFile:
    """Return what a snapshot of a prompt keeps.

    ``scrubbers`` replace values that change from run to run. Each has a name, and is a regular
    expression, or a function that returns the values in a text. Equal values get equal signs, such
    as ``⟦uuid-1⟧``. They change only texts, arguments and ids of calls, ids of turns, and names of
    files.

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
    """A turn of a message: its blocks by their index in the message, each with its spans.

    ``address`` is its id, or its role and number, such as ``user[2]``. ``first_word`` is the first
    word of its title: its role, or ``grounding``.
    """

    address: str
    first_word: str
    blocks: dict[int, list[Span]] = attrs.field(factory=dict[int, list[Span]])


@attrs.define
class FileWriter:
    """Writes the file of a prompt: its entries first, then the header, which counts cache marks.

    ``rendered`` and ``texts`` do not change. The other fields are filled by the entries.
    """

    rendered: Rendered
    texts: ShownTexts
    cached_after: list[str] = attrs.field(factory=list[str])
    """What is before each cache mark, such as ``system/rules``."""
    tool_names: dict[str, str] = attrs.field(factory=dict[str, str])
    """The name of the tool of the last call with each id."""
    shown_ids: dict[str, str] = attrs.field(factory=dict[str, str])
    """The text that is shown for each id of a turn, after the scrubbers."""

    def file(self, total: int) -> PromptFile:
        """Return the file of a prompt of ``total`` tokens."""
        sent = sent_prompt(self.rendered)
        entries = (*self.definitions(sent), *self.turns(sent))
        versions = {library.library: library.version for library in self.rendered.libraries}
        return PromptFile(tuple(self.header()), entries, total, tuple(versions.items()))

    def header(self) -> Iterator[tuple[str, str]]:
        """Yield the lines of the header, each with its name."""
        rendered, line = self.rendered, self.texts.line
        facts = rendered.facts
        provider = f"({facts.provider})" if facts.provider else ""
        yield "model", line(f"{facts.model or ''} {provider}".strip() or "none")
        tokens = fixed_tokens(rendered)
        yield "tokens", line(f"~{_rounded(tokens.total)} ({tokens.method})")
        count = len(self.cached_after)
        after = " and ".join(self.cached_after)
        yield "cache", f"{count} mark{'s' * (count > 1)}, after {after}" if count else "no mark"
        libraries = dict.fromkeys(section.library for section in rendered.libraries)
        yield from (("library", line(name)) for name in libraries)
        if rendered.tool_choice is not None:
            yield "tool choice", line(rendered.tool_choice)
        if rendered._is_waiting:
            yield "waiting", "the last calls have no results yet, so nothing can be sent"
        losses: dict[tuple[str, str], dict[str, None]] = {}
        for loss in (*rendered.losses, *rendered.hints):
            # How a message is sent is in its title already.
            why = loss.why.partition(", so ")[0]
            reason = why if len(loss.at) == 1 else f"{_subject(loss)}: {loss.why}"
            name = "hint" if loss.kind == "hint" else "loss"
            losses.setdefault((name, reason), {}).update(dict.fromkeys((loss.path, *loss.also)))
        for (name, reason), paths in losses.items():
            shown = [self.path(path) for path in paths if path]
            more = f" and {len(shown) - NAMED} more" if len(shown) > NAMED else ""
            where = ", ".join(shown[:NAMED]) + more
            yield name, f"{where}: {line(reason)}" if where else line(reason)
        for dropped in rendered.dropped:
            where = self.path(dropped.path or dropped.what)
            why = f"~{_rounded(dropped.tokens)} tokens: {dropped.why}"
            yield "dropped", f"{where}, {line(why)}"

    def path(self, path: str) -> str:
        """Return a path of the prompt on one line, with the id of its turn as it is shown."""
        first = _ID.match(path)
        turn = first[0] if first else ""
        return self.shown_ids.get(turn, self.texts.line(turn)) + self.texts.line(path[len(turn) :])

    def definitions(self, sent: SentPrompt | None) -> Iterator[FileEntry]:
        """Yield the entries of the tools and of the output schema."""
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
            self.cached_after.append(f"tool {name}")
            yield FilePart(cache_mark(tool.cache))

    def described(self, mark: str, description: str | None, schema: object) -> Iterator[FilePart]:
        """Yield the parts of a description and of the schema after it."""
        if mark or description:
            yield FilePart(mark, self.texts.text(description or ""))
        yield FilePart("─■ takes" if mark else "─■ form", schema_text(schema, self.texts))

    def turns(self, sent: SentPrompt | None) -> Iterator[FileEntry]:
        """Yield the entries of all turns; a merged message has several turns."""
        losses = (*self.rendered.losses, *self.rendered.hints)
        unsent = {loss.at for loss in losses if loss.kind == "content" or loss.what == "text block"}
        last_number: int | None = None  # of the last message so far, in the request
        for index, (message, turns) in enumerate(_turns(self.rendered)):
            self.tool_names |= {call.id: call.name for call in message.calls}
            results = [block for block in message.content if isinstance(block, ToolResultBlock)]
            for turn in turns:
                writer = TurnWriter(self.texts, turn, unsent, self.cached_after)
                title = EntryTitle(self.turn_title(turn, message.name, results))
                sent_blocks = {n: sent.blocks[index][n] for n in turn.blocks} if sent else {}
                first_sent = next((block for block in sent_blocks.values() if block.role), None)
                if first_sent:
                    first = message.content[min(sent_blocks)]
                    is_result = isinstance(first, ToolResultBlock) and len(sent_blocks) == 1
                    role = first_sent.role
                    title = EntryTitle(
                        title.what,
                        role=role if role != turn.first_word else "",
                        fence=_fence([*sent_blocks.values()]),
                        is_named=_is_sent(message.name, sent),
                        id=writer.sent_id(first, first_sent) if is_result else "",
                        note=ABOVE if first_sent.number == last_number else "",
                    )
                    numbers = [block.number or 0 for block in sent_blocks.values() if block.role]
                    last_number = max(numbers)
                elif sent_blocks and all((index, number) in unsent for number in sent_blocks):
                    title = attrs.evolve(title, note=NOT_SENT)
                for number, spans in turn.blocks.items():
                    sent_block = sent_blocks.get(number)
                    yield from self.added(sent_block.added_messages if sent_block else ())
                    writer.block(message.content[number], spans, sent_block, (index, number))
                yield FileEntry(title, tuple(writer.parts))
        yield from self.added(sent.tail if sent else ())

    def added(self, messages: Iterable[tuple[str, str]]) -> Iterator[FileEntry]:
        """Yield the entries of messages that promptdsl adds, as the provider needs them."""
        for role, text in messages:
            yield FileEntry(f"{role}, added for the target", (FilePart("", self.texts.text(text)),))

    def turn_title(
        self, turn: FileTurn, speaker: str | None, results: list[ToolResultBlock]
    ) -> str:
        """Return the title of a turn: its first word, its id, and the name of speaker or tool.

        ``results`` are the tool results of its message.
        """
        line, name = self.texts.line, self.texts.name
        words = [turn.first_word]
        if turn.address and not _NUMBERED.fullmatch(turn.address):
            self.shown_ids[turn.address] = name(turn.address)
            words.append(self.shown_ids[turn.address])
        for block in results:
            tool = block.name or self.tool_names.get(block.tool_use_id)
            words += [line(as_one_word(tool))] if tool else []
            words.append(name(as_one_word(block.tool_use_id)))
        words += [line(f"named {as_one_word(speaker)}")] if speaker else []
        return " ".join(words)


@attrs.define
class TurnWriter:
    """Writes the parts of the entry of one turn, block after block.

    ``parts`` are the parts so far. The fields before it do not change.
    """

    texts: ShownTexts
    turn: FileTurn
    unsent: Container[tuple[int, ...]]
    """The blocks that are not sent, such as blank texts: the indices of message and block."""
    cached_after: list[str]
    """The list of the :class:`FileWriter`, to which each cache mark adds what is before it."""
    parts: list[FilePart] = attrs.field(factory=list[FilePart])
    sections: tuple[str, ...] = ()
    """The ids of the sections around the last text, from the outside."""
    source: Source | None = None
    """The line that wrote the current block."""

    def block(
        self, block: Block, spans: Sequence[Span], sent: SentBlock | None, at: tuple[int, ...]
    ) -> None:
        """Write a block with the texts that are added around it, and its cache mark.

        ``at`` are the indices of its message and of the block; of a block in a result, one more.
        """
        self.source = spans[0].source if spans else None
        if sent and not getattr(block, "is_error", False):
            self.write(*(("─■ added for the target", text) for text in sent.before))
        note = NOT_SENT if at in self.unsent else ""
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
        wanted = getattr(block, "cache", None) or (spans[-1].cache if spans else None)
        cache = sent.cache if sent else wanted
        if cache:
            path = _sections(spans[-1], self.turn) if spans else ()
            self.cached_after.append("/".join((self.turn.first_word, *path)))
            self.parts.append(FilePart(cache_mark(cache)))
        elif wanted:
            instead = "; an empty line instead" if sent and sent.is_joined else ""
            self.parts.append(FilePart(f"{cache_mark(wanted)}{NOT_SENT}{instead}"))

    def write(self, *parts: tuple[str, str]) -> None:
        """Write parts, each given as its mark and its text."""
        self.parts += [FilePart(mark, self.texts.text(text), self.source) for mark, text in parts]

    def sent_id(self, block: Block, sent: SentBlock | None) -> str:
        """Return the id of a call or a result as it is sent; empty if it is sent unchanged."""
        block_id = getattr(block, "tool_use_id", getattr(block, "id", None))
        id = sent.id if sent else None
        return "" if id in (None, block_id) else self.texts.name(as_one_word(id))

    def text(self, spans: Sequence[Span], note: str = "") -> None:
        """Write a text: a new part begins where a section begins or ends."""
        first, *more = self.text_parts(spans)
        last = self.parts[-1] if self.parts else None
        is_open = last is not None and last.mark.startswith(OPEN_MARKS) and not last.text
        if note or (last and not is_open) or not (first.mark or first.text):
            # The text needs a mark of its own.
            text = "" if first.mark else first.text
            self.parts.append(FilePart(f"─■ text{note}", text, self.source))
            self.parts += [first, *more] if first.mark else more
        elif last and not first.mark:
            self.parts[-1] = attrs.evolve(last, text=first.text, source=first.source)
            self.parts += more
        else:
            self.parts += [first, *more]

    def text_parts(self, spans: Sequence[Span]) -> Iterator[FilePart]:
        """Yield the parts of a text: one before its first section, then one for each section."""
        mark, pieces = "", list[tuple[str, Span]]()
        for span in spans:
            text, path = span.text, _sections(span, self.turn)
            if path != self.sections and text.strip():
                body = text.lstrip("\n")
                if body != text:
                    pieces.append((text[: -len(body)], span))
                if mark or pieces:
                    yield self.text_part(mark, pieces)
                goes_on = ", continued" if self.sections[: len(path)] == path else ""
                section = f"{'/'.join(path)}{goes_on}" if path else "(no section)"
                mark = self.texts.line(f"{WITHIN}{section}")
                self.sections, text, pieces = path, body, []
            pieces.append((text, span))
        yield self.text_part(mark, pieces)

    def text_part(self, mark: str, pieces: Sequence[tuple[str, Span]]) -> FilePart:
        """Return the part with the text of spans; its source is that of the first span."""
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
            shown_id = self.texts.name(as_one_word(block.tool_use_id))
            id = EntryTitle(shown_id, id=self.sent_id(block, sent))
            self.write((f"─■ result {id}", ""))
        if block.is_error:
            failed = f"─■ failed {block.error_type or ''}".rstrip()
            failed += ", flag not sent" if sent and sent.role and not sent.is_error else ""
            added = json_text("".join(sent.before)) if sent and sent.before else ""
            mark = failed + (added and f"; {added} put before the text")
            self.write((self.texts.line(mark), ""))
        for inner, run in groupby(spans, lambda span: span.inner or 0):
            self.block(block.content[inner], list(run), None, (*at, inner))

    def other(self, block: Block, note: str, sent: SentBlock | None) -> None:
        """Write a block that is neither a text nor a result."""
        line, name = self.texts.line, self.texts.name
        match block:
            case ToolUseBlock():
                call = f"{line(f'call {as_one_word(block.name)}')} {name(as_one_word(block.id))}"
                fence = f"<{sent.fence}>" if sent and sent.fence else ""
                label = str(EntryTitle(call, fence=fence, id=self.sent_id(block, sent)))
                text = block.arguments
            case ReasoningBlock():
                label, text = reasoning(block, self.texts), block.text
            case ImageBlock() | AudioBlock() | DocumentBlock() | VideoBlock():
                label, text = attachment(block, self.texts), ""
            case UnknownBlock():
                origin = f" of {block.origin}" if block.origin else ""
                label, text = line(f"block{origin}"), json_text(block.data)
            case _:
                label, text = line(block.type), json_text(block.to_dict())
        self.write((f"─■ {label}{note}", text))


def _subject(loss: Loss) -> str:
    """Return what a loss or a hint is about. In snapshots the id of a section is in quotes."""
    kind, _, id = loss.what.partition(" ")
    return f"section {id!r}" if kind == "section" else loss.what


def _turns(rendered: Rendered) -> Iterator[tuple[Message, list[FileTurn]]]:
    """Yield each message with its turns; a system message is one turn with sections."""
    nodes = dict(rendered.stages())["render_events"].content
    groundings = {node.options.address for node in nodes if getattr(node, "grounding", False)}
    blocks: dict[int, dict[int, list[Span]]] = {}
    for span in rendered.spans():
        blocks.setdefault(span.message, {}).setdefault(span.block, []).append(span)
    for index, message in enumerate(rendered.messages):
        turns: list[FileTurn] = []
        for number, spans in blocks.get(index, {}).items():
            address = "" if message.role == "system" else spans[0].turn
            if not turns or turns[-1].address != address:
                first_word = "grounding" if address in groundings else spans[0].role
                turns.append(FileTurn(address, first_word))
            turns[-1].blocks[number] = spans
        yield message, turns or [FileTurn("", message.role)]


_NUMBERED = re.compile(r"[a-z]+\[[0-9]+\]")
"""The address of a turn without an id."""
_ID = re.compile(r'"(?:[^"\\]|\\.)*"[^/]*|[^/]+')
"""One id of a path; a quoted id may have slashes."""


def _sections(span: Span, turn: FileTurn) -> tuple[str, ...]:
    """Return the ids of the sections around a text, from the outside."""
    path = span.address.removeprefix(turn.address)
    return () if _NUMBERED.fullmatch(path) else tuple(_ID.findall(path))


def _fence(blocks: Sequence[SentBlock]) -> str:
    """Return the tag around all blocks of a turn for its title, and remove it from the blocks."""
    first, last = blocks[0], blocks[-1]
    opening, closing = f"<{first.fence}>", f"</{first.fence}>"
    if (first.before, last.after) != ((opening,), (closing,)):
        return ""
    first.before = last.after = ()
    return opening


def _is_sent(name: str | None, sent: SentPrompt | None) -> bool:
    """Return whether the name of a speaker or of an output schema is sent, or there is no name."""
    return not name or sent is None or name in sent.names


def _rounded(count: int) -> str:
    """Return a number rounded up to two digits."""
    unit = 10 ** max(len(str(count)) - 2, 0)
    return f"{-(-count // unit) * unit:,}"
