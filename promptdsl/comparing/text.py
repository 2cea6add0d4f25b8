"""The text of a diff, as a failing snapshot shows it: one sentence, then each change.

Read :func:`failure_text` first: it is in the second part, which makes the text. The first part
finds the lines of a change, and the changed words in a line.
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
from promptdsl.comparing.changes import (
    HEADER,
    LISTED,
    TEXT_SIGN,
    Change,
    changes,
    source_by_location,
)
from promptdsl.comparing.snapshot_file import NOT_SENT, SECTION_SIGN, PromptFile, title_of
from promptdsl.foundation.unicode import equal_start

# The lines of a change: equal, removed and added lines, and the changed words in a line.

CONTEXT = 2
"""The number of equal lines before and after a change in the text."""
MAX_COMPARED = 200_000
"""The maximum number of characters of two lines together whose words are compared."""
WORD_CONTEXT = 24
"""The number of equal characters next to changed words in the text."""
MIN_LIKENESS = 0.3
"""The minimum share of equal words for two lines to be one changed line."""


class Row(NamedTuple):
    """A row of a change: the line before, the line after, or both.

    A ``skipped`` row replaces ``size`` equal lines that are left out. A ``changed`` row has both
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
    """Yield the rows of a change, with ``CONTEXT`` equal lines before and after changed lines.

    A ``skipped`` row replaces two or more further lines. The sign of an added or removed text or
    section is left out, because the heading names it.
    """
    text = change.before or change.after or ""
    sign, _, rest = text.partition("\n")
    if change.kind in ("added", "removed") and rest and sign.startswith((TEXT_SIGN, SECTION_SIGN)):
        change = attrs.evolve(change, before=change.before and rest, after=change.after and rest)
    for hunk_index, (equal_lines, removed_lines, added_lines) in enumerate(hunks_of(change)):
        is_last = not (removed_lines or added_lines)
        yield from _equal(equal_lines, is_first=not hunk_index, is_last=is_last)
        yield from _replaced(removed_lines, added_lines)


def _equal(equal_lines: Sequence[str], *, is_first: bool, is_last: bool) -> Iterator[Row]:
    """Yield the equal lines next to changes, and for the lines farther away their number."""
    lines = [*equal_lines]
    head = lines[: 0 if is_first else CONTEXT]
    rest = lines[len(head) :]
    tail = rest[len(rest) if is_last else -CONTEXT :]
    skipped_count = len(rest) - len(tail)
    if skipped_count == 1:
        head, skipped_count = lines[: len(head) + 1], 0
    yield from (Row("equal", line, line) for line in head)
    if skipped_count:
        yield Row("skipped", size=skipped_count)
    yield from (Row("equal", line, line) for line in tail)


def _replaced(old: Sequence[str], new: Sequence[str]) -> Iterator[Row]:
    """Yield the removed and the added lines; a line and the line that replaced it are one row."""
    old_start = new_start = 0
    pairs = increasing(most_alike(old, new, minimum=MIN_LIKENESS))
    for old_index, new_index in [*pairs, (len(old), len(new))]:
        yield from (Row("removed", before=line) for line in old[old_start:old_index])
        yield from (Row("added", after=line) for line in new[new_start:new_index])
        if old_index < len(old):
            yield Row(
                "changed",
                old[old_index],
                new[new_index],
                changed_words(old[old_index], new[new_index]),
            )
        old_start, new_start = old_index + 1, new_index + 1


