"""Where the shared prefix of two prompts ends, what a cache loses by it, and what a diff costs."""

import json
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from promptdsl.comparing import (
    ComparedRender,
    DiffReport,
    PromptComparison,
    PromptDiff,
    PromptFile,
    SharedPrefix,
    parse,
    serialise,
)
from tests.comparing.any_file import pairs
from tests.providers.prompts import ANY_PROMPTS
from tests.searching import examples

CLAUDE = "claude-sonnet-4-5"
RULES = " ".join(f"Rule {number}: be kind to everyone." for number in range(60))


def support(
    role: str = "You help.",
    rules: str = RULES,
    *,
    question: str = "Hi",
    is_role_marked: bool = False,
    date: str = "2026-01-01",
) -> Timeline:
    """Return a prompt with a cache mark after its last section."""
    with Timeline() as prompt:
        with System():
            Section("role", role, cache=is_role_marked)
            with Section("rules", title="Rules"):
                Text(rules)
                Section("tone", "Be brief.", title="Tone", cache=True)
            Text("Today is ", Volatile(date, label="date"), ".")
        User(question)
    return prompt


def prefix(before: Any, after: Any, model: str | None = CLAUDE) -> SharedPrefix | None:
    """Return the shared prefix of two prompts that are rendered for a model."""
    return diff(render(before, model=model), render(after, model=model)).prefix


def stored(rendered: Rendered) -> PromptFile:
    """Return a prompt as its snapshot has it."""
    return parse(serialise(diff(rendered, rendered).after))


def of_snapshots(before: Any, after: Any) -> SharedPrefix | None:
    """Return the shared prefix of the snapshots of two prompts."""
    return diff(*(stored(render(prompt, model=CLAUDE)) for prompt in (before, after))).prefix


def test_a_change_before_a_mark_loses_the_cached_prefix() -> None:
    """One line says where the prefix ends, which mark is lost, and what a cache serves."""
    assert str(prefix(support(), support(rules=f"{RULES} Never lie."))) == (
        "the first difference is in `rules`, after 740 of 779 tokens; "
        "the cache up to `rules/tone` is no longer valid; "
        "nothing from the cache, 779 billed in full"
    )


def test_what_is_before_a_mark_that_is_kept_is_not_read_anew() -> None:
    """With a mark before the change, less is read again than without."""
    changed = f"Zero. {RULES}"
    one = prefix(support("You help. " * 500), support("You help. " * 500, changed))
    other = prefix(
        support("You help. " * 500, is_role_marked=True),
        support("You help. " * 500, changed, is_role_marked=True),
    )
    assert one is not None
    assert other is not None
    assert (one.lost_marks, other.lost_marks) == (("system > rules/tone",),) * 2
    assert (0, True) == (one.served, 1_900 < one.anew - other.anew < 2_100)


def test_the_last_of_two_lost_marks_is_named() -> None:
    """A change before two marks loses both, and what a cache had reached up to the last one."""
    before, after = (
        Timeline(
            System(Section("role", role, cache=True), Section("rules", RULES, cache=True)),
            User("Hi"),
        )
        for role in ("You help.", "You assist.")
    )
    shared_prefix = prefix(before, after)
    assert shared_prefix
    assert (("system > role", "system > rules"), True) == (
        shared_prefix.lost_marks,
        "; the cache up to `rules` is no longer valid;" in str(shared_prefix),
    )


def test_a_change_after_all_marks_loses_none() -> None:
    """The last question is another one: what is cached stays."""
    shared_prefix = prefix(support(), support(question="What is it?"))
    assert shared_prefix
    assert (shared_prefix.broken_by, shared_prefix.lost_marks) == ("user", ())


def test_a_volatile_value_ends_the_prefix_and_is_no_change() -> None:
    """A clock is another text for a cache, though not for a reviewer."""
    prompt_diff = diff(*(render(support(date=day), model=CLAUDE) for day in ("Monday", "Friday")))
    assert prompt_diff.prefix
    assert (prompt_diff.sentence, prompt_diff.prefix.broken_by) == ("", "system > (no section)")
    assert str(prompt_diff.prefix).startswith(
        "the first difference is in `system`, after 754 of 767 tokens;"
    )


