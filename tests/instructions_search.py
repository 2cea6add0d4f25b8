r"""A search for values that change the instructions around them, from the promise alone.

Author text around values at random, see tests/instructions_frames.py, is rendered with harmless
words and with hostile values. The author's text must be the same, each value must decode, and the
readers of tests/instructions_readers.py must see the same headings, rules, fences, HTML around the
author's text, and tags.

    python -m tests.instructions_search --frames 500000 --seed 1 [--encoding full]
"""

import argparse
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from random import Random
from typing import NamedTuple, Self

from promptdsl import PromptError, decode, render
from tests.instructions_frames import Frame, Part, built, frames, values_of, with_values
from tests.instructions_readers import (
    READERS,
    READS_HTML,
    TAGS,
    Mark,
    Page,
    depends_on_values,
    is_unclosed,
    things,
)

ALL_READERS = tuple(READERS)
FAST_READERS = tuple(name for name in READERS if name != "marko")
MARKO_ONE_IN = 4
# It takes a heading below ``[a]:`` for the address of a link, does not end with a tab before or in
# a quotation, and takes each ``<!`` that begins a line for a declaration, which has a letter behind
# it (CommonMark 0.31, 4.6).
MARKO_ERRS = re.compile(r"(?m)\]:|>[^\n]*\t|\t[^\n]*>|^[ >*+\-.)\d]*<!(?!--|[A-Za-z])")
ENDS_IN_BRACKET = re.compile(r"</?\Z")
ENDED = re.compile(r"<[!?][^>\n\r]*>[^\n\r]*\Z")
"""A comment or a declaration before a value on its line."""
VALUES_A_FRAME = 12
CLASSES = {
    **{f"h{level}": "heading" for level in range(1, 7)},
    **{"setext1": "setext heading", "setext2": "setext heading", "setext": "setext heading"},
    **{"hr": "rule", "html": "HTML", "fence": "fence"},
}
SHRUNK_A_CLASS = 20
HARMLESS = ("word", "some longer words")

Violation = tuple[str, str]
"""The reader that sees it, and what it sees."""


class Harmless(NamedTuple):
    """A frame with harmless words: the author's text around them, and what each reader sees."""

    frame: Frame
    outer: Sequence[str]
    prefixes: Sequence[str]
    tags: frozenset[str]
    things: dict[str, list]
    in_html: dict[str, set[int]]

    @classmethod
    def of(
        cls, frame: Frame, encoding: str | None, readers: Sequence[str] = ALL_READERS
    ) -> Self | None:
        """Return it, or ``None`` for a frame that is refused, exempt, or depends on the words."""
        prefixes = [prefix for _, prefix in values_of(frame)]
        both = list[Self]()
        for word in HARMLESS:
            try:
                rendered = rendering(with_values(frame, [word] * len(prefixes)), encoding)
            except PromptError:
                return None
            if not rendered.messages:
                return None  # a frame without text, as a smaller one may be
            outer, values = [""], list[tuple[int, int]]()
            for span in rendered.spans():
                if span.kind == "value":
                    outer.append("")
                    values.append((span.start, span.end))
                else:
                    outer[-1] += span.text
            page = Page(rendered.messages[0].text, values, vocabulary(outer))
            if page.text != word.join(outer):
                return None  # the author's text makes a tag of any word
            if "marko" in readers and MARKO_ERRS.search(page.text):
                readers = [name for name in readers if name != "marko"]
            try:
                marks = {name: READERS[name](page) for name in readers}
            except IndexError:
                return None  # markdown-it fails at the end of some quotations
            html = {
                name: [mark for mark in marks[name] if mark.kind == "html"]
                for name in READS_HTML
                if name in marks
            }
            if depends_on_values(page) or any(names_html(m, page) for m in html.values()):
                return None
            seen_marks = [
                it for name in readers if name not in ("lines", "tags") for it in marks[name]
            ]
            if any(is_unclosed(mark, page) for mark in seen_marks):
                return None
            seen = {name: things(marks[name], page) for name in readers}
            in_html = {name: values_in(html[name], page) for name in html}
            both.append(cls(frame, outer, prefixes, page.tags, seen, in_html))
        return both[0] if both[0] == both[1] else None

    def violations(
        self, values: Sequence[str], encoding: str | None, readers: Sequence[str] = ALL_READERS
    ) -> Iterator[Violation]:
        """Yield what changes with these values."""
        try:
            text = rendering(with_values(self.frame, list(values)), encoding).messages[0].text
        except PromptError as error:
            yield "frame", type(error).__name__
            return
        places = self.places(text, values, 0, 0)
        if places is None:
            yield "frame", "author text changed, or a value does not decode"
            return
        page = Page(text, places, self.tags)
        for reader in readers:
            in_html = self.in_html.get(reader, ())
            if any(blank_line(values[at]) for at in in_html):
                continue
            if reader in READS_HTML and any(map(ENDS_IN_BRACKET.search, self.outer[:-1])):
                continue  # a tag written by hand, whose name is a value
            if in_html and len(self.frame) + len(self.frame[0]) > 2 and re.search("<[!?]", text):
                continue  # a comment or a declaration around other parts
            ended = [at for at in in_html if ENDED.search("".join(self.outer[: at + 1]))]
            if any("\n" in values[at] or "\r" in values[at] for at in ended):
                continue  # its line was HTML of the author's, which the value ends
            if reader == "marko" and (reader not in self.things or MARKO_ERRS.search(text)):
                continue
            try:
                before, now = self.things[reader], things(READERS[reader](page), page)
            except IndexError:
                continue
            if before != now:
                yield reader, difference(before, now)

    def places(
        self, text: str, values: Sequence[str], which: int, at: int
    ) -> list[tuple[int, int]] | None:
        """Return where the values are, if the author's text is around them and each decodes."""
        start = at + len(self.outer[which])
        if not text.startswith(self.outer[which], at):
            return None
        if which == len(values):
            return [] if start == len(text) else None
        behind = self.outer[which + 1]
        end = text.find(behind, start) if which + 1 < len(values) else len(text) - len(behind)
        while start <= end <= len(text) - len(behind):
            if decodes(text[start:end], values[which], self.prefixes[which]):
                rest = self.places(text, values, which + 1, end)
                if rest is not None:
                    return [(start, end), *rest]
            end = text.find(behind, end + 1)
        return None


