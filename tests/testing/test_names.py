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
        ("d/t.py::TestC::test_b[x::y]", "test_b[x::y]", "TestC.test_b[x::y]"),
        ("t.py::A::A", "A", "A.A"),
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
        ("test_" + "a" * 105, "test_" + "a" * 105),
        ("test_" + "a" * 106, "test_" + "a" * 96 + "-009904ed"),
        ("test_" + "a" * 100 + "[bbb/ccc]", "test_" + "a" * 96 + "-fc7351ee"),
        ("com1.x", "_com1.x-e872d775"),
        ("com10", "com10"),
        ("con_x", "con_x"),
        ("CONIN$", "_CONIN-4954c3bf"),
        ("test[]", "test[]-9f0602db"),
        ("test_[a/b][c/d]", "test_[a-b-c-d]-49f6fde8"),
        ("a.b.c", "a.b.c"),
        ("a..b", "a..b-f62b4241"),
        ("-a", "a-c2748917"),
        ("test_a[x-]", "test_a[x-]"),
        ("test_a[-x/]", "test_a[x]-6a77f74e"),
        ("a b", "a-b-c8687a08"),
    ],
)
def test_a_hash_tells_that_a_name_was_changed(test: str, expected: str) -> None:
    """A name that is valid on every system is not changed; any other name gets a hash."""
    assert expected == stem_of(test)


def test_names_that_differ_in_case_have_hashes() -> None:
    """The names of two tests that differ in case alone differ on a disk that ignores it."""
    assert ["test_a-6d557526", "test_A-96eb4201"] == [
        stem_of(it, is_unique=False) for it in ("test_a", "test_A")
    ]


@pytest.mark.parametrize(
    ("name", "number", "expected"),
    [
        (None, 1, ""),
        (None, 2, ".2"),
        ("first", 1, "[first]"),
        ("First", 1, "[First-a151ceb1]"),
        ("a/b", 1, "[a-b-c14cddc0]"),
        (None, 3, ".3"),
        ("first", 5, "[first]"),
        ("n" * 40, 2, "[" + "n" * 40 + "]"),
        ("", 2, "[e3b0c442]"),
        ("x.y", 1, "[x.y]"),
        ("n" * 41, 1, "[" + "n" * 31 + "-174f1403]"),
    ],
)
def test_prompts_of_one_test(name: str | None, number: int, expected: str) -> None:
    """The prompts of a test have their names, or their numbers from the second on."""
    assert expected == suffix_of(name, number)


@pytest.mark.parametrize(
    ("stem", "expected"),
    [
        ("a", ["a"]),
        ("a.b[c].2", ["a.b[c].2", "a.b[c]", "a.b", "a"]),
        ("T.a[x.y][n]", ["T.a[x.y][n]", "T.a[x.y]", "T.a[x", "T.a", "T"]),
    ],
)
def test_the_tests_that_a_file_may_belong_to(stem: str, expected: list[str]) -> None:
    """A file belongs to the test with the longest of its beginnings, so these come first."""
    assert expected == stems_in(stem)


@given(names, st.booleans())
@examples(200)
def test_any_name_is_safe(name: str, alone: bool) -> None:
    """Any name becomes one that each system takes, of at most 110 characters."""
    stem = stem_of(name, is_unique=alone)
    assert SAFE.fullmatch(stem)
    assert stem.partition(".")[0].lower() not in RESERVED


@given(names, names)
@examples(200)
def test_two_names_are_two_files(one: str, other: str) -> None:
    """Two tests have two files, and a file is that of its test."""
    assert (one == other) == (stem_of(one) == stem_of(other))
    assert stem_of(one) in stems_in(stem_of(one) + suffix_of(other, 1))
