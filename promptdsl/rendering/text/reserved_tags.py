"""The reserved tags of a turn: the tags that are written in it, which no value may contain."""

from collections.abc import Iterator
from typing import cast

import attrs

from promptdsl.config.transformation import Resolved
from promptdsl.foundation.frozen import new_set
from promptdsl.foundation.guards import WrittenTags, fold, has_bracket, written_tags
from promptdsl.rendering.text.encode import AuthorTags, author_text_of, code_in
from promptdsl.rendering.text.format import FORMATS, TextFormat
from promptdsl.rendering.text.leaves import LEAVES
from promptdsl.rendering.text.page import Framed
from promptdsl.rendering.text.walk import CONTAINERS
from promptdsl.tree.masks import OPAQUE, REQUEST, SECTION, SPOKEN, SYSTEM, TURN
from promptdsl.tree.node import Node
from promptdsl.tree.part_nodes import SectionNode, VerbatimNode
from promptdsl.tree.rewrite import replace, rewrite
from promptdsl.tree.turn_nodes import FormatNode, FragmentNode, RequestOnlyNode, RootNode


@attrs.define(eq=False)
class TurnTags:
    """The folded tags of a turn: those of its components, and those in its author's text.

    ``components`` are the tags of frames. ``sections`` are the tags of sections: their ids.
    ``opened_tags`` and ``closed_tags`` are those in the author's text. A tag that the author only
    opens is not reserved, because it may be a placeholder, such as ``<path>``. ``opens_code`` is
    the number of texts that may leave a code fence open: the next fence may close that one.
    """

    components: set[str] = attrs.field(factory=new_set)
    sections: set[str] = attrs.field(factory=new_set)
    opened_tags: set[str] = attrs.field(factory=new_set)
    closed_tags: set[str] = attrs.field(factory=new_set)
    opens_code: int = 0

    @property
    def names(self) -> frozenset[str]:
        """The tags that no value in the turn may contain."""
        return frozenset(self.components | self.sections | (self.opened_tags & self.closed_tags))

    @property
    def author_tags(self) -> AuthorTags:
        """The reserved tags of the turn, as they are noted in its options."""
        return AuthorTags(self.names, frozenset(self.closed_tags), self.opens_code)

    def note(self, turn: Node, text_format: TextFormat) -> None:
        """Add the tags of a turn, or of a section between turns."""
        are_values = isinstance(turn, RequestOnlyNode) and turn.grounding
        node_stack: list[tuple[Node, TextFormat]] = [(turn, text_format)]
        while node_stack:
            node, text_format = node_stack.pop()
            node_class = node._node
            if isinstance(node, FormatNode):
                text_format = FORMATS[node.format]
            frame_of = FRAMES.get(node_class)
            if frame_of is not None:
                names = self.sections if node_class is SectionNode else self.components
                names.update(map(fold, frame_of(text_format, node).tags))
            # In a grounding, the title of a section is a value, too.
            texts = [] if are_values and node_class is SectionNode else [*node._authored()]
            for child in node.content:
                if not isinstance(child, str):
                    node_stack.append((child, text_format))
                elif not are_values:
                    texts.append(child)
            for tags in node.options.tags_of_source:
                self._add(tags)
            for text in texts:
                if has_bracket(text):
                    self._add(written_tags(text))
            fenced = [node.text] if isinstance(node, VerbatimNode) else texts
            lines = "\n".join(fenced)
            if "```" in lines or "~~~" in lines:
                _, opens_code = code_in([*map(author_text_of, node.content)] or fenced)
                self.opens_code += opens_code  # true counts as one text

    def _add(self, tags: WrittenTags) -> None:
        self.opened_tags |= tags.opened
        self.closed_tags |= tags.closed


def tags_of(turn: Node, text_format: TextFormat) -> TurnTags:
    """Return the tags of one turn."""
    tags = TurnTags()
    tags.note(turn, text_format)
    return tags


def with_reserved_tags(root: RootNode, config: Resolved) -> RootNode:
    """Return the tree with the reserved tags of each turn in the options of the turn.

    These are the tags of the configuration, those of the components in the turn, and those that its
    author's text opens and closes. All system content counts as one turn. The tags of its sections
    are reserved in all turns. The tags are noted before a budget drops parts: so a dropped part
    changes no other text.
    """
    system = TurnTags()
    turns: list[tuple[Node, TurnTags]] = []
    for node, text_format in _turns(root, FORMATS[config.format]):
        tags = system if node._mask & _IS_SYSTEM else TurnTags()
        tags.note(node, text_format)
        turns.append((node, tags))
    tags_by_id = {id(tags): tags.author_tags for _, tags in turns}
    if {*tags_by_id.values()} <= {AuthorTags()}:  # no turn has a tag
        return root
    everywhere = config.tags | system.sections
    # Turns with the same tags share one set, as there may be many turns and many sections.
    shared: dict[frozenset[str], frozenset[str]] = {}
    noted: dict[int, AuthorTags] = {}
    for turn, tags in turns:
        # A node may be in the tree twice: then it has the tags of both turns.
        tags_of_all = tags_by_id[id(tags)].and_of(noted.get(id(turn), AuthorTags()))
        if tags_of_all.names not in shared:
            shared[tags_of_all.names] = everywhere | tags_of_all.names
        noted[id(turn)] = tags_of_all._replace(names=shared[tags_of_all.names])

    def change(node: Node) -> Node:
        if id(node) not in noted:
            return node
        names, closed, opens_code = noted[id(node)]
        options = attrs.evolve(
            node.options, reserved_tags=names, closed=closed, opens_code=opens_code
        )
        return replace(node, options=options)

    # A section may be between turns and also in a turn, where the tags of that turn are reserved:
    # ``unchanged`` leaves out the content of the turns. A turn may be in a fragment, so the bit
    # OPAQUE is in ``within``, too.
    return rewrite(root, change, within=TURN | REQUEST | OPAQUE | _IS_SYSTEM, unchanged=noted)


_IS_SYSTEM = SYSTEM | SECTION
"""The bits of system content: of a system turn, and of a section between turns."""


def _turns(root: RootNode, text_format: TextFormat) -> Iterator[tuple[Node, TextFormat]]:
    """Yield the turns and the sections between them, each with its format.

    Turns of one string are left out, because they have no value.
    """
    node_stack: list[tuple[Node, TextFormat]] = [(root, text_format)]
    while node_stack:
        node, text_format = node_stack.pop()
        if isinstance(node, FragmentNode | RootNode):
            if isinstance(node, FormatNode):
                text_format = FORMATS[node.format]
            # Outside of turns there is no string.
            node_stack += [(child, text_format) for child in cast("tuple[Node, ...]", node.content)]
        elif not (node._mask & SPOKEN and len(node.content) == 1 and type(node.content[0]) is str):
            yield node, text_format


FRAMES = {
    node_class: write.frame
    for node_class, write in {**LEAVES, **CONTAINERS}.items()
    if isinstance(write, Framed)
}
"""The functions that return the frame of a part in a format, by the class of its node."""