def rendering(frame: Frame, encoding: str | None):
    """Return the frame, rendered."""
    if encoding:
        return render(built(frame), transformation={"encoding": {"inline": encoding}})
    return render(built(frame))


def decodes(encoded: str, value: str, prefix: str) -> bool:
    """Return whether a value is read back, without what its further lines begin with."""
    if decode(encoded) == value:
        return True
    if not prefix:
        return False
    end = r"(\r\n|\n|\r)"
    blank = "" if prefix.isspace() else f"|{re.escape(prefix.rstrip())}"
    return any(
        decode(re.sub(pattern, r"\1", encoded)) == value
        for pattern in (f"{end}{prefix}", f"{end}(?:{prefix}{blank})")
    )


def vocabulary(outer: Sequence[str]) -> frozenset[str]:
    """Return the names of the tags that count: the fixed ones, and those of the author's pairs."""
    text = "\0".join(outer)
    opened = re.findall(r"<([A-Za-z_][\w.:-]*)(?=[\s>])", text)
    closed = re.findall(r"</([A-Za-z_][\w.:-]*)\s*>", text)
    return TAGS | {name.lower() for name in {*opened} & {*closed}}


def values_in(marks: Sequence[Mark], page: Page) -> set[int]:
    """Return which values are in what a reader sees."""
    return {
        which
        for _, start, end in marks
        for which, (first, behind) in enumerate(page.values)
        if first < end and behind > start
    }


def names_html(marks: Sequence[Mark], page: Page) -> bool:
    """Return whether a harmless word is what makes HTML of the author's text, as in ``<word>``."""
    for _, start, end in marks:
        name = re.compile(r"[^<]*<[/?!]?[\w-]*").match(page.text, start, end)
        if name and not page.is_author(page.text.find("<", start), min(name.end() + 1, end)):
            return True
    return False


def blank_line(value: str) -> bool:
    """Return whether a value has a blank line, or may make one with what is around it."""
    return any(not line.strip() for line in re.split(r"\r\n?|[\n\f]", value))


def difference(before: Sequence[tuple], now: Sequence[tuple]) -> str:
    """Return in words what is other."""
    new = [CLASSES.get(kind, "tag") for kind, *_ in Counter(now) - Counter(before)]
    lost = [CLASSES.get(kind, "tag") for kind, *_ in Counter(before) - Counter(now)]
    words = [f"lost {kind}" for kind in lost] + [f"new {kind}" for kind in new]
    if new == lost:
        words = [f"other text in {kind}" for kind in new]
    return ", ".join(sorted({*words})) or "another order"


def violates(frame: Frame, violation: Violation, encoding: str | None) -> bool:
    """Return whether a frame with values has a violation."""
    readers = [name for name in ALL_READERS if name == violation[0]]
    harmless = Harmless.of(frame, encoding, readers)
    values = [value for value, _ in values_of(frame)]
    return bool(harmless) and violation in harmless.violations(values, encoding, readers)


def shrunk(frame: Frame, violation: Violation, encoding: str | None) -> Frame:
    """Return the smallest frame at hand that violates the same."""
    left, again = 800, True
    while again:
        again = False
        for smaller in reductions(frame):
            left -= 1
            if left < 0:
                return frame
            if violates(smaller, violation, encoding):
                frame, again = smaller, True
                break
    return frame


def reductions(frame: Frame) -> Iterator[Frame]:
    """Yield frames that are a step smaller, the big steps first."""
    for at in range(len(frame)):
        if len(frame) > 1:
            yield frame[:at] + frame[at + 1 :]
        for part in _reduced(frame[at], _reduced_part, least=1):
            yield (*frame[:at], part, *frame[at + 1 :])


