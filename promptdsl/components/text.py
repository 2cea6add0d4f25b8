"""Text and values."""

import re
import sys
from collections.abc import Mapping
from typing import Any, Never

from promptdsl.components.arguments import (
    TEXT_BITS,
    Content,
    adopt,
    bare,
    freeze,
    inline,
    joined,
    retract,
)
from promptdsl.components.block import Written, with_own_code
from promptdsl.components.options import refuse_options
from promptdsl.components.refusals import refused
from promptdsl.components.scope import OPENED, join, place
from promptdsl.foundation.dedent import dedent_parts
from promptdsl.foundation.errors import ContentError, OptionError, PromptError
from promptdsl.foundation.escaping import json_text, text_of
from promptdsl.foundation.source import author
from promptdsl.foundation.unicode import exact
from promptdsl.tree.masks import BUSY, HOLLOW
from promptdsl.tree.node import DEFAULTS, Child, Node, found_in, label, named_label
from promptdsl.tree.part_nodes import (
    CodeNode,
    HeadingNode,
    JsonNode,
    ParagraphNode,
    TextNode,
    UntrustedNode,
    ValueNode,
    VolatileNode,
)

_getframe = sys._getframe  # pyright: ignore[reportPrivateUsage]


_join = with_own_code(join)

EMPTY_TEXT = TEXT_BITS | HOLLOW


class Text(Written, TextNode):
    """One text: strings, numbers, values and t-strings with nothing between them."""

    __slots__ = ()

    def __init__(self, *parts: Content, **options: Never) -> None:
        frame = _getframe(1)
        self.code = frame.f_code
        self.offset = frame.f_lasti
        self.options = DEFAULTS
        if len(parts) == 1 and type(parts[0]) is str and not options:
            self.content = parts
            mask = TEXT_BITS if parts[0] else EMPTY_TEXT
            top = OPENED.get()
            if top is None:
                self.mask = mask
            else:
                _join(self, top, mask)
        else:
            begin_text(self, parts, options)


class Paragraph(Written, ParagraphNode):
    """A paragraph: strings, numbers, values and t-strings with nothing between them."""

    __slots__ = ()

    def __init__(self, *parts: Content, **options: Never) -> None:
        frame = _getframe(1)
        self.code = frame.f_code
        self.offset = frame.f_lasti
        begin_text(self, parts, options)


class Heading(Written, HeadingNode):
    """A heading on one line, ``level`` from 1 (the default) to 6.

    A section with a title has one of its own. Raises :class:`OptionError` for another level.
    """

    __slots__ = ()

    def __init__(self, text: Content, level: int = 1, **options: Never) -> None:
        frame = _getframe(1)
        self.code = frame.f_code
        self.offset = frame.f_lasti
        self.level = level
        if type(level) is not int or not 1 <= level <= DEEPEST:
            retract((text,))
            raise OptionError(
                f"Heading(level={level!r})", fix="a number from 1 to 6", at=(self.source,)
            )
        begin_text(self, (text,), options, ("level",))


class Code(Written, CodeNode):
    """Source code in a fence that nothing in it can close; ``language`` names it.

    A string is sent as written, a :class:`Value` is encoded.
    """

    __slots__ = ()

    def __init__(self, text: Content, language: str | None = None, **options: Never) -> None:
        frame = _getframe(1)
        self.code = frame.f_code
        self.offset = frame.f_lasti
        self.language = language
        known = language is None or _is_language(language)
        if not known:
            retract((text,))
            raise OptionError(
                f"Code(language={language!r})",
                fix="write the name of a language: letters, digits, _ + # . -",
                at=(self.source,),
            )
        self.language = exact(language)
        begin_text(self, (text,), options, ("language",))


DEEPEST = 6
_LANGUAGE = re.compile(r"[A-Za-z0-9_+#.-]+\Z")


def _is_language(given: object) -> bool:
    return isinstance(given, str) and bool(_LANGUAGE.match(given))


