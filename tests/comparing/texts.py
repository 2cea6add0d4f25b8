"""Texts that look like the signs of a snapshot, and any other texts."""

from hypothesis import strategies as st

MARKS = (
    "─▷ x",
    "─▷ x, continued",
    "─■ text",
    "─⚑ cache",
    "──▶ user",
    "---",
    "⟦+⟧",
    "⟦date⟧",
    "\\",
    "⟦",
    "⟧",
)
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=6)
TEXTS = st.lists(
    st.sampled_from([*MARKS, " ", "\t", "\n", "\n\n", "\r", "\r\n", "a", "\u200b", "—"]) | ANY_TEXT,
    max_size=6,
).map("".join)
