"""The text of a diff, as of a failing snapshot: one sentence, then each change at its location."""

import os
import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import accumulate, groupby
from typing import NamedTuple

import attrs

from promptdsl.comparing.changes import HEADER, LISTED, Change, changes, sources
from promptdsl.comparing.lines import AROUND, Row, WordHunk, hunks_of, rows_of
from promptdsl.comparing.snapshot_file import PromptFile
from promptdsl.comparing.titles import NOT_SENT, title_of

LONG = 60
"""The length of a changed line, in characters, from which its changed words follow it."""
EXCHANGE = ("user", "assistant", "tool", "history")
"""The first words of the addresses of turns that a budget drops together."""
NOUNS = {
    "hint": ("hint", "hints", "added", "removed"),
    "loss": ("loss", "losses", "added", "removed"),
    "library": ("library", "libraries", "added", "removed"),
    "dropped": ("part", "parts", "dropped", "not dropped any more"),
}
"""By the name of a header line: its noun, the plural, and the verbs for added and removed."""
SHORT = 60
"""The most characters of a changed header line that is complete in the first sentence."""
_LABEL = re.compile(r"⟦[a-z][^⟧]*⟧")
"""The sign of a value that changes."""
_NUMBERED = re.compile(r"^(system|developer|user|assistant|tool|event|ephemeral|history)\[[0-9]+\]")
"""The beginning of the address of a turn without an id."""


class DroppedAddresses(NamedTuple):
    """The addresses in the header of what a budget drops, or does not drop any more.

    ``words`` are the first words of these. ``paths`` are the addresses without the number of a
    turn, as the number may differ in the other prompt.
    """

    addresses: frozenset[str]
    words: frozenset[str]
    paths: frozenset[str]


def failure_text(expected: PromptFile, actual: PromptFile, *, exact: int | None = None) -> str:
    """Return all changes from one file to another; empty for equal files.

    The first line is a summary. Then the changes follow, each below its location. A line of
    ``expected`` begins with ``-``, a line of ``actual`` with ``+``, a line of both with two blanks.
    ``~`` begins the changed words of the two lines above, as ``[-old-]{+new+}``. ``…`` replaces
    equal lines that are left out. A location is followed by its source line, if ``actual`` knows
    it. ``exact`` is the token count of ``actual``; the count in its header is rounded.

    >>> from promptdsl.comparing.snapshot_file import FileEntry, FilePart
    >>> before, after = (
    ...     PromptFile((), (FileEntry("user", (FilePart("", text),)),)) for text in ("Hi", "Hello")
    ... )
    >>> print(failure_text(before, after))
    `user` changed: 1 line
    <BLANKLINE>
    user
    - Hi
    + Hello
    """
    all_changes = changes(expected, actual)
    if all(change.minor for change in all_changes):
        return ""
    return "\n".join([sentence(all_changes, exact), *change_lines(all_changes, actual)])


def change_lines(all_changes: Sequence[Change], after: PromptFile) -> Iterator[str]:
    """Yield the lines of changes; an empty line and a heading begin the changes of each location.

    A change that is complete in the sentence, such as another model, has no lines. ``after`` is
    the second file: it may know the source lines of its locations.
    """
    written_at = sources(after)
    with_lines = [change for change in all_changes if not change.minor and not _is_short(change)]

    def heading(change: Change) -> str:
        if change.location[0] == HEADER:
            return HEADER
        source = None if change.kind == "removed" else written_at.get(change.location)
        # The path is shown as by pytest: relative to the current folder, if the file is in it.
        line = str(source or "").removeprefix(os.path.join(os.getcwd(), ""))
        return " > ".join(change.location) + (f" ({line})" if line else "")

    for location, group in groupby(with_lines, key=heading):
        yield from ("", location)
        for change in group:
            if note := note_of(change):
                yield f"({note})"
            if not _is_moved_mark(change) and (change.before, change.after) != (None, None):
                yield from _diff(change)


def sentence(all_changes: Sequence[Change], exact: int | None = None) -> str:
    """Return all changes in one sentence; empty for no changes."""
    return "; ".join(_clauses([change for change in all_changes if not change.minor], exact))


def _clauses(major: Sequence[Change], exact: int | None) -> Iterator[str]:
    """Yield the clauses of the sentence: model, messages and sections, cache marks, header."""
    header = [change for change in major if change.location[0] == HEADER]
    in_messages = [change for change in major if change.location[0] != HEADER]
    budgeted = _budgeted_by_kind(header)
    yield from (f"model {_shift(line)}" for line in header if line.location[1] == "model")
    for kind in ("renamed", "changed", "added", "removed", "moved", "role"):
        by_verb: dict[str, list[Change]] = defaultdict(list)
        for change in in_messages:
            if change.kind == kind:
                by_verb[_verb(change, budgeted)].append(change)
        for verb, some in by_verb.items():
            yield f"{_names(some)} {verb}{_count(some) if kind == 'changed' else ''}"
    yield from (_cache(change) for change in in_messages if change.kind == "cache")
    for change in in_messages:
        before, after = ({*_LABEL.findall(text or "")} for text in (change.before, change.after))
        if change.kind == "changed" and before - after:
            yield f"`{change.location[-1]}` has no {' and '.join(sorted(before - after))} any more"
    # The clauses so far already report some lines of the header.
    is_reported = {
        "model": True,
        "cache": any(change.kind == "cache" for change in in_messages),
        "dropped": any(_is_dropped(change, budgeted) for change in in_messages),
    }
    yield from _of_header([line for line in header if not is_reported.get(line.location[1])], exact)
    if exact is not None and not any(line.location[1] == "tokens" for line in header):
        yield f"{exact:,} tokens now"


