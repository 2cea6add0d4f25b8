"""The text of a failing snapshot: a sentence, then every change at its place."""

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
"""The characters from which on a changed line is followed by its changed words."""
EXCHANGE = ("user", "assistant", "tool", "history")
"""The first words of the addresses of turns that are dropped together."""
NOUNS = {
    "hint": ("hint", "hints", "added", "removed"),
    "loss": ("loss", "losses", "added", "removed"),
    "library": ("library", "libraries", "added", "removed"),
    "dropped": ("part", "parts", "dropped", "not dropped any more"),
}
"""The words for lines of the header that come and go, by their name."""
SHORT = 60
"""The characters of a changed line of the header that the first sentence tells whole."""
_LABEL = re.compile(r"⟦[a-z][^⟧]*⟧")
"""The sign of a value that changes."""
_NUMBERED = re.compile(r"^(system|developer|user|assistant|tool|event|ephemeral|history)\[[0-9]+\]")
"""The beginning of the address of a turn without an id."""


class BudgetedParts(NamedTuple):
    """The parts that a budget took away, or leaves again: their addresses in the header.

    ``words`` are the first words of these. ``paths`` are the addresses without the number of a
    turn: the same part may have another number in the other prompt.
    """

    addresses: frozenset[str]
    words: frozenset[str]
    paths: frozenset[str]


