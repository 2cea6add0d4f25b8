"""A record without content: its structure, and no word of what was said."""

import json
from collections.abc import Iterator
from itertools import count
from random import Random
from string import ascii_lowercase
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.errors import raised
from tests.records.prompts import TARGETS
from tests.searching import examples


def words(random: Random) -> Iterator[str]:
    """Yield words of twelve letters, each once."""
    seen: set[str] = set()
    for _ in count():
        word = "".join(random.choices(ascii_lowercase, k=12))
        if word not in seen:
            seen.add(word)
            yield word


def everything(word: Iterator[str], **options: Any) -> tuple[Rendered, list[str]]:
    """Return a prompt with a word in each place that takes a value, and the words."""
    used: list[str] = []

    def w() -> str:
        used.append(next(word))
        return used[-1]

    call, old = w(), w()
    schema: Any = {"type": "object", "description": w(), "properties": {w(): {"enum": [w()]}}}
    history = History(
        [
            Message("user", w(), id=w(), name=w(), tags=(w(),), metadata={w(): w()}),
            Message("assistant", (ToolUse(w(), {w(): w()}, id=old).block,)),
            Message.tool_result(old, w(), name=w()),
            {"role": "user", "content": w()},
        ]
    )
    prompt = Timeline(
        Tool(name=w(), description=w(), input_schema=schema),
        Output(schema, name=w(), description=w()),
        System(
            w(),
            Section("rules", w(), Value(w()), title=w()),
            Section("gone", w() + " word" * 90, priority=-1, title=Value(w())),
            Untrusted(w(), source=w()),
            Table([{w(): w()}]),
            Json({w(): w()}),
        ),
        history,
        Event(UserAction(w(), w())),
        Grounding(w(), w(), title=w(), tags=(w(),)),
        User(
            w(),
            Document.from_base64("JVBERi0xLjQKJSVFT0YK", "application/pdf", title=w()),
            Image.from_url(f"https://{w()}/x.png"),
            id=w(),
        ),
        Assistant(Reasoning(w()), w(), ToolUse(w(), {w(): w()}, id=call), tags=(w(),)),
        ToolMessage(call, w()),
        User(w(), Section("facts", w()), name=w(), tags=(w(),)),
        Ephemeral(w(), Volatile(w(), label=w()), position="end"),
    )
    return render(prompt, **options), used


@pytest.mark.parametrize(("provider", "model"), TARGETS.items())
@pytest.mark.parametrize("is_fitted", [True, pytest.param(False, marks=pytest.mark.slow)])
@examples(15, fast=1)
@given(seed=st.integers(min_value=0))
def test_no_word_is_in_it(provider: str, model: str | None, is_fitted: bool, seed: int) -> None:
    """Whatever its values are, none of them is in a record without content."""
    options: dict[str, Any] = {"provider": provider, "model": model}
    rendered, used = everything(words(Random(seed)), **options)
    if is_fitted:
        options["budget"] = rendered.tokens.total - 60
        rendered, used = everything(words(Random(seed)), **options)
    inputs = {used[0]: used[1]}
    whole = rendered.record(inputs).to_json()
    bare = rendered.record(inputs, content=False).to_json()
    assert ([], True) == ([word for word in used if word in bare], used[0] in whole)


def test_its_structure_is_left() -> None:
    """Roles, kinds, ids of sections, tokens, the budget and the digest are there."""
    rendered, _ = everything(words(Random(1)), model="gpt-5", budget=7_100)
    data, whole = rendered.record(content=False).to_dict(), rendered.record().to_dict()
    same = ("digest", "budget", "libraries", "model")
    assert [whole[key] for key in same] == [data[key] for key in same]
    assert [(part["depth"], part["tokens"]) for part in whole["tokens"]["parts"]] == [
        (part["depth"], part["tokens"]) for part in data["tokens"]["parts"]
    ]
    assert {"section rules", "section gone", "call", "tool", "user turn"} <= {
        part["what"] for part in data["tokens"]["parts"]
    }
    assert [message["role"] for message in whole["messages"]] == [
        message["role"] for message in data["messages"]
    ]


def test_its_views() -> None:
    """It prints the tree of its tokens, and says why it has no prompt."""
    rendered, _ = everything(words(Random(1)), model="gpt-5")
    record = PromptRecord.from_dict(json.loads(rendered.record(content=False).to_json()))
    assert ("", record.token_tree()) == (record.outline(), str(record))
    assert "the record has no content" == raised(DataError, lambda: record.prompt).what
    assert record._repr_html_().startswith("<pre>")
