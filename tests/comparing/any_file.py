"""Any snapshot: two files often share entries, signs and texts."""

from hypothesis import strategies as st

from tests.internals import FileEntry, FilePart, PromptFile

LINES = (
    "", "a", "b", "Be brief.", "- Be kind.", "+ Be kind.", "~ [-a-]{+b+}", "  two blanks",
    "… 3 equal lines", "system > rules", "(moved: it was first)", "---", "──▶ user", "─▷ rules",
    "⟦CR⟧", "\\", "x" * 5_000,
    "You are a support agent for TechCorp, and you answer questions politely and briefly.",
    "You are a sales agent for TechCorp, and you answer questions politely and in full.",
)  # fmt: skip
MARKS = (
    "", "─▷ role", "─▷ rules", "─▷ rules/tone", "─▷ rules, continued", "─▷ (no section)",
    "─⚑ cache", "─⚑ cache 5m, not sent",
    "─■ text", "─■ tool lookup", "─■ takes", "─■ image image/png 1x1", "─■ call lookup call_1",
)  # fmt: skip
TITLES = (
    "system", "tools", "user", "user, in the message above", "event as user", "event as developer",
    "assistant", "event left as user, in the message above", "event, not sent",
    "tool lookup call_1",
)  # fmt: skip
NAMES = ("model", "tokens", "cache", "hint", "dropped")

texts = st.lists(st.sampled_from(LINES), max_size=6).map("\n".join)
parts = st.builds(FilePart, st.sampled_from(MARKS), texts)
entries = st.builds(FileEntry, st.sampled_from(TITLES), st.lists(parts, max_size=4).map(tuple))
headers = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(LINES)), max_size=4)
files = st.builds(PromptFile, headers.map(tuple), st.lists(entries, max_size=5).map(tuple))


@st.composite
def pairs(draw: st.DrawFn) -> tuple[PromptFile, PromptFile]:
    """Draw two files, of which the second has some entries and parts of the first."""
    first = draw(files)
    entry_lists = st.permutations(first.entries).map(lambda them: them[: len(them) // 2 + 1])
    file_entries = [
        FileEntry(draw(st.sampled_from(TITLES)), tuple(draw(st.permutations(file_entry.parts))))
        if draw(st.booleans())
        else file_entry
        for file_entry in draw(entry_lists)
    ]
    header = draw(st.one_of(headers.map(tuple), st.just(first.header)))
    return first, PromptFile(header, (*file_entries, *draw(st.lists(entries, max_size=2))))


def lines_in_file(file: PromptFile) -> set[str]:
    """Return the lines of a file that are not empty, without escapes."""
    parts = [part for file_entry in file.entries for part in file_entry.parts]
    lines = {f"{name}: {line}" for name, line in file.header}
    lines |= {f"──▶ {file_entry.title}" for file_entry in file.entries}
    lines |= {part.sign for part in parts}
    return (lines | {line for part in parts for line in part.text.split("\n")}) - {""}
