"""The loops over rows that stand beside ``promptdsl batch``, each run as a process of its own.

Only the loop that renders imports promptdsl: ``python -m benchmarks.row_loops NAME ROWS OUTPUT``.
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

MODEL = "gpt-5"
RULES = """\
You sort the mail of customers. Assign each to one team, once.

## Rules
Never answer the customer. Mail about two matters goes to the first team.

A customer of the plan {plan} waits at most a day.

## Teams
| team | handles |
| --- | --- |
"""
TEAMS = (
    ("billing", "invoices, refunds, payment methods"),
    ("access", "passwords, two-factor codes, locked accounts"),
    ("shipping", "late, lost and damaged parcels"),
)
MAIL = """\
## Customer
Name: {customer}, orders: {orders}

## Mail
Subject: {subject}

{body}"""
TOOL = {
    "type": "function",
    "function": {
        "name": "assign",
        "description": "Assign the mail to a team.",
        "parameters": {
            "properties": {
                "team": {"type": "string", "description": "the name of the team"},
                "priority": {
                    "type": "integer",
                    "description": "from 1, which waits, to 5, which is urgent",
                },
                "reason": {"type": "string", "description": "one sentence"},
            },
            "required": ["team", "priority", "reason"],
            "type": "object",
        },
    },
}


def render_loop(rows: Iterator[dict[str, Any]], _output: str) -> None:
    """Render the prompt of each row, and write no file: what the bound is about."""
    from benchmarks.triage import triage
    from promptdsl import render

    for cells in rows:
        json.dumps(render(triage(**cells), model=MODEL).to_openai())


def handwritten(rows: Iterator[dict[str, Any]], output: str) -> None:
    """Write the lines of the batch with ``str.format`` and dictionaries."""

    def texts(cells: Mapping[str, Any]) -> tuple[str, str]:
        teams = "\n".join(f"| {team} | {handles} |" for team, handles in TEAMS)
        return RULES.format_map(cells) + teams, MAIL.format_map(cells)

    _write(rows, output, texts)


def jinja(rows: Iterator[dict[str, Any]], output: str) -> None:
    """Write the lines of the batch with two templates of Jinja."""
    from jinja2 import Environment

    rules = "{% for team, handles in teams %}| {{ team }} | {{ handles }} |\n{% endfor %}"
    environment = Environment(autoescape=False)
    system = environment.from_string(RULES.replace("{plan}", "{{ plan }}") + rules)
    user = environment.from_string(MAIL.replace("{", "{{ ").replace("}", " }}"))

    def texts(cells: Mapping[str, Any]) -> tuple[str, str]:
        return system.render(cells, teams=TEAMS).rstrip(), user.render(cells)

    _write(rows, output, texts)


def _write(
    rows: Iterator[dict[str, Any]], output: str, texts: Callable[[dict[str, Any]], Sequence[str]]
) -> None:
    with open(output, "w", encoding="utf-8") as file:
        for number, cells in enumerate(rows, start=1):
            system, user = texts(cells)
            body = {
                "model": MODEL,
                "messages": [
                    {"role": "system", "content": system},
                    {"role": "user", "content": user},
                ],
                "tools": [TOOL],
            }
            text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
            id = f"r{number}x{sha256(text.encode()).hexdigest()[:12]}"
            file.write(
                f'{{"custom_id":"{id}","method":"POST","url":"/v1/chat/completions",'
                f'"body":{text}}}\n'
            )


LOOPS = {"loop": render_loop, "handwritten": handwritten, "jinja": jinja}


if __name__ == "__main__":
    name, path, output = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        LOOPS[name](map(json.loads, file), output)
