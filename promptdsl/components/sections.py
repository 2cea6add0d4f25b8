"""Sections, fragments, formats, notes, and :func:`include`, which puts finished parts into a block.

After :class:`Section` comes :class:`ReplacedSection`, a section that ``override()`` replaces.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Never, Unpack

from promptdsl.components.arguments import adopt, is_data, node_of_block, text_in
from promptdsl.components.block import PART_FORBIDS, ROOTED, Container, begin, finish, part_advice
from promptdsl.components.options import SectionOptions, bad_option, check_choice
from promptdsl.components.replacements import OVERRIDES, PARTS_REPLACED, replaced, with_replacements
from promptdsl.components.scope import (
    Component,
    earlier_section,
    getframe,
    innermost,
    is_text,
    join,
    put,
    remember_section,
    section_options,
)
from promptdsl.config.transformation import FORMATS
from promptdsl.config.transformation import Format as FormatName
from promptdsl.foundation.errors import ContentError, ScopeError
from promptdsl.foundation.frozen import is_list
from promptdsl.foundation.source import Source, author, public_api
from promptdsl.messages.blocks import Block
from promptdsl.messages.field_checks import kind_of
from promptdsl.tree import masks
from promptdsl.tree.node import Node, label, make
from promptdsl.tree.part_nodes import SectionNode, ValueNode
from promptdsl.tree.turn_nodes import FormatNode, FragmentNode, NoteNode

if TYPE_CHECKING:
    from promptdsl.components.block import Content, PartContent

_SECTION_BITS = masks.bits(masks.SECTION | masks.NAMED)
"""The mask of a section with content."""
_UNWRITTEN_BITS = _SECTION_BITS | masks.UNWRITTEN
"""The mask of a section without content so far."""


class Section(Container, SectionNode):
    """A named part of a turn; outside of any turn it belongs to the system message.

    ``id`` is its name, and the name of its tag in XML: a letter or ``_``, then letters, digits,
    ``_``, ``.`` and ``-``. Neighbouring sections have different ids. Options:

    - ``title``: sent as a heading, or as an attribute in XML; by default only the content is sent;
    - ``priority``: a number; a budget drops the lowest first, and ``None`` (default) never;
    - ``cache``: ``True`` marks the end of a part that the provider may cache;
    - ``audience``: ``"all"`` (default), ``"model"`` or ``"people"``;
    - ``encoding``: ``"minimal"`` or ``"full"``, how values in its XML tag are encoded; ``None``
      (default) is the encoding around it;
    - ``separator``: the white space between its parts, spaces or line ends; ``None`` (default) is
      a blank line.

    Raises :class:`OptionError` for a bad id or option, :class:`PlacementError` for a child that may
    not be here, such as a turn.

    >>> from promptdsl import Section, System, render
    >>> with System() as system:
    ...     with Section("rules", title="Rules"):
    ...         tone = Section("tone", "Be brief.")
    >>> print(render(system, model="gpt-5").messages[0].text)
    ## Rules
    Be brief.
    """

    __slots__ = ()
    _initial_mask = _SECTION_BITS
    _forbids = PART_FORBIDS
    _forbids_at_once = ROOTED
    _options_type = SectionOptions

    def __init__(
        self,
        id: str,
        /,
        *content: "PartContent",
        title: str | ValueNode | None = None,
        **options: Unpack[SectionOptions],
    ) -> None:
        self.title = title
        earlier_options = None
        is_plain = not content or (len(content) == 1 and type(content[0]) is str and content[0])
        if is_plain and type(id) is str:
            earlier_options = section_options(id, options) if options else earlier_section(id)
        if earlier_options is None or not (title is None or type(title) is str):
            begin(self, content, options, id=id)
            remember_section(self.options)
            if PARTS_REPLACED:
                take_replacement(self)
            return
        # The fast path: the id and the priority were checked before, and the content is one text or
        # nothing.
        frame = getframe(1)
        self._code = frame.f_code
        self._offset = frame.f_lasti
        self.content = content
        self.options = earlier_options
        mask = _SECTION_BITS if content else _UNWRITTEN_BITS
        top = innermost()
        self._mask = mask if top is None else join(self, top, mask)
        if PARTS_REPLACED:
            take_replacement(self)

    def _check_fields(self) -> None:
        if isinstance(self.title, ValueNode):
            adopt(self, [self.title])
            finish(self.title)
        elif self.title is not None:
            self.title = text_in(self, self.title)

    @classmethod
    def _advice(cls, node: Node) -> str:
        if node._mask & ROOTED:
            advice = "a turn cannot be in a Section: write it directly in the Timeline"
            return part_advice(node, advice)
        return f"put the {label(node)} directly in its turn"


class ReplacedSection(Section):
    """A section that is overridden, while its block is open. The end of the block replaces it."""

    __slots__ = ()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Close the block, and replace the section with the content that was written in it."""
        super().__exit__(kind, error, trace)
        if kind is None:
            take_replacement(self)