def test_a_mark_or_an_id_alone_ends_no_prefix() -> None:
    """Neither is in the text; but a mark divides a block, and what was cached of it is lost."""
    marked = prefix(support(), support(is_role_marked=True))
    one, other = (Timeline(Event(UserAction("left"), id=id), User("Hi")) for id in ("a", "b"))
    complete_text = "the shared prefix is the complete prompt"
    lost = "the cache up to `rules/tone` is no longer valid"
    bill = "nothing from the cache, 776 billed in full"
    assert [f"{complete_text}; {lost}; {bill}", complete_text] == [
        str(marked),
        str(prefix(one, other)),
    ]


def test_a_mark_that_loses_the_prefix_is_told_with_it() -> None:
    """In a report, the mark that divides a cached block is what loses it."""
    prompt_diff = diff(*(render(support(is_role_marked=it), model=CLAUDE) for it in (False, True)))
    report = DiffReport((PromptComparison("support", "changed", prompt_diff),))
    assert ["the cache mark after `role` added in 1 prompt: 1 loses the cached prefix"] == [
        group.sentence for group in report.groups
    ]


def cached(*rules: str, more: str = "", question: str = "Hi") -> Timeline:
    """Return a prompt with a mark after its rules, more behind it, and a marked question."""
    system = System(
        Section("rules", RULES, List(*rules), cache=True), more and Section("more", more)
    )
    return Timeline(system, User(question, cache=True))


BOTH = pytest.mark.parametrize("compare", [prefix, of_snapshots])


@BOTH
def test_a_marked_block_that_grows_is_lost(compare: Any) -> None:
    """A rule at the end of a cached section leaves nothing of it in a cache by marks."""
    shared_prefix = compare(cached("A."), cached("A.", "B."))
    assert (0, ("system > rules", "user"), True) == (
        shared_prefix.served,
        shared_prefix.lost_marks,
        shared_prefix.anew > 740,
    )


@BOTH
def test_text_directly_after_a_mark_keeps_it(compare: Any) -> None:
    """What was added stands in a block of its own: only it and what follows is read again."""
    one, other = (cached("A. " * 400, **it) for it in ({}, {"more": "More. ", "question": "Why?"}))
    shared_prefix = compare(one, other)
    assert (("user",), True) == (shared_prefix.lost_marks, 5 < shared_prefix.anew < 50)


@pytest.mark.parametrize(("model", "expected_tokens"), [(CLAUDE, 1_480), ("gpt-5", 1_024)])
@pytest.mark.parametrize("is_stored", [False, True])
def test_what_is_served_and_what_it_costs(
    model: str, expected_tokens: int, is_stored: bool
) -> None:
    """A served token costs a tenth; a snapshot tells nearly the same."""
    prompts = [render(cached(RULES, question=it), model=model) for it in ("Hi", "Why?")]
    shared_prefix = diff(*map(stored, prompts) if is_stored else prompts).prefix
    assert shared_prefix
    assert abs(shared_prefix.served - expected_tokens) < 30
    assert (
        shared_prefix.cost
        == shared_prefix.served * 0.1
        + shared_prefix.shared
        + shared_prefix.behind
        - shared_prefix.served
    )


def test_a_removed_section_is_named() -> None:
    """What is not there any more has ended the prefix, not what comes after it."""
    role, rules, tone = (Section(id, id) for id in ("role", "rules", "tone"))
    shared_prefix = prefix(
        System(role, rules, tone), System(Section("role", "role"), Section("tone", "tone"))
    )
    assert shared_prefix
    assert shared_prefix.broken_by == "system > rules"


def test_two_models_share_no_prefix() -> None:
    """Each model has a cache of its own."""
    prompts = [render(support(), model=model) for model in (CLAUDE, "gpt-5")]
    assert diff(*prompts).prefix is None
    assert diff(*map(stored, prompts)).prefix is None


@pytest.mark.parametrize(
    "after",
    [
        support(rules=f"{RULES} Never lie."),
        support(rules=f"Zero. {RULES}"),
        support("You help a lot."),
        support(question="Hello."),
        System(Section("role", "You help.")),
    ],
)
def test_snapshots_end_where_their_requests_end(after: Any) -> None:
    """The estimate from snapshots names the same place and marks, and nearly the same tokens."""
    exact, estimate = prefix(support(), after), of_snapshots(support(), after)
    assert exact is not None
    assert estimate is not None
    assert (estimate.broken_by, estimate.lost_marks) == (exact.broken_by, exact.lost_marks)
    assert abs(estimate.behind - exact.behind) < 30


