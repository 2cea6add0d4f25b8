"""What is known of a model, by its name and its provider."""

import tomllib
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

import promptdsl.models
from promptdsl.errors import TargetError
from promptdsl.models import ModelFacts, facts_for

TABLES: dict[str, Any] = tomllib.loads(
    Path(promptdsl.models.__file__).with_name("models.toml").read_text("utf-8")
)
ENTRIES = {
    **{f"provider {name}": entry for name, entry in TABLES["providers"].items()},
    **{f"model {name}": entry for name, entry in TABLES["models"].items()},
}
PATTERNS = [
    pytest.param(pattern, entry, id=pattern)
    for entry in TABLES["models"].values()
    for pattern in entry["patterns"]
]
ABLE = (
    "claude-opus-4-8",
    "claude-opus-5",
    "claude-opus-5-5",
    "claude-fable-5",
    "claude-fable-5-1",
    "claude-fable-5-2",
    "claude-mythos-5",
    "claude-mythos-5-1",
    "claude-mythos-5-2",
    "claude-sonnet-5-5",
    "claude-haiku-5-5",
)
NOT_ABLE = (
    "claude-sonnet-5",
    "claude-opus-4-7",
    "claude-opus-4-6",
    "claude-sonnet-4-6",
    "claude-opus-4-5",
    "claude-sonnet-4-5",
    "claude-haiku-4-5",
    "claude-3-5-sonnet",
    "claude-of-tomorrow",
)


# Roles.


@pytest.mark.parametrize(
    ("model", "provider", "role"),
    [
        ("claude-opus-5-5", None, "developer"),
        ("claude-haiku-4-5", None, "developer"),
        ("claude-of-tomorrow", None, "developer"),
        (None, "anthropic", "developer"),
        ("gpt-4", None, "developer"),
        ("gpt-4o", None, "developer"),
        ("gpt-5.1", None, "developer"),
        ("gpt-6-astra", None, "developer"),
        ("gpt-7-nova", None, "developer"),
        ("o3-mini", None, "developer"),
        (None, "openai", "developer"),
        ("gpt-3.5-turbo", None, "user"),
        ("gpt-3.5-turbo-16k-0613", "openai", "user"),
        ("gpt-35-turbo", "openai", "user"),
        ("ft:gpt-3.5-turbo-0125:house::id", "openai", "user"),
        ("o1-mini", None, "user"),
        ("gemini-3.6-flash", None, "user"),
        ("amazon.nova-2-lite-v1:0", None, "user"),
        ("llama-3.3-70b", None, "user"),
        ("gpt-oss-20b", None, "user"),
        ("gpt-2", None, "user"),
        ("gpt-4o", "openai_compatible", "user"),
        (None, "openai_compatible", "user"),
        ("something", None, "user"),
        (None, None, "user"),
    ],
)
def test_roles(model: str | None, provider: str | None, role: str) -> None:
    """Claude and GPT-4 and newer take a developer role; GPT-3.5, open and unknown models do not."""
    facts = facts_for(model, provider)
    assert (role, role) == (facts.event_role, facts.ephemeral_role)


# Providers.


@pytest.mark.parametrize(
    ("model", "provider"),
    [
        ("claude-opus-5-5", "anthropic"),
        ("claude", "anthropic"),
        ("claudette", None),
        ("gpt-4.1-mini", "openai"),
        ("gpt-99999999999", None),
        ("gpt-4096-bytes", None),
        ("gpt-oss-120b", None),
        ("o4-mini", "openai"),
        ("o4", None),
        ("mistral-large", None),
        ("", None),
        (None, None),
    ],
)
def test_a_model_names_its_provider(model: str | None, provider: str | None) -> None:
    """With only a model its name tells the provider, and a name nobody knows tells none."""
    assert provider == facts_for(model, None).provider


@pytest.mark.parametrize("provider", ["openai", "openai_compatible", "anthropic"])
@pytest.mark.parametrize("model", ["gpt-4.1", "claude-opus-5-5", "llama", None])
def test_the_provider_given_wins(model: str | None, provider: str) -> None:
    """A provider that is given is the target, whatever the name of the model says."""
    assert provider == facts_for(model, provider).provider


