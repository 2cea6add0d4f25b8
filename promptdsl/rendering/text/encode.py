"""Strings and values as text: strings of the author are dedented and guarded, values encoded.

Read ``texts_in`` first, near the end: it does all of this for one text. It asks ``Fences`` what a
value may not contain, and ``AuthorText`` for the neighbours of a value: the author's text on its
line, with which it could form a tag. ``foundation/guards.py`` says what a fence and a guard are.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from itertools import accumulate
from typing import Literal, NamedTuple

import attrs

from promptdsl.config.transformation import BodyEncoding
from promptdsl.foundation.author_text import dedent_parts
from promptdsl.foundation.escaping import body, field, inline, inline_line, title
from promptdsl.foundation.frozen import new_dict
from promptdsl.foundation.guards import (
    guard,
    guard_end,
    guard_start,
    has_bracket,
    left_open,
    minimal_body,
    readable_tags,
)
from promptdsl.foundation.readable import (
    PLAIN_LINE,
    RAW,
    Neighbours,
    among_lines,
    readable,
    within_line,
)
from promptdsl.foundation.unicode import controls, invisible, valid_unicode
from promptdsl.messages.prompt import Loss, hint
from promptdsl.rendering.text.layout import PieceKind, SpanKind, TextRun, guarded, value_run
from promptdsl.tree.node import Child
from promptdsl.tree.part_nodes import TrustedTextNode, ValueNode

# The neighbours of a value: the author's text on its line, with which it could form a tag.

MAX_NEIGHBOURS = 50
"""The maximum number of texts and values that are read on each side of a value.

