"""The readable encoding: values in instructions, which are Markdown without a fence around it.

A value keeps its characters, but for the first one of what forges a tag of the prompt (``guards``),
or begins a heading, a rule, a code fence or an HTML block. What begins a line depends on the
author's text before it: ``#general`` begins nothing after ``Channel: ``. So a value is encoded with
what stands beside it in the text of its part; another value beside it counts as any text at all.

The marks are those of CommonMark 0.31: thematic breaks (4.1), headings (4.2, 4.3), code fences
(4.5), HTML blocks (4.6). They are found after any white space, characters that nobody sees, and the
markers of lists and quotes, because readers differ. See ``docs/safety.md`` for the promise.
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
_SIGN = rf"(?:>|(?:[-+*]|[0-9]*[.)])(?={_BLANK}|\Z))"
_MARKS = r"[=\-*_~`+]"
# The HTML blocks of CommonMark by their beginnings.
RAW = ("script", "pre", "style", "textarea")
"""The names of the HTML blocks of kind 1, each of which ends with the tag of any of these."""
_KINDS_1_TO_5 = rf"<(?i:\?|!--|![\[a-z]*|(?:{'|'.join(RAW)})(?={_BLANK}|>|\Z))"
_KIND_6 = (
    "address|article|aside|base|basefont|blockquote|body|caption|center|col|"
    "colgroup|dd|details|dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|"
    "form|frame|frameset|h1|h2|h3|h4|h5|h6|head|header|hr|html|iframe|legend|"
    "li|link|main|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|"
    "section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul"
)

# Of a line: what begins it, and then a code fence, a heading or an HTML block.
_SIGNS = rf"{_BLANK}*+(?:{_SIGN}{_BLANK}*+)*+"
_FENCE = pattern(rf"{_SIGNS}(```|~~~)")
_HEADING_OR_HTML = rf"```|~~~|#{{1,6}}(?={_BLANK}|\Z)|{_KINDS_1_TO_5}"
_KIND_7 = rf"</?(?=[A-Za-z](?:[^<>\"']|\"[^\"]*+\"|'[^']*+')*+>{_BLANK}*+\Z)"
_HTML = rf"</?(?i:{_KIND_6})(?={_BLANK}|[/>]|\Z)|{_KIND_7}"
# A line of nothing else is a rule, or underlines a heading; a shorter end of a line is none.
_ENDS_RULE = rf"(?:[-=*_]|{_BLANK})*+\Z"
_BEGINNINGS = (
    pattern(rf"{_SIGNS}(?:({_HEADING_OR_HTML})|{_ENDS_RULE})"),
    pattern(rf"{_SIGNS}(?:({_HEADING_OR_HTML}|{_HTML})|{_ENDS_RULE})"),
)
_RULE = pattern(rf"(?<![-=*_])(?<!{_BLANK}){_ENDS_RULE}")
_RULE_MARK = pattern(r"[-=*_]")
# A line that may go on with another value.
_ONLY_MARKS = pattern(rf"(?:{_BLANK}|{_SIGN}|{_MARKS})*+\Z")
_MARK = pattern(_MARKS)
_ALL_SIGNS = pattern(_SIGNS)
_ONLY_TICKS = pattern(r"(?:`+|~+)\Z")
_TAG_NAME = pattern(r"</?([\w-]*+)\Z")

_FIRST_SEEN = pattern(rf"(?!{_BLANK}).")
_ALL_BLANK = pattern(rf"(?:\n|{_BLANK})*+\Z")
_BLANK_START = pattern(rf"\n|{_BLANK}")
_BLANK_LINE = pattern(rf"\n{_BLANK}*+(?=\n)")
_FINAL_END = pattern(rf"\r?\n(?={_BLANK}*+\Z)")
_FINAL_EQUALS = pattern(rf"=(?=(?:\n|{_BLANK})*+\Z)")
_MARKED_LINE = pattern(rf"\n(?={_BLANK}*+(?:[#=\-*_~`+<>.)]|[0-9]++(?:[.)]|\Z)))")


class Neighbours(NamedTuple):
    """What the author's text beside a value is, in the text of its part.

    ``before`` and ``after`` are on its line, without the values there; ``nearest`` and ``until``
    are the parts of them next to the value, where there is another value. ``is_first``: nothing of
    the author's is before it. ``in_code``: in a code fence of the author's. ``in_comment``: where
    the author writes a comment or another declaration, which ends with ``>``. ``in_raw``: where the
    author writes HTML of kind 1, which ends with the tag of any of its names. ``in_tag``: in a tag
    that the author's text before it begins.
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
"""A line that begins with a letter, in which no mark begins: no encoding changes it."""


