"""Lower: turn the finished tree into messages.

Other modules call ``lower``. ``Lowering`` has a method for each kind of turn: ``add_simple`` for
most, ``add`` for all others, ``recorded`` for recorded messages.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import NamedTuple, TypeAlias, cast

import attrs

from promptdsl.config.transformation import Resolved
from promptdsl.foundation.guards import guard
from promptdsl.foundation.source import Source
from promptdsl.foundation.unicode import is_valid_unicode
from promptdsl.messages import Block, ToolResultBlock
from promptdsl.messages.details import NO_DETAILS, Details, RawOrigin, named
from promptdsl.messages.field_checks import Cache
from promptdsl.messages.message import Message, message, spoken
from promptdsl.messages.prompt import Joints, Loss, hint
from promptdsl.messages.read_blocks import text_block, tool_result_block
from promptdsl.rendering.text.blocks import MediaRoots, as_text, guarded_block
from promptdsl.rendering.text.encode import (
    FENCED,
    INSTRUCTION,
    SPEECH,
    AuthorTags,
    StringRules,
    code_in,
)
from promptdsl.rendering.text.format import BETWEEN, FORMATS
from promptdsl.rendering.text.layout import Layout, address_of
from promptdsl.rendering.text.page import (
    MARKABLE,
    Page,
    Setting,
    TurnText,
    with_cache_mark,
)
from promptdsl.rendering.text.reserved_tags import tags_of
from promptdsl.rendering.text.walk import ONLY_TITLED, instructions, only_string, way_of
from promptdsl.tree.masks import OPAQUE, RESULT, SHIFT, SPOKEN, SYSTEM
from promptdsl.tree.node import DEFAULTS, Child, Node, Options, mark_of
from promptdsl.tree.part_nodes import ToolUseNode
from promptdsl.tree.turn_nodes import (
    ConsolidatedNode,
    FragmentNode,
    MergedNode,
    RecordedNode,
    ToolTurnNode,
    TurnNode,
)

Turns: TypeAlias = "tuple[TurnNode | RecordedNode, ...]"
"""The content of a finished tree."""


class LoweredTurn(NamedTuple):
    """The blocks of a turn, where it was written, and its details, such as its id and name."""

    blocks: tuple[Block, ...]
    origins: tuple[RawOrigin, ...]
    details: Details


class Lowered(NamedTuple):
    """The messages of a finished tree, its losses, and its layout."""

    messages: tuple[Message, ...]
    losses: tuple[Loss, ...]
    layout: Layout


def lower(
    root: Node, *, config: Resolved, media_roots: MediaRoots = (), joints: Joints | None = None
) -> Lowered:
    """Return the messages of a finished tree, its losses and its layout.

    ``joints`` is filled with the separators of merged texts (``Prompt.joints``). A turn without
    content makes no message. Raises :class:`MediaError` for an attachment that cannot be read.
    """
    lowering = Lowering(config, media_roots, joints)
    entries, messages = lowering.layout.entries, lowering.messages
    for turn in cast("Turns", root.content):
        if isinstance(turn, RecordedNode):
            messages += lowering.recorded(turn)
        elif not lowering.add_simple(turn):
            lowering.add(turn)
        entries.append(len(messages))
    return Lowered(tuple(messages), tuple(lowering.losses), lowering.layout)


class Lowering:
    """The messages, losses and layout that ``lower`` has made so far.

    ``counts`` are the numbers of turns by their label (``user``, ``event``, ...): they number the
    addresses. ``titled`` are the lines of containers that have a title but no content.
    ``merged_open_code`` is the number of texts in the turns of one merged message that may leave a
    code fence open.
    """

    def __init__(
        self, config: Resolved, media_roots: MediaRoots = (), joints: Joints | None = None
    ) -> None:
        text_format = FORMATS[config.format]
        self.setting = Setting(text_format, media_roots, config.format_block)
        self.layout = Layout([], [], [], [], [], [], [], {}, {}, [], {}, [])
        self.messages: list[Message] = []
        self.losses: list[Loss] = []
        self.joints: Joints = {} if joints is None else joints
        self.merged_open_code = 0
        self.titled: set[Source | None] = set()
        self.counts: dict[str, int] = dict.fromkeys(_LABELS, 0)
        self.config = config
        self.mapped_roles = {"event": config.event_role, "request": config.ephemeral_role}
        self.unencoded, self.unencoded_turns = SPOKEN, SPOKEN_TURNS
        """The mask of turns whose text is sent unchanged, and the kinds and roles of such turns."""
        guards = literals = frozenset[str]()
        if config.guard_conversation:
            guards, literals = config.tags, config.literals
            self.unencoded, self.unencoded_turns = 0, frozenset[tuple[str, str]]()
        full, full_inline = config.body_encoding == "full", config.inline_encoding == "full"
        self.rules_of = _rules_by_label(full, full_inline, guards, literals)

    def add_simple(self, turn: TurnNode) -> bool:
        """Append the message of a simple turn; return whether the turn is simple.

        Most turns are simple. A simple turn of a conversation is one string or one call; the layout
        has its only node, if it is one. Simple instructions are strings, and sections of one
        string.
        """
        if turn._mask & SYSTEM:
            return self._add_instructions(turn)
        # A turn with the bit SPOKEN has no options. With options, its kind and role must say that
        # its text is sent unchanged, and a cache mark needs the longer way.
        if len(turn.content) != 1 or not (
            turn._mask & self.unencoded
            or ((turn.kind, turn.role) in self.unencoded_turns and not turn.options.cache)
        ):
            return False
        (child,) = turn.content
        text = child if isinstance(child, str) else only_string(child)
        if text:
            is_simple = text.isascii() or is_valid_unicode(text)
        else:
            is_simple = isinstance(child, ToolUseNode)
        if not is_simple:
            return False
        role, details = turn.role, NO_DETAILS
        # A turn without options is its own origin: its address is made when somebody reads it.
        at: object = turn
        index = self.counts[role]
        self.counts[role] = index + 1
        if turn.options is not DEFAULTS:
            details = _details_of(turn.options)
            at, index = (_origin(turn, role, index, details),), -1
        if isinstance(turn, ToolTurnNode):
            blocks = answer_of(turn, (text_block(text),))
            self.messages.append(message(role, blocks, at, index, details=details))
        elif isinstance(child, ToolUseNode):
            self.messages.append(message(role, (child.block,), at, index, details=details))
        else:
            self.messages.append(spoken(role, text, at, index, details=details))
        if not isinstance(child, str):
            self.layout.only_nodes[len(self.layout.entries)] = child
        return True

    def _add_instructions(self, turn: TurnNode) -> bool:
        """Append the message of instructions, if they are simple; return whether they are."""
        if turn.options is not DEFAULTS or self.setting.text_format.tagged:
            return False
        layout = self.layout
        counts_before = len(layout.ends), len(layout.nodes)
        text = instructions(layout, turn)
        if text:
            index = self.counts["system"]
            self.counts["system"] = index + 1
            layout.turns.append((len(layout.entries), turn, "system", index, None, *counts_before))
            at: object = turn
            if isinstance(turn, ConsolidatedNode):  # of sections that were written in no turn
                at, index = tuple(system_origins(turn)), -1
            self.messages.append(spoken("system", text, at, index))
        return bool(text)

    def add(self, turn: TurnNode) -> None:
        """Append the message of a turn or of merged turns, and before it one for each result."""
        if isinstance(turn, MergedNode):
            blocks, origins, details = self._merged(turn)
        else:
            blocks, origins, details = self._without_results(turn, self.turn_blocks(turn))
        if blocks:
            self.messages.append(
                message(turn.role, blocks, origins, kind=turn.kind, details=details)
            )

    def _merged(self, turn: MergedNode) -> LoweredTurn:
        """Return merged turns as one turn, which keeps only the name of the first turn.

        The separators between the texts of the turns are noted in ``joints``.
        """
        turns = cast("Turns", turn.content)
        if turn.role == "developer":
            self.merged_open_code = sum(map(self._code_left_open, turns))
        lowered_turns = [
            self._recorded_turn(inner)
            if isinstance(inner, RecordedNode)
            else self.turn_blocks(inner)
            for inner in turns
        ]
        self.merged_open_code = 0
        lowered_turns = [self._without_results(turn, lowered) for lowered in lowered_turns]
        with_blocks = [lowered for lowered in lowered_turns if lowered.blocks]
        first, *next_turns = with_blocks or lowered_turns[:1]
        if not next_turns:
            return first
        blocks, origins = [*first.blocks], [*first.origins]
        for lowered in next_turns:
            if self.config.merge_separator != BETWEEN:
                self.joints[len(self.messages), len(blocks)] = self.config.merge_separator
            blocks += lowered.blocks
            origins += lowered.origins
        name = first.details.name
        details = NO_DETAILS if name is None else named(name)
        return LoweredTurn(tuple(blocks), tuple(origins), details)

    def _without_results(self, turn: TurnNode, lowered: LoweredTurn) -> LoweredTurn:
        """Append a message for each tool result in a turn; return the turn without the results."""
        # ``RESULT << SHIFT`` is the bit of a turn that contains a tool result.
        if not (turn._mask & RESULT << SHIFT and turn.role in ("user", "tool")):
            return lowered
        details = lowered.details
        if details.name is not None:
            details = attrs.evolve(details, name=None)  # a tool's name is in its result
        rest: list[Block] = []
        for block in lowered.blocks:
            if isinstance(block, ToolResultBlock):
                self.messages.append(message("tool", (block,), lowered.origins, details=details))
            elif turn.role != "tool":
                rest.append(block)
        return lowered._replace(blocks=tuple(rest))

    # Turns.

    def turn_blocks(self, turn: TurnNode) -> LoweredTurn:
        """Return the blocks of one turn; note its text in the layout."""
        label = LABEL_OF.get(turn.kind, turn.role)
        rules = self.rules_of[label].encoded_by(turn.options.encoding)
        details = _details_of(turn.options, rules)
        origin = _origin(turn, label, self.counts[label], details)
        head, index, *_ = origin
        self.counts[label] += 1
        report = partial(self._report, turn, head, index)
        layout = self.layout
        counts_before = len(layout.ends), len(layout.nodes)
        author_tags = partial(self._author_tags, turn)
        text = TurnText(
            Page(layout), self.setting, rules, author_tags, self.config.literals, report
        )
        blocks = way_of(turn, rules)(text, turn)
        if isinstance(turn, ToolTurnNode):
            blocks = answer_of(turn, blocks)
        if turn.options.cache and blocks and turn.role != "system":
            # The cache mark of a turn is put on its last block.
            marked_block = with_cache_mark(blocks[-1], cast("Cache", mark_of(turn.options)))
            if not isinstance(marked_block, MARKABLE):
                reason = f"a {marked_block.type} block takes no cache mark"
                report(hint("cache_mark", "a cache mark", reason, source=turn.source))
            blocks = (*blocks[:-1], marked_block)
        if self.mapped_roles.get(turn.kind, turn.role) != turn.role:
            why = "an instruction cannot contain an attachment, so it is sent in a user turn"
            report(hint("fenced_turn", f"{turn._word} as an instruction", why, source=turn.source))
        layout.turns.append((len(layout.entries), turn, head, index, blocks, *counts_before))
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
            # Without fences in the tree, no tags were noted: the turn has only its own tags.
            tags = tags.and_of(tags_of(turn, self.setting.text_format).author_tags)
        opens_code = max(tags.opens_code, self.merged_open_code)
        # The open code fences of recorded turns in system text are not noted: count them here.
        opens_code += sum(
            self._code_left_open(child)
            for child in turn.content
            if isinstance(child, TurnNode) and child.kind == "recorded"
        )
        is_spoken = (turn.kind, turn.role) in SPOKEN_TURNS
        closed = tags.closed if is_spoken else frozenset[str]()
        return tags._replace(opens_code=opens_code, closed=closed)

    def _code_left_open(self, turn: TurnNode | RecordedNode) -> int:
        """Return the number of instructions in a turn that may leave a code fence open."""
        if isinstance(turn, RecordedNode):
            return sum(
                code_in([getattr(block, "text", "")])[1]
                for message in turn.items
                for block in message.content
            )
        return tags_of(turn, self.setting.text_format).opens_code

    def _report(self, turn: TurnNode, head: str, index: int, loss: Loss) -> None:
        """Keep a loss of a turn, with its path; a container without content counts once a line."""
        if loss.why == ONLY_TITLED:
            if loss.source in self.titled:
                return
            self.titled.add(loss.source)
        # In system content an address is the path of ids; elsewhere it starts with the turn.
        address = address_of(head, index)
        if not loss.path:
            loss = attrs.evolve(loss, path=address)
        elif turn.role != "system":
            loss = attrs.evolve(loss, path=f"{address}/{loss.path}")
        self.losses.append(loss)

    # Recorded messages.

    def recorded(self, node: RecordedNode) -> Sequence[Message]:
        """Return recorded messages as they are sent: JSON and code as text, guarded if required."""
        messages: Sequence[Message] = node.items
        if node._mask & OPAQUE:  # it contains JSON or code, which becomes text
            messages = self._as_text(node)
        if self.config.guard_conversation:
            messages = [*map(self._guarded, messages)]
        return messages

    def _recorded_turn(self, node: RecordedNode) -> LoweredTurn:
        """Return a recorded message that is merged with turns; note it in the layout."""
        (recorded,) = self.recorded(node)
        layout = self.layout
        counts_before = len(layout.ends), len(layout.nodes)
        entry = len(layout.entries)
        layout.turns.append((entry, node, "history", node.start, recorded.content, *counts_before))
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
        """Return a recorded message; a text of the user or of a tool in it contains no fence."""
        rules = self.rules_of[recorded.role]
        if not rules.guards:
            return recorded
        content = tuple(guarded_block(block, rules) for block in recorded.content)
        name = recorded.name and guard(recorded.name, rules.guards, rules.literals)
        return recorded.replace(content=content, name=name)


@lru_cache(maxsize=64)
def _rules_by_label(
    full: bool, full_inline: bool, guards: frozenset[str], literals: frozenset[str]
) -> Mapping[str, StringRules]:
    """Return the rules for the strings of a turn, by its label: its role as its author wrote it.

    ``guards`` and ``literals`` are empty, except in a guarded conversation.
    """
    fenced = attrs.evolve(FENCED, full=full, full_inline=full_inline)
    instruction = attrs.evolve(INSTRUCTION, full=full, full_inline=full_inline)
    speech = attrs.evolve(SPEECH, full=full)
    user = attrs.evolve(speech, guards=guards, literals=literals)
    return {
        **{"system": instruction, "developer": instruction, "event": fenced, "ephemeral": fenced},
        **{"user": user, "tool": user, "assistant": speech},
    }


SPOKEN_TURNS = frozenset[tuple[str, str]]({("written", "user"), ("written", "assistant")})
"""The kinds and roles of the turns of users and assistants, without recorded turns."""
_LABELS = ("system", "developer", "user", "assistant", "tool", "event", "ephemeral")
"""The first words of the addresses of turns: their roles as the author wrote them."""
LABEL_OF = {"event": "event", "request": "ephemeral"}
"""The role as the author wrote it, by the kind of a turn, where another role may be sent."""


def answer_of(turn: ToolTurnNode, blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Return the content of a tool message: one result that contains these blocks."""
    if turn.is_error:
        error = (turn.is_error, turn.error_type)
        return (ToolResultBlock(turn.tool_use_id, blocks, turn.options.name, *error),)
    return (tool_result_block(turn.tool_use_id, blocks, turn.options.name),)


