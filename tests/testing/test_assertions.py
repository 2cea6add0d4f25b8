"""Assertions on prompts: what passes, and the complete texts of failures."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from promptdsl import *
from promptdsl.testing import (
    assert_fits,
    assert_no_losses,
    assert_no_section,
    assert_prefix_stable,
    assert_same_prompt,
    assert_section,
)
from tests.errors import lines_of, raised


def words(text: str) -> int:
    """Return how many words a text has: a token counter."""
    return len(text.split())


def support(rule: str = "Be kind.", *more: Any, **request: Any) -> Rendered:
    """Return a prompt for support, with a rule and with more turns."""
    system = System(
        Section("role", "You help ", Value("<Ann>"), "."),
        Section("rules", "Be brief.\n", rule, Section("tone", "Warm."), title="Rules"),
    )
    question = User("Why?", name="Ada")
    return render(Timeline(system, question, *more), counter=words, **request)


ROLE, RULES, QUESTION, RENDER = (lines_of(support, offset)[0] for offset in (3, 4, 6, 7))


def here(line: object) -> str:
    """Return a line with its path from the folder in which the tests were started."""
    return str(line).removeprefix(f"{Path.cwd()}/")


def failure(claim: Callable[[], object]) -> str:
    """Return the text of a failing assertion."""
    return str(raised(AssertionError, claim))


def test_everything_holds() -> None:
    """An assertion that holds says nothing."""
    rendered = support(model="gpt-5")
    assert [None] * 8 == [
        assert_fits(rendered, tokens=rendered.tokens.total),
        assert_section(rendered, "role", contains="You help", before="rules"),
        assert_section(rendered, "rules", contains=["Be brief.", "### ", "Warm."][::2]),
        assert_section(rendered, "rules/tone", before="user[0]"),
        assert_no_section(rendered, "rule"),
        assert_no_losses(rendered),
        assert_prefix_stable(rendered, support("Be kind.", Assistant("So."), model="gpt-5")),
        assert_same_prompt(rendered, support(model="gpt-5")),
    ]


def test_too_many_tokens() -> None:
    """A prompt that is too long names its tokens, and its largest parts with their lines."""
    assert (
        "24 tokens are 14 more than 10: estimate (by the counter given)\n"
        f"  6 rules: {RULES}\n"
        f"  3 role: {ROLE}\n"
        f"  1 rules/tone: {RULES}\n"
        f"  1 user[0]: {QUESTION}\n"
        "  13 in other parts, and around the parts"
    ) == failure(lambda: assert_fits(support(), tokens=10))


def test_the_first_of_two_lines() -> None:
    """A turn that was written in two lines is named with the first of them."""
    with System() as turn:
        Text("One two three.")
        Text("Four five.")
    first, second = lines_of(test_the_first_of_two_lines, 3, 4)
    largest = failure(lambda: assert_fits(render(turn, counter=words), tokens=1)).splitlines()[1]
    assert (True, False) == (str(first) in largest, str(second) in largest)


def test_an_unknown_section() -> None:
    """A section that is missing names the nearest address."""
    assert "the prompt has no section or turn 'rule': did you mean 'rules'?" == failure(
        lambda: assert_section(support(), "rule")
    )


def test_a_dropped_section() -> None:
    """The failure for a section that a budget dropped has the reason and the line."""
    rendered = render(
        Timeline(System("Obey.", Section("chat", "long " * 99, priority=1)), User("Why?")),
        counter=words,
        budget=50,
    )
    (dropped,) = rendered.dropped
    assert (
        "the prompt has no section or turn 'chat': known: system[0], user[0]\n"
        f"  dropped: section chat, {dropped.why}: {dropped.source}"
    ) == failure(lambda: assert_section(rendered, "chat"))


def test_a_missing_text() -> None:
    """The failure for a missing text shows the complete section, with its line."""
    assert (
        "'rules' does not contain 'Be rude.'\n"
        f"  {RULES}:\n"
        "  | ## Rules\n"
        "  | Be brief.\n"
        "  | Be kind.\n"
        "  | \n"
        "  | Warm."
    ) == failure(lambda: assert_section(support(), "rules", contains=["brief", "Be rude."]))


def test_an_encoded_text() -> None:
    """The failure for a text in a value shows how the value is sent."""
    full = {"encoding": {"inline": "full"}}
    assert (
        "'role' does not contain '<Ann>'\n"
        "  it has this text in a value, and values are sent encoded: '&lt;Ann&gt;'\n"
        f"  {ROLE}:\n"
        "  | You help &lt;Ann&gt;."
    ) == failure(lambda: assert_section(support(transformation=full), "role", contains="<Ann>"))


def test_the_wrong_order() -> None:
    """Two sections in another order are named with both lines."""
    assert (
        f"'rules' comes after 'role', not before it\n  {ROLE}: role\n  {RULES}: rules"
    ) == failure(lambda: assert_section(support(), "rules", before="role"))


def test_a_section_inside_another_one() -> None:
    """A section comes before those in it, not after, also where it goes on behind them."""
    rendered = render(System(Section("rules", "Obey.", Section("tone", "Be warm."), "Always.")))
    assert assert_section(rendered, "rules", before="rules/tone") is None
    text = failure(lambda: assert_section(rendered, "rules/tone", before="rules"))
    assert "'rules/tone' comes after 'rules', not before it" == text.splitlines()[0]


def test_a_section_too_many() -> None:
    """A section that should not be there is shown with its line."""
    assert f"the prompt has 'rules/tone'\n  {RULES}:\n  | Warm." == failure(
        lambda: assert_no_section(support(), "rules/tone")
    )


def test_losses() -> None:
    """The failure lists each loss with its line and reason, and hints only on request."""
    picture = User(Image.from_url("s3://bucket/a.png"))
    rendered = support("Be kind.", picture, model="claude-opus-4-5")
    hint = f"hint: name of a speaker (user[0]): the target takes no speaker's name: {QUESTION}"
    (content,) = [str(loss) for loss in rendered.losses]
    assert [
        f"1 loss for claude-opus-4-5\n  {content}",
        f"1 hint for claude-opus-4-5\n  {hint}",
        f"1 loss and 1 hint for claude-opus-4-5\n  {content}\n  {hint}",
    ] == [
        failure(lambda: assert_no_losses(rendered)),
        failure(lambda: assert_no_losses(rendered, kinds="hint")),
        failure(lambda: assert_no_losses(rendered, kinds=["content", "role", "hint"])),
    ]


def test_an_unstable_prefix() -> None:
    """A prefix that ends too early names the part and the line that ended it."""
    before, after = support(), support("Be rude.")
    assert (
        "the later prompt begins with only 12 of 24 tokens of the earlier prompt (50.0%), not "
        "with at least 60%\n"
        f"  the shared prefix ends where section rules was changed: {RULES}\n"
        "  12 of 24 tokens of the later prompt come after it"
    ) == failure(lambda: assert_prefix_stable(before, after, min_share=0.6))
    assert assert_prefix_stable(before, after, min_share=0.5) is None


def test_another_text() -> None:
    """Two prompts with different texts name both lines, and what changed."""
    assert (
        f"the prompts differ first in\n  - rules: {RULES}\n  + rules: {RULES}\n\n"
        "`rules` changed: 1 line\n\n"
        f"system > rules ({here(RULES)})\n"
        "  ## Rules\n"
        "  Be brief.\n"
        "- Be kind.\n"
        "+ Be rude."
    ) == failure(lambda: assert_same_prompt(support(), support("Be rude.")))


def test_another_message() -> None:
    """A message that only one of two prompts has is shown."""
    line = lines_of(test_another_message, 12)[0]
    assert (
        "the prompts differ first in\n"
        "  - no message 2\n"
        f"  + assistant[0]: {line}\n\n"
        "`assistant` added\n\n"
        f"assistant ({here(line)})\n"
        "(added after `user named Ada`)\n"
        "+ ──▶ assistant\n"
        "+ So."
    ) == failure(lambda: assert_same_prompt(support(), support("Be kind.", Assistant("So."))))


def test_other_calls() -> None:
    """Two prompts with the same texts and other calls differ."""
    ask, tell = (render(Assistant(ToolUse(name, {}, id="c1"))) for name in ("ask", "tell"))
    assert (
        "`call tell` changed: 1 line"
        == failure(lambda: assert_same_prompt(ask, tell)).splitlines()[0]
    )


def test_volatile_texts_are_sent() -> None:
    """Two prompts with other volatile texts differ, though their snapshots do not."""
    one, two = (render(System(Volatile(day, "day"))) for day in ("Monday", "Friday"))
    line = lines_of(test_volatile_texts_are_sent, 2)[0]
    assert (
        f"the prompts differ first in\n  - system[0]: {line}\n  + system[0]: {line}\n\n"
        "only content that snapshots leave out, such as a Volatile"
    ) == failure(lambda: assert_same_prompt(one, two))


def test_blocks_beside_each_other() -> None:
    """The first difference is found in the block that has it."""
    one, two = (render(User(Section("a", "Hi."), Section("b", text))) for text in ("You.", "Yes."))
    line = lines_of(test_blocks_beside_each_other, 2)[0]
    assert ["the prompts differ first in", f"  - user[0]/b: {line}", f"  + user[0]/b: {line}"] == (
        failure(lambda: assert_same_prompt(one, two)).splitlines()[:3]
    )


def test_payloads_are_what_is_sent() -> None:
    """For one target the payload decides: a name that is not sent makes no difference."""
    one, two = (render(User("Hi.", name=name), provider="anthropic") for name in ("Ada", "Bob"))
    assert assert_same_prompt(one, two) is None
    assert raised(
        AssertionError, lambda: assert_same_prompt(*(r.for_target("openai") for r in (one, two)))
    )


WRONG: dict[str, tuple[type[Exception], Callable[[], object], str]] = {
    "a tree": (
        ContentError,
        lambda: assert_fits(User("Hi."), tokens=1),  # type: ignore[arg-type]
        "assert_fits() takes the result of render(), not a User",
    ),
    "no result": (
        ContentError,
        lambda: assert_same_prompt(support(), None),  # type: ignore[arg-type]
        "assert_same_prompt() takes the result of render(), not a NoneType",
    ),
    "tokens": (OptionError, lambda: assert_fits(support(), tokens="9"), "tokens is '9'"),  # type: ignore[arg-type]
    "kind": (
        OptionError,
        lambda: assert_no_losses(support(), kinds=["hints"]),
        "'hints' is not a kind of loss",
    ),
    "share": (
        OptionError,
        lambda: assert_prefix_stable(support(), support(), min_share=90),
        "min_share is 90",
    ),
    "text": (
        OptionError,
        lambda: assert_section(support(), "rules", contains=[1]),  # type: ignore[list-item]
        "contains is 1",
    ),
    "negative tokens": (
        OptionError,
        lambda: assert_fits(support(), tokens=-1),
        "tokens is -1",
    ),
    "share as a text": (
        OptionError,
        lambda: assert_prefix_stable(support(), support(), min_share="9"),  # type: ignore[arg-type]
        "min_share is '9'",
    ),
    "kinds": (
        OptionError,
        lambda: assert_no_losses(support(), kinds=None),  # type: ignore[arg-type]
        "kinds is None",
    ),
    "number for a text": (
        OptionError,
        lambda: assert_section(support(), "rules", contains=1),  # type: ignore[arg-type]
        "contains is 1",
    ),
    "address": (OptionError, lambda: assert_section(support(), 3), "address is 3"),  # type: ignore[arg-type]
    "empty address": (OptionError, lambda: assert_no_section(support(), ""), "address is ''"),
    "open address": (
        OptionError,
        lambda: assert_no_section(support(), "rules/"),
        "address is 'rules/'",
    ),
    "before": (
        OptionError,
        lambda: assert_section(support(), "rules", before=1),  # type: ignore[arg-type]
        "before is 1",
    ),
    "before itself": (
        OptionError,
        lambda: assert_section(support(), "rules", before="rules"),
        "before is 'rules' itself",
    ),
    "a Timeline": (
        ContentError,
        lambda: assert_section(Timeline(User("Hi.")), "a"),  # type: ignore[arg-type]
        "assert_section() takes the result of render(), not a Timeline",
    ),
    "targets": (
        TargetError,
        lambda: assert_prefix_stable(support(model="gpt-5"), support(model="gpt-4.1")),
        "the first is for gpt-5, the second for gpt-4.1: they share no cache",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments(name: str) -> None:
    """A wrong argument is an error of the library, not a failure."""
    kind, claim, what = WRONG[name]
    assert what == getattr(raised(kind, claim), "what", "")


def test_groundings_are_found() -> None:
    """A grounding has the address of its id, and its values are found as they are sent."""
    rendered = render(Timeline(User("Why?"), Grounding("account", "Plan: Pro")))
    assert assert_section(rendered, "account", contains="Plan: Pro", before="user[0]") is None


def test_an_empty_prompt() -> None:
    """An empty prompt has no section, shares all it has, and is the same as another."""
    with Timeline() as nothing:
        pass
    empty = render(nothing)
    assert "the prompt has no section or turn 'a': the prompt is empty" == failure(
        lambda: assert_section(empty, "a")
    )
    assert [None, None, None] == [
        assert_no_section(empty, "a"),
        assert_prefix_stable(empty, support()),
        assert_same_prompt(empty, empty),
    ]


def test_no_share_and_a_whole_share() -> None:
    """With a share of 0 nothing has to be shared, with 1 all of the earlier prompt."""
    assert assert_prefix_stable(support(), support("Be rude."), min_share=0) is None
    assert "not with at least 100%" in failure(
        lambda: assert_prefix_stable(support(), support("Be rude."), min_share=1)
    )


def test_an_unknown_later_section() -> None:
    """A section for ``before`` that is missing fails as one for the address does."""
    assert (
        "the prompt has no section or turn 'nope': "
        "known: role, rules, rules/tone, system[0], user[0]"
    ) == failure(lambda: assert_section(support(), "role", before="nope"))


PROVIDERS = ("openai", "openai_responses", "anthropic", "gemini", "bedrock", "chat_template")


@pytest.mark.parametrize("provider", PROVIDERS)
def test_sections_for_every_provider(provider: str) -> None:
    """Sections of users and of groundings are found for every provider, in other messages too."""
    prompt = Timeline(
        System(Section("role", "You help.")),
        User(Section("question", "Why?")),
        Grounding("account", Section("plan", "Pro")),
    )
    rendered = render(prompt, provider=provider)
    assert [None, None, None] == [
        assert_section(rendered, "role", contains=["You", "help"], before="user[0]/question"),
        assert_section(rendered, "user[0]/question", contains="Why?"),
        assert_section(rendered, "account/plan", contains="Pro"),
    ]


def test_the_end_of_a_section_in_a_second_block() -> None:
    """A difference at the end of a section is one of that section, whatever blocks are before."""
    one, two = (
        render(
            System(Section("a", "Hi."), CacheBreakpoint(), Section("b", text), Section("c", "."))
        )
        for text in ("You two", "You too")
    )
    first, second = failure(lambda: assert_same_prompt(one, two)).splitlines()[1:3]
    assert ("  - b:", "  + b:") == (first[:6], second[:6])