There is a limit because many values may share one line.
"""
_RAW = re.compile(rf"<(?:{'|'.join(RAW)})\b", re.IGNORECASE)
"""The beginning of an element of HTML whose content is not read as Markdown."""
_LINE_END = re.compile(r"[\n\r]")
_FENCE = re.compile(r"(`{3,}(?=[^`]*\Z)|~{3,})")
"""The beginning of a code fence; after backticks the line has no other backtick."""
_UNSURE = re.compile(r"\s*<|[\s>*+\-.)\d]+(?:```|~~~)")
"""The beginning of a line that may begin HTML, or a code fence that is indented or in a list."""


class PartLines:
    """The neighbours of each value in one text, for the encoding of values in instructions.

    ``texts`` are the author's texts, with ``None`` for each value. ``opening`` is before them on
    their first line. ``in_comment`` and ``in_raw`` say whether any of the texts has a comment or a
    raw HTML element. They are true for all values of the text, also for a value before it: so
    promptdsl encodes more than it must, but does not have to find where a comment ends.
    """

    def __init__(self, texts: Sequence[str | None], opening: str) -> None:
        self.texts = texts
        self.opening = opening
        author_texts = [text for text in texts if text]
        self.in_comment = any("<!" in text or "<?" in text for text in author_texts)
        self.in_raw = any(map(_RAW.search, author_texts))
        self.in_code, self.leaves_code_open = code_in(texts)

    def neighbours(self, index: int) -> Neighbours:
        """Return the neighbours of the value with an index."""
        before, nearest, is_first = self._before(index)
        after, until = self._after(index)
        return Neighbours(
            before,
            after,
            nearest,
            until,
            is_first=is_first,
            in_code=index in self.in_code,
            in_comment=self.in_comment,
            in_raw=self.in_raw,
        )

    def _before(self, index: int) -> tuple[str, str | None, bool]:
        """Return ``before``, ``nearest`` and ``is_first`` of the neighbours."""
        line, nearest = "", None
        for text in reversed(self.texts[max(index - MAX_NEIGHBOURS, 0) : index]):
            if text is None:
                nearest = line if nearest is None else nearest
                continue
            start = max(text.rfind("\n"), text.rfind("\r")) + 1
            line = text[start:] + line
            if start:
                return line, nearest, False
        # If more than MAX_NEIGHBOURS texts are before the value, its line may begin at an unread
        # one.
        return (self.opening if index <= MAX_NEIGHBOURS else "") + line, nearest, not line

    def _after(self, index: int) -> tuple[str, str | None]:
        """Return ``after`` and ``until`` of the neighbours."""
        line, until = "", None
        for text in self.texts[index + 1 : index + 1 + MAX_NEIGHBOURS]:
            if text is None:
                until = line if until is None else until
                continue
            end = _LINE_END.search(text)
            line += text[: end.start()] if end else text
            if end:
                break
        return line, until


def code_in(texts: Sequence[str | None]) -> tuple[frozenset[int], bool]:
    """Return the indexes of the values that are certainly in a code fence of the author.

    Also return whether a code fence may be open at the end. Only the very beginning of a line of
    the author's text begins a code fence. These lines make all that follows uncertain:

    - a line with a value in it that may close the fence or not;
    - a line that begins with a tag, which may begin HTML;
    - a line with a fence that is indented, or that follows a value, because that may be empty.
    """
    if not any(text and ("```" in text or "~~~" in text) for text in texts):  # the usual case
        return frozenset(), False
    fence, value_count, indexes_in_code = "", 0, set[int]()
    value_indexes = [index for index, text in enumerate(texts) if text is None]
    # In these lines, each value is the character ``\\0``.
    lines = "".join("\0" if text is None else text.replace("\0", " ") for text in texts)
    for line in lines.splitlines():
        for _ in range(line.count("\0")):
            if fence:
                indexes_in_code.add(value_indexes[value_count])
            value_count += 1
        without_values = line.replace("\0", "")
        stripped = without_values.strip()
        if not fence:
            fence = _fence_of(line)
            # The values of the line may be empty.
            if _UNSURE.match(without_values) or fence != _fence_of(without_values):
                return frozenset(indexes_in_code), True
        elif stripped.startswith(fence) and not stripped.strip(fence[0]):
            if "\0" in line:
                return frozenset(indexes_in_code), True
            fence = ""
    return frozenset(indexes_in_code), bool(fence)


def _fence_of(line: str) -> str:
    """Return the fence that a line opens, or nothing."""
    match = _FENCE.match(line)
    return match[0] if match else ""


# Strings and values as text: dedented, encoded, and guarded.
#
# No text may contain the tags and delimiters around it, so ``guard`` puts references in them. What
# a value becomes depends on the author's text around it, and on a tag that the text directly before
# it begins. It also depends on whether another value is next to it, but not on that value's text.


class AuthorTags(NamedTuple):
    """The reserved tags of a turn or of all system content, and the code fences left open.

    ``names`` are the tags that no value in a fence, a tag or instructions may contain. ``closed``
    are the tags that no value in a conversation may contain. ``opens_code`` is the number of texts
    that may leave a code fence open.
    """

    names: frozenset[str] = frozenset()
    closed: frozenset[str] = frozenset()
    opens_code: int = 0

    def and_of(self, other: "AuthorTags") -> "AuthorTags":
        """Return the tags of both, and the sum of their texts that may leave a code fence open."""
        names, closed = self.names | other.names, self.closed | other.closed
        return AuthorTags(names, closed, self.opens_code + other.opens_code)


NoteLoss = Callable[[Loss], None]
"""A function that is called for a loss, which has no address and line yet."""

Encoding = Literal["inline", "body", "none"]
"""How values are encoded: for Markdown, for a fence, or not at all.