def changed_words(old: str, new: str) -> tuple[WordHunk, ...]:
    """Return the words of two lines that are equal, removed and added.

    The tuple is empty if few words are equal, or if the lines are too long to compare.
    """
    start = max(equal_start(old, new) - WORD_CONTEXT, 0)
    if len(old) + len(new) - 2 * start > MAX_COMPARED:
        return ()
    first, second = (re.findall(r"\w+|\s+|[^\w\s]", line[start:]) for line in (old, new))
    words: list[WordHunk] = []
    for hunk in hunks(first, second):
        equal_text, removed_text, added_text = map("".join, hunk)
        if words and equal_text.isspace() and (removed_text or added_text):
            # Two changes with only blanks between them are one change.
            last = words.pop()
            removed_text = last.removed + equal_text + removed_text
            added_text = last.added + equal_text + added_text
            equal_text = last.equal
        words.append(WordHunk(equal_text, removed_text, added_text))
    if sum(len(hunk.equal) for hunk in words) < MIN_LIKENESS * (max(len(old), len(new)) - start):
        return ()
    first_hunk = WordHunk(old[:start] + words[0].equal, *words[0][1:])
    return first_hunk, *words[1:]


# The text of a diff, as a failing snapshot shows it: one sentence, then each change.
#
# An *entry* of a snapshot is a turn, the tools or the output schema. It begins with its *title*,
# such as ``──▶ user``. Each part of an entry begins with a *sign*: ``─▷ rules`` for a section,
# ``─⚑ cache`` for a cache mark.
#
# A :class:`Change` has four texts. ``before`` and ``after`` are lines of the first and of the
# second file. ``was`` and ``now`` are short, for the sentence and for notes. Their values by kind:
#
# - ``changed``: the lines, ``before="Hi"`` and ``after="Hello"``.
# - ``added``: the lines and the neighbour, ``after="─▷ tone ..."`` and ``now="after `rules`"``.
# - ``removed``: the same in the first file, ``before="─▷ tone ..."`` and ``was="after `rules`"``.
# - ``moved``: the neighbours, ``was="first"`` and ``now="after `rules`"``. For a part that is in
#   another message now: the messages, ``was="in `user 1`"`` and ``now="in `user 2`"``.
# - ``renamed``: the titles or signs, and the names, ``before="─▷ tone"`` and ``was="tone"``.
# - ``role``: the titles, and how the entry is sent, ``after="──▶ event as user"``, ``now="user"``.
# - ``cache``: the signs, and the part before the cache mark, ``after="─⚑ cache"``, ``now="rules"``.
#
# The other texts are ``None`` or empty. Lines of the header are only ``changed``, ``added`` or
# ``removed``, with their lines and no neighbours, or ``moved``, with their neighbours. A ``minor``
# change only follows from another change, so it is not reported.
#
# Functions named ``_x_clause`` or ``_x_clauses`` make the clauses of the sentence.
#
# The header of a file has lines such as ``model: gpt-5`` and ``dropped: user[0]/rules/style, ~60
# tokens: ...``. The second line says what a budget drops, by its address: first the turn
# ``user[0]``, then the sections, from the outer one to the inner one. An address in system text has
# no turn. A header may have more than one line of each name in ``LISTED``.

MIN_LONG_LINE = 60
"""A changed line of at least this length, in characters, is followed by its changed words."""
EXCHANGE = ("user", "assistant", "tool", "history")
"""The first words of the addresses of turns, such as ``user[0]``, that a budget drops together.

A budget drops an event or a grounding of the prompt alone; the header has a line for it. An event
that a history drops with its exchange has no line, so it is reported as removed.
"""
REASON_OF_RESULTS = " result"
"""Characters that are only in ``dropped`` lines whose reason is about results of tools.

These lines drop no turn for a budget, so they do not count. ``4 of its results are cleared`` and
``a result is cut to 100 tokens`` leave the turn where it is. ``it has no result`` is not about a
budget. ``it goes with the calls or results it belongs to`` follows from another ``dropped`` line,
which counts.
"""
NOUNS = {
    "hint": ("hint", "hints", "added", "removed"),
    "loss": ("loss", "losses", "added", "removed"),
    "library": ("library", "libraries", "added", "removed"),
    "dropped": ("part", "parts", "dropped", "not dropped any more"),
}
"""For each name of header lines: the noun, its plural, the verbs for added and removed lines."""
BUDGET_VERBS = {"removed": "dropped for the budget", "added": "not dropped any more"}
"""The verb for a change that a budget makes, by the kind of the change."""
MAX_SHOWN_LINE = 60
"""The maximum length of a changed header line that the sentence shows, in characters."""
_LABEL = re.compile(r"⟦[a-z][^⟧]*⟧")
"""The bracket of a ``Volatile`` value in a snapshot."""
_NUMBERED_TURN = re.compile(
    r"^(system|developer|user|assistant|tool|event|ephemeral|history)\[[0-9]+\]"
)
"""The beginning of the address of a turn without an id."""


