r"""Readers of a rendered prompt: what each takes for a heading, a rule, a fence, HTML or a tag.

They know nothing of how values are encoded: two CommonMark implementations, a reader of lines that
takes whatever may be meant as a mark, and a reader of tags that does the same.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from markdown_it import MarkdownIt
from marko.block import FencedCode, Heading, HTMLBlock, SetextHeading, ThematicBreak
from marko.parser import Parser

TAGS = frozenset(
    ["event", "context", "developer", "untrusted", "tool_use", "tool_result", "system", "assistant"]
)


class Mark(NamedTuple):
    """What a reader sees in a text: its kind, and where it is, in characters."""

    kind: str
    start: int
    end: int


class Page(NamedTuple):
    """A rendered text, where the values are in it, and the names of tags that count."""

    text: str
    values: Sequence[tuple[int, int]]
    tags: frozenset[str]

    def author(self, start: int, end: int) -> Iterator[tuple[int, str]]:
        """Yield the author's text in a range, each piece after where it begins in all of it."""
        before = 0
        for value_start, value_end in [*self.values, (len(self.text), len(self.text))]:
            piece = self.text[start : min(value_start, end)]
            if piece:
                yield start - before, piece
            start = max(start, value_end)
            before += value_end - value_start

    def is_author(self, start: int, end: int) -> bool:
        """Return whether a range is the author's alone."""
        return sum(len(piece) for _, piece in self.author(start, end)) == end - start


def markdown_it(page: Page) -> list[Mark]:
    """Return what a CommonMark reader sees."""
    return _markdown_it(_WITH_HTML, page.text)


def markdown_it_without_html(page: Page) -> list[Mark]:
    """Return what a CommonMark reader sees for which HTML is text."""
    return _markdown_it(_WITHOUT_HTML, page.text)


def marko(page: Page) -> list[Mark]:
    """Return what another CommonMark reader sees."""
    text, marks = page.text, list[Mark]()
    # It reads a text in which every line ends in one character.
    places = None
    if "\r\n" in text:
        places = [at for at in range(len(text)) if text[at : at + 2] != "\r\n"] + [len(text)]
    waiting = list(reversed(_MARKO.parse(text).children))
    while waiting:
        element = waiting.pop()
        waiting.extend(reversed(getattr(element, "children", ())))
        kind = _MARKO_KINDS.get(type(element))
        if kind is not None:
            start, end = element.source_span
            level = str(element.level) if kind in {"h", "setext"} else ""
            if places:
                start, end = places[start], places[end]
            marks.append(Mark(kind + level, start, end))
    return marks


def lines(page: Page) -> list[Mark]:
    """Return what a reader of lines sees that looks for marks behind all white space and markers.

    Between fences of the author it sees nothing.
    """
    marks = list[Mark]()
    start, blank_before, fence = 0, True, ""
    for line in page.text.splitlines(keepends=True):
        mark = _line_mark(line, blank_before=blank_before)
        blank_before = not line.strip("> \t\r\n") or line.isspace()
        if mark is not None:
            run, rest = line[mark.start : mark.end], line[mark.end :]
            mark = Mark(mark.kind, start + mark.start, start + mark.end)
            of_author = mark.kind == "fence" and page.is_author(mark.start, mark.end)
            if not fence:
                marks.append(mark)
                info = page.author(mark.end, start + len(line))
                # Behind tildes a backtick is allowed (CommonMark 0.31, 4.5).
                if of_author and (run[0] == "~" or not any("`" in piece for _, piece in info)):
                    fence = run
            elif of_author and run.startswith(fence) and not rest.strip():
                marks.append(mark)
                fence = ""
        start += len(line)
    return marks


def tags(page: Page) -> list[Mark]:
    """Return what a reader of tags sees that takes any case, white space, and no ``>``.

    It passes over ``<context`` of the author directly before a value: the tag is the author's,
    whatever comes next.
    """
    before_values = {start for start, _ in page.values}
    return [
        Mark("/" * bool(match[1]) + match[2].lower(), match.start(), match.end())
        for match in _TAG.finditer(page.text)
        if match[2].lower() in page.tags
        and not (match.end() in before_values and page.is_author(*match.span()))
    ]


READERS: dict[str, Callable[[Page], list[Mark]]] = {
    "markdown-it": markdown_it,
    "markdown-it without HTML": markdown_it_without_html,
    "marko": marko,
    "lines": lines,
    "tags": tags,
}
READS_HTML = ("markdown-it", "marko")


def things(marks: Sequence[Mark], page: Page) -> list[tuple[str, int | None, str]]:
    """Return what a reader sees: kinds, and what makes each the author's, whatever the values are.

    That is where the mark is in the author's text, and the author's text in fences and HTML.
    """
    things = list[tuple[str, int | None, str]]()
    for kind, start, end in marks:
        pieces = [(at, piece) for at, piece in page.author(start, end) if not piece.isspace()]
        text = "".join("".join(piece.split()) for _, piece in pieces)
        at = None
        if kind.startswith("setext") and pieces:
            at = pieces[-1][0] + len(pieces[-1][1].rstrip())
        elif pieces:
            at = pieces[0][0] + len(pieces[0][1]) - len(pieces[0][1].lstrip())
        if kind == "html":
            # HTML in a value is allowed, as long as it takes nothing of the author's but markers.
            if text.strip("->+*.)0123456789"):
                things.append((kind, None, text))
        else:
            things.append((kind, at, text if kind == "fence" else ""))
    return things


