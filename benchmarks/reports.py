"""Reports: what is asked of a rendered prompt beside its payload, and a budget that it fits.

Each row renders the prompt, makes its payload, and asks for one thing more. By hand the payload is
all there is.
"""

from collections.abc import Callable, Sequence
from typing import Any

from benchmarks import handwritten
from benchmarks.calls import agent_by_hand, agent_parts, by_hand, smallest_parts
from benchmarks.costs import compared
from benchmarks.ours import MODEL
from benchmarks.ours import by_call as conversation_parts
from benchmarks.prompt import data
from benchmarks.report import Report
from benchmarks.rows import HAND, OURS, Build, Row
from promptdsl import Rendered, Timeline, render
from promptdsl.integrations.litellm import to_litellm

DATA = data()


def run(only: Sequence[str] = (), quick: bool = False) -> Report:
    """Return what each report costs; raises :class:`UnknownName` for an unknown entrant."""
    return compared(__name__, rows(), only, quick)


def rows() -> list[Row]:
    """Return the rows: each report of each prompt."""
    return [
        Row(f"{prompt}, {name}", {OURS: asked(write, report, **options), HAND: build_by_hand})
        for prompt, write, build_by_hand in PROMPTS
        for name, report, options in REPORTS
    ]


def asked(
    write: Callable[[str], Timeline], report: Callable[[Rendered], object], **options: Any
) -> Build:
    """Return what builds a payload and asks for a report."""

    def build(question: str) -> Any:
        rendered = render(write(question), model=MODEL, **options)
        payload = rendered.to_openai()
        report(rendered)
        return payload

    return build


PROMPTS: Sequence[tuple[str, Callable[[str], Timeline], Build]] = [
    ("the smallest prompt", smallest_parts, by_hand),
    ("an agent's prompt", agent_parts, agent_by_hand),
    (
        "102 messages by call",
        lambda _question: conversation_parts(DATA),
        lambda _question: {"messages": handwritten.build(DATA)},
    ),
]
REPORTS: Sequence[tuple[str, Callable[[Rendered], object], dict[str, Any]]] = [
    ("its payload alone", lambda _rendered: None, {}),
    ("`losses`", lambda rendered: rendered.losses, {}),
    ("`tokens.total`", lambda rendered: rendered.tokens.total, {}),
    ("a budget that it fits", lambda _rendered: None, {"budget": 100_000}),
    ("the line of each span", lambda rendered: [span.source for span in rendered.spans()], {}),
    ("`record()`", lambda rendered: rendered.record(), {}),
    ("`to_otel()`", lambda rendered: rendered.to_otel(), {}),
    ("`to_litellm`", to_litellm, {}),
]
