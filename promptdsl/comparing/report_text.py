"""The text of a report: what many prompts have in common first, then what each has alone."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from promptdsl.comparing.changes import Change, sources
from promptdsl.comparing.escapes import printable, shown
from promptdsl.comparing.groups import ChangeGroup, own_changes
from promptdsl.comparing.prompt_diff import PromptDiff
from promptdsl.comparing.text import change_lines, sentence
from promptdsl.comparing.tokens import TokenShift

if TYPE_CHECKING:
    from promptdsl.comparing.report import DiffReport, PromptComparison


def report_text(report: "DiffReport") -> str:
    """Return the text of a report; that of one prompt is its diff, with tokens and prefix."""
    if len(report.prompts) == 1 and (diff := report.prompts[0].diff):
        return printable("\n".join([str(diff), *_after(costs_of(diff))]))
    lines = [report.sentence, *report.costs]
    for group in report.shared:
        lines += ("", *_of_group(group, report))
    for number, prompt in enumerate(report.prompts):
        lines += _alone(number, prompt, report)
    return printable("\n".join(lines))


def name_of_prompt(prompt: "PromptComparison") -> str:
    """Return the name of a prompt in one line, with its model."""
    name = shown(prompt.name, one_line=True)
    return f"{name} ({shown(prompt.model, one_line=True)})" if prompt.model else name


def what_changed(prompt: "PromptComparison") -> str:
    """Return the sentence of a prompt: of its diff, or that it came, went, or cannot be read."""
    told = {"added": "added", "removed": "removed"}.get(prompt.status, "")
    if prompt.status == "renamed":
        told = f"renamed from `{shown(prompt.was, one_line=True)}`"
    elif prompt.status == "unreadable":
        told = "cannot be read"
    problem = shown(prompt.problem, one_line=True)
    said = "; ".join(filter(None, (told, prompt.diff.sentence if prompt.diff else "")))
    return ": ".join(filter(None, (said, problem))) or "changed"


def tokens_text(tokens: TokenShift) -> str:
    """Return the totals of a diff; empty where none is known.

    >>> tokens_text(TokenShift(340, 347, "o200k_base", True))
    '340 -> 347 tokens (o200k_base)'
    """
    before, after = (
        "?" if total is None else f"{'' if tokens.is_exact else '~'}{total:,}"
        for total in (tokens.before, tokens.after)
    )
    if (before, after) == ("?", "?"):
        return ""
    label = f" ({tokens.label})" if tokens.label else ""
    return f"{before} -> {after} tokens{label}" if before != after else f"{after} tokens{label}"


def costs_of(diff: PromptDiff) -> list[str]:
    """Return what a diff costs, in lines: its tokens, and where the shared prefix ends."""
    prefix = diff.prefix
    return [it for it in (tokens_text(diff.tokens), str(prefix) if prefix else "") if it]


def _of_group(group: ChangeGroup, report: "DiffReport") -> Iterator[str]:
    """Yield the sentence of a group, its lines, and its prompts."""
    yield group.sentence
    first = report.prompts[group.prompts[0]].diff
    yield from [*change_lines([group.change], sources(first.after) if first else {})][1:]
    yield "in"
    for number in dict.fromkeys(group.prompts):
        lost = ", which loses the cached prefix" if number in group.lost else ""
        yield f"  {name_of_prompt(report.prompts[number])}{lost}"


def _alone(number: int, prompt: "PromptComparison", report: "DiffReport") -> Iterator[str]:
    """Yield what a prompt shares with no other; nothing if there is none."""
    diff, name = prompt.diff, name_of_prompt(prompt)
    if prompt.status not in ("same", "changed") or (prompt.status == "changed" and not diff):
        yield from ("", f"{name} {what_changed(prompt)}" if not diff else f"{name}")
        if not diff:
            return
    if diff is None:
        return
    own = report.alone(number)
    above = sum(1 for _ in own_changes(diff)) - len(own)
    if own or (diff and not above):
        yield from ("", f"{name}: {_own_sentence(prompt, own, above)}")
        yield from [*change_lines(own, sources(diff.after))][1:]
        yield from costs_of(diff)


def _own_sentence(prompt: "PromptComparison", own: list[Change], above: int) -> str:
    if not above:
        return what_changed(prompt)
    return f"{sentence(own)}; {above} change{'s' if above > 1 else ''} told above"


def _after(lines: list[str]) -> list[str]:
    return ["", *lines] if lines else []