@pytest.mark.parametrize(
    ("model", "provider"),
    [
        ("gpt-5.6-sol", "openai_compatible"),
        ("claude-opus-5-5", "openai_compatible"),
        ("claude-opus-5-5", "openai"),
        ("gpt-3.5-turbo", "anthropic"),
        ("claude-of-tomorrow", "openai"),
    ],
)
def test_a_model_of_another_provider_tells_nothing(model: str, provider: str) -> None:
    """The facts of a model that belongs to another provider than the one given are not used."""
    assert attrs.evolve(facts_for(None, provider), model=model) == facts_for(model, provider)


def test_an_unknown_provider_is_an_error() -> None:
    """A provider without an adapter is refused with the nearest known name."""
    with pytest.raises(TargetError) as caught:
        facts_for("claude-opus-5-5", "antropic")
    assert "unknown provider 'antropic'\n  did you mean 'anthropic'?" == str(caught.value)


def test_an_unknown_model_is_careful() -> None:
    """A model nobody knows gets the careful defaults and keeps its name."""
    assert ModelFacts(model="something") == facts_for("something", None)


def test_facts_are_found_once() -> None:
    """Asking twice gives the same object."""
    assert facts_for("claude-opus-5-5", None) is facts_for("claude-opus-5-5", None)


# Patterns.


@pytest.mark.parametrize(
    "suffix",
    [
        "",
        "-20261001",
        "@20261001",
        "-2026-10-01",
        "-0613",
        "-latest",
        "@default",
        "-preview",
        "-v1",
        "-v1:0",
        "-20261001-v1:0",
        "-v2:0:200k",
        ":beta",
    ],
)
@pytest.mark.parametrize(
    "prefix",
    [
        "",
        "anthropic/",
        "anthropic.",
        "us.anthropic.",
        "us-gov.anthropic.",
        "bedrock/global.anthropic.",
        "openrouter/anthropic/",
        "vertex_ai/",
    ],
)
def test_what_may_stand_around_a_pattern(prefix: str, suffix: str) -> None:
    """A gateway's prefix and a date or version change nothing but the name."""
    model = f"{prefix}claude-opus-5-5{suffix}"
    assert attrs.evolve(facts_for("claude-opus-5-5", None), model=model) == facts_for(model, None)


@pytest.mark.parametrize(
    "model",
    [
        "claude-opus-5-5-5",
        "claude-opus-5-55",
        "claude-opus-5-5-fast",
        "claude-opus-5-5latest",
        "claude-opus-5-5-20261001x",
        "claude-opus-5-5\n",
        "claude-opus-9",
        "my-claude-opus-5-5",
        "gpt-5-large",
        "gpt-5.61",
    ],
)
def test_what_may_not_follow_a_pattern(model: str) -> None:
    """Anything but a date or version after a pattern is another model, which is not known."""
    assert facts_for(model, None).known is False


@pytest.mark.parametrize(
    ("model", "entry"),
    [
        ("claude-sonnet-5-5", "claude-opus-5-5"),
        ("claude-sonnet-5", "claude-sonnet-5"),
        ("claude-sonnet-5-20260601", "claude-sonnet-5"),
        ("claude-opus-4-20250514", "claude-opus-4"),
        ("o1-preview", "o1-mini"),
        ("o1-2024-12-17", "o-series"),
        ("gpt-4-1106-preview", "gpt-4"),
        ("gpt-4o-audio-preview-2024-10-01", "gpt-4"),
        ("gpt-5.2-chat-latest", "gpt-5 variants"),
        ("openai/gpt-4.1-2025-04-14", "gpt-4.1"),
        ("ft:gpt-4.1-2025-04-14:house::id", "gpt-4.1"),
    ],
)
def test_the_longest_pattern_counts(model: str, entry: str) -> None:
    """Of several patterns that match, the longest one gives the facts."""
    found = facts_for(model, None)
    expected = TABLES["models"][entry]
    assert (expected.get("window"), expected.get("cache_marks", False), True) == (
        found.window,
        found.cache_marks and found.provider == "openai",
        found.known,
    )


@given(st.text())
def test_any_name_is_answered(model: str) -> None:
    """Any text is a model's name, and the facts say which."""
    assert model == facts_for(model, None).model


