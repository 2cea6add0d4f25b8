"""The laws of a diff: equal prompts have none, and applied to the first one it gives the second."""

import attrs
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import diff, render
from promptdsl.comparing import PromptFile
from tests.comparing.any_file import files, pairs
from tests.comparing.applying import applied_to, counted
from tests.internals import FilePart, prompt_file
from tests.providers.prompts import ANY_PROMPTS
from tests.searching import examples

NOTHING = FilePart("", "")
"""A part without a mark and a text: no file has one."""


def without_nothing(file: PromptFile) -> PromptFile:
    """Return a file without parts that are nothing."""
    entries = (
        attrs.evolve(entry, parts=tuple(part for part in entry.parts if part != NOTHING))
        for entry in file.entries
    )
    return attrs.evolve(file, entries=tuple(entries))


@given(files)
def test_equal_prompts_have_no_diff(file: PromptFile) -> None:
    """The diff of a prompt and itself is false, and has no changes."""
    assert (False, ()) == (bool(diff(file, file)), diff(file, file).changes)


@examples(200)
@given(pairs())
def test_a_diff_applied_to_the_first_gives_the_second(two: tuple[PromptFile, PromptFile]) -> None:
    """The positions and the texts of the changes are all that it takes."""
    before, after = map(without_nothing, two)
    assert applied_to(before, diff(before, after).changes) == counted(after)


@examples(20)
@given(st.lists(ANY_PROMPTS, min_size=2, max_size=2))
def test_it_holds_for_rendered_prompts(prompts: list[object]) -> None:
    """The same of prompts as snapshots keep them."""
    before, after = (prompt_file(render(prompt)) for prompt in prompts)
    assert applied_to(before, diff(before, after).changes) == counted(after)
