"""The records of providers: they are complete and read, and no other code names a provider."""

import ast
import re
from pathlib import Path
from typing import get_args

import attrs
import pytest

import promptdsl
from promptdsl import *
from tests.internals import (
    CLI_PROVIDERS,
    TARGETS,
    facts_for,
    wire_of,
    wires,
)
from tests.providers.every_target import FACTS, SERVICES
from tests.providers.strategies import OWN
from tests.renders import reported

PACKAGE = Path(promptdsl.__file__).parent
PAGES = PACKAGE.parent / "docs" / "providers"
PROVIDERS = get_args(AdapterName)
HOMES = (
    "cli/options.py",  # the option of render with this name
    "cli/preview.py",  # the same option
    "components/history.py",  # History.from_x
    "rendering/result.py",  # Rendered.to_x
    "transcript/transcript.py",  # Transcript.from_x
    "messages/names.py",  # ProviderName
    "config/models.py",  # the rules of models of OpenAI, and of models of any server
)
"""The files that may name a provider, beside its record, its folder and other libraries' names."""
RECORDS = ("config/records.py", "integrations/")
"""The records, which have other names, too, and the names that other libraries have for them."""
every_provider = pytest.mark.parametrize("provider", PROVIDERS)


def named(path: Path) -> set[str]:
    """Return the providers that stand as strings in the code of a file; docstrings are no code."""
    tree = ast.parse(path.read_text("utf-8"))
    prose = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    constants = {node for node in ast.walk(tree) if isinstance(node, ast.Constant)} - prose
    return {node.value for node in constants if isinstance(node.value, str)} & {*PROVIDERS}


@pytest.mark.slow
def test_only_homes_name_a_provider() -> None:
    """What a provider is is in its record, so no other code asks for its name."""
    found = {
        name: named(path)
        for path in sorted(PACKAGE.rglob("*.py"))
        if not (name := path.relative_to(PACKAGE).as_posix()).startswith(RECORDS)
        and (not name.startswith("providers/") or name.count("/") == 1 or "/shared/" in name)
        and name not in HOMES
    }
    assert {} == {name: names for name, names in found.items() if names}


def test_every_list_has_every_provider() -> None:
    """A provider of the type has a record, an adapter and a choice in the command line."""
    recorded = sorted(wire.name for wire in wires())
    assert sorted(PROVIDERS) == recorded == sorted(TARGETS) == sorted(CLI_PROVIDERS)


@pytest.mark.slow
def test_every_field_is_read() -> None:
    """No field of a record is without a reader, and hardly any is alike in all records."""
    own = {PACKAGE / "config" / "wire.py", PACKAGE / "config" / "records.py"}
    trees = [ast.parse(path.read_text("utf-8")) for path in {*PACKAGE.rglob("*.py")} - own]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    read = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    fields = [field.name for field in attrs.fields(type(wires()[0]))]
    assert [] == [name for name in fields if name not in read]
    alike = [name for name in fields if len({repr(getattr(it, name)) for it in wires()}) == 1]
    assert [] == alike


@every_provider
def test_a_provider_is_complete(provider: str) -> None:
    """Each has facts, a page, and a form with its methods, its adapter and the keys it reads."""
    wire, adapter = wire_of(provider), TARGETS[provider]
    assert provider == facts_for(None, provider).provider
    assert (PAGES / f"{provider}.md").is_file()
    assert callable(getattr(Rendered, f"to_{wire.provider_format}"))
    assert callable(getattr(History, f"from_{wire.provider_format}"))
    sides = (adapter.write, adapter.read, adapter.read_response, adapter.needs_bytes)
    assert all(map(callable, sides))
    assert not wire.event or callable(adapter.add_event)
    assert wire.messages_key in adapter.read_keys.payload
    assert (PACKAGE / "providers" / wire.folder / "write.py").is_file()


@every_provider
def test_the_laws_run_over_a_provider(provider: str) -> None:
    """Each has rules, facts and blocks of its own, with which the laws of adapters are tried."""
    assert provider in SERVICES
    assert provider in {facts.provider for facts in FACTS.values()}
    assert {provider, wire_of(provider).provider_format} & OWN.keys()


@every_provider
def test_what_is_written_has_its_keys(provider: str) -> None:
    """The payload of a prompt has its messages where the record says, and its parts are known."""
    wire = wire_of(provider)
    payload = render(Timeline(User("Hi.")), provider=provider).payload()
    (entry,) = payload[wire.messages_key]
    assert {*entry} - {"role"} <= {*wire.contents}


@every_provider
def test_an_unread_key_of_every_form(provider: str) -> None:
    """A message with an unknown key is read whatever its form, and the key is reported."""
    wire = wire_of(provider)
    content = {"parts": [{"text": "Hi."}]} if "parts" in wire.contents else {"content": "Hi."}
    if wire.keyed and "content" in content:
        content = {"content": [{"text": "Hi."}]}
    said = {"role": "user", **content, "weird": 1}
    hints = render(
        getattr(History, f"from_{wire.provider_format}")([said]), provider=provider
    ).hints
    assert ["key 'weird'"] == [loss.what for loss in hints if loss.name == "unread_key"]


def test_a_server_of_chat() -> None:
    """A server has ids and parts of its own by its row alone, both ways."""
    calls = (ToolUseBlock("call_0123456789", "f", "{}"), ToolUseBlock("aB3456789", "f", "{}"))
    results = [Message("tool", (ToolResultBlock(call.id, (TextBlock("1"),)),)) for call in calls]
    own = UnknownBlock({"type": "audio_url", "audio_url": "a"}, "other")
    said = (Message("user", (own,)), Message("assistant", calls), *results)
    prompt = Prompt(said, (ToolDefinition("f", None, {}),))
    with register_provider("other", adapter="openai_compatible", exact_id=9):
        rendered = render(prompt, provider="other")
        payload = rendered.to_openai()
        user, answer, *answers = payload["messages"]
        ids = [call["id"] for call in answer["tool_calls"]]
        assert [ids[0], "aB3456789"] == ids == [entry["tool_call_id"] for entry in answers]
        assert re.fullmatch("[a-zA-Z0-9]{9}", ids[0])
        assert [dict(own.data)] == user["content"]
        again = read_payload(payload, "other")
        assert own == again.messages[0].content[0]
        assert payload == render(again, provider="other").to_openai()
    losses = reported(render(prompt, provider="openai"))
    assert ["audio_url block"] == [loss.what for loss in losses if loss.kind == "content"]
