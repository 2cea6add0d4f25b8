"""Reports for tests: prompts of a small company before and after a busy Friday."""

from collections.abc import Iterator
from functools import cache

from promptdsl import *
from promptdsl.comparing import DiffReport, PromptComparison, parse, prompt_file, serialise
from promptdsl.testing import HOSTILE
from tests.internals import FileEntry, FilePart, PromptFile
from tests.views.hostile_prompt import hostile_prompt

RULES = "Answer in the language of the user.\nKeep every answer under {} words."


def stored(rendered: Rendered) -> PromptFile:
    """Return a prompt as a snapshot of it is read."""
    return parse(serialise(prompt_file(rendered)))


def support(team: int, words: int, *, event: bool = False) -> Timeline:
    """Return the prompt of a team."""
    with Timeline() as prompt:
        with System():
            Section("role", f"You are a support agent of team {team}.")
            Section("rules", RULES.format(words), title="Rules", cache=True)
        User(Text("I was charged twice."))
        if event:
            Event(UserAction("opened", target="invoice 1881"))
    return prompt


def friday(teams: int = 3) -> DiffReport:
    """Return what changed: a rule in the prompts of all teams, an event in that of the last."""
    return DiffReport(tuple(_of_friday(teams)))


def _of_friday(teams: int) -> Iterator[PromptComparison]:
    for team in range(teams):
        for model in (None, "gpt-5"):
            before = stored(render(support(team, 120), model=model))
            after = stored(render(support(team, 80, event=team == teams - 1), model=model))
            name = f"tests/test_team_{team}{f'.{model}' if model else ''}.prompt.txt"
            yield PromptComparison(name, "changed", diff(before, after), model=model or "")
    yield PromptComparison("tests/test_calm.prompt.txt", "same")
    yield PromptComparison("tests/test_new.prompt.txt", "added")
    yield PromptComparison("tests/test_old.prompt.txt", "removed")
    yield PromptComparison("tests/test_now.prompt.txt", "renamed", was="tests/test_was.prompt.txt")
    problem = "line 1 of the snapshot is not '---'"
    yield PromptComparison("tests/test_bad.prompt.txt", "unreadable", problem=problem)


def raw_texts(more: str = "") -> PromptFile:
    """Return a file with hostile titles, marks and texts, with no sign for any character."""
    texts = [attack.text.encode("utf-8", "replace").decode() for attack in HOSTILE]
    entries = [FileEntry(text, (FilePart(f"─▷ {text}", text + more),)) for text in texts]
    return PromptFile((), tuple(entries))


@cache
def hostile(address: str = "http://evil.example") -> DiffReport:
    """Return a report in which prompts, names and problems try to leave the page."""
    attack = "</script></style><script>document.title='RAN'</script>\" onload=\"alert(1)"
    before = stored(render(Timeline(User("Hi."))))
    after = stored(render(hostile_prompt(address), model="claude-opus-4-5"))
    return DiffReport(
        (
            PromptComparison(attack, "changed", diff(before, after), model=attack),
            PromptComparison(f"{attack}2", "changed", diff(before, after), model=attack),
            PromptComparison(f"{attack}3", "changed", diff(after, before)),
            PromptComparison("d", "changed", diff(raw_texts(), raw_texts(" more"))),
            PromptComparison("b", "unreadable", problem=attack),
            PromptComparison("c", "renamed", was=attack),
        )
    )
