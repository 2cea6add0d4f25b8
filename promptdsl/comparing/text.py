"""The text of a diff, as of a failing snapshot: one sentence, then each change.

The lines of a change, with the changed words of each, come first; then the text.
"""

import os
import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Literal, NamedTuple

import attrs

from promptdsl.comparing.alignment import Hunk, hunks, increasing, most_alike
from promptdsl.comparing.changes import HEADER, LISTED, TEXT, Change, changes, source_by_location
from promptdsl.comparing.snapshot_file import NOT_SENT, WITHIN, PromptFile, title_of
from promptdsl.foundation.unicode import equal_start

# The lines of a change: equal, removed and added lines, and the changed words in a line.

CONTEXT = 2
"""The equal lines that are shown around a change."""
MANY = 200_000
"""The most characters of two lines whose words are compared."""
AROUND = 24
"""The equal characters that are kept before the first changed word."""
ALIKE = 0.3
"""The share of equal words from which two lines count as one changed line."""


class Row(NamedTuple):
    """A row of a change: the line before, the line after, or both.

    A ``skipped`` row replaces ``size`` equal lines that are not shown. A ``changed`` row has both
    lines; ``words`` are their words, empty if few words are equal.
    """

    kind: Literal["equal", "changed", "removed", "added", "skipped"]
    before: str = ""
    after: str = ""
    words: "tuple[WordHunk, ...]" = ()
    size: int = 0


class WordHunk(NamedTuple):
    """Equal text of two lines, then the text only in the first and only in the second line."""

    equal: str
    removed: str
    added: str


def hunks_of(change: Change) -> list[Hunk]:
    """Return the equal, removed and added lines of a change."""
    before, after = (text.split("\n") if text else [] for text in (change.before, change.after))
    return [*hunks(before, after)]


def rows_of(change: Change) -> Iterator[Row]:
    """Yield the rows of a change, with few of the equal lines.

    The mark of an added or removed text or section is left out, as the heading names it.
    """
    text = change.before or change.after or ""
    mark, _, rest = text.partition("\n")
    if change.kind in ("added", "removed") and rest and mark.startswith((TEXT, WITHIN)):
        change = attrs.evolve(change, before=change.before and rest, after=change.after and rest)
    for number, (equal, removed, added) in enumerate(hunks_of(change)):
        is_last = not (removed or added)
        yield from _equal(equal, is_first=not number, is_last=is_last)
        yield from _replaced(removed, added)


def _equal(equal: Sequence[str], *, is_first: bool, is_last: bool) -> Iterator[Row]:
    """Yield the equal lines next to changes, and the number of those farther away."""
    lines = [*equal]
    head = lines[: 0 if is_first else CONTEXT]
    rest = lines[len(head) :]
    tail = rest[len(rest) if is_last else -CONTEXT :]
    left = len(rest) - len(tail)
    if left == 1:
        head, left = lines[: len(head) + 1], 0
    yield from (Row("equal", line, line) for line in head)
    if left:
        yield Row("skipped", size=left)
    yield from (Row("equal", line, line) for line in tail)


def _replaced(old: Sequence[str], new: Sequence[str]) -> Iterator[Row]:
    """Yield the removed and the added lines, each removed line with the line that replaced it."""
    start = other = 0
    pairs = increasing(most_alike(old, new, least=ALIKE))
    for left, right in [*pairs, (len(old), len(new))]:
        yield from (Row("removed", before=line) for line in old[start:left])
        yield from (Row("added", after=line) for line in new[other:right])
        if left < len(old):
            yield Row("changed", old[left], new[right], changed_words(old[left], new[right]))
        start, other = left + 1, right + 1


