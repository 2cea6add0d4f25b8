"""Events and facts that a target takes in a user turn alone: no hint, and where they are shown."""

import re
from pathlib import Path
from typing import Any

import pytest

from promptdsl import *
from promptdsl.testing import assert_no_losses
from tests.internals import Written
from tests.renders import reported

HISTORY = [
    {"role": "user", "content": "Hi, I was charged twice."},
    {"role": "assistant", "content": "Which invoice do you mean?"},
]
AS_INSTRUCTIONS: dict[str, Any] = {"role_mapping": {"event": "developer", "ephemeral": "developer"}}
EVERY_ROW = {
    "sent.event[0]": ("user", "target anthropic"),
    "sent.event[1]": ("user", "target anthropic"),
    "sent.account": ("user", "target anthropic"),
    "sent.ephemeral[0]": ("user", "target anthropic"),
}


def support(history: list[dict[str, str]] | None = None) -> Timeline:
    """Return the whole prompt of the guide, with two events and a request-only turn more."""
    with Timeline() as prompt:
        with System():
            Section("role", "You are a support agent for TechCorp.")
        History(HISTORY if history is None else history)
        with Event():
            UserAction("opened", target="invoice 1881")
        Event(StateChange("plan", old="free", new="pro"))
        with Grounding("account", title="Account"):
            Text("Charges in May: ", 2)
        User("This one.")
        Ephemeral("Be brief.")
        Assistant("Yes.")
        User("Thanks.")
    return prompt


def rows(rendered: Rendered) -> dict[str, object]:
    """Return what is explained of where turns are sent."""
    return {key: it for key, it in rendered.explain().items() if key.startswith("sent.")}


MODELS = ["gpt-5", "gpt-3.5-turbo", "claude-opus-5-5", "claude-sonnet-4-5", "gemini-2.5-pro"]


@pytest.mark.parametrize("history", [HISTORY, []], ids=["later", "first"])
@pytest.mark.parametrize("model", MODELS)
def test_a_good_prompt_has_no_losses(model: str, history: list[dict[str, str]]) -> None:
    """Events and facts are in the only place that a model has for them: nothing is lost."""
    rendered = render(support(history), model=model)
    assert () == rendered.losses == rendered.hints
    assert_no_losses(rendered, kinds=("content", "role", "hint"))


@pytest.mark.parametrize("provider", ["gemini", "bedrock", "mistral", "anthropic"])
def test_what_is_mapped_to_an_instruction(provider: str) -> None:
    """The same holds where the author asks for instructions, and the target takes none here."""
    rendered = render(support(), provider=provider, transformation=AS_INSTRUCTIONS)
    expected = dict.fromkeys(EVERY_ROW, ("user", f"target {provider}"))
    assert ((), expected) == (reported(rendered), rows(rendered))


def test_where_each_turn_is_sent() -> None:
    """A row tells the role of each turn that is sent in another; one sent natively has none."""
    assert EVERY_ROW == rows(render(support(), model="claude-sonnet-4-5"))
    native = EVERY_ROW.keys() - {"sent.ephemeral[0]"}
    assert native == rows(render(support(), model="claude-opus-5-5")).keys()


@pytest.mark.parametrize("model", ["gpt-5", "gemini-2.5-pro", None])
def test_turns_in_their_own_role(model: str | None) -> None:
    """A turn in the role that it is mapped to has no row, and no target has none."""
    assert {} == rows(render(support(), model=model))


def test_a_prompt_that_waits_for_its_tools() -> None:
    """While calls have no results, the rows are there, too."""
    calls = Assistant(ToolUse("f", {}, id="1"))
    prompt = Timeline(User("a"), Assistant("b"), Event("x"), User("c"), calls)
    rendered = render(prompt, model="claude-sonnet-4-5")
    assert {"sent.event[0]": ("user", "target anthropic")} == rows(rendered)


def test_turns_in_one_message() -> None:
    """Two events in one message have a row each."""
    prompt = Timeline(User("a"), Event("x"), Event("y", id="left"), User("b"))
    rendered = render(prompt, model="claude-sonnet-4-5")
    assert ["sent.event[0]", "sent.left"] == [*rows(rendered)]