def _of_header(header: Sequence[Change], exact: int | None) -> Iterator[str]:
    """Yield the clauses for changes of the header; ``exact`` is the token count after them."""
    for (name, kind), group in groupby(header, key=lambda line: (line.location[1], line.kind)):
        lines = [*group]
        if kind == "moved":
            yield f"{name} moved"
        elif kind == "changed" and name not in LISTED:
            now = f"{exact:,}" if name == "tokens" and exact is not None else ""
            yield from (f"{name} {_shift(line, now)}" for line in lines)
        else:
            singular, plural, added, removed = NOUNS.get(
                name, (f"{name} line", f"{name} lines", "added", "removed")
            )
            noun = singular if len(lines) == 1 else plural
            verb = {"added": added, "removed": removed}.get(kind, kind)
            yield f"{len(lines)} {noun} {verb}"


def _names(some: Sequence[Change]) -> str:
    """Return the names of changed locations; for a renamed one, the old name."""
    names = [*dict.fromkeys(f"`{_name(change)}`" for change in some)]
    shown = names if len(names) <= 4 else [*names[:3], f"{len(names) - 3} more"]
    return f"{', '.join(shown[:-1])} and {shown[-1]}" if shown[1:] else shown[0]


def _name(change: Change) -> str:
    if change.kind == "renamed":
        return title_of(change.was).what if _is_strictness(change) else change.was
    return change.location[0] if change.kind == "role" else change.location[-1]


def _count(some: Sequence[Change]) -> str:
    all_hunks = (hunk for change in some for hunk in hunks_of(change))
    count = sum(max(len(hunk.removed), len(hunk.added)) for hunk in all_hunks)
    texts = ((change.before or "", change.after or "") for change in some)
    blanks = "only blanks in " if all(a.split() == b.split() for a, b in texts) else ""
    return f": {blanks}{count} line{'s' if count != 1 else ''}"


def _verb(change: Change, budgeted: Mapping[str, DroppedAddresses]) -> str:
    """Return the verb for the change of a message, a section or a block."""
    if change.kind == "role":
        return _sent(change)
    if change.kind == "renamed":
        if not _is_strictness(change):
            return f"renamed to `{change.now}`"
        return "strict now" if title_of(change.now).is_strict else "not strict any more"
    if _is_dropped(change, budgeted):
        return "dropped for the budget" if change.kind == "removed" else "not dropped any more"
    return change.kind


def _is_strictness(change: Change) -> bool:
    was, now = title_of(change.was), title_of(change.now)
    return was.is_strict != now.is_strict and was.what == now.what


def _budgeted(addresses: Collection[str]) -> DroppedAddresses:
    return DroppedAddresses(
        frozenset(addresses),
        frozenset(address.partition("[")[0] for address in addresses),
        frozenset(_NUMBERED.sub(r"\1", address) for address in addresses),
    )


def _budgeted_by_kind(header: Sequence[Change]) -> dict[str, DroppedAddresses]:
    """Return what a budget drops (``removed``), and what it does not drop any more (``added``)."""
    addresses: dict[str, set[str]] = {"added": set(), "removed": set()}
    for line in header:
        address, _, why = (line.after or line.before or "").partition(", ~")
        # A result that is cut or cleared is still in the prompt.
        if line.location[1] == "dropped" and line.kind in addresses and " result" not in why:
            addresses[line.kind].add(address.removeprefix("dropped: "))
    dropped = addresses["added"]
    # An address that is dropped before and after does not count.
    return {
        "removed": _budgeted(dropped),
        "added": _budgeted(addresses["removed"] - dropped),
    }


def _is_dropped(change: Change, budgeted: Mapping[str, DroppedAddresses]) -> bool:
    """Return whether a message or section changed because a budget drops it, or does not any more.

    It is recognised by its address. When a turn is dropped, its whole exchange is dropped.
    """
    parts = budgeted.get(change.kind)
    if parts is None:
        return False
    message, *section = change.location
    word, _, id = message.partition(" ")
    if not section:
        is_in_exchange = word in EXCHANGE and not parts.words.isdisjoint(EXCHANGE)
        return is_in_exchange or word in parts.words or id in parts.addresses
    # A section is dropped with the sections around it. In system text, an address has no turn.
    path = section[0].partition(", ")[0].split("/")
    around = [*accumulate(path, "{}/{}".format)]
    if word == "system":
        return not parts.addresses.isdisjoint(around)
    return not parts.paths.isdisjoint(f"{turn}/{end}" for turn in (id, word) for end in around)


