"""Tables with a bad row between two good ones."""

import json
from typing import Any, NamedTuple

GOOD = {"question": "One?"}
LAST = {"question": "Last?"}
LONG = "x" * 10_000_000


class Case(NamedTuple):
    """A table with a bad row between two good ones, and what is reported about it."""

    target: str
    rows: Any
    what: str
    fix: str = ""
    options: tuple[str, ...] = ()
    line: int = 0
    """How far below its ``def`` the line of the target is, 0 for none."""


CASES = {
    "missing column": Case(
        "ask", [{"quest": "?"}], "the row has no 'question', which prompts.py:ask needs"
    ),
    "wrong type": Case(
        "rated", [{**GOOD, "rating": "high"}], "the cell 'rating' is str 'high', not int"
    ),
    "null": Case(
        "rated",
        [{"question": None}],
        "the cell 'question' is null, not str",
        "add `| None` to the type of the parameter",
    ),
    "broken line": Case("ask", '{"question": "Wh\n', 'the line is not JSON: \'{"question": "Wh\''),
    "over budget": Case(
        "ask",
        [{"question": "Why? " * 500}],
        "the prompt needs 1,015 tokens; 100 are available\n",
        options=("--budget", "100"),
    ),
    "failing function": Case("failing", [{"question": "fail"}], "'fail'", line=2),
    "doubled id": Case(
        "ask",
        [{**GOOD, "key": "a"}],
        "an earlier row already has the id 'a'",
        "give each row its own id",
        ("--id", "key"),
    ),
    "id that cannot be sent": Case(
        "ask",
        [{**GOOD, "key": "a b"}],
        "the id in 'key' cannot be sent: 'a b'",
        "write 1 to 64 of the characters A-Z a-z 0-9 _ -",
        ("--id", "key"),
    ),
    "no id": Case(
        "ask",
        [GOOD],
        "the row has no id in 'key'",
        "write 1 to 64 of the characters A-Z a-z 0-9 _ -",
        ("--id", "key"),
    ),
    "larger than a file": Case(
        "ask",
        [{"question": "y" * 1000}],
        "the request has 1,1",
        "shorten the row, or give a budget",
        ("--format", "gemini"),
    ),
    "SystemExit": Case("leaving", [{"question": "fail"}], "left", line=2),
    "failing coroutine": Case("later", [{"question": "fail"}], "'fail'"),
    "no prompt": Case(
        "no_prompt",
        [{"question": "fail"}],
        "a prompt must be a Timeline, a turn, a Section or a Fragment, not None",
    ),
}


def text_of(rows: Any) -> str:
    """Return lines of a table."""
    return rows if isinstance(rows, str) else "".join(f"{json.dumps(row)}\n" for row in rows)
