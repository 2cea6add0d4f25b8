"""Where dropped parts stand: in results that were pickled, and in turns that merge."""

import pickle
import re
from collections.abc import Callable

import pytest

from promptdsl import *


def several_turns() -> Node:
    """Return turns that one line writes, of which two merge; each has a section to drop."""
    with Timeline() as prompt:
        for number, turn in enumerate((System, User, Assistant, Assistant, User)):
            with turn():
                Text(f"T{number}")
                with Section(f"s{number}", priority=1):
                    Text("long " * 40)
    return prompt


def one_line() -> Node:
    """Return turns of one line, of which a document and two sections are dropped."""
    a, b, c = (Section(name, "word " * 99, priority=-1) for name in "abc")
    return Timeline(System("s", a, Section("k", "k")), Grounding("doc", c, priority=-2), User(b))


@pytest.mark.parametrize("write", [several_turns, one_line])
def test_a_pickled_result_shows_dropped_parts_at_their_locations(write: Callable[[], Node]) -> None:
    """The trees of a copy share no nodes, and dropped parts stand where they did."""
    rendered = render(write(), model="gpt-5", budget=60)
    copy = pickle.loads(pickle.dumps(rendered))
    assert 3 <= len(rendered.dropped)
    assert str(rendered) == str(copy)
    assert rendered.record().to_dict() == copy.record().to_dict()


def test_dropped_parts_of_turns_that_merge_stand_in_their_message() -> None:
    """Each of two turns of one line that merge keeps its section, as the turn after them does."""
    rendered = render(several_turns(), model="gpt-5", budget=60)
    assert [("s0", 0), ("s1", 1), ("s2", 2), ("s3", 2), ("s4", 3)] == [
        (row["path"][-2:], row["at"]) for row in rendered.record().to_dict()["dropped"]
    ]
    assert ["system", "s0", "user", "s1", "assistant", "s2", "s3", "user", "s4"] == re.findall(
        r"(?:^── |dropped section )(\w+)", str(rendered), re.MULTILINE
    )
