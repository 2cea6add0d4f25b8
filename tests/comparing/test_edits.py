"""Edits of a prompt, each with the one sentence that a reviewer would write."""

from collections.abc import Sequence
from typing import Any

import attrs
import pytest

from promptdsl import *
from tests.internals import prompt_file
from tests.providers.conversations import PNG


@attrs.frozen
class Desk:
    """A support desk, as far as the edits of this page change it."""

    rule: str = "Never promise refunds."
    tone_id: str = "tone"
    sections: Sequence[str] = ("role", "rules", "tone")
    title: str = "Rules"
    marked: str = "rules"
    plan: str = "Pro"
    is_volatile: bool = True
    tools: Sequence[str] = ("lookup", "refund")
    properties: Sequence[str] = ("invoice",)
    questions: Sequence[str] = ("I was charged twice.",)
    action: str = "opened"
    has_image: bool = True
    is_strict: bool = True

    def render(self, model: str = "claude-sonnet-4-5") -> Rendered:
        """Return the prompt as it is sent."""
        day: Value | Volatile = Value("May 4")
        if self.is_volatile:
            day = Volatile("May 4", label="date")
        texts = {
            "role": [Text("You help customers of TechCorp."), Text(" Plan: ", Value(self.plan))],
            "rules": [Text(self.rule), Text("\n\nAsk for the invoice.")],
            "tone": [Text("Be brief, it is ", day, ".")],
            "example": [Text("A customer asks: Where is my money?")],
        }
        ids = {"tone": self.tone_id}
        titles = {"rules": self.title}
        schema = {
            "type": "object",
            "properties": {name: {"type": "string"} for name in self.properties},
            "additionalProperties": False,
        }
        answer = {**schema, "required": [*self.properties]}
        return render(
            Timeline(
                *(Tool(name=it, description=f"Do {it}.", input_schema=schema) for it in self.tools),
                System(
                    *(
                        Section(
                            ids.get(name, name),
                            *texts[name],
                            title=titles.get(name),
                            cache=name == self.marked,
                        )
                        for name in self.sections
                    )
                ),
                *map(User, self.questions),
                Assistant("Let me look."),
                Event(UserAction(self.action, target="invoice 1881")),
                User("So?", *([Image.from_base64(PNG)] if self.has_image else [])),
                Output(answer, name="reply", strict=self.is_strict),
            ),
            model=model,
        )


EDITS = {
    "a rule is reworded": (Desk(rule="Never promise a refund."), "`rules` changed: 1 line"),
    "a section has another name": (Desk(tone_id="voice"), "`tone` renamed to `voice`"),
    "a section moves": (Desk(sections=("role", "tone", "rules")), "`rules` moved; 1 hint added"),
    "a section goes": (Desk(sections=("role", "rules")), "`tone` removed"),
    "an example is added": (
        Desk(sections=("role", "rules", "tone", "example")),
        "`example` added",
    ),
    "a title": (Desk(title="The rules"), "`rules` changed: 1 line"),
    "a value": (Desk(plan="Basic"), "`role` changed: 1 line"),
    "a date that is written out": (
        Desk(is_volatile=False),
        "`tone` changed: 1 line; `tone` has no ⟦date⟧ any more",
    ),
    "a mark moves": (Desk(marked="role"), "the cache mark moved from `rules` to `role`"),
    "a mark goes": (Desk(marked=""), "the cache mark after `rules` removed"),
    "tools in another order": (Desk(tools=("refund", "lookup")), "`tool lookup` moved"),
    "a tool goes": (Desk(tools=("lookup",)), "`tool refund` removed"),
    "a question is split": (
        Desk(questions=("I was charged", "twice.")),
        "`user 1` changed: 1 line; `user 2` added",
    ),
    "the text of an event": (Desk(action="closed"), "`event` changed: 1 line"),
    "an image goes": (Desk(has_image=False), "`image` removed"),
    "blanks alone": (
        Desk(rule="Never promise  refunds."),
        "`rules` changed: only blanks in 1 line",
    ),
    "a tool takes more": (
        Desk(properties=("invoice", "reason")),
        "`tool lookup`, `tool refund` and `form` changed: 3 lines",
    ),
}


@pytest.mark.parametrize(("edited", "sentence"), EDITS.values(), ids=[*EDITS])
def test_an_edit_is_one_sentence(edited: Desk, sentence: str) -> None:
    """The sentence names what the author changed, and nothing that only follows from it."""
    assert sentence == diff(Desk().render(), edited.render()).sentence