def _reduced(items: tuple, reduce, least: int) -> Iterator[tuple]:
    for at, item in enumerate(items):
        if len(items) > least:
            yield items[:at] + items[at + 1 :]
        for smaller in reduce(item):
            yield (*items[:at], smaller, *items[at + 1 :])


def _reduced_part(part: Part) -> Iterator[Part]:
    if part.kind not in {"plain", "heading"}:
        yield Part("plain", part.rows[:1])
    if part.title and part.kind == "section":
        yield part._replace(title=None)
    for rows in _reduced(part.rows, lambda row: _reduced(row, _reduced_text, 1), 1):
        yield part._replace(rows=rows)


def _reduced_text(text: str) -> Iterator[str]:
    size = len(text)
    while size := size // 2:
        for at in range(0, len(text) - size + 1, max(size // 2, 1)):
            if len(text) > size:
                yield type(text)(text[:at] + text[at + size :])
    for at, character in enumerate(text):
        for simple in "a" if not character.isspace() else "\n ":
            if character == simple:
                break
            yield type(text)(text[:at] + simple + text[at + 1 :])


class Search:
    """A search, with what it found: for each class how often, and frames."""

    def __init__(self, seed: int, encoding: str | None = None) -> None:
        self.rng = Random(seed)
        self.encoding = encoding if supported(encoding) else None
        self.count: Counter[Violation] = Counter()
        self.frames = defaultdict[Violation, list[Frame]](list)

    def run(self, count: int) -> Self:
        """Try so many frames."""
        while count > 0:
            frame, values = frames(self.rng)
            harmless = Harmless.of(frame, self.encoding)
            if harmless is None:
                continue
            for _ in range(min(count, VALUES_A_FRAME)):
                count -= 1
                words = values()
                readers = ALL_READERS if count % MARKO_ONE_IN == 0 else FAST_READERS
                for violation in harmless.violations(words, self.encoding, readers):
                    self.count[violation] += 1
                    self.frames[violation].append(with_values(frame, words))
        return self

    def shrunk(self, violation: Violation) -> list[Frame]:
        """Return shrunk frames of a class, no two alike; the smallest are shrunk."""
        different = dict[str, Frame]()
        for frame in sorted(self.frames[violation], key=size)[:SHRUNK_A_CLASS]:
            small = shrunk(frame, violation, self.encoding)
            different.setdefault(re.sub(r"[a-z]+", "a", repr(small)), small)
        return sorted(different.values(), key=size)

    def text(self, frame: Frame) -> str:
        """Return the text of a frame."""
        try:
            return rendering(frame, self.encoding).messages[0].text
        except PromptError as error:
            return str(error)

    def lines(self) -> list[str]:
        """Return a line for each shrunk frame, the reader and what it sees before it."""
        return [
            f"{reader}: {what}: {shown(frame)} -> {self.text(frame)!r}"
            for reader, what in sorted(self.frames)
            for frame in self.shrunk((reader, what))
        ]


def size(frame: Frame) -> int:
    """Return how long the code of a frame is."""
    return len(repr(frame))


def shown(frame: Frame) -> str:
    """Return the code of a frame."""
    turns = [", ".join(shown_part(part) for part in turn) for turn in frame]
    return ", ".join(f"System({parts})" for parts in turns)


def shown_part(part: Part) -> str:
    """Return the code of a part, a template as its pieces."""
    rows = [", ".join(map(repr, row)) for row in part.rows]
    title = f", title={part.title!r}" if part.title else ""
    match part.kind:
        case "plain":
            return rows[0]
        case "bullets" | "ordered":
            items = ", ".join(f"Item({row})" for row in rows)
            return f"List({items}{', ordered=True' * (part.kind == 'ordered')})"
        case "heading":
            return f"Heading({part.title!r})"
    return f"{part.kind.title()}({rows[0]}{title})"


def supported(encoding: str | None) -> bool:
    """Return whether the encoding of values can be chosen; the only one is the full one."""
    try:
        render("a", transformation={"encoding": {"inline": encoding}})
    except PromptError:
        return False
    return True


def violations(frames: int, seed: int, encoding: str | None = None) -> list[str]:
    """Return what so many frames violate, shrunk, one line each."""
    return Search(seed, encoding).run(frames).lines()


def main() -> None:
    """Search, and print what is found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--frames", type=int, default=500_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--encoding", choices=("readable", "full"), default="readable")
    options = parser.parse_args()
    start = time.perf_counter()
    search = Search(options.seed, "full" if options.encoding == "full" else None)
    search.run(options.frames)
    for line in search.lines():
        print(line)
    for (reader, what), count in search.count.most_common():
        print(f"{count:6} {reader}: {what}")
    seconds = time.perf_counter() - start
    print(f"{options.frames} frames, {search.count.total()} violations, {seconds:.0f} s")


if __name__ == "__main__":
    main()