class BudgetAddresses(NamedTuple):
    """The addresses of all that a budget drops now, or of all that it does not drop any more.

    ``first_words`` are the first words of the addresses: ``user`` for ``user[0]/rules/style``.
    ``unnumbered`` are the addresses without the number of the turn, which may differ in the other
    prompt: ``user/rules/style``.
    """

    addresses: frozenset[str]
    first_words: frozenset[str]
    unnumbered: frozenset[str]


def failure_text(expected: PromptFile, actual: PromptFile, *, exact: int | None = None) -> str:
    """Return all changes from one file to another as text; empty for equal files.

    The first line is a summary. Then the changes follow, each below its location. A line of
    ``expected`` begins with ``-``, a line of ``actual`` with ``+``, a line of both with two blanks.
    A line with ``~`` shows the changed words of the two lines above, as ``[-old-]{+new+}``. ``…``
    replaces equal lines. After a location follows its source line, if ``actual`` has it. ``exact``
    is the exact token count of ``actual``; the count in its header is rounded.

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
    """Yield the lines of changes, for each location below an empty line and a heading.

    A change that the sentence shows completely, such as another model, has no lines. ``after`` is
    the second file: it may have the source lines of its locations.
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
        # As in pytest, the path is relative to the current folder if the file is in it.
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
    """Return the changes without the minor ones, which only follow from other changes."""
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
        yield from (f"{_joined(some_names)} {verb}{count}" for verb, some_names in names.items())
    yield from map(_cache_clause, in_messages["cache"])
    for change in in_messages["changed"]:
        before, after = map(_LABEL.findall, _texts(change))
        missing = sorted({*before}.difference(after))
        if missing:
            yield f"`{change.location[-1]}` has no {' and '.join(missing)} any more"
    # For each name of header lines, whether a clause above already shows what changed there. The
    # line ``cache`` only lists the cache marks, and a ``dropped`` line names what is not sent.
    is_shown_above = {
        "model": True,
        "cache": bool(in_messages["cache"]),
        "dropped": any(
            _is_of_budget(change, addresses)
            for change in (*in_messages["removed"], *in_messages["added"])
        ),
    }
    other_lines = [line for line in header if not is_shown_above.get(line.location[1])]
    total = "" if exact is None else f"{exact:,}"
    yield from _header_clauses(other_lines, total)
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
            singular, plural, verb_added, verb_removed = NOUNS.get(
                name, (f"{name} line", f"{name} lines", "added", "removed")
            )
            noun = singular if len(lines) == 1 else plural
            verb = {"added": verb_added, "removed": verb_removed}.get(kind, kind)
            yield f"{len(lines)} {noun} {verb}"


def _changed_clause(line: Change, total: str = "") -> str:
    """Return the clause for a changed header line: before and after, or only that it changed."""
    name = line.location[1]
    return f"{name} {_before_and_after(line, {'tokens': total}.get(name, '')) or 'changed'}"


def _joined(all_names: Sequence[str]) -> str:
    """Return names as one text, each name once; of more than four names only the first three."""
    names = [*dict.fromkeys(all_names)]
    # Four names take no more space than three names and "1 more".
    if len(names) > 4:
        names[3:] = [f"{len(names) - 3} more"]
    if len(names) == 1:
        return names[0]
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _texts(change: Change) -> tuple[str, str]:
    """Return the lines of a change before and after; ``""`` where it has no lines."""
    return change.before or "", change.after or ""