def changed_words(old: str, new: str) -> tuple[WordHunk, ...]:
    """Return the words of two lines that are equal, removed and added; empty if few are equal."""
    same = max(equal_start(old, new) - AROUND, 0)
    if len(old) + len(new) - 2 * same > MANY:
        return ()
    first, second = (re.findall(r"\w+|\s+|[^\w\s]", line[same:]) for line in (old, new))
    words: list[WordHunk] = []
    for hunk in hunks(first, second):
        equal, removed, added = map("".join, hunk)
        if words and equal.isspace() and (removed or added):
            # Changed words with only a blank between them are one change.
            last = words.pop()
            removed, added = last.removed + equal + removed, last.added + equal + added
            equal = last.equal
        words.append(WordHunk(equal, removed, added))
    if sum(len(hunk.equal) for hunk in words) < ALIKE * (max(len(old), len(new)) - same):
        return ()
    first_hunk = WordHunk(old[:same] + words[0].equal, *words[0][1:])
    return first_hunk, *words[1:]


# The text of a diff, as of a failing snapshot: one sentence, then each change at its location.
#
# An *entry* of a file is a turn, the tools or the output schema. It begins with its *title*, such
# as ``──▶ user``, and each part of it with a *mark*: ``─▷ rules`` a section, ``─⚑ cache`` a cache
# mark.
#
# A :class:`Change` has four texts. ``before`` and ``after`` are lines of the first and of the
# second file. ``was`` and ``now`` are short; they are for the sentence and for notes. By kind,
# these are:
#
# - ``changed``, the lines: ``before="Hi"``, ``after="Hello"``.
# - ``added``, the lines and the neighbour: ``after="─▷ tone ..."``, ``now="after `rules`"``.
# - ``removed``, the same of the first file: ``before="─▷ tone ..."``, ``was="after `rules`"``.
# - ``moved``, the neighbours: ``was="first"``, ``now="after `rules`"``. If it is in another message
#   now, the messages: ``was="in `user 1`"``, ``now="in `user 2`"``.
# - ``renamed``, the titles or marks, and the names: ``before="─▷ tone"``, ``was="tone"``.
# - ``role``, the titles, and how it is sent: ``after="──▶ event as user"``, ``now="user"``.
# - ``cache``, the marks, and the part that the mark follows: ``after="─⚑ cache"``, ``now="rules"``.
#
# The other texts are ``None`` or empty. Lines of the header are only ``changed``, ``added`` or
# ``removed``, with their lines and no neighbours, or ``moved``, with their neighbours. A ``minor``
# change only follows from another one, so it is not reported.
#
# The clauses of the sentence are made here by functions named ``_x_clause`` or ``_x_clauses``.
#
# The header of a file has lines such as ``model: gpt-5`` and ``dropped: user[0]/rules/style, ~60
# tokens: ...``. The last one says what a budget drops, by its address: the turn ``user[0]``, then
# the sections, from the outer one to the inner one. In system text an address has no turn. Of the
# lines ``LISTED`` (hints, losses and dropped parts) a header may have several.

LONG = 60
"""The length of a changed line, in characters, from which its changed words follow it."""
EXCHANGE = ("user", "assistant", "tool", "history")
"""The first words of the addresses of turns, such as ``user[0]``, that a budget drops together.

An event or a grounding that is written in the prompt is dropped alone, by a line of its own. One
that a history drops with its exchange is not recognised: it is reported as removed.
"""
OF_RESULTS = " result"
"""The letters by which a ``dropped`` line is recognised whose reason is about results.

Of these reasons, ``4 of its results are cleared`` and ``a result is cut to 100 tokens`` leave the
turn where it is, and ``it has no result`` is not of a budget. ``it goes with the calls or results
it belongs to`` only follows another ``dropped`` line, which counts.
"""
NOUNS = {
    "hint": ("hint", "hints", "added", "removed"),
    "loss": ("loss", "losses", "added", "removed"),
    "library": ("library", "libraries", "added", "removed"),
    "dropped": ("part", "parts", "dropped", "not dropped any more"),
}
"""By the name of a header line: its noun, the plural, and the verbs for added and removed."""
BUDGET_VERBS = {"removed": "dropped for the budget", "added": "not dropped any more"}
"""By the kind of a change that a budget made: its verb."""
SHORT = 60
"""The most characters of a changed header line that is complete in the first sentence."""
_LABEL = re.compile(r"⟦[a-z][^⟧]*⟧")
"""The label that stands for a ``Volatile`` value in a snapshot."""
_NUMBERED = re.compile(r"^(system|developer|user|assistant|tool|event|ephemeral|history)\[[0-9]+\]")
"""The beginning of the address of a turn without an id."""


