"""A log of a recorded agent, and the size of its page: python -m tests.page.agent_log FOLDER.

Each call has 32,000 tokens: a recorded policy, and rounds of a tool whose results are 600 tokens of
recorded text. Older rounds are dropped.
"""

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from promptdsl import *
from promptdsl.page import page_data, page_html
from promptdsl.tokens import counter

MODEL, CALLS, BUDGET, RESULT = "gpt-5", 400, 32_000, 600
DATA = Path(os.environ.get("PROMPTDSL_DATA") or Path(__file__).parents[3] / "shared" / "data")
KINDS = {
    "role": "messages",
    "fields": "pieces",
    "kind": "spans",
    "depth": "rows of tokens",
    "settings": "records",
    "changes": "changes",
    "how": "differences",
}
"""The kind of a value by a key that it has; other values are lists, blocks and parts of them."""


def recorded_texts(folder: Path) -> tuple[str, str]:
    """Return the recorded policy of an agent, and the other texts of all conversations as one."""
    lines = (folder / "airline-conversations.jsonl").read_text("utf-8").splitlines()
    conversations = [json.loads(line)["messages"] for line in lines]
    conversations.append(json.loads((folder / "coding-session.json").read_text())["messages"])
    texts = [message["content"] or "" for messages in conversations for message in messages[1:]]
    return conversations[0][0]["content"], "\n".join(texts)


def rounds(text: str, tokens: int) -> Iterator[list[Message]]:
    """Yield rounds of an agent without end: a call, and a result of so many tokens of a text."""
    tokens_of = counter(MODEL)
    start = number = 0
    while True:
        window = (text[start:] + text)[: 12 * tokens]
        result = split_text(window, max_tokens=tokens, counter=tokens_of)[0]
        start = (start + len(result)) % len(text)
        call = ToolUseBlock(f"call_{number}", "find", json.dumps({"query": f"page {number}"}))
        yield [
            Message("assistant", [TextBlock(f"I look at page {number}."), call]),
            Message("tool", [ToolResultBlock(call.id, result)]),
        ]
        number += 1


def find(query: str) -> str:
    """Find pages."""
    return query


def write_log(
    folder: Path, policy: str, text: str, *, calls: int, budget: int, tokens: int
) -> None:
    """Write a log of an agent whose calls have as many tokens as the budget lets them have."""
    made = rounds(text, tokens)
    history = [message for part in islice(made, budget // tokens) for message in part]
    with PromptLog(folder) as log:
        for number, part in enumerate(islice(made, calls)):
            history += part
            prompt = Timeline(
                System(Section("policy", policy)),
                Tool(find),
                User("Find out what went wrong."),
                History(history),
            )
            rendered = render(prompt, model=MODEL, budget=budget, cache="auto")
            log.append(rendered.record(), name="agent", id=f"call {number}")


def sizes(data: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Return the number of values of each kind, and their characters, in the data of a page."""
    counts: Counter[str] = Counter()
    characters: Counter[str] = Counter()
    for value in data["values"]:
        kind = "texts" if isinstance(value, str) else "lists"
        if isinstance(value, dict):
            kind = next((KINDS[key] for key in KINDS if key in value), "other objects")
        counts[kind] += 1
        characters[kind] += len(json.dumps(value, separators=(",", ":"), ensure_ascii=False))
    return {kind: (counts[kind], characters[kind]) for kind, _ in characters.most_common()}


def naive_size(folder: Path) -> int:
    """Return the characters of the records of a log, each with all that it has."""
    return sum(len(json.dumps(entry.record)) for entry in PromptLog(folder).read())


def main(folder: Path) -> None:
    """Write a log and its page to a folder, and print the figures."""
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "log"
    if not log.exists():
        start = time.perf_counter()
        policy, text = recorded_texts(DATA)
        write_log(log, policy, text, calls=CALLS, budget=BUDGET, tokens=RESULT)
        print(f"log written in {time.perf_counter() - start:.1f} s")
    start = time.perf_counter()
    data = page_data(PromptLog(log))
    (folder / "page.html").write_text(page_html(data), "utf-8")
    print(f"page written in {time.perf_counter() - start:.1f} s")
    size = (folder / "page.html").stat().st_size
    print(f"page {size / 1e6:.1f} MB, its records {naive_size(log) / 1e6:.1f} MB")
    for kind, (count, characters) in sizes(data).items():
        print(f"{kind:20} {count:8,} {characters / 1e6:8.2f} MB")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