def test_an_answer_that_is_not_strict_keeps_its_name() -> None:
    """The strictness of a form is no part of its name."""
    before, after = (Desk(is_strict=it).render("gpt-5") for it in (True, False))
    assert "`answer reply` not strict any more" == diff(before, after).sentence
    assert "`answer reply` strict now" == diff(after, before).sentence


@pytest.mark.parametrize("tools", [(), (Tool(name="lookup", description="Find an invoice."),)])
def test_an_answer_with_another_name_and_schema_is_renamed(tools: tuple[Tool, ...]) -> None:
    """A prompt has one form of the answer, so a new one replaces it, even if nothing is equal."""
    yes_or_no = {"type": "object", "properties": {"is_right": {"type": "boolean"}}}
    price = {"type": "object", "properties": {"amount": {"type": "number"}}}
    before = render(Timeline(System("Help."), User("Hi."), Output(yes_or_no, name="verdict")))
    after = render(Timeline(*tools, System("Help."), User("Hi."), Output(price, name="offer")))
    changes = [(it.kind, it.location) for it in diff(before, after).changes if "answer" in str(it)]
    assert [("renamed", ("answer offer",)), ("changed", ("answer offer", "form"))] == changes


def test_roles_that_changed_alike_are_told_together() -> None:
    """Another model sends an event in another role, and its mark is sent."""
    sentence = diff(Desk().render("gpt-5"), Desk().render()).sentence.split("; ")
    assert sentence[:5] == [
        "model gpt-5 (openai) -> claude-sonnet-4-5 (anthropic)",
        "`answer reply` sent without its name",
        "`event` sent as user, was developer",
        "`user 2` sent in the message above it",
        "the cache mark after `rules` sent now",
    ]


TALK = [
    {"role": role, "content": f"{role} {it} " * 20}
    for it in range(3)
    for role in ("user", "assistant")
]


def long_talk(budget: int) -> Rendered:
    """Return a conversation of five exchanges, the oldest of which go first."""
    turns = [
        Group(User(f"Question {it} " * 20), Assistant(f"Answer {it} " * 20), priority=it - 9)
        for it in range(5)
    ]
    return render(Timeline(System("You help."), *turns, User("And?")), model="gpt-5", budget=budget)


def test_what_a_budget_drops_is_told_by_name() -> None:
    """An exchange more, or one less, is in the sentence once, as messages."""
    more, less = long_talk(300), long_talk(200)
    sentence = [diff(*it).sentence for it in ((more, less), (less, more))]
    assert sentence == [
        "`user 1` and `assistant 1` dropped for the budget",
        "`user 1` and `assistant 1` not dropped any more",
    ]


def test_what_the_author_removed_is_not_what_the_budget_dropped() -> None:
    """Beside an exchange that was dropped, a part that went is reported as such."""
    before, after = (
        render(Timeline(History(TALK, step=25), *parts, User("So?")), model="gpt-5", budget=budget)
        for budget, parts in ((300, [Grounding("account", "Plan Pro.")]), (200, []))
    )
    sentence = "`user 1` and `assistant 1` dropped for the budget; `grounding account` removed"
    assert sentence == diff(before, after).sentence


def test_a_new_message_is_not_one_that_was_dropped() -> None:
    """Where results are cleared, or more of a history goes than before, new ones are added."""

    def talk(count: int, **options: Any) -> Rendered:
        messages: list[dict[str, Any]] = [{"role": "user", "content": "Look."}]
        for it in range(count):
            call = {"type": "tool_use", "id": f"c{it}", "name": "look", "input": {"page": it}}
            text = f"page {it} " * 30
            answer = {"type": "tool_result", "tool_use_id": f"c{it}", "content": text}
            messages += [
                {"role": "assistant", "content": [call]},
                {"role": "tool", "content": [answer]},
            ]
        prompt = Timeline(History(messages, step=50, **options))
        return render(prompt, model="gpt-5", budget=500)

    for options in ({"clear_results": 1}, {}):
        sentence = diff(talk(6, **options), talk(9, **options)).sentence
        assert "not dropped" not in sentence.replace("1 part not dropped", "")