def _count_clause(changed: Sequence[Change]) -> str:
    """Return the number of changed lines as a clause, such as ``: 2 lines``."""
    all_hunks = (hunk for change in changed for hunk in hunks_of(change))
    count = sum(max(len(hunk.removed), len(hunk.added)) for hunk in all_hunks)
    lines = "1 line" if count == 1 else f"{count} lines"
    texts = map(_texts, changed)
    if all(before.split() == after.split() for before, after in texts):
        return f": only blanks in {lines}"
    return f": {lines}"


def _name_and_verb(change: Change, addresses: Mapping[str, BudgetAddresses]) -> tuple[str, str]:
    """Return the name and the verb for the change of a message, a section or a block.

    For a renamed message, the name is the old name. If an output schema only becomes strict or not
    strict, its title changes, too, as in ``answer reply, not strict``. Then the verb says so.
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

    The keys are the kinds of the changes in the messages. The kinds of the changes in the header
    are the opposite: an ``added`` header line reports a ``removed`` message or section.
    """
    by_line_kind: dict[str, set[str]] = {"added": set(), "removed": set()}
    for line in header:
        address, _, why = (line.after or line.before or "").partition(", ~")
        if (
            line.location[1] == "dropped"
            and line.kind in by_line_kind
            and REASON_OF_RESULTS not in why
        ):
            by_line_kind[line.kind].add(address.removeprefix("dropped: "))
    dropped_now = by_line_kind["added"]
    # An address in both kinds of lines is still dropped: only its tokens or its reason changed.
    not_any_more = by_line_kind["removed"] - dropped_now
    return {"removed": _budget_addresses(dropped_now), "added": _budget_addresses(not_any_more)}


def _budget_addresses(addresses: Collection[str]) -> BudgetAddresses:
    return BudgetAddresses(
        addresses=frozenset(addresses),
        first_words=frozenset(address.partition("[")[0] for address in addresses),
        unnumbered=frozenset(_NUMBERED_TURN.sub(r"\1", address) for address in addresses),
    )


def _is_of_budget(change: Change, addresses: Mapping[str, BudgetAddresses]) -> bool:
    """Return whether a message or section changed because a budget drops it, or does not any more.

    A ``dropped`` line of the header has only an address, so this is an approximation.
    """
    possible = addresses.get(change.kind)
    if possible is None:
        return False
    # ``user greeting`` is the message of the turn with the id ``greeting``. The ``2`` of ``user 2``
    # may be a number instead of an id. Then it is no address, unless another turn has the id ``2``.
    message, *section = change.location
    word, _, id = message.partition(" ")
    if section:
        return _is_section_of_budget(section[0], word, id, possible)
    # A budget drops a turn with all turns of its exchange, and the header has one line for them. So
    # if a header line names a turn of a conversation, every removed turn counts as dropped.
    is_in_exchange = word in EXCHANGE and not possible.first_words.isdisjoint(EXCHANGE)
    return is_in_exchange or word in possible.first_words or id in possible.addresses