def begin_text(
    component: Any,
    parts: tuple[Content, ...],
    options: Mapping[str, Never],
    known: tuple[str, ...] = (),
) -> None:
    """Fill a component of one text from its parts, and place it."""
    component.options = DEFAULTS
    component.content = ()
    component.mask = TEXT_BITS
    try:
        refuse_options(component, options, known)
        component.content = content = text_parts(component, parts)
    except PromptError:
        retract(parts)
        raise
    if not any(content):
        component.mask |= HOLLOW
    place(component)


def text_parts(component: Any, given: tuple[Content, ...]) -> tuple[Child, ...]:
    """Return the strings and values of one text.

    Raises :class:`ContentError` for what is neither, ``None`` and booleans included.
    """
    if not given:
        raise bare(component)
    parts: list[Child] = []
    busy: list[Node] = []
    for part in given:
        if part is None or part is False:
            raise refused(part, component)
        if not isinstance(part, Node):
            parts.extend(inline(part, component))
        elif isinstance(part, ValueNode):
            if part.mask & BUSY:
                busy.append(part)
            parts.append(part)
        else:
            raise ContentError(
                f"{named_label(part)} cannot stand inside {named_label(component)}",
                fix=f"write it beside the {label(component)}, or Value(...) for text from "
                "elsewhere",
                at=(component.source, part.source),
            )
    adopt(component, busy)
    return joined([freeze(part) if isinstance(part, Node) else part for part in parts])


class Value(Written, ValueNode):
    """Text from elsewhere: encoded for its place, so that it can open or close nothing."""

    __slots__ = ()

    def __init__(self, value: object, **options: Never) -> None:
        frame = _getframe(1)
        self.code = frame.f_code
        self.offset = frame.f_lasti
        self.label = None
        _fill(self, value, options)
        place(self)


class Volatile(Written, VolatileNode):
    """A value that differs from one rendering to the next, such as the time.

    ``label`` says what it is. It is encoded like a :class:`Value`.
    """

    __slots__ = ()

    def __init__(self, value: object, /, label: str, **options: Never) -> None:
        frame = _getframe(1)
        self.code = frame.f_code
        self.offset = frame.f_lasti
        if not isinstance(label, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            retract(found_in(value, label))
            raise OptionError(
                f"Volatile(label={label!r})", fix="say what it is, a string", at=(self.source,)
            )
        self.label = exact(label)
        _fill(self, value, options, ("label",))
        place(self)


class Untrusted(Written, UntrustedNode):
    """Text of a stranger, in a fence that says it is quoted and no instruction.

    ``source`` says where it is from. The fence is the same wherever it stands, conversation
    included; :data:`UNTRUSTED_NOTICE` explains it to a model.
    """

    __slots__ = ()

    def __init__(self, text: object, /, source: object = None, **options: Never) -> None:
        frame = _getframe(1)
        self.code = frame.f_code
        self.offset = frame.f_lasti
        _fill(self, text, options, ("source",))
        try:
            self.origin = None if source is None else text_of(source)
        except ContentError as error:
            retract(found_in(source))
            raise error.located(self.source) from None
        if not self.text:
            self.mask |= HOLLOW
        place(self)


class Json(Written, JsonNode):
    r"""A value as strict JSON on one line, ``<``, ``>`` and ``&`` written as ``\u003c`` and so on.

    Raises :class:`ContentError` for what JSON has no word for.
    """

    __slots__ = ()

    def __init__(self, value: object, **options: Never) -> None:
        frame = _getframe(1)
        self.code = frame.f_code
        self.offset = frame.f_lasti
        self.content = ()
        self.mask = TEXT_BITS
        self.options = DEFAULTS
        try:
            refuse_options(self, options)
            self.text = json_text(value)
        except PromptError as error:
            retract(found_in(value))
            raise error.located(self.source) from None
        place(self)


def _fill(
    component: Any, value: object, options: Mapping[str, Never], known: tuple[str, ...] = ()
) -> None:
    component.content = ()
    component.mask = TEXT_BITS
    component.options = DEFAULTS
    try:
        if options:
            refuse_options(component, options, known)
        if isinstance(value, Node):
            raise ContentError(
                f"{named_label(value)} cannot stand inside {named_label(component)}",
                fix="give the text itself",
                at=(component.source, value.source),
            )
        component.text = text_of(value)
    except PromptError as error:
        retract(found_in(value))
        raise error.located(component.source) from None


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
