"""Strings that try to leave their place: the published corpus, and searches beyond it."""

from hypothesis import strategies as st

from promptdsl.testing import HOSTILE as PUBLISHED


def of_kind(kind: str) -> tuple[str, ...]:
    """Return the texts of the corpus of one kind."""
    return tuple(hostile.text for hostile in PUBLISHED if hostile.kind == kind)


CLOSERS = of_kind("tag")
REFERENCES = of_kind("reference")
LINE_ENDS = of_kind("line end")
CONTROL = of_kind("control character")
UNSEEN = of_kind("invisible character")
TOLERANT = of_kind("disguised tag")
TWINS = of_kind("look-alike")
TEMPLATES = of_kind("template syntax")
CODE = of_kind("code")
FENCES = of_kind("delimiter")

HOSTILE: tuple[str, ...] = (*(hostile.text for hostile in PUBLISHED), "")
"""Every string of the corpus, and the empty one."""

# Any text at all.

ANY_TEXT = st.text(st.characters(exclude_categories=()))
PIECES = st.sampled_from(
    (*"#=-*_~`+1.) \t\n\r>|<&;a\\", "\r\n", "\n\n", "\n    ", "\u2028", "\x85")
)
PARTS_OF_TAGS = st.sampled_from(
    (
        *("<", "</", "\u2039", "\u226e", "/", "\\", " ", "\n", ">", ".", "-", "_", "event", "EV"),
        *("ent", "con", "text", "contex", "untrusted"),
        *("tool", "_use", "\ufb06", "\u0131", "\uff45"),
        *("\u200b", "\u0301", "\x00", "\x1f", "\u3164"),
        *("\U000e0065", "&", "&#", "&#x", "1", "amp"),
        *("lt;", "&lt", ";", "[[", "]]", "[", "N", "OTE>"),
    )
)
"""What tags, references and delimiters are made of, with what nobody sees."""
VALUES = st.one_of(
    st.sampled_from(HOSTILE),
    ANY_TEXT,
    st.lists(PIECES, max_size=9).map("".join),
    st.lists(PARTS_OF_TAGS, max_size=7).map("".join),
    st.lists(st.sampled_from(HOSTILE), max_size=3).map("".join),
)
"""Any text that a value may be: what is hostile, what is not, and both one behind the other."""

LARGEST_REFERENCE = len("&#65535;")
"""How long what is encoded may get, for each character."""

EDGES = "~\x7f\x9f\u00a0\u2027\u2028\u2029\u202a\ud7ff\udfff\ud800\ue000\ufffd\ufffe\uffff"
ESCAPED_EDGES = (
    "~\\u007f\\u009f\u00a0\u2027\\u2028\\u2029\u202a\ud7ff\\udfff\\ud800\ue000\ufffd\\ufffe\\uffff"
)
"""The characters at the edges of those that JSON has by number only."""