def within_line(value: str, before: str) -> bool:
    """Return whether a value is on one line, and cannot begin it.

    It begins with a letter, or ``before`` has one, the author's text before it without a ``<``.
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
    """Return a value for unfenced instructions that forges no tag and begins nothing of Markdown.

    The tags are those with ``names``, and ``literals``. ``decode`` returns the original.
    """
    value = str.__str__(value)
    text = readable_tags(
        value,
        frozenset(RAW).union(names) if neighbours.in_raw else names,
        literals,
        before_value=neighbours.until == "",
        in_comment=neighbours.in_comment,
    )
    if neighbours.in_tag:  # a quotation mark of the author's behind it would begin an attribute
        text = _FINAL_EQUALS.sub("&#61;", text)
    return among_lines(text, neighbours)


def among_lines(text: str, neighbours: Neighbours, *, only_edges: bool = False) -> str:
    """Return a value, in which tags are encoded, that begins no heading, rule, fence or HTML.

    With ``only_edges`` it begins nothing by itself, and is judged with the author's text alone.
    """
    befores = (
        [neighbours.before]
        if neighbours.nearest is None
        else [neighbours.before, neighbours.nearest]
    )
    ends = [(neighbours.after, False)]
    if neighbours.until is not None:
        ends.append((neighbours.until, True))
    for before in befores:
        found = _mark(before, in_code=False, in_block=True)
        if found and found[1][0] in "`~":  # the line of a code fence: the value stays on it
            text = _TICK_OR_END.sub(reference, text)
            return _encoded(text, [0]) if text and _ALL_BLANK.match(text) else text
    if only_edges and _ALL_BLANK.match(text):
        return text
    if not only_edges:
        text = _without_blank_edges(text, neighbours, befores)
    # A blank line in the value is the end of an HTML block above it.
    last_blank = max((line.end() for line in _BLANK_LINE.finditer(text)), default=0)
    last = text.rfind("\n") + 1
    edge = partial(_marks_of_edge, text, in_code=neighbours.in_code, last_blank=last_blank)
    marks = edge(0, befores, [("", False)] if last else ends)
    if not only_edges:
        lines = _MARKED_LINE.finditer(text, 0, last - 1)
        marks += _marks_inside(text, lines, in_code=neighbours.in_code, last_blank=last_blank)
    if _MARKED_LINE.match(text, last - 1):
        marks += edge(last, [""], ends)
    return _encoded(text, marks)


def _marks_inside(
    text: str, lines: Iterable[re.Match[str]], *, in_code: bool, last_blank: int
) -> Iterator[int]:
    """Yield which characters become references, so that no line inside a value begins anything.

    ``lines`` may begin something: the ends before them. The first line and the last are left out.
    """
    for before in lines:
        start = before.end()
        line = text[start : text.index("\n", start)]
        mark = _mark(line, in_code=in_code, in_block=start >= last_blank)
        if mark:
            yield start + mark[0]


def _marks_of_edge(
    text: str,
    start: int,
    befores: Sequence[str],
    ends: Sequence[tuple[str, bool]],
    *,
    in_code: bool,
    last_blank: int,
) -> list[int]:
    """Return which characters of the first or last line of a value become references.

    ``befores`` are the author's texts before the line; ``ends`` those behind it, each with whether
    another value is behind that.
    """
    line = text[start:].partition("\n")[0]
    forged = [
        _forged(
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
    # Where the mark is the author's, the first character of the value, or of its last line.
    first = _first_seen(line) if start else 0
    places = {start + (first if it < 0 else it) for it in forged if it is not None}
    return sorted(it for it in places if it or text[:1] not in ("", "&"))


def _without_blank_edges(text: str, neighbours: Neighbours, befores: Sequence[str]) -> str:
    """Return a value with references for a blank start and a final line end that change a line.

    A final line end stays where nothing of the author's and no value is behind it on its line.
    """
    # Behind a line end of the author's, a blank indents a line, but a line end makes a blank one.
    begins = any(_ONLY_MARKS.match(it) for it in befores)
    # It does not where the author's text follows on that line: it would be indented, too.
    is_indented = not neighbours.is_first and not any(map(str.strip, befores)) and text[:1] in " \t"
    is_indented = is_indented and ("\n" in text or not neighbours.after.strip())
    if _ALL_BLANK.match(text) or (begins and not is_indented and _BLANK_START.match(text)):
        text = _encoded(text, [0] if text else [])
    if neighbours.after or neighbours.until is not None:
        text = _FINAL_END.sub(lambda end: "".join(map(reference_of, end[0])), text)
    return text


def _forged(
    before: str, line: str, after: str, *, in_code: bool, in_block: bool, goes_on: bool
) -> int | None:
    """Return which character of a line of a value becomes a reference, so that it begins nothing.

    ``before`` and ``after`` are the author's on the same line. What a harmless word there would
    be, too, is the author's. With ``goes_on`` another value is behind it. Returns -1 where the
    mark is in the author's text.
    """
    found = _mark(before + line + after, in_code=in_code, in_block=in_block)
    if found is None:
        return _unfinished(before, line, after, in_code=in_code) if goes_on else None
    start = found[0] - len(before)
    if 0 <= start < len(line):
        return start
    harmless = _mark(f"{before}w{after}", in_code=in_code, in_block=in_block)
    return None if start < 0 and harmless == found else -1


def _unfinished(before: str, line: str, after: str, *, in_code: bool) -> int | None:
    """Return the same as ``_forged``, for a mark that a value behind it could complete."""
    whole = before + line + after
    start = _end_of_signs(whole)
    if in_code:
        return -1 if _ONLY_TICKS.match(whole, start) else None
    if _ONLY_MARKS.match(whole):
        own = _MARK.search(line)
        return own.start() if own else None
    if start >= len(before):
        return start - len(before) if line.startswith("<", start - len(before)) else None
    named = _TAG_NAME.match(whole, start)
    names = (*_KIND_6.split("|"), *RAW)
    is_block = named and any(name.startswith(named[1].lower()) for name in names)
    return -1 if is_block else None


def _mark(line: str, *, in_code: bool, in_block: bool) -> tuple[int, str] | None:
    """Return the mark of what a line begins, and where it is; ``None`` for a plain line.

    ``in_code``: only a code fence counts. ``in_block``: an HTML block would go on below the value.
    """
    begun = (_FENCE if in_code else _BEGINNINGS[in_block]).match(line)
    if begun is None:
        return None
    if begun[1]:
        return begun.start(1), begun[1]
    rule = cast("re.Match[str]", _RULE.search(line))
    mark = _RULE_MARK.search(line, rule.start())
    return (mark.start(), mark[0]) if mark else None


def _end_of_signs(line: str) -> int:
    """Return where a line begins behind its blanks and the marks of lists and quotes."""
    return cast("re.Match[str]", _ALL_SIGNS.match(line)).end()


def _first_seen(line: str) -> int:
    """Return the first character of a line that is no blank, or else its first one."""
    seen = _FIRST_SEEN.search(line)
    return seen.start() if seen else 0


_TICK_OR_END = pattern("[\r\n`~]")


def _encoded(text: str, marks: Sequence[int]) -> str:
    """Return a text with references for the characters at some positions, which are sorted."""
    pieces: list[str] = []
    end = 0
    for mark in marks:
        pieces += (text[end:mark], reference_of(text[mark]))
        end = mark + 1
    return "".join((*pieces, text[end:])) if pieces else text
