"""What is open and what is written, while the parts of a turn become text."""

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import attrs

from promptdsl.config.transformation import FormatBlock
from promptdsl.messages.loss import Loss, LossKind
from promptdsl.rendering.text.format import Form, Frame
from promptdsl.rendering.text.page import PLAIN, Checkpoint, Margin, Page
from promptdsl.rendering.text.strings import StringRules
from promptdsl.tree.node import Child, Node
from promptdsl.tree.part_nodes import Section

Report = Callable[[Loss], None]
"""Called for a loss, whose path is that of the sections it is in."""


class Setting(NamedTuple):
    """The same for all turns: the formats there are, and what an author wants of them."""

    forms: Mapping[str, Form]
    form: Form
    roots: tuple[str | os.PathLike[str], ...] = ()
    format_block: FormatBlock | None = None


@attrs.define
class OpenPart:
    """A part whose children are being written. Its children inherit what it holds."""

    node: Any  # one of many classes, each with fields of its own
    children: Iterator[Child]
    rules: StringRules
    form: Form
    level: int
    """The level of a heading of a section in it, from 2."""
    margin: Margin
    listing: "OpenPart | None" = None
    """The list whose items the children are."""
    tight: bool = False
    """Whether a list goes on the line after a text, as in an item."""
    frame: Frame | None = None
    """The text around the part; ``None`` for a part that only holds others."""
    start: Checkpoint | None = None
    """The place on the page before the frame."""
    tags: tuple[str, ...] = ()
    """The folded names of the tags of the frame."""
    items: int = 0
    """The number of items in a list so far."""
    continues: bool = False
    """Whether an item is more of the one before it, as a list in a list is."""
    second: bool = False
    """Whether a list comes right after one of its kind, and so has the other marks."""


class TextState:
    """The page a turn is written on, and the parts of the turn that are open.

    ``tags`` counts the open tags by their folded names: no text in them may close one.
    """

    def __init__(self, setting: Setting, report: Report, node: Node, rules: StringRules) -> None:
        """Open the turn itself, or a result in one: ``node``, whose strings follow ``rules``."""
        self.setting = setting
        self.report = report
        self.page = Page()
        self.tags: dict[str, int] = {}
        self.open = [OpenPart(node, iter(node.content), rules, setting.form, 2, PLAIN)]

    def note(self, node: Node, kind: LossKind, what: str, why: str) -> None:
        """Report a loss of a node, with the path of the sections it is in."""
        around = [part.node for part in self.open if isinstance(part.node, Section)]
        if isinstance(node, Section) and not any(part is node for part in around):
            around.append(node)
        path = "/".join([str(part.options.id) for part in around])
        self.report(Loss(kind, what, why, path, node.source))