def guide(budget: int, *, sections: Sequence[str] = "ab") -> Rendered:
    """Return system and user sections, some of them inside others, that a budget drops."""
    data = Section("data", "d " * 200, priority=1)
    turn_sections = [Section(name, name) for name in sections]
    inner = Section("o", Section("in", "i " * 100, priority=2), "rest")
    prompt = Timeline(System(*turn_sections, data, inner), User(*turn_sections, data, "So?"))
    return render(prompt, budget=budget, counter=lambda text: len(text.split()))


@pytest.mark.parametrize(
    ("after", "sentence"),
    [
        (guide(300), "`data` dropped for the budget"),
        (guide(100), "`o, continued` renamed to `o`; `data` and `o/in` dropped for the budget"),
        (guide(300, sections="b"), "`a` removed; `data` dropped for the budget"),
    ],
)
def test_sections_that_a_budget_drops_are_told(after: Rendered, sentence: str) -> None:
    """System sections, sections in others and in turns are dropped; those of the author removed."""
    assert sentence == diff(guide(2_000), after).sentence


def test_the_tokens_of_two_models_are_labelled_each() -> None:
    """Two counters have no difference; each total names its own."""
    before, after = (render(System("You help."), model=it) for it in ("gpt-5", "claude-opus-5"))
    assert "10 tokens (o200k_base) -> 13 (o200k_base x 1.6)" == str(diff(before, after).tokens)


def test_a_text_after_one_without_a_name_has_a_place() -> None:
    """Where it was is said in words, and the mark of the file is no line of it."""
    sentence = str(diff(User("a", Text("b")), User("a"))).split("\n")
    assert ["user > text", "(removed, it was after the text before it)", "- b"] == sentence[-3:]


def test_letters_that_look_alike_are_named() -> None:
    """A changed word differs in a letter of another script, alone or beside other changes."""
    before, texts = (
        System("Pay now, please."),
        ("P\u0430y now, please.", "P\u0430y now, or later, please."),
    )
    sentence = {str(diff(before, System(text))).split("\n")[-1] for text in texts}
    assert {"(other letters: CYRILLIC SMALL LETTER A, was LATIN SMALL LETTER A)"} == sentence
    others = [str(diff(before, System(text))).split("\n")[-1] for text in ("Pau now.", "P-y now.")]
    assert ["+ Pau now.", "+ P-y now."] == others


def test_a_section_that_moves_is_one_change_for_each_model() -> None:
    """What stands instead of a mark that a model does not take follows from the move."""
    moved = Desk(sections=("role", "tone", "rules"))
    sentence = "`rules` moved; 1 hint added"  # the mark is behind a volatile value now
    assert sentence == diff(Desk().render("gpt-5"), moved.render("gpt-5")).sentence


def test_another_role_for_events_is_told() -> None:
    """The settings of a transformation change how a turn is sent, not what it says."""
    prompt = Timeline(System("You help."), User("Hi."), Event("The page was opened."), User("So?"))
    before = render(prompt, model="gpt-5")
    after = render(prompt, model="gpt-5", transformation={"role_mapping": {"event": "user"}})
    sentence = "`event` sent as user, was developer; `user 2` sent in the message above it"
    assert sentence == diff(before, after).sentence


def test_an_upgraded_library_is_told_with_its_versions() -> None:
    """An upgrade is reported, also where it changes no text."""
    before, after = (
        attrs.evolve(prompt_file(Desk().render()), libraries=(("support", version),))
        for version in ("1.2.0", "1.3.0")
    )
    assert "library `support` 1.2.0 -> 1.3.0" == diff(before, after).sentence


def test_a_clock_alone_changes_nothing() -> None:
    """A volatile value is no change, but it ends the prefix that a cache can serve."""
    before, after = (
        render(System(Section("rules", "Be brief."), Text(Volatile(day, label="date"))))
        for day in ("May 4", "May 5")
    )
    prompt_diff = diff(before, after)
    assert (False, "") == (bool(prompt_diff), prompt_diff.sentence)
    assert "nothing changed" == str(prompt_diff).split("\n")[0]
    assert str(prompt_diff.prefix).startswith("the first difference is in ")


@pytest.mark.parametrize("id", ["q1", "q[1]", "user_2[7]x"])
def test_a_section_of_a_turn_with_an_id(id: str) -> None:
    """A section that a budget drops is reported by the id of its turn, whatever that looks like."""
    turn = User(Section("s", "It rains. " * 20, priority=1), "Hello there.", id=id)
    complete, fitted = (render(turn, counter=len, budget=budget) for budget in (None, 40))
    assert "`s` dropped for the budget" in str(diff(complete, fitted))