With ``inline`` a value is also encoded for a fence if a tag is open: see ``Fences.in_body``.
"""


@attrs.frozen(cache_hash=True)
class StringRules:
    """The rules by which the strings in a container or turn become text.

    - ``joined``: all its children form one text, with blank lines between them; otherwise each is
      a block.
    - ``instruction``: a text that starts with a newline is dedented.
    - ``encoding``: how values are encoded, an :data:`Encoding`.
    - ``values``: its strings are values, too (in a ``Grounding``).
    - ``literals``: the delimiters around the text that are not tags; in a guarded conversation all
      such delimiters.
    - ``guards``: the tags of all fences, in a guarded conversation only.
    - ``full``: in a fence or tag, each ``&``, ``<`` and ``>`` of a value becomes a reference.
    - ``full_inline``: the same for instructions outside of fences and tags.
    """

    joined: bool
    instruction: bool
    encoding: Encoding = "inline"
    values: bool = False
    guards: frozenset[str] = frozenset()
    literals: frozenset[str] = frozenset()
    full: bool = False
    full_inline: bool = False

    @property
    def kind(self) -> SpanKind:
        """The kind of the author's text: that of a conversation, or of a prompt."""
        return "conversation" if self.encoding == "none" else "author"

    def in_text(self, *, tagged: bool) -> "StringRules":
        """Return the rules for a node that is one text; in a tag its values are encoded."""
        return _in_text(self, tagged, instruction=self.instruction)

    def in_section(self, *, tagged: bool) -> "StringRules":
        """Return the rules for a section; in a tag its values are encoded.

        Its strings are instructions, unless they are values (``values``).
        """
        return _in_text(self, tagged, instruction=not self.values)

    def encoded_by(self, encoding: BodyEncoding | None) -> "StringRules":
        """Return the rules for a node with this option ``encoding``; ``None`` changes nothing."""
        if encoding is None:
            return self
        full = encoding == "full"
        return attrs.evolve(self, full=full, full_inline=full)


@lru_cache(maxsize=256)
def _in_text(rules: StringRules, tagged: bool, *, instruction: bool) -> StringRules:
    encoding: Encoding = "body" if tagged else rules.encoding
    return attrs.evolve(rules, joined=True, instruction=instruction, encoding=encoding)


INSTRUCTION = StringRules(joined=True, instruction=True)
"""The rules for instructions."""
FENCED = StringRules(joined=True, instruction=False)
"""The rules for events and groundings.

The encoding is not ``body``, because their delimiters may be no fence: a prefix alone has no end.
A fence with an end sets ``body`` for its content (in ``walk.py``).
"""
SPEECH = StringRules(joined=False, instruction=False, encoding="none")
"""The rules for what users, models and tools say."""


def text_of(child: Child) -> str:
    """Return the text of a string, a value or trusted text, ``""`` for another node."""
    if isinstance(child, str):
        return child
    return child.text if isinstance(child, ValueNode | TrustedTextNode) else ""


def author_text_of(child: Child) -> str | None:
    """Return the text of a string or of trusted text, ``None`` for a value."""
    return None if isinstance(child, ValueNode) else text_of(child)


def is_value(child: Child, *, are_values: bool) -> bool:
    """Return whether a child of a text is a value; with ``are_values`` its strings are values."""
    return are_values if isinstance(child, str) else isinstance(child, ValueNode)


_OPEN_TAG = re.compile(
    r"""<[A-Za-z_](?:[^<>"'=]|"[^"]*"|'[^']*'|=(?!\s*+(?:"[^"]*|'[^']*)\Z))*+"""
    r"""(?:=\s*+(["']).*)?\Z""",
    re.DOTALL,
)
"""A tag without its ``>`` at the end of a text; group 1 is the open quote of an attribute.

In ``<a href="x``, group 1 is ``"``. ``<a href=`` and ``<a b `` match without group 1.
"""


def _open_tag_of(text: str) -> str:
    """Return the tag that is open at the end of a text, in short, or nothing.

    It is ``<a`` in the tag, ``<a=`` before the value of an attribute, and ``<a="`` in its quotes.
    """
    match = _OPEN_TAG.search(text)
    if match is None:
        return ""
    if match[1]:
        return f"<a={match[1]}"
    return "<a=" if text.rstrip().endswith("=") else "<a"