def is_unclosed(mark: Mark, page: Page) -> bool:
    """Return whether a code fence that a reader sees is ended by something else than a fence."""
    *_, last = page.text[mark.start : mark.end].rstrip().splitlines()
    lines = len(page.text[mark.start : mark.end].splitlines())
    return mark.kind == "fence" and (lines < 2 or not _FENCE.match(_MARKERS.sub("", last)))


def depends_on_values(page: Page) -> bool:
    """Return whether what a line of the author's is depends on a paragraph or a list of a value.

    That is an indented line below a value; in the paragraph of one, a line of only ``-`` or ``=``,
    of one tag, or a list that does not begin with 1; a tag with a value among its attributes; and
    an item that begins with blanks.
    """
    if re.search(r"(?m)^[> ]*(?:[-*+]|\d+[.)])(?: {2}|\t)", page.text):
        return True
    starts = [0, *(match.end() for match in _LINE_END.finditer(page.text))]
    for above, first, end in zip([0, *starts], starts, [*starts[1:], len(page.text)], strict=False):
        line = page.text[first:end]
        bare = line.lstrip("> \t")
        blank = max((it.end() for it in _BLANK.finditer(page.text, 0, above)), default=0)
        is_under = any(start < first and end > blank for start, end in page.values)
        item = _LATER_ITEM.match(line)
        if is_under and item and page.is_author(first, first + item.end()):
            return True
        if not page.is_author(first, end):
            continue
        if re.match(r"[> ]*(?: {2}|\t)", line) and bare.strip():
            return True
        if is_under and (
            _UNDERLINE.fullmatch(bare) or re.fullmatch(r"<.*>\s*", _MARKERS.sub("", bare, count=1))
        ):
            return True
    opened = (
        re.search(r"<[A-Za-z][\w-]*\s[^<>]*\Z", page.text[:start]) for start, _ in page.values
    )
    return any(opened)


_WITH_HTML = MarkdownIt("commonmark").disable("inline")
_WITHOUT_HTML = MarkdownIt("commonmark").disable(["inline", "html_block"])
_LINE_END = re.compile(r"\r\n?|\n")
_MARKO_KINDS = {
    Heading: "h",
    SetextHeading: "setext",
    ThematicBreak: "hr",
    FencedCode: "fence",
    HTMLBlock: "html",
}
_TAG = re.compile(r"<\s*(/?)\s*([a-z_][\w.:-]*)", re.IGNORECASE)
_BLANK = re.compile(r"\n[> \t]*(?=\n)")
_MARKERS = re.compile(r"(?:\s|>|[-*+](?=\s)|\d{1,9}[.)](?=\s))*")
_MARKER = re.compile(r"\s*(?:>|[-*+](?=\s|$)|\d{1,9}[.)](?=\s|$))")
_HEADING = re.compile(r"(#{1,6})(?=\s|$)")
_FENCE = re.compile(r"`{3,}|~{3,}")
_RULE = re.compile(r"([-*_])\s*(?:\1\s*){2,}$")
_UNDERLINE = re.compile(r"(?:=+|-+)\s*$")
_LATER_ITEM = re.compile(r"[> \t]*(?!1[.)])\d{1,9}[.)](?=\s)")


def _markdown_it(parser: MarkdownIt, text: str) -> list[Mark]:
    starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
    starts += [len(text)] * 3
    marks = list[Mark]()
    for token in parser.parse(text):
        kind = token.type
        if kind == "heading_open":
            kind = ("setext" if token.markup in {"=", "-"} else "h") + token.tag[1]
        elif kind in {"fence", "hr"}:
            pass
        elif kind == "html_block":
            kind = "html"
        else:
            continue
        first, behind = token.map
        marks.append(Mark(kind, starts[first], starts[behind]))
    return marks


class _BlockParser(Parser):
    """Marko without its inline pass."""

    def __init__(self) -> None:
        super().__init__()
        self.sorted = super()._build_block_element_list()

    def parse_inline(self, *_: object) -> None:
        pass

    def _build_block_element_list(self) -> list:
        return self.sorted


_MARKO = _BlockParser()


def _line_mark(line: str, *, blank_before: bool) -> Mark | None:
    """Return what a line is, and where its mark is in it."""
    at, quoted = 0, True
    while True:
        at += len(line[at:]) - len(line[at:].lstrip())
        rest = line[at:]
        if match := _HEADING.match(rest):
            return Mark(f"h{len(match[1])}", at, at + match.end())
        if match := _FENCE.match(rest):
            return Mark("fence", at, at + match.end())
        if _RULE.match(rest):
            return Mark("hr", at, at + len(rest.rstrip()))
        if quoted and not blank_before and _UNDERLINE.match(rest):
            return Mark("setext", at, at + len(rest.rstrip()))
        marker = _MARKER.match(rest)
        if marker is None:
            return None
        quoted &= rest[0] == ">"
        at += marker.end()
