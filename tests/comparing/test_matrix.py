"""The files of several models: the texts once, and for each model what differs."""

from typing import Any

import attrs
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from promptdsl import *
from tests.comparing.any_file import pairs
from tests.errors import raised
from tests.internals import (
    BASE_LINE,
    FileEntry,
    FilePart,
    PromptFile,
    SnapshotFormatError,
    applied,
    difference,
    parse,
    prompt_file,
    serialise,
)
from tests.providers.prompts import ANY_PROMPTS
from tests.searching import examples

MODELS = ("gpt-5", "claude-opus-5-5", "claude-sonnet-4-5")


def support(rule: str = "Never promise refunds.") -> Timeline:
    """Return a prompt with turns of every kind."""
    return Timeline(
        System(Section("role", "You help."), Section("rules", rule, title="Rules", cache=True)),
        Developer("Answer in German."),
        User("Hello"),
        Assistant("Hi"),
        Event(UserAction("opened", target="invoice 1881")),
        User("And now?"),
        Ephemeral("Be quick."),
    )


def stored(prompt: Timeline) -> dict[str, str]:
    """Return the files of a prompt: of the base, and of each model."""
    base = prompt_file(render(prompt))
    full = {model: prompt_file(render(prompt, model=model)) for model in MODELS}
    files = {model: serialise(difference(base, file)) for model, file in full.items()}
    return {"base": serialise(base), **files}


def changed(before: dict[str, str], after: dict[str, str]) -> set[str]:
    """Return the names of the files that differ."""
    return {name for name in before if before[name] != after[name]}


def test_the_file_of_a_model_lists_what_is_sent() -> None:
    """Each message with its role on the wire; a text only where the base has not got it."""
    expected = """\
---
promptdsl-snapshot: 1
base: the snapshot without a model; ─= names a text that is there
model: gpt-5 (openai)
tokens: ~76 (o200k_base)
cache: no mark
hint: rules: cache mark: the target takes no cache mark here
---

──▶ system
─= system > role
─= system > rules
─⚑ cache, not sent

──▶ developer
─= developer

──▶ user
─= user 1

──▶ assistant
─= assistant

──▶ event as developer
─= event

──▶ user
─= user 2

──▶ ephemeral as developer
─= ephemeral
"""
    assert stored(support())["gpt-5"] == expected


def test_a_changed_sentence_changes_the_base() -> None:
    """The files of the models have no sentence of the prompt: they stay as they are."""
    before, after = stored(support()), stored(support("Never promise payments."))
    assert changed(before, after) == {"base"}


def test_a_changed_fact_changes_the_file_of_its_model() -> None:
    """Neither the base nor another model knows of the fact."""
    before = stored(support())
    with register_model("claude-sonnet-4-5", provider="anthropic", cache_marks=False):
        after = stored(support())
    assert changed(before, after) == {"claude-sonnet-4-5"}


def test_a_longer_sentence_changes_the_tokens_too() -> None:
    """The header of each model has rounded tokens; nothing else of its file depends on a text."""
    longer = stored(support(" ".join(["Never promise refunds."] * 20)))["gpt-5"]
    assert longer == stored(support())["gpt-5"].replace("~76", "~160")


def test_a_text_that_differs_is_in_the_file_of_the_model() -> None:
    """Text that a function writes for one model is no part of the base."""
    prompt = Timeline(System("Help."), User(Lazy(lambda context: f"I am {context.model}.")))
    base, full = (prompt_file(render(prompt, model=model)) for model in (None, "gpt-5"))
    assert difference(base, full).entries == (
        FileEntry("system", (FilePart("─= system"),)),
        FileEntry("user", (FilePart("", "I am gpt-5."),)),
    )


def test_a_message_that_is_dropped_is_not_in_the_file() -> None:
    """The messages that a budget left have the names that they have in the base."""
    old = Group(User("Hello. " * 50), Assistant("Hi."), priority=1)
    prompt = Timeline(System("Help."), old, User("And now?"))
    base, full = prompt_file(render(prompt)), prompt_file(render(prompt, model="gpt-5", budget=40))
    assert difference(base, full).entries[1:] == (FileEntry("user", (FilePart("─= user 2"),)),)


def test_text_around_a_section_is_stored_once() -> None:
    """The section and what is after it have different names."""
    rules = Section("rules", "Help.", Section("tone", "Be brief."), "Now.")
    base, full = (prompt_file(render(System(rules, Text("x")), model=m)) for m in (None, "gpt-5"))
    changed = attrs.evolve(full.entries[0].parts[0], text="Help!")
    file_entry = FileEntry("system", (changed, *full.entries[0].parts[1:]))
    (file_entry,) = difference(base, attrs.evolve(full, entries=(file_entry,))).entries
    names = ["─▷ rules", *(f"─= system > {name}" for name in ("rules/tone", "rules, continued"))]
    assert [part.sign for part in file_entry.parts][:3] == names


@examples(300)
@given(pairs())
def test_a_base_and_a_difference_are_the_full_file(two: tuple[PromptFile, PromptFile]) -> None:
    """Nothing of a model's file is lost, whatever both files hold."""
    base, full = two
    assert applied(base, difference(base, full)) == full


@examples(100, fast=5)
@given(ANY_PROMPTS, st.sampled_from(MODELS))
def test_any_prompt_comes_back_for_a_model(tree: Any, model: str) -> None:
    """The file of any prompt for a model is read from the base and the difference."""
    try:
        rendered = render(tree, model=model)
        base = prompt_file(render(tree))
    except PromptError:
        assume(False)
    full = prompt_file(rendered)
    model_file = serialise(difference(base, full))
    assert applied(parse(serialise(base)), parse(model_file)) == full


@pytest.mark.parametrize("model", MODELS)
def test_what_is_read_is_what_was_written(model: str) -> None:
    """The file of a model and its base, read again, are the full file."""
    files = stored(support())
    full = prompt_file(render(support(), model=model))
    assert applied(parse(files["base"]), parse(files[model])) == full


def test_a_base_without_a_message_that_is_named_is_an_error() -> None:
    """Both files have to be of one prompt."""
    model = parse(stored(support())["gpt-5"])
    error = raised(SnapshotFormatError, lambda: applied(PromptFile((), ()), model))
    assert error.what == "the snapshot without a model has no 'system > role'"


def test_a_file_that_is_whole_needs_no_base() -> None:
    """A snapshot of another kind is recognised by its header."""
    empty_file = PromptFile((), ())
    error = raised(SnapshotFormatError, lambda: applied(empty_file, empty_file))
    assert error.what == f"the line {': '.join(BASE_LINE)!r} is missing"
