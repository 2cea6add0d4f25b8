"""The snapshot of a rendered prompt: its header, and an entry for each turn.

Read :func:`prompt_file` first, then :class:`FileWriter` for the header and the entries, then
:class:`TurnWriter` for the content of one entry. A snapshot consists of entries, and an entry of
parts; ``snapshot_file.py`` has their classes.

- An entry has a title: it is one turn, the tools, or the output schema.
- A part is a mark, and the text below it. The mark is one line, such as ``─▷ rules``.
- A cache mark, such as ``─⚑ cache``, is a mark after the text that a provider caches.
"""

import re
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

import attrs

from promptdsl import (
    AudioBlock,
    DocumentBlock,
    ImageBlock,
    Loss,
    Message,
    OutputSchema,
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
from promptdsl.comparing.block_marks import (
    UNSENT,
    PromptBlock,
    SentPrompt,
    as_one_word,
    attachment,
    cache_mark,
    json_text,
    reasoning,
    schema_text,
    sent_prompt,
)
from promptdsl.comparing.snapshot_file import (
    ABOVE,
    NOT_SENT,
    WITHIN,
    EntryTitle,
    FileEntry,
    FilePart,
    PromptFile,
    Scrubber,
    ShownTexts,
)
from promptdsl.foundation.errors import counted

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
    """A turn of a message, with its blocks.

    ``address`` is its id, or its role and number, such as ``user[2]``. ``first_word`` is the first
    word of its title: its role, or ``grounding``.
    """

    address: str
    first_word: str
    blocks: list[PromptBlock] = attrs.field(factory=list[PromptBlock])

    @property
    def is_unsent(self) -> bool:
        """Whether it has blocks, none of which is sent."""
        return bool(self.blocks) and all(block.is_unsent for block in self.blocks)


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
        marks = "no mark"
        if self.cached_after:
            count = counted(len(self.cached_after), "mark", "marks")
            marks = f"{count}, after {' and '.join(self.cached_after)}"
        yield "cache", marks
        libraries = dict.fromkeys(section.library for section in rendered.libraries)
        yield from (("library", line(name)) for name in libraries)
        if rendered.tool_choice is not None:
            yield "tool choice", line(rendered.tool_choice)
        if rendered._is_waiting:
            yield "waiting", "the last calls have no results yet, so nothing can be sent"
        yield from (("loss", loss) for loss in self.losses(rendered.losses))
        yield from (("hint", hint) for hint in self.losses(rendered.hints))
        for dropped in rendered.dropped:
            where = self.path(dropped.path or dropped.what)
            why = f"~{_rounded(dropped.tokens)} tokens: {dropped.why}"
            yield "dropped", f"{where}, {line(why)}"

    def losses(self, losses: Iterable[Loss]) -> Iterator[str]:
        """Yield a line for each reason of losses, or of hints, after the paths that have it."""
        paths: dict[str, dict[str, None]] = defaultdict(dict)
        for loss in losses:
            paths[_reason(loss)].update(dict.fromkeys((loss.path, *loss.also)))
        for reason, some in paths.items():
            shown = [self.path(path) for path in some if path]
            where = ", ".join(shown[:NAMED])
            if len(shown) > NAMED:
                where += f" and {len(shown) - NAMED} more"
            if where:
                where += ": "
            yield where + self.texts.line(reason)

    def path(self, path: str) -> str:
        """Return a path of the prompt on one line, with the id of its turn as it is shown."""
        first = _ID.match(path)
        turn = first[0] if first else ""
        return self.shown_ids.get(turn, self.texts.line(turn)) + self.texts.line(path[len(turn) :])

    def definitions(self, sent: SentPrompt) -> Iterator[FileEntry]:
        """Yield the entries of the tools and of the output schema."""
        if self.rendered.tools:
            parts = [part for tool in self.rendered.tools for part in self.tool(tool)]
            yield FileEntry("tools", tuple(parts))
        output = self.rendered._request_view.prompt.sent_output
        if output is not None:
            title = EntryTitle(
                f"answer {self.texts.line(output.name)}",
                is_strict=output.strict,
                is_named=output.name in sent.names,
            )
            yield FileEntry(title, tuple(self.output(output)))

    def output(self, output: OutputSchema) -> Iterator[FilePart]:
        """Yield the parts of an output schema."""
        if output.description:
            yield FilePart("", self.texts.text(output.description))
        yield FilePart("─■ form", schema_text(output.schema, self.texts))

    def tool(self, tool: ToolDefinition) -> Iterator[FilePart]:
        """Yield the parts of a tool."""
        name = self.texts.line(tool.name)
        if tool.raw is not None:
            yield FilePart(f"─■ tool {name} of {tool.origin}", self.texts.data(json_text(tool.raw)))
        else:
            yield FilePart(f"─■ tool {name}", self.texts.text(tool.description or ""))
            yield FilePart("─■ takes", schema_text(tool.input_schema, self.texts))
        if tool.extra:
            yield FilePart(f"─■ only for {tool.origin}", self.texts.data(json_text(tool.extra)))
        if tool.cache:
            self.cached_after.append(f"tool {name}")
            yield FilePart(cache_mark(tool.cache))

    def turns(self, sent: SentPrompt) -> Iterator[FileEntry]:
        """Yield the entries of all turns; a merged message has several turns."""
        groundings = _groundings(self.rendered)
        last_number: int | None = None  # of the last message so far, in the request
        for message, blocks in zip(self.rendered.messages, sent.blocks, strict=True):
            self.tool_names |= {call.id: call.name for call in message.calls}
            results = [block for block in message.content if isinstance(block, ToolResultBlock)]
            for turn in _turns(message, blocks, groundings):
                writer = TurnWriter(self.texts, turn, self.cached_after)
                title = EntryTitle(self.turn_title(turn, message.name, results))
                carried = [block.sent for block in turn.blocks if block.sent.role]
                if carried:
                    note = ABOVE if carried[0].number == last_number else ""
                    title = writer.sent_title(title, carried[0].role)
                    is_named = message.name in sent.names
                    title = attrs.evolve(title, is_named=is_named, note=note)
                    last_number = max(block.number for block in carried)
                elif sent.is_known and turn.is_unsent:
                    title = attrs.evolve(title, note=NOT_SENT)
                for block in turn.blocks:
                    yield from self.added(block.sent.added_messages)
                    writer.block(block)
                yield FileEntry(title, tuple(writer.parts))
        yield from self.added(sent.tail)

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
            if tool:
                words.append(line(as_one_word(tool)))
            words.append(name(as_one_word(block.tool_use_id)))
        if speaker:
            words.append(line(f"named {as_one_word(speaker)}"))
        return " ".join(words)


@attrs.define
class TurnWriter:
    """Writes the parts of the entry of one turn, block after block.

    ``parts`` are the parts so far. The fields before it do not change.
    """

    texts: ShownTexts
    turn: FileTurn
    cached_after: list[str]
    """The list of the :class:`FileWriter`, to which each cache mark adds what is before it."""
    parts: list[FilePart] = attrs.field(factory=list[FilePart])
    sections: tuple[str, ...] = ()
    """The ids of the sections around the last text, from the outside."""
    source: Source | None = None
    """The line that wrote the current block."""

    def sent_title(self, title: EntryTitle, role: str) -> EntryTitle:
        """Return a title with the role, the tag and the id of the result that are sent."""
        blocks = self.turn.blocks
        title = attrs.evolve(title, fence=_fence(blocks))
        if role != self.turn.first_word:
            title = attrs.evolve(title, role=role)
        if len(blocks) == 1 and isinstance(blocks[0].block, ToolResultBlock):
            title = attrs.evolve(title, id=self.sent_id(blocks[0]))
        return title

    def block(self, block: PromptBlock) -> None:
        """Write a block with the texts that are added around it, and its cache mark."""
        first, last, sent = block.spans[0], block.spans[-1], block.sent
        self.source = first.source
        if not getattr(block.block, "is_error", False):
            self.write(*(("─■ added for the target", text) for text in sent.before))
        match block.block:
            case TextBlock():
                self.text(block)
            case ToolResultBlock():
                self.result(block, block.block)
            case _:
                self.other(block)
        extra = getattr(block.block, "extra", None)
        if extra:
            self.write(("─■ with", json_text(extra)))
        self.write(*(("─■ added for the target", text) for text in sent.after))
        if sent.cache:
            path = (self.turn.first_word, *_sections(last, self.turn))
            self.cached_after.append("/".join(path))
            self.parts.append(FilePart(cache_mark(sent.cache)))
        elif block.wanted:
            instead = "; an empty line instead" if sent.is_joined else ""
            self.parts.append(FilePart(f"{cache_mark(block.wanted)}{NOT_SENT}{instead}"))

    def write(self, *parts: tuple[str, str]) -> None:
        """Write parts, each given as its mark and its text."""
        self.parts += [FilePart(mark, self.texts.text(text), self.source) for mark, text in parts]

    def sent_id(self, block: PromptBlock) -> str:
        """Return the id of a call or a result as it is sent; empty if it is sent unchanged."""
        block_id = getattr(block.block, "tool_use_id", getattr(block.block, "id", None))
        id = block.sent.id
        return "" if id in (None, block_id) else self.texts.name(as_one_word(id))

    def text(self, block: PromptBlock) -> None:
        """Write a text: a new part begins where a section begins or ends."""
        note = NOT_SENT if block.is_unsent else ""
        if block.sent.is_changed:
            note = ", changed for the target"
        first, *more = self.text_parts(block.spans)
        if note or not self.is_open or not (first.mark or first.text):
            self.parts.append(FilePart(f"─■ text{note}", source=self.source))
        if first.mark or not self.parts:
            self.parts.append(first)
        else:
            # Without a section, the text stands below the last mark.
            mark = self.parts[-1]
            self.parts[-1] = attrs.evolve(mark, text=first.text, source=first.source)
        self.parts += more

    @property
    def is_open(self) -> bool:
        """Whether a text needs no mark of its own: it is the first, or below an open mark."""
        if not self.parts:
            return True
        last = self.parts[-1]
        return last.mark.startswith(OPEN_MARKS) and not last.text

    def text_parts(self, spans: Sequence[Span]) -> Iterator[FilePart]:
        """Yield the parts of a text: one before its first section, then one for each section."""
        mark, pieces = "", list[tuple[str, Span]]()
        for span in spans:
            text, path = span.text, _sections(span, self.turn)
            if path != self.sections and text.strip():
                body = text.lstrip("\n")
                if body != text:
                    pieces.append((text[: -len(body)], span))
                if pieces:
                    yield self.text_part(mark, pieces)
                goes_on = ", continued" if self.sections[: len(path)] == path else ""
                section = f"{'/'.join(path)}{goes_on}" if path else "(no section)"
                mark = self.texts.line(f"{WITHIN}{section}")
                self.sections, text, pieces = path, body, []
            pieces.append((text, span))
        yield self.text_part(mark, pieces)

    def text_part(self, mark: str, pieces: Sequence[tuple[str, Span]]) -> FilePart:
        """Return the part with the text of spans; its source is that of the first span."""
        return FilePart(mark, self.texts.of_spans(pieces), pieces[0][1].source)

    def result(self, result: PromptBlock, block: ToolResultBlock) -> None:
        """Write the result of a tool."""
        sent = result.sent
        if len(self.turn.blocks) > 1:
            shown_id = self.texts.name(as_one_word(block.tool_use_id))
            self.write((f"─■ result {EntryTitle(shown_id, id=self.sent_id(result))}", ""))
        if block.is_error:
            mark = f"─■ failed {block.error_type or ''}".rstrip()
            if sent.role and not sent.is_error:
                mark += ", flag not sent"
            if sent.before:
                mark += f"; {json_text(''.join(sent.before))} put before the text"
            self.write((self.texts.line(mark), ""))
        for inner in result.inner:
            if inner.spans:
                self.block(inner)

    def other(self, prompt_block: PromptBlock) -> None:
        """Write a block that is neither a text nor a result."""
        line, name = self.texts.line, self.texts.name
        block, sent = prompt_block.block, prompt_block.sent
        note = NOT_SENT if prompt_block.is_unsent or sent.number == UNSENT else ""
        match block:
            case ToolUseBlock():
                call = f"{line(f'call {as_one_word(block.name)}')} {name(as_one_word(block.id))}"
                fence = f"<{sent.fence}>" if sent.fence else ""
                label = str(EntryTitle(call, fence=fence, id=self.sent_id(prompt_block)))
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


def _reason(loss: Loss) -> str:
    """Return what a loss or a hint is about, and why. The id of a section is in quotes."""
    if len(loss.at) == 1:
        # How a message is sent is in its title already.
        return loss.why.partition(", so ")[0]
    kind, _, id = loss.what.partition(" ")
    if kind == "section":
        return f"section {id!r}: {loss.why}"
    return f"{loss.what}: {loss.why}"


def _groundings(rendered: Rendered) -> set[str]:
    """Return the addresses of the groundings of a prompt."""
    nodes = dict(rendered.stages())["render_events"].content
    return {node.options.address for node in nodes if getattr(node, "grounding", False)}


def _turns(
    message: Message, blocks: Iterable[PromptBlock], groundings: Container[str]
) -> list[FileTurn]:
    """Return the turns of a message; a system message is one turn with sections."""
    turns: list[FileTurn] = []
    for block in blocks:
        if not block.spans:
            continue
        first = block.spans[0]
        address = "" if message.role == "system" else first.turn
        if not turns or turns[-1].address != address:
            first_word = "grounding" if address in groundings else first.role
            turns.append(FileTurn(address, first_word))
        turns[-1].blocks.append(block)
    return turns or [FileTurn("", message.role)]


_NUMBERED = re.compile(r"[a-z]+\[[0-9]+\]")
"""The address of a turn without an id."""
_ID = re.compile(r'"(?:[^"\\]|\\.)*"[^/]*|[^/]+')
"""One id of a path; a quoted id may have slashes."""


def _sections(span: Span, turn: FileTurn) -> tuple[str, ...]:
    """Return the ids of the sections around a text, from the outside."""
    path = span.address.removeprefix(turn.address)
    return () if _NUMBERED.fullmatch(path) else tuple(_ID.findall(path))


def _fence(blocks: Sequence[PromptBlock]) -> str:
    """Return the tag around all blocks of a turn for its title, and remove it from the blocks."""
    first, last = blocks[0].sent, blocks[-1].sent
    opening, closing = f"<{first.fence}>", f"</{first.fence}>"
    if (first.before, last.after) != ((opening,), (closing,)):
        return ""
    first.before = last.after = ()
    return opening


def _rounded(count: int) -> str:
    """Return a number rounded up to two digits."""
    unit = 10 ** max(len(str(count)) - 2, 0)
    return f"{-(-count // unit) * unit:,}"