ReplacedSection._frozen = Section._frozen
ReplacedSection._saved_as = Section
ReplacedSection.__name__ = ReplacedSection.__qualname__ = Section.__name__


def take_replacement(section: Section) -> None:
    """Replace a section if it is overridden: now, or when its block closes.

    A section without content waits for its block.
    """
    current = OVERRIDES.get()
    replacement = None if current is None else current.of_node(section)
    if replacement is None:
        return
    if section._mask & masks.HINTED == masks.UNWRITTEN:  # its block may still come
        section.__class__ = ReplacedSection
        return
    node = replaced(section, replacement)
    assert isinstance(node, SectionNode)
    section.options, section.content = node.options, node.content
    section.title = node.title
    state = section._mask & (masks.PLACED | masks.CLOSED)
    section._mask = node._mask | state


class Fragment(Container, FragmentNode):
    """Several parts as one, for a function that returns more than one part.

    Nothing is written around the parts: they are sent as if they were written where the fragment
    is. It takes no options.

    >>> from promptdsl import Fragment, Text, User, render
    >>> parts = Fragment(Text("One."), Text("Two."))
    >>> [block.text for block in render(User(parts)).messages[0].content]
    ['One.', 'Two.']
    """

    __slots__ = ()
    _initial_mask = masks.OPAQUE

    def __init__(self, *content: "Content", **unknown: Never) -> None:
        begin(self, content, unknown)


class Format(Container, FormatNode):
    """Parts in another text format: ``format`` is ``"markdown"`` or ``"xml"``.

    Raises :class:`OptionError` for an unknown format.

    >>> from promptdsl import Format, Section, System, render
    >>> system = System(Format("xml", Section("role", "You are a guide.")))
    >>> print(render(system).messages[0].text)
    <role>
    You are a guide.
    </role>
    """

    __slots__ = ()
    _initial_mask = masks.OPAQUE

    def __init__(self, format: FormatName, /, *content: "Content", **unknown: Never) -> None:
        self.format = format
        begin(self, content, unknown)

    def _check_fields(self) -> None:
        if not is_text(self.format):
            fix = 'the format comes first: Format("xml", ...)'
            raise bad_option(self, "format", self.format, fix)
        self.format = check_choice(self, "format", self.format, FORMATS)


class Note(Container, NoteNode):
    """A note for people: no model receives it, but reports and outlines show it.

    It holds text and parts, and takes no options. Raises :class:`PlacementError` for a turn in it.

    >>> from promptdsl import Note, System, render
    >>> system = System("Be kind.", Note("Legal asked for this."))
    >>> render(system).messages[0].text
    'Be kind.'
    """

    __slots__ = ()
    _initial_mask = masks.OPAQUE | masks.AUDIENCE
    _forbids = PART_FORBIDS
    _forbids_at_once = ROOTED

    def __init__(self, *content: "PartContent", **unknown: Never) -> None:
        begin(self, content, unknown)

    @classmethod
    def _advice(cls, node: Node) -> str:
        return part_advice(node, "a Note holds text and parts")


@public_api
def include(*parts: "Node | Block | Mapping[str, Any]") -> None:
    """Put finished parts and content blocks into the open block.

    A part may be included several times. A content block is a value such as ``TextBlock("...")``,
    or its dictionary.

    Raises :class:`ScopeError` if no block is open or a part is not finished, :class:`ContentError`
    for an argument that is not a part or a content block, :class:`PlacementError` for a part that
    may not be in the block.

    >>> from promptdsl import Section, System, include
    >>> rules = Section("rules", "Be kind.")
    >>> with System() as system:
    ...     include(rules)
    >>> system.content == (rules,)
    True
    """
    line = author()
    top = innermost()
    if top is None or top.component is None:
        raise ScopeError(
            "include() needs an open block",
            fix="use it inside a `with` block, or pass the part as an argument",
            at=(line,),
        )
    nodes = [_included_node(argument, top.component, line) for argument in parts]
    # In one step, because the parts of the argument list are the last children of the block.
    adopt(
        make(FragmentNode, at=line), [node for node in nodes if node._mask & masks.PLACED_OR_OPEN]
    )
    finished = tuple(map(finish, nodes))
    for node in with_replacements(finished):
        put(node, top, line)


def _included_node(value: object, block: Component, line: Source) -> Node:
    """Return the node to include: the argument itself, or a node made of a content block.

    Raises :class:`ContentError`, with this line, for any other argument.
    """
    if isinstance(value, Node):
        return value
    if not is_data(value):
        fix = "write Text(...) for text"
        if value is None:
            fix = (
                "return the part, or leave include() out: the function has already written the part"
            )
        elif is_list(value):
            fix = "unpack it: include(*parts)"
        elif callable(value):
            fix = "call it: include(part(...))"
        problem = f"include() takes components and content blocks, not {kind_of(value)}"
        raise ContentError(problem, fix=fix, at=(line,))
    # A node that has only a line: the errors and the new node get the line of include().
    at_line = object.__new__(type(block))
    at_line._code, at_line._offset = line, -1
    return node_of_block(value, at_line)
