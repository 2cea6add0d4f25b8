"""The names of snapshot files: plain where they can be, and never two alike."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.internals import name_of, stem_of, stems_in, suffix_of
from tests.searching import examples

RESERVED = ["con", "nul", "aux", "prn", "com1", "lpt9"]
SAFE = re.compile(r"(?![.-])[\w.,=+@\[\]-]{1,110}(?<!\.)", re.ASCII)
names = st.text(st.characters(exclude_categories=[]), min_size=1, max_size=150)


@pytest.mark.parametrize(
    ("nodeid", "name", "expected"),
    [
        ("tests/test_a.py::test_b", "test_b", "test_b"),
        ("test_a.py::TestC::TestD::test_b[x]", "test_b[x]", "TestC.TestD.test_b[x]"),
        ("test_a.py::test_b[x::y]", "test_b[x::y]", "test_b[x::y]"),
    ],
)
def test_a_test_is_named_after_its_classes(nodeid: str, name: str, expected: str) -> None:
    """The name of a test holds its classes, whatever is in the id of its parameters."""
    assert expected == name_of(nodeid, name)


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("test_refund", "test_refund"),
        ("TestRefund.test_plan[free-1.5]", "TestRefund.test_plan[free-1.5]"),
        ("test_m[openai/gpt-5]", "test_m[openai-gpt-5]-3761655f"),
        ("test_m[openaigpt-5]", "test_m[openaigpt-5]"),
        ("test_m[a::b]", "test_m[a-b]-3436393d"),
        ("test_m[a ]", "test_m[a]-34f10565"),
        ("test_größe", "test_gr-e-379d29ff"),
        ("con", "_con-1143da2b"),
        ("Nul.test_x", "_Nul.test_x-81eedf85"),
        ("com1[a]", "com1[a]"),
        ("test_dot.", "test_dot-35437b13"),
        ("test_" + "a" * 106, "test_" + "a" * 96 + "-009904ed"),
    ],
)
def test_a_hash_tells_that_a_name_was_changed(test: str, expected: str) -> None:
    """A name that is safe on every system stands as it is, any other with a hash."""
    assert expected == stem_of(test)


def test_names_that_differ_in_case_have_hashes() -> None:
    """The names of two tests that differ in case alone differ on a disk that ignores it."""
    assert ["test_a-6d557526", "test_A-96eb4201"] == [
        stem_of(it, alone=False) for it in ("test_a", "test_A")
    ]


@pytest.mark.parametrize(
    ("name", "number", "expected"),
    [
        (None, 1, ""),
        (None, 2, ".2"),
        ("first", 1, "[first]"),
        ("First", 1, "[First-a151ceb1]"),
        ("a/b", 1, "[a-b-c14cddc0]"),
        ("n" * 41, 1, "[" + "n" * 31 + "-174f1403]"),
    ],
)
def test_prompts_of_one_test(name: str | None, number: int, expected: str) -> None:
    """The prompts of a test have their names, or their numbers from the second on."""
    assert expected == suffix_of(name, number)


@given(names, st.booleans())
@examples(200)
def test_any_name_is_safe(name: str, alone: bool) -> None:
    """Any name becomes one that each system takes, of at most 110 characters."""
    stem = stem_of(name, alone=alone)
    assert SAFE.fullmatch(stem)
    assert stem.partition(".")[0].lower() not in RESERVED


@given(names, names)
@examples(200)
def test_two_names_are_two_files(one: str, other: str) -> None:
    """Two tests have two files, and a file is that of its test."""
    assert (one == other) == (stem_of(one) == stem_of(other))
    assert stem_of(one) in stems_in(stem_of(one) + suffix_of(other, 1))
