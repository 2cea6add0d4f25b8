"""What differs between two snapshots, of many of each family.

Each family is a table of snapshots in short: an entry is its title and its parts, a part is its
mark and its text behind ``|``. The JSON file beside this one says of each snapshot what differs
from the next ones of its table: the sentence, then each change with its places, or the whole text.
``python -m tests.comparing.difference_cases`` writes it anew.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from promptdsl import *
from tests.cases_file import write_cases
from tests.internals import FileEntry, FilePart, PromptFile, changes, failure_text

# CASES: the lines of the file next to this one are counted from here.
Table = Mapping[str, PromptFile]


def file(*entries: tuple[str, ...], header: tuple[str, ...] = ()) -> PromptFile:
    """Return a snapshot of entries and lines of the header."""
    lines = [(name, text) for name, _, text in (line.partition(": ") for line in header)]
    return PromptFile(
        tuple(lines), tuple(FileEntry(title, tuple(map(part, parts))) for title, *parts in entries)
    )


def part(text: str) -> FilePart:
    """Return the part of a mark and a text, with a line of its own for each text."""
    sign, _, body = text.rpartition("|")
    return FilePart(sign, body, Source("prompts.py", len(text)))


def header(*lines: str) -> PromptFile:
    """Return a snapshot of a header and one user turn."""
    return file(("user", "Hi."), header=lines)


HINTS = (
    "hint: a: no text",
    "hint: b: no text",
    "loss: a: gone",
    "loss: user[0], user[1]: gone too",
)
DROPS = ("dropped: one, ~9 tokens: no room", "dropped: user[0], ~9 tokens: no room")
HEADERS: Table = {
    "none": header(),
    "model": header("model: gpt-5 (openai)", "tokens: ~90 (o200k_base)", "cache: no mark"),
    "other model": header("model: gpt-4o (openai)", "tokens: ~80 (o200k_base)", "cache: no mark"),
    "other counter": header("model: o (anthropic)", "tokens: ~80 (o200k x 1.35)", "cache: 1 mark"),
    "long model": header(f"model: {'m' * 40} (openai)", "tokens: ~80 (o)"),
    "other long model": header(f"model: {'n' * 40} (openai)", "tokens: ~80 (o)"),
    "hints": header(*HINTS),
    "hints, other way": header(*HINTS[::-1]),
    "hints, one less": header(*HINTS[1:]),
    "hints, one changed": header("hint: a, c: no text", *HINTS[1:3], "loss: user[0]: gone too"),
    "a hint twice": header(HINTS[0], HINTS[0], HINTS[2]),
    "two libraries": header("library: a", "library: b", "tool choice: x"),
    "two libraries, other way": header("library: b", "library: a", "tool choice: y"),
    "a library": header("library: b", "tool choice: x", "waiting: for it"),
    "dropped": header(*DROPS),
    "dropped, more": header(DROPS[0], "dropped: two/a, ~9 tokens: no room", DROPS[1]),
    "dropped, less": header("dropped: one, ~20 tokens: no room"),
}
RULES, TONE, MORE = "─▷ rules|Be kind.", "─▷ tone|Be brief.", "─▷ rules, continued|Be kind."
ENTRIES: Table = {
    "u": file(("user", "Hi.")),
    "u u": file(("user", "Hi."), ("user", "Hi.")),
    "u a u": file(("user", "Hi."), ("assistant", "Yes."), ("user", "Hi.")),
    "u a u a": file(("user", "Hi."), ("assistant", "Yes."), ("user", "So?"), ("assistant", "Yes.")),
    "a u": file(("assistant", "Yes."), ("user", "Hi.")),
    "u2 a u": file(("user", "So?"), ("assistant", "Yes."), ("user", "Hi.")),
    "s u": file(("system", RULES, TONE), ("user", "Hi.")),
    "u s": file(("user", "Hi."), ("system", RULES, TONE)),
    "s, other u": file(("system", TONE), ("user", RULES, "Hi.")),
    "s u u": file(("system", RULES), ("user", TONE), ("user", RULES)),
    "s2 u": file(("system", "─▷ rules|Be rude."), ("user", "Hi.")),
    "e e": file(("event left", "Left."), ("event came", "Came.")),
    "e e as": file(("event left as user", "Left."), ("event came as developer", "Came.")),
    "e e as user": file(("event left as user", "Left."), ("event came as user", "Came.")),
    "e e above": file(
        ("event left as user, in the message above", "Left."),
        ("event came as user, in <event>, in the message above", "Came."),
    ),
    "e e, not sent": file(("event left, not sent", "Left."), ("event came, not sent", "Came.")),
    "e e, renamed": file(("event gone", "Left."), ("event here", "Came.")),
    "e e, swapped": file(("event came", "Came."), ("event left", "Left.")),
    "e e, swapped texts": file(("event left", "Came."), ("event came", "Left.")),
    "e e e": file(("event left", "Left."), ("event left", "Left."), ("event came", "Came.")),
    "names": file(("user named ada, name not sent", "Hi."), ("user named bob", "Hi.")),
    "other names": file(("user named bob", "Hi."), ("user named ada", "Hi.")),
    "ids": file(("tool look a, id sent as 1", "It."), ("tool look b, id sent as 2", "That.")),
    "other ids": file(("tool look a, id sent as 2", "It."), ("tool look b", "That.")),
    "tools": file(
        ("tools", "─■ tool f|F.", "─■ takes|a (any)", "─■ tool g|G.", "─■ takes|b (any)"),
        ("answer x", "─■ form|a (any)"),
    ),
    "tools, other way": file(
        ("tools", "─■ tool g|G.", "─■ takes|b (any)", "─■ tool f|F.", "─■ takes|a (any)"),
        ("answer x, not strict", "─■ form|a (any)"),
    ),
    "tools, changed": file(
        (
            "tools",
            "─■ tool f|F.",
            "─■ takes|a (any)",
            "─⚑ cache|",
            "─■ tool g|G.",
            "─■ takes|c (any)",
        ),
        ("answer y", "─■ form|a (any)"),
    ),
    "a tool": file(("tools", "─■ tool g|G.", "─■ takes|b (any)", "─■ only for openai|{}")),
    "dropped": file(
        ("system", TONE),
        ("user", "So?"),
        header=("dropped: rules, ~9 tokens: no", "dropped: user[0], ~9 tokens: no"),
    ),
    "dropped, before": file(("system", RULES, TONE), ("user", "Hi."), ("user", "So?")),
    "dropped, exchange": file(
        ("system", TONE), ("tool look a", "It."), header=("dropped: history, ~9 tokens: no",)
    ),
    "cleared": file(
        ("system", TONE),
        ("user", "So?"),
        header=("dropped: history, ~9 tokens: 2 of its results are cleared",),
    ),
    "cleared, before": file(("system", RULES, TONE), ("user", "Hi."), ("tool look a", "It.")),
    "five": file(*[("user", f"Hi {n}.") for n in range(5)]),
    "five others": file(*[("user", f"Hi {n}. So?") for n in (3, 1, 2, 0, 4)]),
}
CACHE, FIVE, HOUR = "─⚑ cache|", "─⚑ cache 5m|", "─⚑ cache 1h|"
TEXT, OTHER = "─■ text|One.", "─■ text|Two."
PARTS: Table = {
    name: file(("system", *parts))
    for name, parts in {
        "a b": ("─▷ a|A one.", "─▷ b|B two."),
        "b a": ("─▷ b|B two.", "─▷ a|A one."),
        "a b c": ("─▷ a|A one.\n", "─▷ b|B two.\n", "─▷ c|C three."),
        "a c b": ("─▷ a|A one.\n", "─▷ c|C three.\n", "─▷ b|B two."),
        "c a b": ("─▷ c|C three.\n", "─▷ a|A one.\n", "─▷ b|B two."),
        "a b a": ("─▷ a|A one.", "─▷ b|B two.", "─▷ a, continued|A one."),
        "a a": ("─▷ a|A one.", "─▷ a|A one."),
        "a2 a2": ("─▷ a|A two.", "─▷ a|A one."),
        "a renamed": ("─▷ z|A one.", "─▷ b|B two."),
        "both renamed": ("─▷ z|A one.", "─▷ y|B two."),
        "texts swapped": ("─▷ a|B two.", "─▷ b|A one."),
        "a b changed": ("─▷ a|A one, and more.", "─▷ b|B two, and more."),
        "bare": ("A one.", "─▷ b|B two."),
        "bare, other": ("A one, and more.", "─▷ b|B two."),
        "texts": (TEXT, OTHER),
        "texts, other way": (OTHER, TEXT),
        "three texts": (TEXT, OTHER, TEXT),
        "a text and a section": (TEXT, "─■ text|", "─▷ a|A one."),
        "a text and two sections": (TEXT, "─■ text|", "─▷ a|A one.", "─■ text|", "─▷ b|B two."),
        "an image": ("One.", "─■ image png 1x1 67 B sha256:1|", OTHER),
        "two images": ("─■ image png 1x1 67 B sha256:1|", "─■ image png 1x1 67 B sha256:2|"),
        "images, other way": ("─■ image png 1x1 67 B sha256:2|", "─■ image png 1x1 67 B sha256:1|"),
        "two calls": ('─■ call f x|{"a": 1}', '─■ call f y|{"a": 1}'),
        "calls, other way": ('─■ call f y|{"a": 1}', '─■ call f x|{"a": 1}'),
        "calls, changed": ('─■ call f x|{"a": 1}', '─■ call g y|{"a": 2}'),
        "failed": ("─■ failed|It.", "─■ with|{}"),
        "failed, typed": ("─■ failed timeout|It.",),
        "not failed": ("It.",),
        "mark after a": ("─▷ a|A one.", CACHE, "─▷ b|B two."),
        "mark after b": ("─▷ a|A one.", "─▷ b|B two.", CACHE),
        "marks after both": ("─▷ a|A one.", CACHE, "─▷ b|B two.", CACHE),
        "two marks after a": ("─▷ a|A one.", FIVE, HOUR, "─▷ b|B two."),
        "other marks after a": ("─▷ a|A one.", HOUR, FIVE, "─▷ b|B two."),
        "other marks": ("─▷ a|A one.", HOUR, "─▷ b|B two.", FIVE),
        "marks not sent": ("─▷ a|A one.", "─⚑ cache 1h, not sent|", "─▷ b|B two.", FIVE),
        "mark, empty line": (
            "─▷ a|A one.",
            "─⚑ cache, not sent; an empty line instead|",
            "─▷ b|B two.",
            CACHE,
        ),
        "marked, swapped": ("─▷ b|B two.", CACHE, "─▷ a|A one."),
        "text after a mark": ("─▷ a|A one.", "─⚑ cache|More.", "─▷ b|B two.", "─⚑ cache|Most."),
        "other text after a mark": ("─▷ a|A one.", "─⚑ cache|Most.", "─▷ b|B two.", "─⚑ cache|"),
    }.items()
}


def text(*lines: str) -> PromptFile:
    """Return a snapshot of one section and one user turn with the same lines."""
    return file(("system", f"─▷ rules|{chr(10).join(lines)}"))


LINES = [f"Line {number} of the rules." for number in range(14)]
LONG = "You are a support agent for TechCorp, and you answer questions about invoices and refunds"
TEXTS: Table = {
    "as it was": text(*LINES),
    "one changed": text(*LINES[:5], "Line 5 of all rules.", *LINES[6:]),
    "two changed, near": text(
        *LINES[:5], "Line 5 of all.", *LINES[6:9], "Line 9 of all.", *LINES[10:]
    ),
    "two changed": text("Line 0 of all.", *LINES[1:7], "Line 7 of all.", *LINES[8:]),
    "two changed, far": text(LINES[0], "Line 1!", *LINES[2:12], "Line 12!", LINES[13]),
    "first and last": text("First.", *LINES[1:-1], "Last."),
    "two swapped and changed": text(
        *LINES[:5], "Line 6 of my rules.", "Line 5 of my rules.", *LINES[7:]
    ),
    "two swapped": text(*LINES[:5], LINES[6], LINES[5], *LINES[7:]),
    "one more": text(*LINES[:3], "More.", *LINES[3:]),
    "two more": text("More.", *LINES, "More."),
    "one twice": text(*LINES[:3], LINES[2], *LINES[3:]),
    "two gone": text(*LINES[1:6], *LINES[7:]),
    "empty lines": text("", *LINES[:3], "", "", *LINES[3:], ""),
    "blanks": text(*[line.replace(" of", "  of") for line in LINES[:2]], *LINES[2:]),
    "all blanks": text(*[line.replace(" of", "  of") for line in LINES]),
    "a, b": text("ab cd ef", "ab cd gh", "xyz"),
    "b, a": text("ab cd gh", "ab cd ef!", "xyz"),
    "b, a, a": text("ab cd gh?", "ab cd ef?", "ab cd ef?", "xyz"),
    "long": text(f"{LONG}, kindly and in the language of the user.", "Then."),
    "long, other word": text(f"{LONG}, politely and in the words of the user.", "Then."),
    "long, two lines": text(
        f"{LONG}, politely.", f"{LONG}, kindly, and then say so to them.", "Then."
    ),
    "signs": text("On ⟦date⟧ and ⟦ticket-2⟧, ⟦date-2⟧.", "Then."),
    "signs, fewer": text("On ⟦date⟧ and T-4.", "Then."),
    "letters": text("pay the cat", "Then."),
    "other letters": text("p\u0430y the \u0441at", "Then."),
    "other letters, twice": text("p\u0430y the cat", "Th\u0435n, and then."),
    "one line": text("Line 3 of the rules."),
    "nothing": text(),
}
FAMILIES: Mapping[str, tuple[Table, int]] = {
    "header": (HEADERS, 3),
    "entries": (ENTRIES, 4),
    "parts": (PARTS, 4),
}


def printed(before: PromptFile, after: PromptFile) -> list[Any]:
    """Return the first line of what differs, and each change: kind, place, from where to where."""
    all_changes = changes(before, after)
    rows = [
        f"{change.kind}{'?' * change.minor} {' > '.join(change.location)} "
        f"{change.before_at}->{change.after_at}"
        + (f" {change.was} -> {change.now}" if change.was or change.now else "")
        for change in all_changes
    ]
    return [failure_text(before, after).partition("\n")[0], *rows]


def next_ones(table: Table, count: int, say: Callable[[PromptFile, PromptFile], object]) -> object:
    """Return what is said of each snapshot of a table and the next ones, both ways."""
    names, files = [*table], [*table.values()]
    numbers = range(len(names))
    pairs = [(n, (n + step) % len(names)) for n in numbers for step in range(1, count + 1)]
    both = [pair for one, two in pairs for pair in ((one, two), (two, one))]
    return {f"{names[one]} => {names[two]}": say(files[one], files[two]) for one, two in both}


DIFFERENCES: Mapping[str, Callable[[], object]] = {
    **{name: partial(next_ones, *family, printed) for name, family in FAMILIES.items()},
    "texts": partial(next_ones, TEXTS, 2, failure_text),
    "whole entries": partial(next_ones, dict([*ENTRIES.items()][::3]), 1, failure_text),
    "whole parts": partial(next_ones, dict([*PARTS.items()][::3]), 1, failure_text),
}


if __name__ == "__main__":
    write_cases(__file__, DIFFERENCES)