def test_views_name_both_roles() -> None:
    """Text, Markdown and HTML show the role that is sent beside that of the message."""
    rendered = render(support(), model="claude-sonnet-4-5")
    text = [line for line in str(rendered).split("\n") if "developer" in line]
    assert [f"── user (written as developer) {'─' * 41}"] * 3 == text
    views = (rendered._repr_html_(), rendered._repr_markdown_(), rendered.record().html())
    words = ("<b>user (written as developer)</b>", "<b>developer</b>")
    assert [[3, 0]] * 3 == [[*map(view.count, words)] for view in views]


def test_a_record_has_both_roles() -> None:
    """A record has the roles by message, also without content; it is left out without any."""
    rendered = render(support(), model="claude-sonnet-4-5")
    sent = {"3": "user", "5": "user", "7": "user"}
    record, bare = rendered.record(), rendered.record(content=False)
    assert (sent, sent) == (record.to_dict()["sent_as"], bare.to_dict()["sent_as"])
    assert record.html() == PromptRecord.from_dict(record.to_dict()).html()
    assert "sent_as" not in render(support(), model="gpt-5").record().to_dict()


@pytest.mark.parametrize(
    ("model", "expected"),
    [("claude-sonnet-4-5", 2), ("claude-opus-5-5", 1), ("gemini-2.5-pro", 2), ("gpt-5", 0)],
)
def test_developer_turns_name_both_roles(model: str, expected: int) -> None:
    """A developer turn after the conversation began is shown in the role that is sent."""
    prompt = Timeline(
        System("s"),
        Developer("first"),
        *(User("a"), Developer("second"), User("b"), Assistant("c"), User("d"), Developer("third")),
    )
    rendered = render(prompt, model=model)
    assert expected == rendered._repr_html_().count("<b>user (written as developer)</b>")
    shown = str(rendered).count("── user (written as developer) ─")
    assert shown in ((0, expected) if model == "claude-opus-5-5" else (expected,))


def test_a_view_without_its_file(tmp_path: Path) -> None:
    """A view is there, too, when the file of an attachment is gone."""
    file = tmp_path / "a.png"
    file.write_bytes(b"\x89PNG\r\n\x1a\n")
    prompt = Timeline(User(Image.from_path(file)), Assistant("b"), Event("x"), User("c"))
    rendered = render(prompt, model="claude-sonnet-4-5")
    file.unlink()
    assert "── user ─" in str(rendered)
    assert "role_mapping.event" in rendered.explain()


@pytest.mark.parametrize("provider", ["anthropic", "bedrock", "gemini", "openai", "mistral", None])
@pytest.mark.parametrize("options", [{}, {"transformation": AS_INSTRUCTIONS}], ids=["", "mapped"])
def test_the_text_writes_no_payload(
    provider: ProviderName | None, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As text, roles are shown that are known without a payload; they are those of the record."""
    rendered = render(support(), provider=provider, **options)
    expected = {int(index): role for index, role in rendered._sent_as.items()}
    other = render(support(), provider=provider, **options)
    monkeypatch.setattr(Written, "locations", lambda _: pytest.fail("a payload is written"))
    monkeypatch.setattr(Written, "payload", lambda _: pytest.fail("a payload is written"))
    shown = re.findall(r"^── user \(written as developer\)", str(other), re.MULTILINE)
    assert len(shown) in (0, len(expected))
    if provider in ("bedrock", "gemini"):
        assert len(expected) == len(shown)


def test_the_authors_word() -> None:
    """Every view and message names an event, a grounding and an ephemeral by these words."""
    prompt = Timeline(
        System("Be kind."),
        Grounding("account", "Pro.", priority=1),
        Event(UserAction("opened")),
        Ephemeral("Be brief."),
        User("Hi."),
    )
    rendered = render(prompt, model="claude-sonnet-4-5", counter=len)
    words = ("grounding account", "event", "ephemeral")
    for view in (str(prompt), rendered.outline(), str(rendered.tokens)):
        assert [word for word in words if word not in view] == []
        assert "request" not in view
    fitted = render(prompt, counter=len, budget=rendered.tokens.total - 1)
    assert "grounding account, " in str(fitted.dropped[0])
    changed = Timeline(System("Be kind."), Grounding("account", "Free."), User("Hi."))
    before = Timeline(System("Be kind."), Grounding("account", "Pro."), User("Hi."))
    report = prefix_report(*(render(it, model="claude-sonnet-4-5") for it in (before, changed)))
    assert str(report.first).startswith("grounding account was changed: ")
    with pytest.raises(BudgetError, match="grounding account: "):
        render(before, counter=len, budget=30)
