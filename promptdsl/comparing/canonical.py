"""Makes the snapshot of a rendered prompt: its header, and an entry for each turn.

Read :func:`prompt_file` first, then :class:`FileWriter` for the header and the entries, then
:class:`TurnWriter` for the content of one entry. ``snapshot_file.py`` has the classes of what they
write:

- An entry is one turn, the tools, or the output schema. It has a title, such as ``──▶ user``.
- An entry consists of parts. A part is a sign, and the text below it.
- A sign is one line, such as ``─▷ rules``. Text directly below a title has an empty sign.
- A cache mark is written as the sign ``─⚑ cache``, after the text that the provider caches.
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
    cache_sign,
    json_text,
    reasoning,
    schema_text,
    sent_prompt,
)
from promptdsl.comparing.snapshot_file import (
    ABOVE,
    NOT_SENT,
    SECTION_SIGN,
    EntryTitle,
    FileEntry,
    FilePart,
    PromptFile,
    Scrubber,
    ShownTexts,
)
from promptdsl.foundation.errors import counted

MAX_PATHS = 3
"""The maximum number of paths in a line of the header."""
OPEN_SIGNS = ("─⚑", "─■ failed", "─■ result")
"""The beginnings of the signs below which a text is written without a sign ``─■ text``."""


def prompt_file(
    rendered: Rendered, *, scrubbers: Mapping[str, Scrubber] | None = None
) -> PromptFile:
    """Return the snapshot of a prompt.

    ``scrubbers`` replace values that change from run to run, such as ids. The key is the name of
    the scrubber. The scrubber is a regular expression, or a function that returns the values in a
    text. Equal values get equal brackets, such as ``⟦uuid-1⟧``. Scrubbers change texts, the
    arguments and ids of calls, ids of turns, titles and addresses of attachments, and the texts in
    tools and schemas. They change no name, role, number or key.

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
    """Return the tokens of a prompt without its volatile texts.

    A volatile text may be longer in the next run, so counting it would change the snapshot.
    """
    return rendered.masked(lambda _: "").tokens


@attrs.define
class FileTurn:
    """A turn of a message, with its blocks.

    ``address`` is the id of the turn. Without an id it is the role and the number of the turn, such
    as ``user[2]``; for a system message it is empty. ``first_word`` is the first word of the title:
    the role of the turn, or ``grounding``.
    """

    address: str
    first_word: str
    blocks: list[PromptBlock] = attrs.field(factory=list[PromptBlock])

    @property
    def is_unsent(self) -> bool:
        """Whether the turn has blocks, and none of them is sent."""
        return bool(self.blocks) and all(block.is_unsent for block in self.blocks)


