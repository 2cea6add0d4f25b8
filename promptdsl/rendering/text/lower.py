"""Lower: the finished tree becomes messages."""

from base64 import b64decode, b64encode
from collections.abc import Iterable
from functools import partial
from itertools import accumulate
from typing import NamedTuple, TypeAlias, cast

import attrs

from promptdsl.config.transformation import Resolved
from promptdsl.foundation.guards import guard
from promptdsl.foundation.source import Source
from promptdsl.messages import Block, DocumentBlock, TextBlock, ToolResultBlock
from promptdsl.messages.details import NO_DETAILS, Details, RawOrigin
from promptdsl.messages.fast_path import text_block
from promptdsl.messages.loss import Loss, hint
from promptdsl.messages.message import Message, message
from promptdsl.messages.prompt import Joints
from promptdsl.messages.roles import Role
from promptdsl.rendering.text.beside import code_in
from promptdsl.rendering.text.blocks import MediaRoots, as_text
from promptdsl.rendering.text.containers import ONLY_TITLED, close_part, open_item, open_part
from promptdsl.rendering.text.fast_path import (
    answer_of,
    lower_plain,
    plain_fence,
    plain_instructions,
)
from promptdsl.rendering.text.format import BETWEEN, FORMATS
from promptdsl.rendering.text.leaves import LEAVES, write_strings
from promptdsl.rendering.text.page import (
    MARKABLE,
    PLAIN,
    Margin,
    OnLoss,
    OpenPart,
    Setting,
    TextState,
    marked,
)
from promptdsl.rendering.text.strings import (
    FENCED,
    INSTRUCTION,
    SPEECH,
    Authored,
    Fences,
    StringRules,
    text_in,
)
from promptdsl.rendering.text.vocabulary import tags_of
from promptdsl.tree.group_nodes import FragmentNode
from promptdsl.tree.masks import HOLLOW, RESULT, SHIFT, SPOKEN, SYSTEM
from promptdsl.tree.node import Child, Node, Options, mark_of
from promptdsl.tree.part_nodes import ToolResultNode
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
    """A turn as blocks: where these are from, and its id, name and notes."""

    blocks: tuple[Block, ...]
    origins: tuple[RawOrigin, ...]
    details: Details


def lower(
    root: Node, *, config: Resolved, media_roots: MediaRoots = (), joints: Joints | None = None
) -> tuple[tuple[Message, ...], tuple[Loss, ...]]:
    """Return the messages of a finished tree, and the losses: its parts that could not be sent.

    ``joints`` gets those of the prompt (``Prompt.joints``). A turn without content makes no
    message. Raises :class:`MediaError` for an attachment that cannot be read.
    """
    lowering = Lowering(config, media_roots, joints)
    messages, counts, form = lowering.messages, lowering.counts, lowering.setting.form
    turns, index = cast("Turns", root.content), 0
    # The text of a conversation is sent unchanged, unless it is guarded.
    plain = 0 if config.guard_conversation else SPOKEN | SYSTEM
    while index < len(turns):
        if turns[index]._mask & plain:
            index = lower_plain(turns, index, form, messages=messages, counts=counts)
        if index < len(turns):
            lowering.lower(turns[index])
            index += 1
    return tuple(messages), tuple(lowering.losses)


class TextWriter(TextState):
    """Writes the parts of one turn.

    The walk has its own stack, and the text is a flat list of pieces that is joined once, so that
    ten thousand nested sections cost no more than ten thousand siblings.
    """

    def write(self) -> tuple[Block, ...]:
        """Return the blocks that the parts become."""
        stack, page = self.open, self.page
        while stack:
            top = stack[-1]
            child = next(top.children, None)
            if child is None:
                stack.pop()
                self.close(top, stack[-1].margin if stack else PLAIN)
            elif top.listing is not None and open_item(self, child, top, top.listing):
                continue
            elif isinstance(child, str):
                write_strings(self, (child,), top.node, top)
            elif self.write_part(child, top):
                continue
            if stack and not stack[-1].rules.joined:
                page.flush()
        page.flush()
        return tuple(page.blocks)

    def write_part(self, node: Node, around: OpenPart) -> bool:
        """Write a part; return whether it is open, so that its children are next."""
        write = LEAVES.get(node._node)
        if write is not None:
            write(self, node, around)
        elif isinstance(node, ToolResultNode):
            setting = self.setting._replace(form=around.form)
            content = self.inside(setting, node, self.rules).write()
            name, mark = node.options.name, mark_of(node.options)
            error = (node.is_error, node.error_type)
            self.page.block(ToolResultBlock(node.tool_use_id, content, name, *error, mark))
        else:
            open_part(self, node, around)
            return True
        return False

    def close(self, part: OpenPart, outside: Margin) -> None:
        """Write the closing of a part whose children are written."""
        options = part.node.options
        if part.frame is not None or options.cache or options.separator is not None:
            close_part(self, part, outside)

    def inside(self, setting: Setting, node: Node, rules: StringRules) -> "TextWriter":
        """Return a writer for a result in the turn, whose blocks are on a page of their own."""
        return TextWriter(setting, self.report, node, rules, fences=self.fences)


