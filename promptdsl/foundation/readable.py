"""The readable encoding: values in instructions, which are Markdown without a fence around it.

A value keeps almost all its characters. It must not forge a tag of the prompt (``guards``), nor
begin a heading, a rule, a code fence, or an HTML block that goes on after the value. So the first
character of each of these becomes a reference. What a line begins with depends on the author's text
before the value: ``# general`` after ``Channel: `` is not a heading. So a value is encoded together
with its neighbours in the text of its part.

A neighbour may be another value, whose text may be anything. So a line is checked as if that value
were empty, and as if it were a line end. A value that follows could also complete a sign.

Most HTML blocks end at a blank line (kinds 6 and 7). If the value has a blank line after the block,
the block ends before the author's next text, and stays. Blocks of other kinds, such as comments, do
not end there, so their ``<`` always becomes a reference.

Two words of this file: a *marker* begins an item of a list or a quote (``-``, ``1.``, ``>``). A
*sign* makes a line a heading (``#``), a rule (``---``), a code fence or an HTML block. The signs
are those of CommonMark 0.31: thematic breaks (4.1), headings (4.2, 4.3), code fences (4.5), HTML
blocks (4.6). Readers differ, so signs are found after any white space, invisible characters and
markers. ``docs/safety.md`` says what is promised.

Read ``readable`` first, then ``among_lines``, then ``_sign_of``, which finds the sign of a line.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, cast

from promptdsl.foundation.escaping import reference, reference_of
from promptdsl.foundation.guards import BRACKETS, NONE, readable_tags
from promptdsl.foundation.unicode import CONTROL, UNSEEN, pattern

_COMBINING = r"\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
_BLANK = rf"[\t\x0b\x0c\r \xa0\u1680\u2000-\u200a\u202f\u205f\u3000{UNSEEN}\u2800{_COMBINING}]"
_MARKER = rf"(?:>|(?:[-+*]|[0-9]*[.)])(?={_BLANK}|\Z))"
# A line of these characters may become a sign if a value continues it, such as ``--`` or ``~``.
_SIGN_STARTS = r"[=\-*_~`+]"
# The HTML blocks of CommonMark by their beginnings. Only the kinds 6 and 7 end at a blank line.
RAW = ("script", "pre", "style", "textarea")
"""The names of the HTML blocks of kind 1: each block ends with the tag of any of these names."""
_KINDS_1_TO_5 = rf"<(?i:\?|!--|![\[a-z]*|(?:{'|'.join(RAW)})(?={_BLANK}|>|\Z))"
_KIND_6_NAMES = (
    "address|article|aside|base|basefont|blockquote|body|caption|center|col|"
    "colgroup|dd|details|dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|"
    "form|frame|frameset|h1|h2|h3|h4|h5|h6|head|header|hr|html|iframe|legend|"
    "li|link|main|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|"
    "section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul"
)

# The beginning of a line: its markers, and then a code fence, a heading or an HTML block.
_MARKERS = rf"{_BLANK}*+(?:{_MARKER}{_BLANK}*+)*+"
_FENCE = pattern(rf"{_MARKERS}(```|~~~)")
_FENCE_HEADING_OR_HTML = rf"```|~~~|#{{1,6}}(?={_BLANK}|\Z)|{_KINDS_1_TO_5}"
_KIND_7 = rf"</?(?=[A-Za-z](?:[^<>\"']|\"[^\"]*+\"|'[^']*+')*+>{_BLANK}*+\Z)"
_KINDS_6_AND_7 = rf"</?(?i:{_KIND_6_NAMES})(?={_BLANK}|[/>]|\Z)|{_KIND_7}"
# A line of only these signs is a rule, or underlines a heading: ``---``, ``* * *``, ``==``.
_ENDS_RULE = rf"(?:[-=*_]|{_BLANK})*+\Z"
# The beginning of a line that may have a sign; group 1 is the sign, except a rule. The index is
# ``in_block``: the second pattern also finds HTML blocks that end at a blank line.
_BEGINNINGS = (
    pattern(rf"{_MARKERS}(?:({_FENCE_HEADING_OR_HTML})|{_ENDS_RULE})"),
    pattern(rf"{_MARKERS}(?:({_FENCE_HEADING_OR_HTML}|{_KINDS_6_AND_7})|{_ENDS_RULE})"),
)
# The rule at the end of a line, with its blanks: `` ---`` in ``> ---``.
_RULE = pattern(rf"(?<![-=*_])(?<!{_BLANK}){_ENDS_RULE}")
_RULE_SIGN = pattern(r"[-=*_]")
# A line of only blanks, markers and starts of signs, which another value may continue.
_ONLY_MARKUP = pattern(rf"(?:{_BLANK}|{_MARKER}|{_SIGN_STARTS})*+\Z")
_SIGN_START = pattern(_SIGN_STARTS)
_ALL_MARKERS = pattern(_MARKERS)
_ONLY_TICKS = pattern(r"(?:`+|~+)\Z")
# The beginning of a tag whose name may go on: ``<d``, ``</na``.
_TAG_NAME = pattern(r"</?([\w-]*+)\Z")

_FIRST_SEEN = pattern(rf"(?!{_BLANK}).")
_ALL_BLANK = pattern(rf"(?:\n|{_BLANK})*+\Z")
_BLANK_START = pattern(rf"\n|{_BLANK}")
_TICK_OR_LINE_END = pattern("[\r\n`~]")
_BLANK_LINE = pattern(rf"\n{_BLANK}*+(?=\n)")
_FINAL_END = pattern(rf"\r?\n(?={_BLANK}*+\Z)")
_FINAL_EQUALS = pattern(rf"=(?=(?:\n|{_BLANK})*+\Z)")
# The line end before a line that may have a sign. The line begins with a sign or a marker, or has
# only digits.
_MAY_HAVE_SIGN = pattern(rf"\n(?={_BLANK}*+(?:[#=\-*_~`+<>.)]|[0-9]++(?:[.)]|\Z)))")


class Neighbours(NamedTuple):
    """The author's text before and after a value, in the text of its part.

    ``before`` and ``after`` are the author's text on the line of the value, without other values on
    the line. ``before`` includes what promptdsl wrote on the line, such as the ``- `` of an item.
    ``nearest`` is the text between the value before it and this value, and ``until`` the text
    between this value and the next. Both are ``None`` if no such value is on the line.

    - ``is_first``: no text of the author is before the value.
    - ``in_code``: the value is in a code fence of the author.
    - ``in_comment``: it may be in a comment or another declaration, which ends with ``>``: the
      author's text has one somewhere.
    - ``in_raw``: it may be in HTML of kind 1, which ends with the tag of any of the names in
      ``RAW``: the author's text has the beginning of one somewhere.
    - ``in_tag``: it may be in a tag that the author's text before it begins.
    """

    before: str = ""
    after: str = ""
    nearest: str | None = None
    until: str | None = None
    is_first: bool = True
    in_code: bool = False
    in_comment: bool = False
    in_raw: bool = False
    in_tag: bool = False


_SEEN_LETTER = r"[^\W\d_\u115f\u1160\u1438\u3164\uffa0]"  # and no bracket
_LETTER = re.compile(_SEEN_LETTER)
PLAIN_LINE = pattern(rf"{_SEEN_LETTER}[^{BRACKETS}&>`{CONTROL}\r\n\u2028\u2029]*\Z")
"""A line that begins with a letter and has no special character: no encoding changes it."""


def within_line(value: str, before: str) -> bool:
    """Return whether a value is on one line, and cannot make it a heading or the like.

    It cannot if the value begins with a letter, or if a letter is before it on its line.
    ``before`` is the author's text before the value, without a ``<``.
    """
    if "`" in value or not value.isprintable() or value.isspace():
        return False
    if _LETTER.match(value):
        return True
    start = max(before.rfind("\n"), before.rfind("\r")) + 1
    return _LETTER.search(before, start) is not None


def readable(
    value: str, neighbours: Neighbours, names: Collection[str], literals: frozenset[str] = NONE
) -> str:
    """Return a value for instructions without a fence: it forges no tag and no sign of Markdown.

    It also forges none of the delimiters in ``literals``. ``names`` are those of the tags.
    ``decode`` returns the original.
    """
    value = str.__str__(value)
    text = readable_tags(
        value,
        frozenset(RAW).union(names) if neighbours.in_raw else names,
        literals,
        before_value=neighbours.until == "",
        in_comment=neighbours.in_comment,
    )
    if neighbours.in_tag:  # with ``=``, the author's quotation mark after it begins an attribute
        text = _FINAL_EQUALS.sub("&#61;", text)
    return among_lines(text, neighbours)


def among_lines(text: str, neighbours: Neighbours, *, only_edges: bool = False) -> str:
    """Return a value, with its tags already encoded, that begins no heading, rule, fence or HTML.

    With ``only_edges``, only its first and its last line are checked, with the author's text.
    """
    # The author's texts before the value on its line: as if the other values before it were empty,
    # and as if the nearest of them were a line end.
    befores = (
        [neighbours.before]
        if neighbours.nearest is None
        else [neighbours.before, neighbours.nearest]
    )
    # The author's texts after the value: as if other values were empty, and up to the next value.
    # ``True`` says that a value follows, which may be any text.
    ends = [(neighbours.after, False)]
    if neighbours.until is not None:
        ends.append((neighbours.until, True))
    for before in befores:
        sign = _sign_of(before, in_code=False, in_block=True)
        if sign and sign[1][0] in "`~":  # the value must not leave the line of a code fence
            text = _TICK_OR_LINE_END.sub(reference, text)
            return _encoded(text, [0]) if text and _ALL_BLANK.match(text) else text
    if only_edges and _ALL_BLANK.match(text):
        return text
    if not only_edges:
        text = _without_blank_edges(text, neighbours, befores)
    # A blank line in the value ends an HTML block above the blank line. So this block cannot reach
    # the author's text after the value, and stays.
    last_blank = max((line.end() for line in _BLANK_LINE.finditer(text)), default=0)
    last = text.rfind("\n") + 1  # the start of the last line; 0 if the value has only one line
    edge = partial(_positions_on_edge, text, in_code=neighbours.in_code, last_blank=last_blank)
    positions = edge(0, befores, [("", False)] if last else ends)
    if not only_edges:
        lines = _MAY_HAVE_SIGN.finditer(text, 0, last - 1)
        positions += _positions_inside(
            text, lines, in_code=neighbours.in_code, last_blank=last_blank
        )
    if _MAY_HAVE_SIGN.match(text, last - 1):  # never for a value of one line: it has no line end
        positions += edge(last, [""], ends)
    return _encoded(text, positions)


def _positions_inside(
    text: str, lines: Iterable[re.Match[str]], *, in_code: bool, last_blank: int
) -> Iterator[int]:
    """Yield the positions of the characters that become references, so that no line has a sign.

    ``lines`` are matches of the line ends before the lines that may have a sign. The first and the
    last line of the value are not among them.
    """
    for line_end in lines:
        start = line_end.end()
        line = text[start : text.index("\n", start)]
        sign = _sign_of(line, in_code=in_code, in_block=start >= last_blank)
        if sign:
            yield start + sign[0]


def _positions_on_edge(
    text: str,
    start: int,
    befores: Sequence[str],
    ends: Sequence[tuple[str, bool]],
    *,
    in_code: bool,
    last_blank: int,
) -> list[int]:
    """Return the positions in the value of characters in its first or last line, for references.

    ``befores`` are the author's texts before the line. ``ends`` are the author's texts after the
    line, each with whether another value follows.
    """
    line = text[start:].partition("\n")[0]
    # With a ``<`` of the author, the value may make an HTML block of the author's text. This block
    # counts even if a blank line of the value ends it.
    indexes = [
        _forged_at(
            before,
            line,
            after,
            in_code=in_code,
            in_block=start >= last_blank or "<" in before,
            goes_on=goes_on,
        )
        for before in befores
        for after, goes_on in ends
    ]
    # The index is -1 if the author's text has the sign. Then the first character of the value
    # becomes a reference; on its last line, the first character that is not blank.
    first = _first_seen(line) if start else 0
    positions = {start + (first if index < 0 else index) for index in indexes if index is not None}
    # At position 0, an empty value has no character, and another may begin with a reference.
    return sorted(index for index in positions if index or text[:1] not in ("", "&"))


def _without_blank_edges(text: str, neighbours: Neighbours, befores: Sequence[str]) -> str:
    """Return a value with references for a blank start and a final line end that change a line.

    A final line end stays if no text of the author and no value follows on its line.
    """
    # With nothing or only markup before it, a blank may change the line: ``-`` and a blank begin an
    # item of a list.
    after_markup = any(_ONLY_MARKUP.match(before) for before in befores)
    # At the beginning of a line, except the first of the part, a space or tab only indents the
    # value. So it may stay. A line end may not, because it would make a blank line. Neither may a
    # space if the author's text follows on the same line: it would indent that text, too.
    begins_line = not neighbours.is_first and not any(map(str.strip, befores))
    only_indents = (
        begins_line and text[:1] in " \t" and ("\n" in text or not neighbours.after.strip())
    )
    if _ALL_BLANK.match(text) or (after_markup and not only_indents and _BLANK_START.match(text)):
        text = _encoded(text, [0] if text else [])
    if neighbours.after or neighbours.until is not None:
        text = _FINAL_END.sub(lambda end: "".join(map(reference_of, end[0])), text)
    return text


def _forged_at(
    before: str, line: str, after: str, *, in_code: bool, in_block: bool, goes_on: bool
) -> int | None:
    """Return the index of the character of a value's line that becomes a reference.

    ``before`` and ``after`` are the author's texts on the same line. With ``goes_on``, another
    value follows. The result is ``None`` if the line has no sign, or if it has the same sign with a
    harmless word instead of the value. The result is -1 if the sign is in the author's text, but
    only the value makes it one: ``<`` before the value ``div>``, ``# a`` after the value ``- ``.
    """
    sign = _sign_of(before + line + after, in_code=in_code, in_block=in_block)
    if sign is None:
        return _unfinished_at(before, line, after, in_code=in_code) if goes_on else None
    start = sign[0] - len(before)
    if 0 <= start < len(line):
        return start
    harmless = _sign_of(f"{before}w{after}", in_code=in_code, in_block=in_block)
    return None if start < 0 and harmless == sign else -1


def _unfinished_at(before: str, line: str, after: str, *, in_code: bool) -> int | None:
    """Return the same as ``_forged_at``, for a sign that a value after the line may complete."""
    full_line = before + line + after
    start = _end_of_markers(full_line)
    if in_code:  # only a code fence counts: two backticks, and another value
        return -1 if _ONLY_TICKS.match(full_line, start) else None
    if _ONLY_MARKUP.match(full_line):  # a rule or a code fence: the value ``-``, and another value
        sign = _SIGN_START.search(line)
        return sign.start() if sign else None
    if start >= len(before):  # an HTML block that this value begins: ``<q``, and another value
        return start - len(before) if line.startswith("<", start - len(before)) else None
    # An HTML block that the author begins: ``<``, the value ``d``, and another value.
    tag = _TAG_NAME.match(full_line, start)
    names = (*_KIND_6_NAMES.split("|"), *RAW)
    is_block = tag and any(name.startswith(tag[1].lower()) for name in names)
    return -1 if is_block else None


def _sign_of(line: str, *, in_code: bool, in_block: bool) -> tuple[int, str] | None:
    """Return the position of the sign of a line, and the sign; ``None`` for a plain line.

    With ``in_code``, only a code fence counts. With ``in_block``, no blank line of the value ends
    an HTML block that begins on this line, so those of the kinds 6 and 7 count, too.
    """
    beginning = (_FENCE if in_code else _BEGINNINGS[in_block]).match(line)
    if beginning is None:
        return None
    if beginning[1]:
        return beginning.start(1), beginning[1]
    rule = cast("re.Match[str]", _RULE.search(line))
    sign = _RULE_SIGN.search(line, rule.start())
    return (sign.start(), sign[0]) if sign else None


def _end_of_markers(line: str) -> int:
    """Return the position in a line after its blanks and the markers of lists and quotes."""
    return cast("re.Match[str]", _ALL_MARKERS.match(line)).end()


def _first_seen(line: str) -> int:
    """Return the index of the first character of a line that is not blank, 0 without one."""
    seen = _FIRST_SEEN.search(line)
    return seen.start() if seen else 0


def _encoded(text: str, positions: Sequence[int]) -> str:
    """Return a text with references for the characters at some positions, which are sorted."""
    pieces: list[str] = []
    end = 0
    for position in positions:
        pieces += (text[end:position], reference_of(text[position]))
        end = position + 1
    return "".join((*pieces, text[end:])) if pieces else text
