"""What is sent is strict JSON in strict UTF-8, and the same bytes wherever it is made."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from promptdsl import *
from tests.hostile import CONTROL, HOSTILE, LINE_ENDS, REFERENCES, TEMPLATES, UNSEEN
from tests.value_places import FORMS, place_of

ROOT = Path(__file__).resolve().parents[1]
PDF = b"%PDF-1.4\n"
STRANGE = [
    text for text in (*CONTROL, *LINE_ENDS, *UNSEEN, *REFERENCES[:5], *TEMPLATES[:5]) if text
]
PROVIDERS = ("openai", "anthropic")
every_provider = pytest.mark.parametrize("provider", PROVIDERS)


def recorded(role: str, *blocks: dict[str, Any], **message: Any) -> History:
    """Return a recording of one message."""
    return History([{"role": role, "content": list(blocks), **message}])


WRITTEN: dict[str, Callable[[str], tuple[Node, ...]]] = {
    "name": lambda v: (User("x", name=v),),
    "metadata": lambda v: (User("x", metadata={v: v}),),
    "tool": lambda v: (Assistant(ToolUse(v, {}, id="a")), ToolMessage("a", "x", name=v)),
    "call id": lambda v: (Assistant(ToolUse("t", {}, id=v)), ToolMessage(v, "x")),
    "input": lambda v: (Assistant(ToolUse("t", {v: [v]}, id="a")), ToolMessage("a", "x")),
    "input text": lambda v: (Assistant(ToolUse("t", v, id="a")), ToolMessage("a", "x")),
    "result": lambda v: (Assistant(ToolUse("t", {}, id="a")), User(ToolResult("a", v))),
    "reasoning": lambda v: (User("x"), Assistant(Reasoning(v, v, origin="anthropic"), "x")),
    "document": lambda v: (User(Document.from_bytes(PDF, title=v)),),
    "file": lambda v: (User(Document.from_file_id(f"f{v}")),),
    "recorded text": lambda v: (recorded("user", {"type": "text", "text": v, "note": v}),),
    "recorded name": lambda v: (recorded("user", {"type": "text", "text": "x"}, name=v),),
    "recorded code": lambda v: (recorded("user", {"type": "code", "text": v, "language": v}),),
    "recorded json": lambda v: (recorded("user", {"type": "json", "value": {v: v}}),),
    "recorded event": lambda v: (recorded("event", {"type": "system_event", "event": v}),),
    "recorded document": lambda v: (
        recorded("user", {"type": "document", "file_id": "f", "title": v}),
    ),
    "detail": lambda v: (Event(UserAction("x", **{v: trusted(v)})),),
    "title": lambda v: (System(Section("s", "x", title=v)),),
    "template": lambda v: (System(Template.from_string(f"{{{{ v }}}}{v[:1]}", v=v)),),
    "source": lambda v: (User(Untrusted(v, source=v)),),
}
"""Ways to write a string that is no text of a component."""


def sent(tree: Timeline, provider: str) -> str:
    """Return the payload as strict JSON text."""
    payload = render(tree, provider=provider).payload()
    return json.dumps(payload, ensure_ascii=False, allow_nan=False)


@every_provider
@pytest.mark.parametrize("written", WRITTEN)
def test_payloads_are_strict(written: str, provider: str) -> None:
    """Whatever string stands wherever a string may stand, the payload has a UTF-8 form."""
    usable = [text for text in STRANGE if "{" not in text or written != "template"]
    texts = [sent(Timeline(*WRITTEN[written](text)), provider) for text in usable]
    assert [] == [text for text in texts if text != text.encode("utf-8", "replace").decode()]


# The same bytes.


def everything() -> Timeline:
    """Return a prompt with every component that holds a value, and a hostile one in each."""
    values = [value for value in HOSTILE if value][:: len(HOSTILE) // len(FORMS)]
    places = [place_of(form, "developer", "markdown") for form in FORMS]
    turns = [place.write(value, 0) for place, value in zip(places, values, strict=False)]
    return Timeline(
        System(Section("s", Text("It is ", Value(HOSTILE[0])), title="S")),
        *turns,
        Event(SystemEvent("x", **{value: value for value in values})),
        Grounding("facts", Table([{value: value for value in values}]), Json({"a": 1.5})),
        User(Code("x"), "y"),
    )


def digests() -> list[str]:
    """Return what identifies the bytes of that prompt, in each format and for each provider."""
    return [
        hashlib.sha256(
            json.dumps(
                render(
                    everything(), provider=provider, transformation={"format": format}
                ).payload(),
                ensure_ascii=False,
            ).encode()
        ).hexdigest()
        for provider in PROVIDERS
        for format in ("markdown", "xml")
    ]


ELSEWHERE = {
    "seed": {"PYTHONHASHSEED": "1", "TZ": "UTC", "LC_ALL": "C"},
    "zone": {"PYTHONHASHSEED": "4242", "TZ": "Asia/Kolkata", "LC_ALL": "C.UTF-8"},
    "locale": {"PYTHONHASHSEED": "77", "TZ": "America/St_Johns", "LC_ALL": "tr_TR.UTF-8"},
    "no utf-8": {"PYTHONHASHSEED": "0", "PYTHONUTF8": "0", "LC_ALL": "POSIX"},
}


@pytest.mark.slow
@pytest.mark.parametrize("elsewhere", ELSEWHERE)
def test_same_bytes_elsewhere(elsewhere: str) -> None:
    """Another hash seed, time zone, locale or default encoding changes no byte."""
    code = "from tests.test_payloads import digests; print(*digests())"
    environment = {**os.environ, **ELSEWHERE[elsewhere]}
    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, check=True, cwd=ROOT, env=environment, text=True,
    )  # fmt: skip
    assert digests() == ran.stdout.split()