def _origin(turn: TurnNode, label: str, index: int, details: Details) -> RawOrigin:
    """Return where a turn was written: its address is its id, or its label and its index."""
    options = turn.options
    if options.id:
        label, index = options.address, -1
    return label, index, turn._at, details, options.within


def _details_of(options: Options, rules: StringRules = SPEECH) -> Details:
    """Return the details of a turn; most turns share one object of defaults."""
    name = options.name and guard(options.name, rules.guards, rules.literals)
    fields = options.id, name, options.metadata, options.tags
    return NO_DETAILS if fields == _DEFAULT_FIELDS else Details(*fields)


_DEFAULT_FIELDS = (NO_DETAILS.id, NO_DETAILS.name, NO_DETAILS.metadata, NO_DETAILS.tags)


def system_origins(system: ConsolidatedNode) -> Iterator[RawOrigin]:
    """Yield the origins of the parts of the system message: turns, and loose sections."""
    index = 0
    for child in system.content:
        inner: Child = child
        while isinstance(inner, FragmentNode):  # a format of its own around a section
            inner = inner.content[0]
        if isinstance(inner, TurnNode):
            yield _origin(inner, "system", index, _details_of(inner.options))
            index += 1
        elif isinstance(inner, Node):
            options = inner.options
            yield str(options.id), -1, inner._at, Details(id=options.id), options.within