def _is_section_of_budget(name: str, word: str, id: str, possible: BudgetAddresses) -> bool:
    """Return whether the address of a section, or of a section around it, is one of ``possible``.

    ``name`` is ``rules/style``, or ``rules/style, continued`` for text of a section after a section
    in it. ``word`` and ``id`` are the first word and the id of its turn.
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
    # Only the name differs: it is sent now, or not any more. If the new title has another ``id``,
    # both titles are shown.
    with_new_name = attrs.evolve(old_without_note, is_named=new.is_named)
    if not new.id and with_new_name == new_without_note:
        return "sent with its name" if new.is_named else "sent without its name"
    return f"sent as {new_without_note}, was {old_without_note}"


def _cache_clause(change: Change) -> str:
    """Return the clause for a cache mark: its location, and how it changed."""
    cache_mark = f"the cache mark after `{change.location[-1]}`"
    if not change.after:
        return f"{cache_mark} removed"
    if not change.before:
        return f"{cache_mark} added"
    if change.was != change.now:
        return f"the cache mark moved from `{change.was}` to `{change.now}`"
    if NOT_SENT in change.before and NOT_SENT not in change.after:
        return f"{cache_mark} sent now"
    if NOT_SENT in change.after and NOT_SENT not in change.before:
        return f"{cache_mark} not sent any more"
    return f"{cache_mark} changed"


def _is_complete_in_sentence(change: Change) -> bool:
    """Return whether the sentence shows a change completely: a short changed header line."""
    if (change.location[0], change.kind) != (HEADER, "changed") or change.location[1] in LISTED:
        return False
    return _before_and_after(change) is not None


def _before_and_after(change: Change, count: str = "") -> str | None:
    """Return a header line before and after, as ``gpt-4o -> gpt-5``; ``None`` if this is too long.

    Equal words at the end are left out. ``count`` is an exact number: it replaces the first word of
    the line after, which is a rounded number.
    """
    prefix_length = len(change.location[1]) + len(": ")
    before, after = (text[prefix_length:].split(" ") for text in _texts(change))
    while before[1:] and after[1:] and before[-1] == after[-1]:
        before, after = before[:-1], after[:-1]
    if count:
        after = [count, *after[1:]]
    text = f"{' '.join(before)} -> {' '.join(after)}"
    return text if len(text) <= MAX_SHOWN_LINE else None


def note_of(change: Change) -> str:
    """Return the note on an added, removed or moved item: where it was, and where it is now.

    It is empty for other changes.
    """
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
    """Return whether a change is a cache mark with the same sign at another location.

    It has no lines to show. A cache mark that moved and has another sign has lines.
    """
    return change.kind == "cache" and change.before == change.after


def _diff_lines(change: Change) -> list[str]:
    """Return the lines of a change, each after ``-``, ``+`` or blanks, and few equal lines."""
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
    """Yield a changed line before and after, and notes on it.

    The notes are the changed words of a long line, and letters that only look equal.
    """
    yield from (f"- {row.before}", f"+ {row.after}")
    if row.words and max(len(row.before), len(row.after)) >= MIN_LONG_LINE:
        yield f"~ {_with_signs(row.words)}"
    if note := _note_on_letters(row):
        yield f"({note})"


def _note_on_letters(row: Row) -> str:
    """Return a note on changed letters of another script, because these may look equal."""
    texts = [(hunk.removed, hunk.added) for hunk in row.words] or [(row.before, row.after)]
    notes: dict[str, None] = {}
    for before, after in texts:
        pairs = [pair for pair in zip(before, after, strict=False) if pair[0] != pair[1]]
        names = [(unicodedata.name(old, ""), unicodedata.name(new, "")) for old, new in pairs]
        # Both letters have a script, and the two scripts differ.
        are_other = all(len({_script(old), _script(new), ""}) == 3 for old, new in names)
        if are_other and len(before) == len(after):
            notes |= dict.fromkeys(f"{new}, was {old}" for old, new in names)
    return f"other letters: {'; '.join(notes)}" if notes else ""


def _script(name: str) -> str:
    """Return the script of a letter by its name; ``""`` if it has none.

    For "CYRILLIC SMALL LETTER A" this is "CYRILLIC".
    """
    return name.split(" ", maxsplit=1)[0] if " LETTER " in name else ""


def _with_signs(words: Sequence[WordHunk]) -> str:
    """Return a line with its changed words as ``[-old-]{+new+}``, and few of the equal words."""
    text = ""
    for hunk_index, (full_text, removed_text, added_text) in enumerate(words):
        head = full_text[:WORD_CONTEXT] if hunk_index else ""
        tail = full_text[-WORD_CONTEXT:] if removed_text or added_text else ""
        is_short = len(full_text) <= len(head) + len(tail) + 1
        # One left-out character would be replaced by one ``…``.
        equal_text = full_text if is_short else f"{head}…{tail}"
        text += equal_text
        if removed_text:
            text += f"[-{removed_text}-]"
        if added_text:
            text += f"{{+{added_text}+}}"
    return text