class BudgetAddresses(NamedTuple):
    """The addresses of what a budget drops, or of what it does not drop any more.

    ``first_words`` are their first words: ``user`` for ``user[0]/rules/style``. ``unnumbered`` are
    the addresses without the number of the turn, which may differ in the other prompt:
    ``user/rules/style``.
    """

    addresses: frozenset[str]
    first_words: frozenset[str]
    unnumbered: frozenset[str]


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
    if not _reported(all_changes):
        return ""
    return "\n".join([sentence(all_changes, exact), *change_lines(all_changes, actual)])


def change_lines(all_changes: Sequence[Change], after: PromptFile) -> Iterator[str]:
    """Yield the lines of changes; an empty line and a heading begin the changes of each location.

    A change that is complete in the sentence, such as another model, has no lines. ``after`` is
    the second file: it may know the source lines of its locations.
    """
    source_lines = source_by_location(after)
    with_lines = [
        change for change in _reported(all_changes) if not _is_complete_in_sentence(change)
    ]

    def heading(change: Change) -> str:
        if change.location[0] == HEADER:
            return HEADER
        location, source = " > ".join(change.location), source_lines.get(change.location)
        if change.kind == "removed" or source is None:
            return location
        # The path is shown as by pytest: relative to the current folder, if the file is in it.
        return f"{location} ({str(source).removeprefix(os.path.join(os.getcwd(), ''))})"

    for location, group in groupby(with_lines, key=heading):
        yield from ("", location)
        for change in group:
            if note := note_of(change):
                yield f"({note})"
            if not _is_only_moved(change) and (change.before, change.after) != (None, None):
                yield from _diff_lines(change)


def sentence(all_changes: Sequence[Change], exact: int | None = None) -> str:
    """Return all changes in one sentence; empty for no changes."""
    return "; ".join(_clauses(_reported(all_changes), exact))


def _reported(all_changes: Sequence[Change]) -> list[Change]:
    """Return the changes without the minor ones, which only follow from others."""
    return [change for change in all_changes if not change.minor]


def _clauses(reported: Sequence[Change], exact: int | None) -> Iterator[str]:
    """Yield the clauses of the sentence: model, messages and sections, cache marks, header.

    ``exact`` is the token count of the second prompt.
    """
    header = [change for change in reported if change.location[0] == HEADER]
    in_messages: dict[str, list[Change]] = defaultdict(list)
    for change in reported:
        if change.location[0] != HEADER:
            in_messages[change.kind].append(change)
    addresses = _addresses_by_change_kind(header)
    yield from (_changed_clause(line) for line in header if line.location[1] == "model")
    for kind in ("renamed", "changed", "added", "removed", "moved", "role"):
        names: dict[str, list[str]] = defaultdict(list)
        for change in in_messages[kind]:
            name, verb = _name_and_verb(change, addresses)
            names[verb].append(f"`{name}`")
        count = _count_clause(in_messages[kind]) if kind == "changed" else ""
        yield from (f"{_joined(some)} {verb}{count}" for verb, some in names.items())
    yield from map(_cache_clause, in_messages["cache"])
    for change in in_messages["changed"]:
        before, after = map(_LABEL.findall, _texts(change))
        missing = sorted({*before}.difference(after))
        if missing:
            yield f"`{change.location[-1]}` has no {' and '.join(missing)} any more"
    # By name of a header line, whether a clause above already shows what changed there: the line
    # ``cache`` only lists the cache marks, and a ``dropped`` line names what is not sent.
    is_shown_above = {
        "model": True,
        "cache": bool(in_messages["cache"]),
        "dropped": any(
            _is_of_budget(change, addresses)
            for change in (*in_messages["removed"], *in_messages["added"])
        ),
    }
    others = [line for line in header if not is_shown_above.get(line.location[1])]
    total = "" if exact is None else f"{exact:,}"
    yield from _header_clauses(others, total)
    if total and not any(line.location[1] == "tokens" for line in header):
        yield f"{total} tokens now"


