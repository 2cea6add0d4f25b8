"""Lower: the finished tree becomes messages.

``lower`` is the function that the others call. ``Lowering`` keeps the messages so far.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterable
from functools import partial
from itertools import accumulate
from typing import NamedTuple, TypeAlias, cast

import attrs

from promptdsl.config.transformation import Resolved
from promptdsl.foundation.guards import guard
from promptdsl.foundation.source import Source
from promptdsl.foundation.unicode import is_valid_unicode
from promptdsl.messages import Block, DocumentBlock, TextBlock, ToolResultBlock
from promptdsl.messages.details import NO_DETAILS, Details, RawOrigin
from promptdsl.messages.fast_path import text_block, tool_result_block
from promptdsl.messages.loss import Loss, hint
from promptdsl.messages.message import Message, message, spoken
from promptdsl.messages.prompt import Joints
from promptdsl.messages.roles import Role
from promptdsl.rendering.text.blocks import MediaRoots, as_text
from promptdsl.rendering.text.encode import (
    FENCED,
    INSTRUCTION,
    SPEECH,
    AuthorTags,
    StringRules,
)
from promptdsl.rendering.text.format import BETWEEN, FORMATS, MARKDOWN
from promptdsl.rendering.text.neighbours import code_in
from promptdsl.rendering.text.page import (
    MARKABLE,
    Page,
    Setting,
    TurnText,
    with_cache_mark,
)
from promptdsl.rendering.text.pieces import Layout
from promptdsl.rendering.text.reserved_tags import tags_of
from promptdsl.rendering.text.walk import ONLY_TITLED, walk
from promptdsl.rendering.text.ways import instructions, only_string, way_of
from promptdsl.tree.group_nodes import FragmentNode
from promptdsl.tree.masks import OPAQUE, RESULT, SHIFT, SPOKEN, SYSTEM
from promptdsl.tree.node import DEFAULTS, Child, Node, Options, mark_of
from promptdsl.tree.part_nodes import ToolUseNode
from promptdsl.tree.turn_nodes import (
    ConsolidatedNode,
    MergedNode,
    RecordedNode,
    ToolTurnNode,
    TurnNode,
)

Turns: TypeAlias = "tuple[TurnNode | RecordedNode, ...]"
"""The content of a finished tree."""


class LoweredTurn(NamedTuple):
    """A turn as blocks, with their origins and the details of the turn, such as its id and name."""

    blocks: tuple[Block, ...]
    origins: tuple[RawOrigin, ...]
    details: Details


class Lowered(NamedTuple):
    """The messages of a finished tree, the losses of its parts, and its layout."""

    messages: tuple[Message, ...]
    losses: tuple[Loss, ...]
    layout: Layout


def lower(
    root: Node, *, config: Resolved, media_roots: MediaRoots = (), joints: Joints | None = None
) -> Lowered:
    """Return the messages of a finished tree, its losses and its layout.

    ``joints`` is filled with those of the prompt (``Prompt.joints``). A turn without content makes
    no message. Raises :class:`MediaError` for an attachment that cannot be read.
    """
    lowering = Lowering(config, media_roots, joints)
    entries, messages = lowering.layout.entries, lowering.messages
    for turn in cast("Turns", root.content):
        if not lowering.add_simple(turn):
            lowering.lower(turn)
        entries.append(len(messages))
    return Lowered(tuple(messages), tuple(lowering.losses), lowering.layout)


class Lowering:
    """The messages and losses so far, and the number of turns by the head of their address.

    ``titled`` are the lines of containers that have a title but no content. ``merged_open_code`` is
    the number of texts in the turns of one merged message that may leave a code fence open.
    """

    def __init__(
        self, config: Resolved, media_roots: MediaRoots, joints: Joints | None = None
    ) -> None:
        text_format = FORMATS[config.format]
        self.setting = Setting(text_format, media_roots, config.format_block)
        self.layout = Layout([], [], [], [], [], [], [], {}, {}, [], {}, [])
        self.messages: list[Message] = []
        self.losses: list[Loss] = []
        self.joints = joints
        self.merged_open_code = 0
        self.titled: set[Source | None] = set()
        self.counts: dict[str, int] = dict.fromkeys(_LABELS, 0)
        self.config = config
        self.mapped_roles = {"event": config.event_role, "request": config.ephemeral_role}
        self.fenced_rules, self.instruction_rules, self.speech_rules = FENCED, INSTRUCTION, SPEECH
        full, full_inline = config.body_encoding == "full", config.inline_encoding == "full"
        if full or full_inline:
            self.fenced_rules = attrs.evolve(FENCED, full=full, full_inline=full_inline)
            self.instruction_rules = attrs.evolve(INSTRUCTION, full=full, full_inline=full_inline)
            self.speech_rules = attrs.evolve(SPEECH, full=full)
        self.user_rules = self.speech_rules
        self.unencoded = SPOKEN
        """The mask of turns whose text is sent as it is, without encoding."""
        if config.guard_conversation:
            self.unencoded = 0
            self.user_rules = attrs.evolve(
                self.speech_rules, guards=config.tags, literals=config.literals
            )

    def add_simple(self, turn: TurnNode | RecordedNode) -> bool:
        """Append the message of a simple turn, as most are; return whether the turn is simple.

        A simple turn of the conversation is one string or one call, and the layout has its only
        node. Simple instructions are strings, texts of one string, and sections of one of these.
        """
        if turn._mask & SYSTEM:
            return turn.options is DEFAULTS and self._add_instructions(cast("TurnNode", turn))
        if len(turn.content) != 1 or not (turn._mask & self.unencoded or self._is_spoken(turn)):
            return False
        (part,) = turn.content
        text = part if isinstance(part, str) else only_string(part)
        is_sent = (
            text.isascii() or is_valid_unicode(text) if text else isinstance(part, ToolUseNode)
        )
        if not is_sent:
            return False
        turn = cast("TurnNode", turn)
        role, details = turn.role, NO_DETAILS
        at: object = turn
        number = self.counts[role]
        self.counts[role] = number + 1
        if turn.options is not DEFAULTS:
            details = _details_of(turn.options)
            at, number = (_origin(turn, role, number, details),), -1
        if isinstance(turn, ToolTurnNode):
            blocks = answer_of(turn, (text_block(text),))
            self.messages.append(message(role, blocks, at, number, details=details))
        elif isinstance(part, ToolUseNode):
            self.messages.append(message(role, (part.block,), at, number, details=details))
        else:
            self.messages.append(spoken(role, text, at, number, details=details))
        if not isinstance(part, str):
            self.layout.alone[len(self.layout.entries)] = part
        return True

    def _add_instructions(self, turn: TurnNode) -> bool:
        """Append the message of a system turn of strings and sections of one string."""
        layout = self.layout
        before = len(layout.ends), len(layout.nodes)
        is_markdown = turn._node is TurnNode and self.setting.text_format is MARKDOWN
        text = instructions(layout, turn) if is_markdown else ""
        if text:
            number = self.counts["system"]
            self.counts["system"] = number + 1
            layout.turns.append((len(layout.entries), turn, "system", number, None, *before))
            self.messages.append(spoken("system", text, turn, number))
        return bool(text)

    def _is_spoken(self, turn: Node) -> bool:
        """Return whether a turn with options, but no cache mark, is a user's or an assistant's."""
        if not isinstance(turn, TurnNode) or turn.kind != "written" or turn.options.cache:
            return False
        return bool(self.unencoded) and turn.role in ("user", "assistant")

    def lower(self, turn: TurnNode | RecordedNode) -> None:
        """Append the messages of one turn, merged turn or recording."""
        if isinstance(turn, MergedNode):
            turns = cast("Turns", turn.content)
            if turn.role == "developer":
                self.merged_open_code = sum(map(self._code_left_open, turns))
            parts = [
                self._recorded_turn(part)
                if isinstance(part, RecordedNode)
                else self.turn_blocks(part)
                for part in turns
            ]
            self.merged_open_code = 0
            self._append(turn, parts)
        elif isinstance(turn, RecordedNode):
            items = self._as_text(turn) if turn._mask & OPAQUE else turn.items
            self.messages += (
                items if self.user_rules is self.speech_rules else map(self._guarded, items)
            )
        else:
            self._append(turn, [self.turn_blocks(turn)])

    def _append(self, turn: TurnNode, parts: list[LoweredTurn]) -> None:
        """Append the message of a turn or of merged turns, and before it one for each tool result.

        A message made of one turn has the details of the turn. A message made of several turns has
        only their name.
        """
        if turn.role in ("user", "tool") and turn._mask & RESULT << SHIFT:
            parts = [self._without_results(part, turn.role) for part in parts]
        parts = [part for part in parts if part.blocks]
        if not parts:
            return
        blocks, origins, details = parts[0]
        if len(parts) > 1:
            blocks = tuple(block for part in parts for block in part.blocks)
            origins = tuple(origin for part in parts for origin in part.origins)
            details = Details(name=details.name) if details.name is not None else NO_DETAILS
            if self.joints is not None and self.config.merge_separator != BETWEEN:
                for start in accumulate(len(part.blocks) for part in parts[:-1]):
                    self.joints[len(self.messages), start] = self.config.merge_separator
        self.messages.append(message(turn.role, blocks, origins, kind=turn.kind, details=details))

    def _without_results(self, part: LoweredTurn, role: Role) -> LoweredTurn:
        """Append a tool message for each result in a turn, and return the rest of the turn."""
        details = part.details
        if details.name is not None:
            details = attrs.evolve(details, name=None)  # a tool's name is in its result
        rest: list[Block] = []
        for block in part.blocks:
            if isinstance(block, ToolResultBlock):
                self.messages.append(message("tool", (block,), part.origins, details=details))
            elif role != "tool":
                rest.append(block)
        return part._replace(blocks=tuple(rest))

    # Turns.

    def turn_blocks(self, turn: TurnNode) -> LoweredTurn:
        """Return one turn as blocks."""
        options = turn.options
        label = LABEL_OF.get(turn.kind, turn.role)
        details, rules = _details_of(options), self.rules(turn)
        if rules.guards and details.name:
            details = attrs.evolve(details, name=self._guarded_text(details.name))
        origin = _origin(turn, label, self.counts[label], details)
        head, number, *_ = origin
        self.counts[label] += 1
        report = partial(self._report, turn, head, number)
        layout = self.layout
        before = len(layout.ends), len(layout.nodes)
        author_tags, literals = partial(self._author_tags, turn), self.config.literals
        page = Page(layout)
        text = TurnText(page, self.setting, rules, author_tags, literals, report)
        write = way_of(turn, rules) or walk
        blocks = write(text, turn)
        if isinstance(turn, ToolTurnNode):
            blocks = answer_of(turn, blocks)
        # The cache mark of a turn is put on its last block.
        mark = mark_of(options) if options.cache else None
        if mark and blocks and turn.role != "system":
            last = with_cache_mark(blocks[-1], mark)
            if not isinstance(last, MARKABLE):
                reason = f"a {last.type} block takes no cache mark"
                report(hint("cache_mark", "a cache mark", reason, source=turn.source))
            blocks = (*blocks[:-1], last)
        if self.mapped_roles.get(turn.kind, turn.role) != turn.role:
            why = "no instruction can hold an attachment, so it is sent in a user turn"
            report(hint("fenced_turn", f"{turn._word} as an instruction", why, source=turn.source))
        if rules.guards:
            blocks = tuple(map(self._guarded_document, blocks))
        layout.turns.append((len(layout.entries), turn, head, number, blocks, *before))
        if isinstance(turn, ConsolidatedNode):
            return LoweredTurn(blocks, tuple(system_origins(turn)), details)
        return LoweredTurn(blocks, (origin,), details)

    def _author_tags(self, turn: TurnNode) -> AuthorTags:
        """Return the reserved tags of a turn, with the tags of all fences."""
        options = turn.options
        tags = AuthorTags(
            options.reserved_tags or self.config.tags, options.closed, options.opens_code
        )
        if not options.reserved_tags and turn.kind not in LABEL_OF:
            # In a tree without fences no tags are noted: a turn has only its own tags.
            tags = tags.and_of(tags_of(turn, self.setting.text_format).author_tags)
        opens_code = max(tags.opens_code, self.merged_open_code)
        if isinstance(turn, ConsolidatedNode):  # for recorded parts nothing is noted
            recorded = (part for part in turn.content if isinstance(part, TurnNode))
            opens_code += sum(
                self._code_left_open(part) for part in recorded if part.kind == "recorded"
            )
        tags = tags._replace(opens_code=opens_code)
        is_spoken = turn.kind == "written" and turn.role in ("user", "assistant")
        return tags if is_spoken else tags._replace(closed=frozenset())

    def _code_left_open(self, turn: TurnNode | RecordedNode) -> int:
        """Return the number of instructions in a turn that may leave a code fence open."""
        if isinstance(turn, RecordedNode):
            texts = [
                getattr(block, "text", "") for message in turn.items for block in message.content
            ]
            return sum(code_in([text])[1] for text in texts)
        return tags_of(turn, self.setting.text_format).opens_code

    def rules(self, turn: TurnNode) -> StringRules:
        """Return the rules by which the strings of a turn become text."""
        if turn.kind in ("event", "request"):
            rules = self.fenced_rules
        elif turn.role in ("system", "developer"):
            rules = self.instruction_rules
        else:
            rules = self.user_rules if turn.role in ("user", "tool") else self.speech_rules
        return rules.encoded_by(turn.options.encoding)

    def _report(self, turn: TurnNode, head: str, number: int, loss: Loss) -> None:
        address = head if number < 0 else f"{head}[{number}]"
        # In system content an address is the path of ids; elsewhere it starts with the turn.
        if loss.why == ONLY_TITLED:
            if loss.source in self.titled:
                return
            self.titled.add(loss.source)
        if not loss.path:
            loss = attrs.evolve(loss, path=address)
        elif turn.role != "system":
            loss = attrs.evolve(loss, path=f"{address}/{loss.path}")
        self.losses.append(loss)

    # Recorded messages.

    def _recorded_turn(self, node: RecordedNode) -> LoweredTurn:
        recorded = self._guarded(*self._as_text(node))
        layout = self.layout
        before = len(layout.ends), len(layout.nodes)
        noted = (len(layout.entries), node, "history", node.start, recorded.content, *before)
        layout.turns.append(noted)
        unplaced = ("history", node.start, node._at, recorded._details, ())
        origins = recorded._origins or (unplaced,)
        return LoweredTurn(recorded.content, origins, recorded._details)

    def _as_text(self, node: RecordedNode) -> list[Message]:
        """Return recorded messages whose JSON and code are text."""

        def note(index: int, loss: Loss) -> None:
            self.losses.append(attrs.evolve(loss, path=f"history[{index}]", source=node.source))

        format_block = self.setting.format_block
        return [
            as_text(message, format_block, node.source, partial(note, index))
            for index, message in enumerate(node.items, node.start)
        ]

    def _guarded(self, recorded: Message) -> Message:
        """Return a recorded message; no text of the user or a tool in it contains a fence."""
        if self.user_rules is self.speech_rules or recorded.role not in ("user", "tool"):
            return recorded
        content = tuple(map(self._guarded_block, recorded.content))
        return recorded.replace(
            content=content, name=recorded.name and self._guarded_text(recorded.name)
        )

    def _guarded_block(self, block: Block) -> Block:
        if isinstance(block, TextBlock):
            return attrs.evolve(block, text=self._guarded_text(block.text))
        if isinstance(block, ToolResultBlock):
            return attrs.evolve(block, content=tuple(map(self._guarded_block, block.content)))
        return self._guarded_document(block)

    def _guarded_document(self, block: Block) -> Block:
        """Return an attachment whose title and text, if it has one, contain no fence."""
        if isinstance(block, ToolResultBlock):
            content = tuple(map(self._guarded_document, block.content))
            return attrs.evolve(block, content=content)
        if not isinstance(block, DocumentBlock):
            return block
        source, title = block.source, block.title and self._guarded_text(block.title)
        if source.kind == "base64" and (source.media_type or "").startswith("text/"):
            try:
                text = b64decode(source.value).decode(errors="surrogateescape")
            except ValueError:  # not base64: a target that reads it raises the error
                text = ""
            if (guarded := self._guarded_text(text)) != text:
                data = guarded.encode(errors="surrogateescape")
                source = attrs.evolve(source, value=b64encode(data).decode())
        return attrs.evolve(block, source=source, title=title)

    def _guarded_text(self, text: str) -> str:
        return guard(text, self.user_rules.guards, self.user_rules.literals)


_LABELS = ("system", "developer", "user", "assistant", "tool", "event", "ephemeral")
LABEL_OF = {"event": "event", "request": "ephemeral"}
"""The role of a turn as its author wrote it, by its kind, where that is mapped to another role."""


def answer_of(turn: ToolTurnNode, blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Return the content of a tool message: one result that contains these blocks."""
    if turn.is_error:
        error = (turn.is_error, turn.error_type)
        return (ToolResultBlock(turn.tool_use_id, blocks, turn.options.name, *error),)
    return (tool_result_block(turn.tool_use_id, blocks, turn.options.name),)


def _origin(turn: TurnNode, label: str, number: int, details: Details) -> RawOrigin:
    """Return where a turn was written: its address is its id, or its label and its number."""
    options = turn.options
    if options.id:
        label, number = options.address, -1
    return label, number, turn._at, details, options.within


def _details_of(options: Options) -> Details:
    """Return the details of a turn; most turns share one object of defaults."""
    id, name, metadata, tags = options.id, options.name, options.metadata, options.tags
    is_default = id is None and name is None and not metadata and not tags
    return NO_DETAILS if is_default else Details(id, name, metadata, tags)


def system_origins(system: ConsolidatedNode) -> Iterable[RawOrigin]:
    """Yield the origins of the parts of the system message: turns, and loose sections."""
    number = 0
    for part in system.content:
        inner: Child = part
        while isinstance(inner, FragmentNode):  # a format of its own around a section
            inner = inner.content[0]
        if isinstance(inner, TurnNode):
            options = inner.options
            head, index = (options.address, -1) if options.id else ("system", number)
            yield head, index, inner._at, _details_of(options), options.within
            number += 1
        elif isinstance(inner, Node):
            options = inner.options
            yield str(options.id), -1, inner._at, Details(id=options.id), options.within
