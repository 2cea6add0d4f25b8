"""The text of a report: the changes that prompts share, then the other changes of each prompt."""

from collections.abc import Iterator, Sequence

from promptdsl.comparing.changes import Change
from promptdsl.comparing.compared_prompts import ComparedPrompts, PromptComparison
from promptdsl.comparing.escapes import printable, shown
from promptdsl.comparing.groups import ChangeGroup, primary_changes
from promptdsl.comparing.text import change_lines, sentence

NAMED = 40
"""The most prompts of a group that are named."""


def report_text(report: ComparedPrompts) -> str:
    """Return the text of a report; for a single prompt, the text of its diff."""
    if len(report.prompts) == 1 and (diff := report.prompts[0].diff) is not None:
        return printable(str(diff))
    lines = ["; ".join(filter(None, (report.sentence, report.costs)))]
    for group in report.shared:
        lines += ("", *_of_group(group, report))
    for number, prompt in enumerate(report.prompts):
        lines += _alone(number, prompt, report)
    return printable("\n".join(lines))


def name_of_prompt(prompt: PromptComparison) -> str:
    """Return the name of a prompt on one line, with its model if the name does not have it."""
    name, model = (shown(text, one_line=True) for text in (prompt.name, prompt.model))
    is_named = model.partition(" ")[0] in name
    return name if is_named or model == "none" else f"{name} [{model}]"


def what_changed(prompt: PromptComparison) -> str:
    """Return the sentence on a prompt: of its diff, or that it is added, removed or unreadable."""
    status = {"added": "added", "removed": "removed"}.get(prompt.status, "")
    if prompt.status == "renamed":
        status = f"renamed from `{shown(prompt.was, one_line=True)}`"
    elif prompt.status == "unreadable":
        status = "cannot be read"
    problem = shown(prompt.problem, one_line=True)
    text = "; ".join(filter(None, (status, prompt.diff.sentence if prompt.diff else "")))
    return ": ".join(filter(None, (text, problem))) or "changed"


def alone_sentence(number: int, report: ComparedPrompts) -> str:
    """Return the sentence on the changes that only a prompt has, with the number of the others."""
    prompt, alone = report.prompts[number], report.alone(number)
    above = sum(1 for _ in primary_changes(prompt.diff.changes)) - len(alone) if prompt.diff else 0
    if alone and above:
        return f"{sentence(alone)}; {above} more shown above"
    return what_changed(prompt)


def lines_in(changes: Sequence[Change], prompt: PromptComparison) -> list[str]:
    """Return the lines of changes of a prompt without the empty first line; none without a diff."""
    return [*change_lines(changes, prompt.diff.after)][1:] if prompt.diff else []


def _of_group(group: ChangeGroup, report: ComparedPrompts) -> Iterator[str]:
    yield group.sentence
    yield from lines_in([group.change], report.prompts[group.prompts[0]])
    yield "in"
    numbers = [*dict.fromkeys(group.prompts)]
    # If all prompts lose it, the sentence says so.
    losers = {*group.lost} if len(group.lost) < len(numbers) else set[int]()
    for number in numbers[:NAMED]:
        lost = ", which loses the cached prefix" if number in losers else ""
        yield f"  {name_of_prompt(report.prompts[number])}{lost}"
    if numbers[NAMED:]:
        yield f"  … and {len(numbers) - NAMED:,} more"


def _alone(number: int, prompt: PromptComparison, report: ComparedPrompts) -> Iterator[str]:
    """Yield the lines on the changes that only one prompt has; nothing if it has none."""
    diff = prompt.diff
    if prompt.status == "same":
        return
    alone = report.alone(number)
    if diff and not alone and prompt.status == "changed" and any(primary_changes(diff.changes)):
        return
    yield from ("", f"{name_of_prompt(prompt)}: {alone_sentence(number, report)}")
    if diff:
        yield from diff.costs
        yield from lines_in(alone, prompt)
