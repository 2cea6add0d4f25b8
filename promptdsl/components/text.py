"""Text and values."""

import sys
from typing import Never

from promptdsl import nodes, tree
from promptdsl.components.arguments import (
    TEXT_BITS,
    Content,
    adopt,
    bare,
    inline,
    joined,
    refused,
    retract,
)
from promptdsl.components.options import refuse_options
from promptdsl.components.writing import Written, with_own_code
from promptdsl.encoding import text_of
from promptdsl.errors import ContentError, PromptError
from promptdsl.indentation import dedent_parts
from promptdsl.scope import OPENED, join
from promptdsl.sources import author
from promptdsl.tree import BUSY, DEFAULTS, Node, named_label

_getframe = sys._getframe  # pyright: ignore[reportPrivateUsage]


_join = with_own_code(join)

EMPTY_TEXT = TEXT_BITS | tree.HOLLOW


class Text(Written, nodes.Text):
    """One text: strings, numbers, values and t-strings with nothing between them."""

    __slots__ = ()
    _node = nodes.Text

    def __init__(self, *parts: Content, **options: Never) -> None:
        frame = _getframe(1)
        self.code = frame.f_code
        self.offset = frame.f_lasti
        self.options = DEFAULTS
        if len(parts) == 1 and type(parts[0]) is str and not options:
            self.content = parts
            mask = TEXT_BITS if parts[0] else EMPTY_TEXT
        else:
            self.content = ()
            try:
                refuse_options(self, options)
                self.content = _parts(self, parts)
                mask = TEXT_BITS
            except PromptError:
                retract(parts)
                raise
        top = OPENED.get()
        if top is None:
            self.mask = mask
        else:
            _join(self, top, mask)


def _parts(text: Text, given: tuple[Content, ...]) -> tuple[tree.Child, ...]:
    if not given:
        raise bare(text)
    parts: list[tree.Child] = []
    busy: list[Node] = []
    for part in given:
        if part is None or part is False:
            raise refused(part, text)
        if not isinstance(part, Node):
            parts.extend(inline(part, text))
        elif isinstance(part, nodes.Value):
            if part.mask & BUSY:
                busy.append(part)
            parts.append(part)
        else:
            raise ContentError(
                f"{named_label(part)} cannot stand inside a Text",
                fix="write it beside the Text, or Value(...) for text from elsewhere",
                at=(text.source, part.source),
            )
    adopt(text, busy)
    for part in parts:
        if isinstance(part, Node) and type(part) is not part._node:  # pyright: ignore[reportPrivateUsage]
            part.__class__ = part._node  # pyright: ignore[reportPrivateUsage]
    return joined(parts)


class Value(Written, nodes.Value):
    """Text from elsewhere: encoded for its place, so that it can open or close nothing."""

    __slots__ = ()
    _node = nodes.Value

    def __init__(self, value: object, **options: Never) -> None:
        frame = _getframe(1)
        self.code = frame.f_code
        self.offset = frame.f_lasti
        self.content = ()
        self.mask = TEXT_BITS
        self.options = DEFAULTS
        self.label = None
        if options:
            refuse_options(self, options)
        try:
            self.text = text_of(value)
        except ContentError as error:
            raise error.located(self.source) from None
        top = OPENED.get()
        if top is not None:
            join(self, top, self.mask)


def dedent(text: str) -> str:
    """Return a text without its outer blank lines and the indentation its lines share.

    Tabs are kept as they are; lines of white space count as blank.
    """
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ContentError(
            f"dedent() takes a string, not {type(text).__name__}",
            fix="give it the text itself",
            at=(author(),),
        )
    return dedent_parts((text,))[0]