class AuthorText:
    """The author's text before the next value; ``texts_in`` reads one of its texts after another.

    ``opening`` is before them on their first line. With ``are_values`` the strings are values, too.
    The other attributes are about the text so far:

    - ``open_tag``: the HTML tag without its ``>`` at its end, in short: ``<a``, ``<a=``, ``<a="``,
      or nothing. It says whether the next value is in the quotes of an attribute.
    - ``tag_start``: a bracket at its end with the beginning of a name, such as ``</us``, or
      nothing. The next value could complete the name of a reserved tag.
    - ``before``: the author's text directly before the next value, ``""`` after a value.
    - ``has_less_than`` and ``has_bracket``: whether it has a ``<``, or a bracket of any kind.
    """

    __slots__ = (
        "_lines",
        "are_values",
        "before",
        "children",
        "has_bracket",
        "has_less_than",
        "open_tag",
        "opening",
        "tag_start",
    )

    def __init__(
        self, children: Sequence[Child], are_values: bool, opening: str, tag_start: str = ""
    ) -> None:
        self.children, self.are_values, self.opening = children, are_values, opening
        self.open_tag = self.before = ""
        self.tag_start, self.has_bracket, self.has_less_than = tag_start, bool(tag_start), False
        self._lines: PartLines | None = None

    def read(self, text: str) -> None:
        """Read the author's next text."""
        self.before = text
        self.has_bracket = self.has_bracket or has_bracket(text)
        if self.has_bracket:
            self.has_less_than = self.has_less_than or "<" in text
            self.open_tag = _open_tag_of(self.open_tag + text)
            self.tag_start = left_open(self.tag_start + text)

    def pass_value(self) -> None:
        """Pass over the next value."""
        self.before = ""
        if self.open_tag == "<a=":
            # The value is the attribute's value, without quotes: a quote after it opens none.
            self.open_tag = "<a"

    @property
    def in_quotes(self) -> bool:
        """Whether the next value is in the quotes of an attribute."""
        return self.open_tag.endswith(('"', "'"))

    def is_value(self, index: int) -> bool:
        """Return whether the child with an index is a value; ``False`` after the last child."""
        return index < len(self.children) and is_value(
            self.children[index], are_values=self.are_values
        )

    @property
    def leaves_code_open(self) -> bool:
        """Whether the text may leave a code fence open."""
        return self._part_lines().leaves_code_open

    def neighbours(self, index: int) -> Neighbours:
        """Return the neighbours of the next value, which has this index."""
        neighbours = self._part_lines().neighbours(index)
        return neighbours._replace(in_tag=bool(self.open_tag or self.tag_start))

    def _part_lines(self) -> PartLines:
        if self._lines is None:
            texts = [
                None if self.is_value(index) else text_of(child)
                for index, child in enumerate(self.children)
            ]
            self._lines = PartLines(texts, self.opening)
        return self._lines


def _inline_attribute(value: str) -> str:
    """Return a value for a quoted attribute in Markdown, where the value begins no line."""
    return inline_line(value).replace('"', "&quot;").replace("'", "&#39;")