def failure_text(expected: PromptFile, actual: PromptFile, *, exact: int | None = None) -> str:
    """Return what changed from one file to another, whole; empty for equal files.

    The first line is a summary. Then come the changes, each under its place: ``-`` begins a line
    of ``expected``, ``+`` one of ``actual``, two blanks one of both, ``~`` the changed words of the
    two lines before it as ``[-old-]{+new+}``, ``…`` lines that are left out, as they are equal.
    A place is followed by the line that wrote it, where ``actual`` knows it. ``exact`` is the
    token count of ``actual``, which its header has rounded.

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
    found = changes(expected, actual)
    if all(change.minor for change in found):
        return ""
    return "\n".join([sentence(found, exact), *change_lines(found, actual)])


def change_lines(found: Sequence[Change], after: PromptFile) -> Iterator[str]:
    """Yield the lines of changes: before those of each place an empty one, and the place.

    What the sentence tells whole, such as another model, has none. ``after`` is the second file,
    which may know the lines that wrote its places.
    """
    written_at = sources(after)
    told = [it for it in found if not it.minor and not _is_short(it)]

    def heading(change: Change) -> str:
        if change.place[0] == HEADER:
            return HEADER
        source = None if change.kind == "removed" else written_at.get(change.place)
        # A path as pytest names it: from the folder where it was started, if it is there.
        line = str(source or "").removeprefix(os.path.join(os.getcwd(), ""))
        return " > ".join(change.place) + (f" ({line})" if line else "")

    for place, group in groupby(told, key=heading):
        yield from ("", place)
        for change in group:
            if note := note_of(change):
                yield f"({note})"
            if not _is_moved_mark(change) and (change.before, change.after) != (None, None):
                yield from _diff(change)


def sentence(found: Sequence[Change], exact: int | None = None) -> str:
    """Return all changes in one sentence; empty for none."""
    return "; ".join(_summary([change for change in found if not change.minor], exact))


def _summary(found: Sequence[Change], exact: int | None) -> Iterator[str]:
    """Yield the parts of the sentence: the model, messages and sections, marks, the header."""
    header = [it for it in found if it.place[0] == HEADER]
    told = [it for it in found if it.place[0] != HEADER]
    budgeted = _budgeted_by_kind(header)
    yield from (f"model {_shift(it)}" for it in header if it.place[1] == "model")
    for kind in ("renamed", "changed", "added", "removed", "moved", "role"):
        verbs: dict[str, list[Change]] = defaultdict(list)
        for change in told:
            if change.kind == kind:
                verbs[_verb(change, budgeted)].append(change)
        for verb, some in verbs.items():
            yield f"{_names(some)} {verb}{_count(some) if kind == 'changed' else ''}"
    yield from (_cache(change) for change in told if change.kind == "cache")
    for change in told:
        before, after = ({*_LABEL.findall(text or "")} for text in (change.before, change.after))
        if change.kind == "changed" and before - after:
            yield f"`{change.place[-1]}` has no {' and '.join(sorted(before - after))} any more"
    # Messages and their marks tell some lines of the header already.
    is_told = {
        "model": True,
        "cache": any(change.kind == "cache" for change in told),
        "dropped": any(_is_dropped(change, budgeted) for change in told),
    }
    yield from _of_header([it for it in header if not is_told.get(it.place[1])], exact)
    if exact is not None and not any(it.place[1] == "tokens" for it in header):
        yield f"{exact:,} tokens now"


def _of_header(header: Sequence[Change], exact: int | None) -> Iterator[str]:
    """Yield what changed in the header; ``exact`` is the figure for the tokens after."""
    for (name, kind), group in groupby(header, key=lambda it: (it.place[1], it.kind)):
        lines = [*group]
        if kind == "moved":
            yield f"{name} moved"
        elif kind == "changed" and name not in LISTED:
            now = f"{exact:,}" if name == "tokens" and exact is not None else ""
            yield from (f"{name} {_shift(line, now)}" for line in lines)
        else:
            one, many, come, gone = NOUNS.get(
                name, (f"{name} line", f"{name} lines", "added", "removed")
            )
            noun = one if len(lines) == 1 else many
            verb = {"added": come, "removed": gone}.get(kind, kind)
            yield f"{len(lines)} {noun} {verb}"


def _names(some: Sequence[Change]) -> str:
    """Return the names of changed places; of those that were renamed, the name before."""
    names = [*dict.fromkeys(f"`{_name(change)}`" for change in some)]
    shown = names if len(names) <= 4 else [*names[:3], f"{len(names) - 3} more"]
    return f"{', '.join(shown[:-1])} and {shown[-1]}" if shown[1:] else shown[0]


def _name(change: Change) -> str:
    if change.kind == "renamed":
        return title_of(change.was).what if _is_strictness(change) else change.was
    return change.place[0] if change.kind == "role" else change.place[-1]


def _count(some: Sequence[Change]) -> str:
    all_hunks = (hunk for change in some for hunk in hunks_of(change))
    count = sum(max(len(hunk.removed), len(hunk.added)) for hunk in all_hunks)
    texts = ((it.before or "", it.after or "") for it in some)
    blanks = "only blanks in " if all(a.split() == b.split() for a, b in texts) else ""
    return f": {blanks}{count} line{'s' if count != 1 else ''}"


def _verb(change: Change, budgeted: Mapping[str, BudgetedParts]) -> str:
    """Return what became of a message, a section or a block."""
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


def _budgeted(addresses: Collection[str]) -> BudgetedParts:
    return BudgetedParts(
        frozenset(addresses),
        frozenset(address.partition("[")[0] for address in addresses),
        frozenset(_NUMBERED.sub(r"\1", address) for address in addresses),
    )


def _budgeted_by_kind(header: Sequence[Change]) -> dict[str, BudgetedParts]:
    """Return what a budget took away (``removed``) and what it leaves again (``added``)."""
    addresses: dict[str, set[str]] = {"added": set(), "removed": set()}
    for line in header:
        address, _, why = (line.after or line.before or "").partition(", ~")
        # A result that is cut or cleared is still there.
        if line.place[1] == "dropped" and line.kind in addresses and " result" not in why:
            addresses[line.kind].add(address.removeprefix("dropped: "))
    dropped = addresses["added"]
    # Where others are dropped still, what came is new.
    return {
        "removed": _budgeted(dropped),
        "added": _budgeted(addresses["removed"] - dropped),
    }


def _is_dropped(change: Change, budgeted: Mapping[str, BudgetedParts]) -> bool:
    """Return whether a budget took a message or section away, or leaves it again.

    Both are told by their address; with a turn that is dropped, the others of its exchange go.
    """
    parts = budgeted.get(change.kind)
    if parts is None:
        return False
    message, *section = change.place
    word, _, id = message.partition(" ")
    if not section:
        is_in_exchange = word in EXCHANGE and not parts.words.isdisjoint(EXCHANGE)
        return is_in_exchange or word in parts.words or id in parts.addresses
    # A section goes with those around it. Of system text, the address has no turn before it.
    path = section[0].partition(", ")[0].split("/")
    around = [*accumulate(path, "{}/{}".format)]
    if word == "system":
        return not parts.addresses.isdisjoint(around)
    return not parts.paths.isdisjoint(f"{turn}/{end}" for turn in (id, word) for end in around)


def _sent(change: Change) -> str:
    """Return how a message is sent now, by its role before and after."""
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
    return f"the cache mark after `{change.place[-1]}` {verb}"


def _is_short(change: Change) -> bool:
    """Return whether the first sentence has the whole change: a line of the header of few words."""
    if (change.place[0], change.kind) != (HEADER, "changed") or change.place[1] in LISTED:
        return False
    return _shift(change) != "changed"


def _shift(change: Change, now: str = "") -> str:
    """Return a line of the header before and after, without the words at its end that are equal.

    ``now`` is the exact figure for the first word after; of a long line only that it changed.
    """
    name = len(change.place[1]) + 2
    before, after = ((text or "")[name:].split(" ") for text in (change.before, change.after))
    while before[1:] and after[1:] and before[-1] == after[-1]:
        before, after = before[:-1], after[:-1]
    shift = f"{' '.join(before)} -> {' '.join([now, *after[1:]] if now else after)}"
    return shift if len(shift) <= SHORT else "changed"


def note_of(change: Change) -> str:
    """Return where an item was and is, for one that came, went or moved; empty for others."""
    match change.kind:
        case "moved":
            name = f"{change.place[1]}: " if change.place[0] == HEADER else ""
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
    """Return the lines of a change, each after its sign, with few of the equal lines."""
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
            lines.append(f"~ {_marked(row.words)}")
        if row.kind == "changed" and (letters := _other_letters(row)):
            lines.append(f"({letters})")
    while lines[-1:] == ["  "]:
        lines.pop()
    return lines


def _other_letters(row: Row) -> str:
    """Return the letters in changed words that differ in their script alone, so may look alike."""
    texts = [(it.removed, it.added) for it in row.words] or [(row.before, row.after)]
    found: dict[str, None] = {}
    for before, after in texts:
        pairs = [pair for pair in zip(before, after, strict=False) if pair[0] != pair[1]]
        names = [[unicodedata.name(letter, "") for letter in pair] for pair in pairs]
        scripts = [{name.split(" ")[0] for name in pair if " LETTER " in name} for pair in names]
        if len(before) == len(after) and all(len(pair) == 2 for pair in scripts):
            found |= dict.fromkeys(f"{new}, was {old}" for old, new in names)
    return f"other letters: {'; '.join(found)}" if found else ""


def _marked(words: Sequence[WordHunk]) -> str:
    """Return a line with its changed words as ``[-old-]{+new+}``, and few of the equal ones."""
    text = ""
    for number, (equal, removed, added) in enumerate(words):
        head = equal[:AROUND] if number else ""
        tail = equal[-AROUND:] if removed or added else ""
        is_short = len(equal) <= len(head) + len(tail) + 1
        text += equal if is_short else f"{head}…{tail}"
        text += f"[-{removed}-]" if removed else ""
        text += f"{{+{added}+}}" if added else ""
    return text
