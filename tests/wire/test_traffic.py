"""Recorded traffic: each request equal or reported by its place, each reply with all it said."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.internals import TARGETS
from tests.wire.normal import CONTENT_KEYS, spelled
from tests.wire.traffic import FORMS, PAGES, PROVIDERS, Row, reply_problems, request_result, rows

SETTINGS = re.compile(r"Every\s+other\s+key.*?client\s+again:(.*?)\n\n", re.DOTALL)


@pytest.fixture(scope="module")
def traffic(data_folder: Path) -> Path:
    """Return the folder of recorded traffic."""
    folder = data_folder / "traffic"
    if not folder.is_dir():
        pytest.skip(f"no recorded traffic in {folder}")
    return folder


@pytest.mark.slow
@pytest.mark.sdk("anthropic", "boto3")
@pytest.mark.parametrize(("provider", "named"), FORMS)
def test_recorded_requests(traffic: Path, provider: str, named: bool) -> None:
    """Every request that was accepted is equal, or a loss names the place that differs."""
    rows_read = rows(traffic, provider, named=named)
    results = [(row.case, *request_result(row)) for row in rows_read]
    assert [] == [result for result in results if result[1] not in ("equal", "reported")]
    assert {"equal"} <= {result[1] for result in results}


@pytest.mark.slow
@pytest.mark.sdk("anthropic", "boto3")
@pytest.mark.parametrize(("provider", "named"), FORMS)
def test_recorded_replies(traffic: Path, provider: str, named: bool) -> None:
    """Every reply and stream has its calls, texts and counts, and can be sent back."""
    results = rows(traffic, provider, named=named)
    problems = [(row.case, reply_problems(row)) for row in results]
    assert problems
    assert [] == [pair for pair in problems if pair[1]]


@pytest.mark.slow
@pytest.mark.parametrize("provider", PROVIDERS)
def test_settings_of_the_caller(traffic: Path, provider: str) -> None:
    """Every key of a request is content, or a setting that the provider's page lists."""
    page = "openai" if provider == "openai_compatible" else provider
    settings = SETTINGS.search((PAGES / f"{page}.md").read_text("utf-8"))
    assert settings
    listed = {
        *re.findall(r"`(\w+)`", settings[1]),
        *CONTENT_KEYS[provider],
        "text",
        "output_config",
    }
    keys = {key for row in rows(traffic, provider) for key in row.request}
    keys = {spelled(key) for key in keys} if provider == "gemini" else keys
    assert set() == keys - listed


@pytest.mark.parametrize("provider", [name for name in PROVIDERS if name != "openai_compatible"])
def test_the_page_lists_keys_without_content(provider: str) -> None:
    """The page of a provider lists the keys of a reply that are left out, and no others."""
    keys = TARGETS[provider].read_keys
    text = (PAGES / f"{provider}.md").read_text("utf-8").partition("\n## Keys of a reply\n")[2]
    listed = re.findall(r"`(\w+)`", text.partition("left out:")[2])
    assert sorted(listed) == sorted([*keys.no_content, *keys.repeated])


# The program itself, on traffic that is made for it.


def traffic_row(request: Any, reply: Any, *, stream: bool = False) -> Row:
    """Return a recording of Chat."""
    return Row("a case", "openai", "gpt-5", request, reply, stream)


ASK = {"role": "user", "content": "q"}
USAGE = {"prompt_tokens": 3, "completion_tokens": 2}
CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}
ANSWER = {"role": "assistant", "content": "Hi.", "tool_calls": [CALL]}
CHOICE = {"index": 0, "finish_reason": "tool_calls", "message": ANSWER}
REPLY = {"choices": [CHOICE], "usage": USAGE}


def test_a_request_and_its_reply() -> None:
    """An equal request is told so, and a reply with all it said has no problem."""
    row = traffic_row({"messages": [ASK]}, REPLY)
    assert (("equal", []), []) == (request_result(row), reply_problems(row))


def test_a_place_that_a_loss_names() -> None:
    """A key that is not sent back is reported at its message, and excuses no other one."""
    row = traffic_row({"messages": [ASK, {**ANSWER, "tool_calls": [], "weight": 1}, ASK]}, REPLY)
    assert ("reported", ["messages[1].weight"]) == request_result(row)


def test_a_request_that_is_refused() -> None:
    """A request that cannot be read is told with its error."""
    result, (error,) = request_result(traffic_row({"messages": [{"role": "friend"}]}, REPLY))
    assert ("raises", True) == (result, "unknown role 'friend'" in error)


def test_a_key_in_no_list() -> None:
    """A value of a reply that is neither read, kept nor listed is a problem; one kept is none."""
    reply = {**REPLY, "choices": [{**CHOICE, "weight": 7}]}
    assert [] == reply_problems(traffic_row({"messages": [ASK]}, reply))


def test_rows(tmp_path: Path) -> None:
    """A file of recordings is read line by line."""
    row = traffic_row({"messages": [ASK]}, REPLY)
    with gzip.open(tmp_path / "openai.jsonl.gz", "wt", encoding="utf-8") as lines:
        lines.write(json.dumps(row._asdict()) + "\n")
    assert [row._replace(target="openai")] == [*rows(tmp_path, "openai")]
    assert [] == [*rows(tmp_path, "openai", named=True)]