@attrs.define
class FileWriter:
    """Writes the file of a prompt: first the entries, then the header.

    The header counts the cache marks, so it needs the entries. Writing the entries fills all fields
    but ``rendered``.
    """

    rendered: Rendered
    texts: ShownTexts
    cached_after: list[str] = attrs.field(factory=list[str])
    """For each cache mark, the turn and the section before it, such as ``system/rules``."""
    tool_names: dict[str, str] = attrs.field(factory=dict[str, str])
    """The name of the tool of the last call with each id."""
    shown_ids: dict[str, str] = attrs.field(factory=dict[str, str])
    """The text that is shown for each id of a turn, after the scrubbers."""

    def file(self, total: int) -> PromptFile:
        """Return the file of a prompt that has ``total`` tokens."""
        prompt = sent_prompt(self.rendered)
        entries = (*self.definitions(prompt), *self.turns(prompt))
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
        cache_marks = "no mark"
        if self.cached_after:
            count = counted(len(self.cached_after), "mark", "marks")
            cache_marks = f"{count}, after {' and '.join(self.cached_after)}"
        yield "cache", cache_marks
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
        """Yield a line for each reason of losses or hints: first the paths, then the reason."""
        paths: dict[str, dict[str, None]] = defaultdict(dict)
        for loss in losses:
            paths[_reason(loss)].update(dict.fromkeys((loss.path, *loss.also)))
        for reason, reason_paths in paths.items():
            shown_paths = [self.path(path) for path in reason_paths if path]
            where = ", ".join(shown_paths[:MAX_PATHS])
            if len(shown_paths) > MAX_PATHS:
                where += f" and {len(shown_paths) - MAX_PATHS} more"
            if where:
                where += ": "
            yield where + self.texts.line(reason)

    def path(self, path: str) -> str:
        """Return a path of the prompt on one line; the id of its turn is as in the title."""
        first = _ID.match(path)
        turn = first[0] if first else ""
        return self.shown_ids.get(turn, self.texts.line(turn)) + self.texts.line(path[len(turn) :])

    def definitions(self, prompt: SentPrompt) -> Iterator[FileEntry]:
        """Yield the entries of the tools and of the output schema."""
        if self.rendered.tools:
            parts = [part for tool in self.rendered.tools for part in self.tool(tool)]
            yield FileEntry("tools", tuple(parts))
        output = self.rendered._request_view.prompt.sent_output
        if output is not None:
            title = EntryTitle(
                f"answer {self.texts.line(output.name)}",
                is_strict=output.strict,
                is_named=output.name in prompt.names,
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
            yield FilePart(cache_sign(tool.cache))

    def turns(self, prompt: SentPrompt) -> Iterator[FileEntry]:
        """Yield the entries of all turns; a merged message has several turns."""
        groundings = _groundings(self.rendered)
        last_index: int | None = None  # the index of the last message so far, in the request
        for message, blocks in zip(self.rendered.messages, prompt.blocks, strict=True):
            self.tool_names |= {call.id: call.name for call in message.calls}
            results = [block for block in message.content if isinstance(block, ToolResultBlock)]
            for turn in _turns(message, blocks, groundings):
                writer = TurnWriter(self.texts, turn, self.cached_after)
                title = EntryTitle(self.turn_title(turn, message.name, results))
                sent_blocks = [block.sent_block for block in turn.blocks if block.sent_block.role]
                if sent_blocks:
                    note = ABOVE if sent_blocks[0].message_index == last_index else ""
                    title = writer.sent_title(title, sent_blocks[0].role)
                    is_named = message.name in prompt.names
                    title = attrs.evolve(title, is_named=is_named, note=note)
                    last_index = max(block.message_index for block in sent_blocks)
                elif prompt.is_known and turn.is_unsent:
                    title = attrs.evolve(title, note=NOT_SENT)
                for block in turn.blocks:
                    yield from self.added_entries(block.sent_block.added_messages)
                    writer.write_block(block)
                yield FileEntry(title, tuple(writer.parts))
        yield from self.added_entries(prompt.tail)

    def added_entries(self, messages: Iterable[tuple[str, str]]) -> Iterator[FileEntry]:
        """Yield the entries of messages that promptdsl adds because the provider needs them."""
        for role, text in messages:
            yield FileEntry(f"{role}, added for the target", (FilePart("", self.texts.text(text)),))

    def turn_title(
        self, turn: FileTurn, speaker: str | None, results: list[ToolResultBlock]
    ) -> str:
        """Return the title of a turn: its first word, its id, and the names in it.

        The names are the tool and the id of each tool result in ``results``, and the speaker.
        ``results`` are the tool results of the message of the turn.
        """
        line, name = self.texts.line, self.texts.name
        words = [turn.first_word]
        if turn.address and not _NUMBERED_TURN.fullmatch(turn.address):
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
    """Writes the parts of the entry of one turn, block after block, into ``parts``.

    For a turn that is sent, call :meth:`sent_title` first: it moves the tag around the turn from
    the blocks to the title.
    """

    texts: ShownTexts
    turn: FileTurn
    cached_after: list[str]
    """The list of the :class:`FileWriter`: each cache mark adds the turn and section before it."""
    parts: list[FilePart] = attrs.field(factory=list[FilePart])
    sections: tuple[str, ...] = ()
    """The ids of the sections around the last text, from the outside."""
    source: Source | None = None
    """The line that wrote the current block."""

    def sent_title(self, title: EntryTitle, role: str) -> EntryTitle:
        """Return a title with the role, the tag and the id of a result as they are sent."""
        blocks = self.turn.blocks
        title = attrs.evolve(title, fence=_take_fence(blocks))
        if role != self.turn.first_word:
            title = attrs.evolve(title, role=role)
        if len(blocks) == 1 and isinstance(blocks[0].block, ToolResultBlock):
            title = attrs.evolve(title, id=self.sent_id(blocks[0]))
        return title

    def write_block(self, block: PromptBlock) -> None:
        """Write a block, the texts that the adapter adds around it, and its cache mark."""
        first, last, sent_block = block.spans[0], block.spans[-1], block.sent_block
        self.source = first.source
        if not getattr(block.block, "is_error", False):
            self.add_parts(*(("─■ added for the target", text) for text in sent_block.before))
        match block.block:
            case TextBlock():
                self.write_text(block)
            case ToolResultBlock():
                self.write_result(block, block.block)
            case _:
                self.write_other(block)
        extra = getattr(block.block, "extra", None)
        if extra:
            self.add_parts(("─■ with", json_text(extra)))
        self.add_parts(*(("─■ added for the target", text) for text in sent_block.after))
        if sent_block.cache:
            path = (self.turn.first_word, *_sections(last, self.turn))
            self.cached_after.append("/".join(path))
            self.parts.append(FilePart(cache_sign(sent_block.cache)))
        elif block.requested_cache:
            instead = "; an empty line instead" if sent_block.is_joined else ""
            self.parts.append(FilePart(f"{cache_sign(block.requested_cache)}{NOT_SENT}{instead}"))

    def add_parts(self, *parts: tuple[str, str]) -> None:
        """Add parts; each is a pair of sign and text."""
        self.parts += [FilePart(sign, self.texts.text(text), self.source) for sign, text in parts]

    def sent_id(self, block: PromptBlock) -> str:
        """Return the id of a call or a result as it is sent; empty if it is sent unchanged."""
        block_id = getattr(block.block, "tool_use_id", getattr(block.block, "id", None))
        id = block.sent_block.id
        return "" if id in (None, block_id) else self.texts.name(as_one_word(id))

    def write_text(self, block: PromptBlock) -> None:
        """Write a text block: a new part begins where a section begins or ends."""
        note = NOT_SENT if block.is_unsent else ""
        if block.sent_block.is_changed:
            note = ", changed for the target"
        first_part, *later_parts = self.text_parts(block.spans)
        if note or not self.needs_no_sign or not (first_part.sign or first_part.text):
            self.parts.append(FilePart(f"─■ text{note}", source=self.source))
        if first_part.sign or not self.parts:
            self.parts.append(first_part)
        else:
            # Text outside of sections is written below the last sign.
            last_part = self.parts[-1]
            self.parts[-1] = attrs.evolve(last_part, text=first_part.text, source=first_part.source)
        self.parts += later_parts

    @property
    def needs_no_sign(self) -> bool:
        """Whether the next text needs no ``─■ text``: it is the first part, or has an open sign."""
        if not self.parts:
            return True
        last = self.parts[-1]
        return last.sign.startswith(OPEN_SIGNS) and not last.text

    def text_parts(self, spans: Sequence[Span]) -> Iterator[FilePart]:
        """Yield the parts of a text: one before its first section, then one for each section."""
        sign, pieces = "", list[tuple[str, Span]]()
        for span in spans:
            text, path = span.text, _sections(span, self.turn)
            if path != self.sections and text.strip():
                body = text.lstrip("\n")
                if body != text:
                    pieces.append((text[: -len(body)], span))
                if pieces:
                    yield self.text_part(sign, pieces)
                goes_on = ", continued" if self.sections[: len(path)] == path else ""
                section = f"{'/'.join(path)}{goes_on}" if path else "(no section)"
                sign = self.texts.line(f"{SECTION_SIGN}{section}")
                self.sections, text, pieces = path, body, []
            pieces.append((text, span))
        yield self.text_part(sign, pieces)

    def text_part(self, sign: str, pieces: Sequence[tuple[str, Span]]) -> FilePart:
        """Return the part with the text of spans, and with the source line of the first span."""
        return FilePart(sign, self.texts.of_spans(pieces), pieces[0][1].source)

    def write_result(self, prompt_block: PromptBlock, block: ToolResultBlock) -> None:
        """Write the result of a tool."""
        sent_block = prompt_block.sent_block
        if len(self.turn.blocks) > 1:
            shown_id = self.texts.name(as_one_word(block.tool_use_id))
            self.add_parts((f"─■ result {EntryTitle(shown_id, id=self.sent_id(prompt_block))}", ""))
        if block.is_error:
            sign = f"─■ failed {block.error_type or ''}".rstrip()
            if sent_block.role and not sent_block.is_error:
                sign += ", flag not sent"
            if sent_block.before:
                sign += f"; {json_text(''.join(sent_block.before))} put before the text"
            self.add_parts((self.texts.line(sign), ""))
        for inner in prompt_block.inner:
            if inner.spans:
                self.write_block(inner)

    def write_other(self, prompt_block: PromptBlock) -> None:
        """Write a block that is neither a text nor a result."""
        line, name = self.texts.line, self.texts.name
        block, sent_block = prompt_block.block, prompt_block.sent_block
        note = NOT_SENT if prompt_block.is_unsent or sent_block.message_index == UNSENT else ""
        match block:
            case ToolUseBlock():
                call = f"{line(f'call {as_one_word(block.name)}')} {name(as_one_word(block.id))}"
                fence = f"<{sent_block.fence}>" if sent_block.fence else ""
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
        self.add_parts((f"─■ {label}{note}", text))


def _reason(loss: Loss) -> str:
    """Return what a loss or a hint is about, and why; the id of a section is in quotes."""
    if len(loss.at) == 1:
        # The title of the message already shows how the message is sent.
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
    """Return the turns of a message; all text of a system message is one turn."""
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


_NUMBERED_TURN = re.compile(r"[a-z]+\[[0-9]+\]")
"""The address of a turn without an id."""
_ID = re.compile(r'"(?:[^"\\]|\\.)*"[^/]*|[^/]+')
"""One id of a path; a quoted id may have slashes."""


def _sections(span: Span, turn: FileTurn) -> tuple[str, ...]:
    """Return the ids of the sections around a text, from the outside."""
    path = span.address.removeprefix(turn.address)
    return () if _NUMBERED_TURN.fullmatch(path) else tuple(_ID.findall(path))


def _take_fence(blocks: Sequence[PromptBlock]) -> str:
    """Remove the tag around a turn from its blocks, and return it; ``""`` if there is no tag."""
    first, last = blocks[0].sent_block, blocks[-1].sent_block
    opening, closing = f"<{first.fence}>", f"</{first.fence}>"
    if (first.before, last.after) != ((opening,), (closing,)):
        return ""
    first.before = last.after = ()
    return opening


def _rounded(count: int) -> str:
    """Return a number as text, rounded up to two digits: ``1,300`` for 1,234."""
    # The exact count would change the snapshot with each word.
    unit = 10 ** max(len(str(count)) - 2, 0)
    return f"{-(-count // unit) * unit:,}"