@attrs.define(eq=False)
class Fences:
    """The fences and tags of a turn, by their folded names.

    - ``tags``: the number of open tags of each name; author's text inside may not close them.
    - ``reserved``: the tags of the complete turn and of all fences. No value in a fence, a tag or
      instructions may contain them.
    - ``literals``: the delimiters of the configuration that are not tags; the same holds for them.
    - ``closed``: the tags that the author's text of a conversation turn closes. No value in a
      conversation may contain them.
    - ``find``: the function that returns ``reserved`` and ``closed``. It is called when the first
      value needs them, which is rare.
    - ``tag_start``: the beginning of a tag at the end of the last text, or nothing.
    - ``count_at_last_text``: the number of texts and blocks on the page when the last text was
      written. With the same number now, the next text follows that text (see ``write_strings``).
    """

    find: Callable[[], AuthorTags]
    literals: frozenset[str]
    tags: dict[str, int] = attrs.field(factory=new_dict)
    tag_start: str = ""
    count_at_last_text: int = -1
    _found_tags: AuthorTags | None = None

    @property
    def reserved(self) -> frozenset[str]:
        """The tags that no value in a fence, a tag or instructions may contain."""
        return self._author_tags().names

    @property
    def closed(self) -> frozenset[str]:
        """The tags that no value in a conversation may contain."""
        return self._author_tags().closed

    def _author_tags(self) -> AuthorTags:
        if self._found_tags is None:
            self._found_tags = self.find()
        return self._found_tags

    def neighbours(self, author: AuthorText, index: int) -> Neighbours:
        """Return the neighbours of the value with an index.

        The value is in code only if no other text may leave a code fence open. Otherwise the code
        fence before the value may be the end of that open one.
        """
        neighbours = author.neighbours(index)
        # ``opens_code`` counts this text, too, if it may leave a code fence open. ``True`` is 1.
        if neighbours.in_code and self._author_tags().opens_code > author.leaves_code_open:
            return neighbours._replace(in_code=False)
        return neighbours

    def open(self, names: Iterable[str]) -> None:
        """Count tags that are opened."""
        for name in names:
            self.tags[name] = self.tags.get(name, 0) + 1

    def close(self, names: Iterable[str]) -> None:
        """Count tags that are closed."""
        for name in names:
            self.tags[name] -= 1
            if not self.tags[name]:
                del self.tags[name]

    def guard_author_text(self, text: str, rules: StringRules) -> str:
        """Return author's text; what could close a fence or tag around it gets a reference."""
        text = guard(text, self.tags, rules.literals)
        return guard(text, rules.guards) if rules.guards else text

    def in_body(self, rules: StringRules) -> bool:
        """Return whether the values are in a fence or tag: in that of the rules, or an open one."""
        return rules.encoding == "body" or bool(self.tags)

    def encoded(self, value: str, rules: StringRules, encode: Callable[[str], str] | None) -> str:
        """Return a value encoded by ``encode``; without it, as the rules require in a fence."""
        literals = self.literals | rules.literals
        if encode is None and not rules.full:
            if not literals and PLAIN_LINE.match(value):
                return value  # the usual case
            return minimal_body(value, self.reserved, literals)
        return guard((encode or body)(value), self.reserved, literals)

    def in_instructions(
        self, value: str, rules: StringRules, author: AuthorText, index: int
    ) -> str:
        """Return the value with an index, for instructions outside of fences and tags."""
        literals = self.literals | rules.literals
        if not author.has_less_than and not literals and PLAIN_LINE.match(value):
            return value  # the usual case
        if rules.full_inline:
            encoded = guard(inline(value), self.reserved, literals)
            return among_lines(encoded, self.neighbours(author, index), only_edges=True)
        if author.has_less_than or not within_line(value, author.before):
            return readable(value, self.neighbours(author, index), self.reserved, literals)
        before_value = author.is_value(index + 1)
        return readable_tags(value, self.reserved, literals, before_value=before_value)


def texts_in(
    children: tuple[Child, ...],
    rules: StringRules,
    fences: Fences,
    note: NoteLoss,
    *,
    encode: Callable[[str], str] | None = None,
    one_line: bool = False,
    opening: str = "",
    follows: bool = False,
) -> list[str]:
    """Return the text of each string and value of one text.

    Values are encoded by ``encode``, by default as the rules require. With ``one_line`` the text is
    for one line, so each line end becomes a character reference: ``field`` encodes the values, and
    ``encode`` is not used. Values in a conversation are not encoded in either case. ``opening`` is
    before the text on its first line. ``follows`` says that only white space is between this text
    and the text before it.
    """
    if one_line:
        encode = field
    else:
        children = dedented(children, rules)
    is_spoken, in_body = rules.encoding == "none", fences.in_body(rules)
    author = AuthorText(children, rules.values, opening, fences.tag_start if follows else "")
    texts: list[str] = []
    author_start = 0  # the index of the first text after the last value
    for index, child in enumerate(children):
        if isinstance(child, str):
            text, child_is_value = child, rules.values
        else:
            text, child_is_value = text_of(child), isinstance(child, ValueNode)
        if not child_is_value:
            text = valid_text(text, note)
            author.read(text)
            text = title(text) if one_line else text
            texts.append(fences.guard_author_text(text, rules))
            continue
        if is_spoken:  # of ``author``, this branch needs only ``tag_start``
            text = valid_text(text, note)
            if author.tag_start or has_bracket(text):
                text = guard_start(guard(text, fences.closed), author.tag_start, fences.closed)
            texts.append(fences.guard_author_text(text, rules))
            continue
        # Here ``valid_text`` is not needed: the encodings write a lone surrogate as a reference.
        report_invisible((text,), note)
        if author_start < index and in_body:
            # Author's text is directly before the value. After this its end begins no reserved tag,
            # so the value cannot complete one, and does not need ``guard_start``.
            texts[author_start:] = _with_guarded_end(texts[author_start:], fences.reserved)
            author.tag_start = ""
        encode_value = encode
        if encode is None and author.in_quotes:
            encode_value = field if in_body else _inline_attribute
        if encode_value is not None or in_body:
            text = fences.encoded(text, rules, encode_value)
        else:
            text = fences.in_instructions(text, rules, author, index)
        if author.tag_start:
            text = guard_start(text, author.tag_start, fences.reserved)
        texts.append(text)
        author_start = index + 1
        # This keeps ``author.tag_start``, because the value may be empty. Then the next text or
        # value could complete the tag.
        author.pass_value()
    # The tag may go on in the next text, which begins on another line. Now the texts of all values
    # are known, so ``left_open`` finds whether they ended the beginning of the tag.
    fences.tag_start = left_open("".join((*texts, "\n"))) if author.tag_start else ""
    return texts