def _header_clauses(header: Sequence[Change], total: str) -> Iterator[str]:
    """Yield the clauses for changes of the header; ``total`` is the exact token count, if any."""
    for (name, kind), group in groupby(header, key=lambda line: (line.location[1], line.kind)):
        lines = [*group]
        if kind == "moved":
            yield f"{name} moved"
        elif kind == "changed" and name not in LISTED:
            yield from (_changed_clause(line, total) for line in lines)
        else:
            singular, plural, added, removed = NOUNS.get(
                name, (f"{name} line", f"{name} lines", "added", "removed")
            )
            noun = singular if len(lines) == 1 else plural
            verb = {"added": added, "removed": removed}.get(kind, kind)
            yield f"{len(lines)} {noun} {verb}"


def _changed_clause(line: Change, total: str = "") -> str:
    """Return a changed line of the header, before and after if that is short."""
    name = line.location[1]
    return f"{name} {_before_and_after(line, {'tokens': total}.get(name, '')) or 'changed'}"


def _joined(all_names: Sequence[str]) -> str:
    """Return names as a list of words, each once, and of many the first three."""
    names = [*dict.fromkeys(all_names)]
    if len(names) > 4:
        names[3:] = [f"{len(names) - 3} more"]
    if len(names) == 1:
        return names[0]
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _texts(change: Change) -> tuple[str, str]:
    """Return the lines of a change before and after; empty where it has none."""
    return change.before or "", change.after or ""


def _count_clause(changed: Sequence[Change]) -> str:
    """Return how many lines changed, such as ``: 2 lines``."""
    all_hunks = (hunk for change in changed for hunk in hunks_of(change))
    count = sum(max(len(hunk.removed), len(hunk.added)) for hunk in all_hunks)
    lines = "1 line" if count == 1 else f"{count} lines"
    texts = map(_texts, changed)
    if all(before.split() == after.split() for before, after in texts):
        return f": only blanks in {lines}"
    return f": {lines}"


def _name_and_verb(change: Change, addresses: Mapping[str, BudgetAddresses]) -> tuple[str, str]:
    """Return the name and the verb for the change of a message, a section or a block.

    Of a message that was renamed it is the old name. The schema of an answer is renamed, too, if it
    is only strict now, or not any more: ``answer reply`` or ``answer reply, not strict``.
    """
    match change.kind:
        case "role":
            return change.location[0], _role_clause(change)
        case "renamed":
            old, new = title_of(change.was), title_of(change.now)
            if old.is_strict == new.is_strict or old.what != new.what:
                return change.was, f"renamed to `{change.now}`"
            verb = "strict now" if new.is_strict else "not strict any more"
            return old.what, verb
        case _ if _is_of_budget(change, addresses):
            return change.location[-1], BUDGET_VERBS[change.kind]
        case _:
            return change.location[-1], change.kind


def _addresses_by_change_kind(header: Sequence[Change]) -> dict[str, BudgetAddresses]:
    """Return what a budget drops now (``removed``), and what it does not drop any more (``added``).

    The keys are the kinds of the changes in the messages. They are opposite to the kinds of the
    changes in the header: an ``added`` header line reports a ``removed`` message or section.
    """
    by_line_kind: dict[str, set[str]] = {"added": set(), "removed": set()}
    for line in header:
        address, _, why = (line.after or line.before or "").partition(", ~")
        if line.location[1] == "dropped" and line.kind in by_line_kind and OF_RESULTS not in why:
            by_line_kind[line.kind].add(address.removeprefix("dropped: "))
    dropped_now = by_line_kind["added"]
    # An address that is dropped before and after does not count.
    not_any_more = by_line_kind["removed"] - dropped_now
    return {"removed": _budget_addresses(dropped_now), "added": _budget_addresses(not_any_more)}