@given(st.text(), st.sampled_from(["openai", "openai_compatible", "anthropic"]))
def test_any_name_keeps_the_provider_given(model: str, provider: str) -> None:
    """No name of a model changes the provider that is given."""
    assert provider == facts_for(model, provider).provider


@pytest.mark.parametrize("digits", [3, 4, 10_000])
def test_a_long_number_is_no_generation(digits: int) -> None:
    """A family's number is read when it has three digits at most, so that none is too long."""
    expected = "openai" if digits == 3 else None
    assert expected == facts_for(f"gpt-{'4' * digits}", None).provider


# Facts.


@pytest.mark.parametrize("model", ABLE)
def test_claude_takes_instructions(model: str) -> None:
    """Opus from 4.8, fable and mythos 5, and the 5.5 models take a system role inside messages."""
    assert facts_for(model, None).instructions is True


@pytest.mark.parametrize("model", NOT_ABLE)
def test_claude_takes_no_instructions(model: str) -> None:
    """Sonnet 5 ignores a system role inside messages, and older or unknown models refuse it."""
    assert facts_for(model, None).instructions is False


@pytest.mark.parametrize(
    ("model", "bound"),
    [
        ("claude-fable-5-1", True),
        ("claude-fable-5-2", True),
        ("claude-mythos-5-2", True),
        ("claude-opus-5-5", True),
        ("claude-sonnet-5-5", True),
        ("claude-haiku-5-5", True),
        ("claude-mythos-5-1", False),
        ("claude-fable-5", False),
        ("claude-opus-5", False),
        ("claude-opus-4-8", False),
        ("claude-sonnet-5", False),
        ("gpt-6-astra", False),
    ],
)
def test_reasoning_is_bound(model: str, bound: bool) -> None:
    """The models with preserved thinking bind reasoning to the bytes before it, no others."""
    assert bound is facts_for(model, None).binds_reasoning


@pytest.mark.parametrize(
    ("model", "prefill"),
    [
        ("claude-haiku-4-5", True),
        ("claude-sonnet-4-5-20250929", True),
        ("claude-opus-4-5", True),
        ("claude-opus-4-1-20250805", True),
        ("claude-3-7-sonnet-latest", True),
        ("claude-3-haiku-20240307", True),
        ("claude-opus-4-6", False),
        ("claude-sonnet-4-6", False),
        ("claude-opus-5-5", False),
        ("claude-sonnet-5", False),
        ("claude-of-tomorrow", False),
        ("gpt-4o", False),
        ("gpt-3.5-turbo", False),
    ],
)
def test_prefill(model: str, prefill: bool) -> None:
    """Claude up to 4.5 continues a last assistant turn, nobody else does."""
    assert prefill is facts_for(model, None).prefill


@pytest.mark.parametrize(
    ("model", "marks"),
    [
        ("claude-opus-5-5", True),
        ("claude-3-haiku", True),
        ("claude-of-tomorrow", True),
        ("gpt-5.6", True),
        ("gpt-5.6-luna", True),
        ("gpt-6-sol", True),
        ("gpt-6.2-astra", True),
        ("gpt-5.5", False),
        ("gpt-4o", False),
        ("o3", False),
        ("gpt-7-nova", False),
        ("llama", False),
    ],
)
def test_cache_marks(model: str, marks: bool) -> None:
    """Every Claude takes cache marks, and OpenAI from gpt-5.6 on."""
    assert marks is facts_for(model, None).cache_marks


@pytest.mark.parametrize(
    ("model", "provider", "expected"),
    [
        ("gpt-4o", None, (True, True, True)),
        ("gpt-3.5-turbo", None, (True, True, True)),
        ("o3", None, (True, True, True)),
        ("o1-preview", None, (False, False, True)),
        ("gpt-4o", "openai_compatible", (False, False, False)),
        ("claude-opus-5-5", None, (False, True, False)),
        ("claude-opus-4-5", None, (False, False, False)),
    ],
)
def test_what_the_wire_has(
    model: str, provider: str | None, expected: tuple[bool, bool, bool]
) -> None:
    """Only OpenAI has a developer role and names; other servers are taken to have neither."""
    facts = facts_for(model, provider)
    assert expected == (facts.developer, facts.instructions, facts.names)


