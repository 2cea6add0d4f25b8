"""The file of a snapshot: parsing gives back what was written; an error names what is wrong."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.comparing.texts import ANY_TEXT, MARKS, TEXTS
from tests.internals import (
    FileEntry,
    FilePart,
    PromptFile,
    SnapshotFormatError,
    parse,
    serialise,
    with_brackets,
    with_end_brackets,
)
from tests.searching import examples, outcomes

SHOWN = TEXTS.map(lambda text: with_end_brackets(with_brackets(text)))
LINES = TEXTS.map(lambda text: with_end_brackets(with_brackets(text, one_line=True)))
PARTS = st.lists(
    st.builds(
        lambda kind, line, text: FilePart(f"{kind} {line}x", text),
        st.sampled_from(["─▷", "─■", "─⚑"]),
        LINES,
        SHOWN,
    ),
    max_size=3,
)
ENTRIES = st.builds(
    lambda line, text, parts: FileEntry(
        f"x{line}", (*([FilePart("", text)] if text else ()), *parts)
    ),
    LINES,
    SHOWN,
    PARTS,
)
FILES = st.builds(
    PromptFile,
    st.lists(st.tuples(st.sampled_from(["model", "hint", "tool choice"]), LINES)).map(tuple),
    st.lists(ENTRIES, max_size=3).map(tuple),
)


@examples(400, fast=15)
@given(FILES)
def test_any_file_comes_back(file: PromptFile) -> None:
    """What is read of a file is what was written, after an editor changed its line ends, too."""
    text = serialise(file)
    windows = "\ufeff" + text.replace("\n", "\r\n")
    assert (file, file) == (parse(text), parse(windows))


@pytest.mark.hypothesis
def test_any_text_is_read_or_refused() -> None:
    """A text that is read is written as it is read; any other one is a SnapshotFormatError."""
    texts = st.lists(st.sampled_from([*MARKS, "\n", "a: b"]) | ANY_TEXT, max_size=9).map("".join)
    headed = texts.map("---\npromptdsl-snapshot: 1\n---\n{}".format)
    good = serialise(PromptFile((), ()))
    assert {"read", "refused"} == outcomes(_read, good, texts | headed, 400)


def _read(text: str) -> str:
    try:
        file = parse(text)
    except SnapshotFormatError:
        return "refused"
    return "read" if parse(serialise(file)) == file else "read, and written as another one"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "line 1 of the snapshot is not '---'"),
        ("---\nx: 1\n", "line 2 of the snapshot is not 'promptdsl-snapshot: 1'"),
        (
            "---\npromptdsl-snapshot: 2\n---\n",
            "line 2 of the snapshot is not 'promptdsl-snapshot: 1'",
        ),
        (
            "---\npromptdsl-snapshot: 1\n<<<<<<< HEAD\n",
            "line 3 of the snapshot is not a line of the header, such as 'model: gpt-5 (openai)'",
        ),
        (
            "---\npromptdsl-snapshot: 1\nmodel: none\n",
            "line 3 of the snapshot is the last line, but the header has no end: '---'",
        ),
        (
            "---\npromptdsl-snapshot: 1\n---\n\nuser\n",
            "line 5 of the snapshot does not begin with '──▶ '",
        ),
        (
            "---\npromptdsl-snapshot: 1\n---\n\n──▶ user\nHi.\n──▶ user\n",
            "line 6 of the snapshot is not the empty line before a message",
        ),
        (
            "---\npromptdsl-snapshot: 1\n---\n\n──▶ user\nHi.",
            "line 6 of the snapshot has no line end",
        ),
    ],
)
def test_what_is_wrong_is_told(text: str, problem: str) -> None:
    """The error tells the line of a file that is no snapshot."""
    with pytest.raises(SnapshotFormatError) as caught:
        parse(text)
    assert problem == caught.value.what