def piece_kind_of(children: Sequence[Child], texts: Sequence[str], rules: StringRules) -> PieceKind:
    """Return the kind of a text that consists of ``children``; ``texts`` are what they became.

    For one string of the author it is one kind. Otherwise it is a function that returns the runs,
    which is called only when a report needs them: see :data:`PieceKind`.
    """
    if len(children) == 1 and isinstance(children[0], str) and not rules.values:
        return rules.kind
    return partial(_runs, children, [*map(len, texts)], rules)


def _runs(
    children: Sequence[Child], lengths: Sequence[int], rules: StringRules
) -> Sequence[TextRun]:
    return [*map(partial(_run, rules), children, lengths)]


def dedented(children: tuple[Child, ...], rules: StringRules) -> tuple[Child, ...]:
    """Return the children of a text; instructions that start with a line end are dedented."""
    is_indented = (
        rules.instruction and isinstance(children[0], str) and children[0][:1] in ("\n", "\r")
    )
    return dedent_parts(children) if is_indented else children


def _with_guarded_end(texts: list[str], names: frozenset[str]) -> list[str]:
    """Return the author's texts before a value; a tag that their end begins gets a reference."""
    before = "".join(texts)
    after = guard_end(before, names)
    if after == before:
        return texts
    runs = guarded([TextRun(len(text), "author") for text in texts], before, after)
    ends = accumulate(run.length for run in runs)
    return [after[end - run.length : end] for run, end in zip(runs, ends, strict=True)]


def _run(rules: StringRules, child: Child, length: int) -> TextRun:
    """Return the run of a string or value.

    In a conversation only a volatile value keeps its kind: all other text is ``conversation``.
    """
    if not is_value(child, are_values=rules.values):
        return TextRun(length, rules.kind)
    run = value_run(length, child)
    is_spoken = rules.encoding == "none" and run.kind != "volatile"
    return run._replace(kind="conversation") if is_spoken else run


LONE_SURROGATE = Loss("content", "a lone surrogate", "it is not a character, so U+FFFD is sent")
"""The loss of a lone surrogate in a text."""


def valid_text(text: str, note: NoteLoss) -> str:
    """Return a text with U+FFFD for each lone surrogate; call ``note`` if there was one."""
    if text.isascii():
        return text
    text, changed = valid_unicode(text)
    if changed:
        note(LONE_SURROGATE)
    return text


def report_invisible(values: Iterable[str], note: NoteLoss) -> None:
    """Report the invisible characters and control characters of values as hints."""
    for text in values:
        if text.isprintable():
            continue
        for kind, characters, why in (
            ("control", controls(text), "sent as references"),
            ("invisible", invisible(text), "sent as they are"),
        ):
            if characters:
                what = f"{kind} characters {', '.join(characters)}"
                note(hint("invisible_characters", what, why))