def _budget_addresses(addresses: Collection[str]) -> BudgetAddresses:
    return BudgetAddresses(
        addresses=frozenset(addresses),
        first_words=frozenset(address.partition("[")[0] for address in addresses),
        unnumbered=frozenset(_NUMBERED.sub(r"\1", address) for address in addresses),
    )


def _is_of_budget(change: Change, addresses: Mapping[str, BudgetAddresses]) -> bool:
    """Return whether a message or section changed because a budget drops it, or does not any more.

    A ``dropped`` line of the header has only an address, so this is an approximation.
    """
    possible = addresses.get(change.kind)
    if possible is None:
        return False
    # ``user greeting`` is the message of the turn with the id ``greeting``. In ``user 2`` it is the
    # number of the message instead, which is no address, unless another turn has the id ``2``.
    message, *section = change.location
    word, _, id = message.partition(" ")
    if section:
        return _is_section_of_budget(section[0], word, id, possible)
    # A turn is dropped with its whole exchange, of which the header has one line. So if one turn or
    # a part of a history is dropped, every removed turn of a conversation counts as dropped.
    is_in_exchange = word in EXCHANGE and not possible.first_words.isdisjoint(EXCHANGE)
    return is_in_exchange or word in possible.first_words or id in possible.addresses


def _is_section_of_budget(name: str, word: str, id: str, possible: BudgetAddresses) -> bool:
    """Return whether a section is at one of the addresses, or in a section that is.

    ``name`` is ``rules/style``, or ``rules/style, continued`` for its text after another block.
    ``word`` and ``id`` are those of its turn.
    """
    path = name.partition(", ")[0].split("/")
    prefixes = ["/".join(path[:count]) for count in range(1, len(path) + 1)]
    if word == "system":
        return not possible.addresses.isdisjoint(prefixes)
    # The address begins with the id of the turn, else with its word: ``user/rules/style``.
    with_turn = (f"{turn}/{prefix}" for turn in (id, word) for prefix in prefixes)
    return not possible.unnumbered.isdisjoint(with_turn)


def _role_clause(change: Change) -> str:
    """Return how a message is sent after the change.

    The note of a title says that its message is not sent, or is sent in the message above it.
    """
    old, new = title_of(change.was), title_of(change.now)
    old_without_note, new_without_note = attrs.evolve(old, note=""), attrs.evolve(new, note="")
    if new.note == NOT_SENT:
        return "not sent any more"
    if old.note == NOT_SENT:
        return f"sent now, as {new_without_note}"
    # Only the note differs.
    if old_without_note == new_without_note:
        return "sent in the message above it" if new.note else "sent in its own message"
    # Only the name differs: it is sent now, or not any more. Where the id of a result is sent as
    # another one, the title has this ``id``, and both titles are shown.
    with_new_name = attrs.evolve(old_without_note, is_named=new.is_named)
    if not new.id and with_new_name == new_without_note:
        return "sent with its name" if new.is_named else "sent without its name"
    return f"sent as {new_without_note}, was {old_without_note}"


def _cache_clause(change: Change) -> str:
    """Return the clause for a cache mark: its location, and how it changed."""
    mark = f"the cache mark after `{change.location[-1]}`"
    if not change.after:
        return f"{mark} removed"
    if not change.before:
        return f"{mark} added"
    if change.was != change.now:
        return f"the cache mark moved from `{change.was}` to `{change.now}`"
    if NOT_SENT in change.before and NOT_SENT not in change.after:
        return f"{mark} sent now"
    if NOT_SENT in change.after and NOT_SENT not in change.before:
        return f"{mark} not sent any more"
    return f"{mark} changed"