def _sent(change: Change) -> str:
    """Return how a message is sent after the change."""
    titles = title_of(change.was), title_of(change.now)
    was, now = (attrs.evolve(title, note="") for title in titles)
    if titles[1].note == NOT_SENT:
        return "not sent any more"
    if titles[0].note == NOT_SENT:
        return f"sent now, as {now}"
    if was == now:
        return f"sent in {'the message above it' if titles[1].note else 'its own message'}"
    if not now.id and attrs.evolve(was, is_named=now.is_named) == now:
        return f"sent {'with' if now.is_named else 'without'} its name"
    return f"sent as {now}, was {was}"


def _cache(change: Change) -> str:
    if change.before and change.after and change.was != change.now:
        return f"the cache mark moved from `{change.was}` to `{change.now}`"
    verb = "changed" if change.before and change.after else "added" if change.after else "removed"
    if verb == "changed":
        was, now = (NOT_SENT in text for text in (change.before or "", change.after or ""))
        if was != now:
            verb = "not sent any more" if now else "sent now"
    return f"the cache mark after `{change.location[-1]}` {verb}"


def _is_short(change: Change) -> bool:
    """Return whether the first sentence shows a change completely: a short line of the header."""
    if (change.location[0], change.kind) != (HEADER, "changed") or change.location[1] in LISTED:
        return False
    return _shift(change) != "changed"


def _shift(change: Change, now: str = "") -> str:
    """Return a header line before and after, without equal words at the end; long: "changed".

    ``now`` is the exact number that replaces the first word of the line after.
    """
    name = len(change.location[1]) + 2
    before, after = ((text or "")[name:].split(" ") for text in (change.before, change.after))
    while before[1:] and after[1:] and before[-1] == after[-1]:
        before, after = before[:-1], after[:-1]
    shift = f"{' '.join(before)} -> {' '.join([now, *after[1:]] if now else after)}"
    return shift if len(shift) <= SHORT else "changed"


def note_of(change: Change) -> str:
    """Return where an added, removed or moved item was and is; empty for other changes."""
    match change.kind:
        case "moved":
            name = f"{change.location[1]}: " if change.location[0] == HEADER else ""
            return f"{name}moved: it was {change.was}, now it is {change.now}"
        case "added" if change.now:
            return f"added {change.now}"
        case "removed" if change.was:
            return f"removed, it was {change.was}"
        case "cache" if _is_moved_mark(change):
            return f"the cache mark moved here: it was after `{change.was}`"
        case _:
            return ""


def _is_moved_mark(change: Change) -> bool:
    return change.kind == "cache" and change.before == change.after


def _diff(change: Change) -> list[str]:
    """Return the lines of a change, each with its sign, and only a few of the equal lines."""
    lines: list[str] = []
    for row in rows_of(change):
        if row.kind == "equal":
            lines.append(f"  {row.before}")
        elif row.kind == "skipped":
            lines.append(f"… {row.size} equal lines")
        if row.kind in ("removed", "changed"):
            lines.append(f"- {row.before}")
        if row.kind in ("added", "changed"):
            lines.append(f"+ {row.after}")
        if row.words and max(len(row.before), len(row.after)) >= LONG:
            lines.append(f"~ {_with_signs(row.words)}")
        if row.kind == "changed" and (letters := _other_letters(row)):
            lines.append(f"({letters})")
    while lines[-1:] == ["  "]:
        lines.pop()
    return lines


def _other_letters(row: Row) -> str:
    """Return the changed letters that only differ in their script, as these may look equal."""
    texts = [(hunk.removed, hunk.added) for hunk in row.words] or [(row.before, row.after)]
    letters: dict[str, None] = {}
    for before, after in texts:
        pairs = [pair for pair in zip(before, after, strict=False) if pair[0] != pair[1]]
        names = [[unicodedata.name(letter, "") for letter in pair] for pair in pairs]
        scripts = [{name.split(" ")[0] for name in pair if " LETTER " in name} for pair in names]
        if len(before) == len(after) and all(len(pair) == 2 for pair in scripts):
            letters |= dict.fromkeys(f"{new}, was {old}" for old, new in names)
    return f"other letters: {'; '.join(letters)}" if letters else ""


def _with_signs(words: Sequence[WordHunk]) -> str:
    """Return a line with its changed words as ``[-old-]{+new+}``, and a few of the equal words."""
    text = ""
    for number, (equal, removed, added) in enumerate(words):
        head = equal[:AROUND] if number else ""
        tail = equal[-AROUND:] if removed or added else ""
        is_short = len(equal) <= len(head) + len(tail) + 1
        text += equal if is_short else f"{head}…{tail}"
        text += f"[-{removed}-]" if removed else ""
        text += f"{{+{added}+}}" if added else ""
    return text