@pytest.mark.parametrize(
    ("model", "window", "output"),
    [
        ("gpt-6-astra", 922_000, 128_000),
        ("gpt-6.1-terra", 922_000, 128_000),
        ("gpt-5.6-terra", 922_000, 128_000),
        ("gpt-5.4", 1_050_000, 128_000),
        ("gpt-5.5", 1_050_000, 128_000),
        ("gpt-5", 272_000, 128_000),
        ("gpt-5.2", 272_000, 128_000),
        ("gpt-5.4-mini", None, None),
        ("gpt-4.1", 1_047_576, 32_768),
        ("o3", 200_000, 100_000),
        ("claude-opus-5-5", 1_000_000, 128_000),
        ("claude-opus-4-8", 1_000_000, 128_000),
        ("claude-sonnet-5", 1_000_000, 128_000),
        ("claude-sonnet-4-6", 1_000_000, 128_000),
        ("claude-haiku-4-5", 200_000, 64_000),
        ("claude-of-tomorrow", None, None),
        ("llama", None, None),
    ],
)
def test_windows(model: str, window: int | None, output: int | None) -> None:
    """The window is the tokens of input, the output the tokens of an answer, where known."""
    facts = facts_for(model, None)
    assert (window, output) == (facts.window, facts.output)


# Layers.

DEVELOPER = {"role_mapping": {"event": "developer", "ephemeral": "developer"}}
USER = {"role_mapping": {"event": "user", "ephemeral": "user"}}


@pytest.mark.parametrize(
    ("model", "provider", "layers"),
    [
        ("claude-opus-5-5", None, (("provider anthropic", DEVELOPER),)),
        (None, "anthropic", (("provider anthropic", DEVELOPER),)),
        ("gpt-5", None, (("provider openai", DEVELOPER),)),
        ("gpt-3.5-turbo", None, (("provider openai", DEVELOPER), ("model gpt-3.5", USER))),
        ("o1-mini", None, (("provider openai", DEVELOPER), ("model o1-mini", USER))),
        ("gpt-4o", "openai_compatible", (("provider openai_compatible", USER),)),
        ("gpt-3.5-turbo", "anthropic", (("provider anthropic", DEVELOPER),)),
        ("llama", None, ()),
        (None, None, ()),
    ],
)
def test_layers(model: str | None, provider: str | None, layers: object) -> None:
    """The layers are what the provider says and then what the model says, where they say it."""
    assert layers == facts_for(model, provider).layers()


def test_layers_are_fresh() -> None:
    """Changing a layer that was handed out changes nothing for the next one who asks."""
    facts_for("claude-opus-5-5", None).layers()[0][1]["role_mapping"]["event"] = "user"
    assert (("provider anthropic", DEVELOPER),) == facts_for("claude-opus-5-5", None).layers()


# The data file.


@pytest.mark.parametrize(("pattern", "entry"), PATTERNS)
def test_every_pattern_finds_its_entry(pattern: str, entry: dict[str, Any]) -> None:
    """Each pattern is found under its own name, for the provider of its entry."""
    facts = facts_for(pattern, None)
    assert (True, entry["provider"], entry.get("window")) == (
        facts.known,
        facts.provider,
        facts.window,
    )


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES.keys())
def test_every_key_is_a_fact(entry: dict[str, Any]) -> None:
    """An entry holds facts, patterns, its provider and a source, and no misspelt key."""
    fields = {field.name for field in attrs.fields(ModelFacts)} | {"patterns", "source"}
    assert set() == entry.keys() - fields


@pytest.mark.parametrize("entry", [*ENTRIES.values(), *TABLES["families"]])
def test_every_entry_names_its_source(entry: dict[str, Any]) -> None:
    """Every entry says where its facts come from."""
    assert entry["source"].strip() != ""


def test_no_pattern_stands_twice() -> None:
    """A pattern belongs to one entry."""
    patterns = [pattern for entry in TABLES["models"].values() for pattern in entry["patterns"]]
    assert sorted(set(patterns)) == sorted(patterns)