def test_tools_come_before_everything() -> None:
    """The order is that of a cache: tools, system text, messages."""
    before, after = (
        Timeline(
            *support().content,
            Tool(name="lookup", description=text, input_schema={"type": "object"}),
        )
        for text in ("Look.", "Find.")
    )
    shared_prefix = prefix(before, after)
    assert shared_prefix
    assert (shared_prefix.broken_by, shared_prefix.lost_marks) == (
        "tools > tool lookup",
        ("system > rules/tone",),
    )


def test_totals_are_exact_for_prompts_and_rounded_for_snapshots() -> None:
    """A tilde tells which is which; rounded ones are without the text of volatile values."""
    before, after = (render(support(question=text), model="gpt-5") for text in ("Hi", "Hi all"))
    assert str(diff(before, after).tokens) == "574 -> 575 tokens, +1 (o200k_base)"
    assert str(diff(stored(before), stored(after)).tokens) == "~570 tokens, +1 (o200k_base)"
    assert str(diff(stored(before), after).tokens) == "~570 tokens, +1 (o200k_base)"


@pytest.mark.parametrize(
    "after",
    [
        support(rules=f"{RULES} {RULES}"),
        support(rules="None."),
        System(Section("role", "You help.")),
        Timeline(*support().content, User("One more question. " * 20)),
        Timeline(System(Section("other", RULES, CacheBreakpoint()), Text("All new."))),
    ],
)
def test_the_tokens_of_the_changes_add_up_to_the_difference(after: Any) -> None:
    """What each change adds is nearly what the totals differ by."""
    prompt_diff = diff(render(support(), model="gpt-5"), render(after, model="gpt-5"))
    shift = (prompt_diff.tokens.after or 0) - (prompt_diff.tokens.before or 0)
    assert abs(sum(map(prompt_diff.tokens_of, prompt_diff.changes)) - shift) <= 12


def is_plain(prompt_diff: PromptDiff) -> bool:
    """Tell whether a diff as JSON data is the same after its way through JSON."""
    data = prompt_diff.to_dict()
    return bool(json.loads(json.dumps(data)) == data)


def is_sound(shared_prefix: SharedPrefix | None) -> bool:
    """Tell whether the tokens of a prefix are possible."""
    return shared_prefix is None or (
        0 <= shared_prefix.shared
        and 0 <= shared_prefix.behind
        and 0 <= shared_prefix.served <= shared_prefix.shared
        and 0 <= shared_prefix.anew <= shared_prefix.shared + shared_prefix.behind
        and bool(shared_prefix.broken_by or shared_prefix.lost_marks)
        == (not shared_prefix.is_complete)
    )


@examples(100)
@given(pairs())
def test_any_two_snapshots_have_a_plain_diff(files: tuple[PromptFile, PromptFile]) -> None:
    """Its data is plain JSON, its prefix is possible; equal ones share everything."""
    shared_prefix, same = diff(*files), diff(files[0], files[0])
    assert is_plain(shared_prefix)
    assert is_sound(shared_prefix.prefix)
    assert same.prefix
    assert (same.prefix.broken_by, same.prefix.behind) == ("", 0)


PROVIDERS = (None, *get_args(AdapterName))


@pytest.mark.slow
@examples(100)
@given(ANY_PROMPTS, ANY_PROMPTS, st.sampled_from(PROVIDERS))
def test_any_two_prompts_have_a_plain_diff(before: Any, after: Any, provider: Any) -> None:
    """Its data is plain JSON, and its prefix is possible, also with one side from a snapshot."""
    one, other = (render(prompt, provider=provider) for prompt in (before, after))
    found, same, mixed = diff(one, other), diff(one, one), diff(stored(one), other)
    assert is_plain(found)
    assert is_plain(mixed)
    assert is_sound(found.prefix)
    assert is_sound(mixed.prefix)
    assert not same
    assert same.prefix
    assert same.prefix.broken_by == ""


def test_the_report_is_kept() -> None:
    """The prefix of two renders has the report on them; that of snapshots has none."""
    first, second = (ComparedRender(render(System(text), model=CLAUDE)) for text in ("a", "b"))
    found = diff(first, second).prefix
    assert found is not None
    assert str(prefix_report(first.rendered, second.rendered)) == str(found.report)
    assert "report" not in found.to_dict()
    snapshots = diff(first.file, second.file).prefix
    assert snapshots is not None
    assert snapshots.report is None