class Lowering:
    """The messages and losses so far, and the number of turns by the head of their address.

    ``titled`` are the lines of containers that have a title but no content, ``code_beside``
    is the number of texts in turns merged into one message that may leave a code fence open.
    """

    def __init__(
        self, config: Resolved, media_roots: MediaRoots | None, joints: Joints | None = None
    ) -> None:
        form = FORMATS[config.format]
        self.setting = Setting(form, media_roots, config.format_block)
        self.messages: list[Message] = []
        self.losses: list[Loss] = []
        self.joints = joints
        self.code_beside = 0
        self.titled: set[Source | None] = set()
        self.counts: dict[str, int] = dict.fromkeys(_LABELS, 0)
        self.config = config
        self.mapped = {"event": config.event_role, "request": config.ephemeral_role}
        self.fenced, self.instruction, self.said = FENCED, INSTRUCTION, SPEECH
        full, full_inline = config.body_encoding == "full", config.inline_encoding == "full"
        if full or full_inline:
            self.fenced = attrs.evolve(FENCED, full=full, full_inline=full_inline)
            self.instruction = attrs.evolve(INSTRUCTION, full=full, full_inline=full_inline)
            self.said = attrs.evolve(SPEECH, full=full)
        self.heard = self.said
        if config.guard_conversation:
            self.heard = attrs.evolve(self.said, guards=config.tags, literals=config.literals)

    def lower(self, turn: TurnNode | RecordedNode) -> None:
        """Append the messages of one turn, merged turn or recording."""
        if isinstance(turn, MergedNode):
            turns = cast("Turns", turn.content)
            if turn.role == "developer":
                self.code_beside = sum(map(self._code_left_open, turns))
            parts = [
                self._recorded_turn(part)
                if isinstance(part, RecordedNode)
                else self.turn_blocks(part)
                for part in turns
            ]
            self.code_beside = 0
            self._append(turn, parts)
        elif isinstance(turn, RecordedNode):
            items = self._as_text(turn) if turn._mask & HOLLOW else turn.items
            self.messages += items if self.heard is self.said else map(self._guarded, items)
        else:
            self._append(turn, [self.turn_blocks(turn)])

    def _append(self, turn: TurnNode, parts: list[LoweredTurn]) -> None:
        """Append the message of a turn, or of merged ones; before it, one for each tool result.

        A message made of one turn has its details. One made of several has only their name.
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
        # The address of a turn is its id, or its label and its number among turns of that label.
        label = LABEL_OF.get(turn.kind, turn.role)
        head, number = label, self.counts[label]
        self.counts[label] = number + 1
        if options.id:
            head, number = options.address, -1
        address = head if number < 0 else f"{head}[{number}]"
        report = partial(self._report, turn, address)
        blocks = self.part_blocks(turn, address, report)
        if isinstance(turn, ToolTurnNode):
            blocks = answer_of(turn, blocks)
        # The cache mark of a turn is put on its last block.
        mark = mark_of(options) if options.cache else None
        if mark and blocks and turn.role != "system":
            last = marked(blocks[-1], mark)
            if not isinstance(last, MARKABLE):
                reason = f"a {last.type} block takes no cache mark"
                report(hint("cache_mark", "a cache mark", reason, source=turn.source))
            blocks = (*blocks[:-1], last)
        if self.mapped.get(turn.kind, turn.role) != turn.role:
            why = "no instruction can hold an attachment, so it is sent in a user turn"
            report(hint("fenced_turn", f"{label} turn as an instruction", why, source=turn.source))
        details = _details_of(options)
        if self.rules(turn).guards:
            blocks = tuple(map(self._guarded_document, blocks))
            name = details.name and self._guarded_text(details.name)
            details = attrs.evolve(details, name=name)
        if isinstance(turn, ConsolidatedNode):
            return LoweredTurn(blocks, tuple(system_origins(turn)), details)
        origin = (head, number, turn._at, details, options.within)
        return LoweredTurn(blocks, (origin,), details)

    def part_blocks(self, turn: TurnNode, address: str, report: OnLoss) -> tuple[Block, ...]:
        """Return the blocks that the parts of a turn become."""
        rules, fences = self.rules(turn), self.fences(turn)
        if rules.instruction and turn.options.separator is None:
            losses: list[Loss] = []
            encode = partial(text_in, rules=rules, fences=fences, note=losses.append, follows=True)
            text = plain_instructions(turn.content, self.setting.form, encode, fences)
            if text and not losses:  # the walk knows in which section a loss is
                return (text_block(text, mark_of(turn.options)),)
        elif rules.joined and not self.config.literals:
            text = plain_fence(turn.content)
            if text:
                return (text_block(text),)
        return TextWriter(self.setting, report, turn, rules, fences=fences).write()

    def fences(self, turn: TurnNode) -> Fences:
        """Return the fences and tags that no text of a turn may forge."""
        return Fences(partial(self._authored, turn), self.config.literals)

    def _authored(self, turn: TurnNode) -> Authored:
        """Return what the author's text of a turn writes, the tags of all fences with it."""
        options = turn.options
        noted = Authored(options.vocabulary or self.config.tags, options.closed, options.opens_code)
        if not options.vocabulary and turn.kind not in LABEL_OF:
            # In a tree without fences it is not noted: a turn has its own alone.
            noted = noted.and_of(tags_of(turn, self.setting.form).noted)
        opens_code = max(noted.opens_code, self.code_beside)
        if isinstance(turn, ConsolidatedNode):  # of recorded parts nothing is noted
            recorded = (it for it in turn.content if isinstance(it, TurnNode))
            opens_code += sum(self._code_left_open(it) for it in recorded if it.kind == "recorded")
        noted = noted._replace(opens_code=opens_code)
        is_spoken = turn.kind == "written" and turn.role in ("user", "assistant")
        return noted if is_spoken else noted._replace(closed=frozenset())

    def _code_left_open(self, turn: TurnNode | RecordedNode) -> int:
        """Return the number of instructions in a turn that may leave a code fence open."""
        if isinstance(turn, RecordedNode):
            texts = [getattr(it, "text", "") for message in turn.items for it in message.content]
            return sum(code_in([text])[1] for text in texts)
        return tags_of(turn, self.setting.form).opens_code

    def rules(self, turn: TurnNode) -> StringRules:
        """Return how the strings of a turn become text."""
        if turn.kind in ("event", "request"):
            rules = self.fenced
        elif turn.role in ("system", "developer"):
            rules = self.instruction
        else:
            rules = self.heard if turn.role in ("user", "tool") else self.said
        return rules.encoded_by(turn.options.encoding)

    def _report(self, turn: TurnNode, address: str, loss: Loss) -> None:
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
        recorded = self.recorded_message(node)
        unplaced = ("history", node.start, node._at, recorded._details, ())
        origins = recorded._origins or (unplaced,)
        return LoweredTurn(recorded.content, origins, recorded._details)

    def recorded_message(self, node: RecordedNode) -> Message:
        """Return the message of a recording that is merged with turns, as it is sent."""
        return self._guarded(*self._as_text(node))

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
        """Return a recorded message; texts of the user and of tools in it forge no fence."""
        if self.heard is self.said or recorded.role not in ("user", "tool"):
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
        """Return an attachment whose title, and its text where it is text, forge no fence."""
        if isinstance(block, ToolResultBlock):
            content = tuple(map(self._guarded_document, block.content))
            return attrs.evolve(block, content=content)
        if not isinstance(block, DocumentBlock):
            return block
        source, title = block.source, block.title and self._guarded_text(block.title)
        if source.kind == "base64" and (source.media_type or "").startswith("text/"):
            try:
                text = b64decode(source.value).decode(errors="surrogateescape")
            except ValueError:  # no base64: a target that reads it says so
                text = ""
            if (guarded := self._guarded_text(text)) != text:
                data = guarded.encode(errors="surrogateescape")
                source = attrs.evolve(source, value=b64encode(data).decode())
        return attrs.evolve(block, source=source, title=title)

    def _guarded_text(self, text: str) -> str:
        return guard(text, self.heard.guards, self.heard.literals)


_LABELS = ("system", "developer", "user", "assistant", "tool", "event", "ephemeral")
LABEL_OF = {"event": "event", "request": "ephemeral"}
"""The role of a turn as its author wrote it, by its kind, where that is mapped to another role."""


def _details_of(options: Options) -> Details:
    """Return the details of a turn; most turns share one object of defaults."""
    id, name, metadata, tags = options.id, options.name, options.metadata, options.tags
    bare = id is None and name is None and not metadata and not tags
    return NO_DETAILS if bare else Details(id, name, metadata, tags)


def system_origins(system: ConsolidatedNode) -> Iterable[RawOrigin]:
    """Yield where the parts of the system message were written: turns, and loose sections."""
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