def _is_complete_in_sentence(change: Change) -> bool:
    """Return whether the sentence shows a change completely: a short changed header line."""
    if (change.location[0], change.kind) != (HEADER, "changed") or change.location[1] in LISTED:
        return False
    return _before_and_after(change) is not None


def _before_and_after(change: Change, count: str = "") -> str | None:
    """Return a header line before and after, as ``gpt-4o -> gpt-5``; ``None`` if this is long.

    Equal words at the end are left out. ``count`` is the exact number that replaces the first word
    of the line after.
    """
    prefix_length = len(change.location[1]) + len(": ")
    before, after = (text[prefix_length:].split(" ") for text in _texts(change))
    while before[1:] and after[1:] and before[-1] == after[-1]:
        before, after = before[:-1], after[:-1]
    if count:
        after = [count, *after[1:]]
    text = f"{' '.join(before)} -> {' '.join(after)}"
    return text if len(text) <= SHORT else None


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
        case "cache" if _is_only_moved(change):
            return f"the cache mark moved here: it was after `{change.was}`"
        case _:
            return ""


def _is_only_moved(change: Change) -> bool:
    """Return whether a cache mark is the same at another location.

    A mark that moved and also changed has lines to show, and the sentence says that it moved.
    """
    return change.kind == "cache" and change.before == change.after


def _diff_lines(change: Change) -> list[str]:
    """Return the lines of a change, each with its sign, and only a few of the equal lines."""
    lines: list[str] = []
    for row in rows_of(change):
        match row.kind:
            case "equal":
                lines.append(f"  {row.before}")
            case "skipped":
                lines.append(f"… {row.size} equal lines")
            case "removed":
                lines.append(f"- {row.before}")
            case "added":
                lines.append(f"+ {row.after}")
            case "changed":
                lines += _changed_lines(row)
    while lines[-1:] == ["  "]:
        lines.pop()
    return lines


def _changed_lines(row: Row) -> Iterator[str]:
    """Yield a changed line before and after; of a long one the changed words, of others letters."""
    yield from (f"- {row.before}", f"+ {row.after}")
    if row.words and max(len(row.before), len(row.after)) >= LONG:
        yield f"~ {_with_signs(row.words)}"
    if letters := _other_letters(row):
        yield f"({letters})"


def _other_letters(row: Row) -> str:
    """Return the changed letters that only differ in their script, as these may look equal."""
    texts = [(hunk.removed, hunk.added) for hunk in row.words] or [(row.before, row.after)]
    letters: dict[str, None] = {}
    for before, after in texts:
        pairs = [pair for pair in zip(before, after, strict=False) if pair[0] != pair[1]]
        names = [(unicodedata.name(old, ""), unicodedata.name(new, "")) for old, new in pairs]
        # Two scripts that are known, and are not the same one.
        are_other = all(len({_script(old), _script(new), ""}) == 3 for old, new in names)
        if are_other and len(before) == len(after):
            letters |= dict.fromkeys(f"{new}, was {old}" for old, new in names)
    return f"other letters: {'; '.join(letters)}" if letters else ""


def _script(name: str) -> str:
    """Return the script of a letter: "CYRILLIC" of "CYRILLIC SMALL LETTER A"; else nothing."""
    return name.split(" ", maxsplit=1)[0] if " LETTER " in name else ""


def _with_signs(words: Sequence[WordHunk]) -> str:
    """Return a line with its changed words as ``[-old-]{+new+}``, and a few of the equal words."""
    text = ""
    for number, (equal, removed, added) in enumerate(words):
        head = equal[:AROUND] if number else ""
        tail = equal[-AROUND:] if removed or added else ""
        is_short = len(equal) <= len(head) + len(tail) + 1
        shown = equal if is_short else f"{head}…{tail}"
        text += shown
        if removed:
            text += f"[-{removed}-]"
        if added:
            text += f"{{+{added}+}}"
    return text
