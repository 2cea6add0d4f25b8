"""What is known of a model, by its name and its provider."""

import asyncio
import tomllib
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from inspect import currentframe
from math import inf
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from promptdsl import *
from tests.errors import lines_of, raised, this_line
from tests.folding import folded
from tests.internals import (
    CLI_PROVIDERS,
    TARGETS,
    Facts,
    TokenFactors,
    facts_for,
    models_module,
)
from tests.renders import reported
from tests.searching import examples

TABLES: dict[str, Any] = tomllib.loads(
    Path(models_module.__file__).with_name("models.toml").read_text("utf-8")
)
ENTRIES = {
    **{f"provider {name}": entry for name, entry in TABLES["providers"].items()},
    **{f"model {name}": entry for name, entry in TABLES["models"].items()},
}
PROVIDERS = tuple(TABLES["providers"])
UNSAID = {"model", "known", "guesses_media", "wire", "role_layers", "behind"}
FACTS = {field.name for field in attrs.fields(ModelFacts)} - UNSAID
NAMES = [pattern for entry in TABLES["models"].values() for pattern in entry["patterns"]]
PATTERNS = [
    (pattern, entry) for entry in TABLES["models"].values() for pattern in entry["patterns"]
]
MODELS: list[dict[str, Any]] = list(TABLES["models"].values())
OPEN = TokenFactors(1.05, 1.15, 1.2, 2.2)
OLD_CLAUDE = TokenFactors(1.25, 1.35, 1.5, 2.15)
CLAUDE = TokenFactors(1.5, 1.6, 1.75, 2.2)
GEMINI_TOKENS = TokenFactors(1.15, 1.3, 1.15, 1.3)
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
        ("gpt-5", "openai_responses", "developer"),
        (None, "openai_responses", "developer"),
        ("gpt-3.5-turbo", "openai_responses", "user"),
        ("o1-mini", "openai_responses", "user"),
        ("claude-opus-5-5", "bedrock", "user"),
        ("us.anthropic.claude-opus-5-5", None, "developer"),
        (None, "gemini", "user"),
        (None, "bedrock", "user"),
        (None, "chat_template", "user"),
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
        ("gemini-3.8-flash", "gemini"),
        ("gemini-of-tomorrow", "gemini"),
        ("models/gemini-3.8-flash", "gemini"),
        ("google/gemini-3.8-flash", "gemini"),
        ("publishers/google/models/gemini-3.8-flash", "gemini"),
        ("projects/p/locations/l/publishers/google/models/gemini-2.5-pro", "gemini"),
        ("gemma-4-31b-it", None),
        ("amazon.nova-lite-v1:0", "bedrock"),
        ("us.amazon.nova-2-lite-v1:0", "bedrock"),
        ("bedrock/us-gov.amazon.nova-pro-v1:0", "bedrock"),
        ("amazon.titan-text-express-v1", "bedrock"),
        ("amazon-nova/nova-lite-v1", None),
        ("deepgram/nova-2", None),
        ("nova-2-lite", None),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "anthropic"),
        ("meta.llama3-70b-instruct-v1:0", None),
        ("mistral.mistral-large-2402-v1:0", None),
        ("azure/gpt-4o", "openai"),
        ("openai/o3", "openai"),
        ("", None),
        (None, None),
    ],
)
def test_a_model_names_its_provider(model: str | None, provider: str | None) -> None:
    """With only a model its name tells the provider, and a name nobody knows tells none."""
    assert provider == facts_for(model, None).provider


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("model", ["gpt-4.1", "claude-opus-5-5", "llama", None])
def test_the_provider_given_wins(model: str | None, provider: str) -> None:
    """A provider that is passed is the target, whatever the name of the model says."""
    assert provider == facts_for(model, provider).provider


@pytest.mark.parametrize(
    ("model", "provider"),
    [
        ("claude-3-haiku", "openai_compatible"),
        ("gpt-5.6-sol", "anthropic"),
        ("gpt-5.6-sol", "bedrock"),
        ("gpt-5.6-sol", "gemini"),
        ("gemini-3.8-flash", "openai_responses"),
        ("amazon.nova-lite-v1:0", "anthropic"),
        ("claude-opus-5-5", "openai_responses"),
        ("claude-opus-5-5", "openai"),
        ("gpt-3.5-turbo", "anthropic"),
        ("claude-of-tomorrow", "openai"),
    ],
)
def test_a_model_of_another_provider_tells_nothing(model: str, provider: str) -> None:
    """The facts of a model do not hold on a provider that takes none of its owner's.

    How it counts does: that is the model's own.
    """
    found = facts_for(model, provider)
    expected = attrs.evolve(
        facts_for(None, provider), model=model, token_factors=found.token_factors
    )
    assert expected == found


def test_an_unknown_provider_is_an_error() -> None:
    """A provider without an adapter is refused with the nearest known name."""
    with pytest.raises(TargetError) as caught:
        facts_for("claude-opus-5-5", "antropic")
    assert "unknown provider 'antropic'\n  did you mean 'anthropic'?" == str(caught.value)


def test_an_unknown_model_is_careful() -> None:
    """A model nobody knows gets the careful defaults, counts as open ones do, keeps its name."""
    assert ModelFacts(model="something", token_factors=OPEN) == facts_for("something", None)


def test_facts_are_found_once() -> None:
    """Asking twice gives the same object."""
    assert facts_for("claude-opus-5-5", None) is facts_for("claude-opus-5-5", None)


# Patterns.


SUFFIXES = (
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
def test_what_may_stand_around_a_pattern(prefix: str) -> None:
    """A gateway's prefix and a date or version change nothing but the name."""
    models = [f"{prefix}claude-opus-5-5{suffix}" for suffix in SUFFIXES]
    facts = facts_for("claude-opus-5-5", None)
    expected = [attrs.evolve(facts, model=model) for model in models]
    assert expected == [facts_for(model, None) for model in models]


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
        "gemini-3-pro-image",
        "gemini-2.5-flash-preview-tts",
        "gemini-3.8-flash-05-20",
        "amazon.nova-2-sonic-v1:0",
    ],
)
def test_what_may_not_follow_a_pattern(model: str) -> None:
    """Anything but a date or version after a pattern is another model, which is not known."""
    assert facts_for(model, None).known is False


@pytest.mark.parametrize(
    ("model", "entry"),
    [
        ("claude-sonnet-5-5", "claude-sonnet-5-5"),
        ("claude-fable-5-1", "claude-opus-5-5"),
        ("claude-sonnet-5", "claude-sonnet-5"),
        ("claude-sonnet-5-20260601", "claude-sonnet-5"),
        ("claude-opus-4-20250514", "claude-opus-4"),
        ("o1-preview", "o1-mini"),
        ("o1-2024-12-17", "o-series"),
        ("gpt-4-1106-preview", "gpt-4"),
        ("gpt-4-turbo-preview", "gpt-4"),
        ("gpt-4o-2024-05-13", "gpt-4o-2024-05-13"),
        ("gpt-4o-2024-11-20", "gpt-4o"),
        ("gpt-4o-audio-preview-2024-10-01", "gpt-audio"),
        ("gemini-2.5-flash-preview-09-2025", "gemini-2.5"),
        ("gemini-2.0-flash-001", "gemini-2.0"),
        ("gemini-3.1-pro-preview", "gemini-3"),
        ("gemini-3.5-flash-lite", "gemini-3.6"),
        ("amazon.nova-2-pro-preview-20251202-v1:0", "nova-2"),
        ("gpt-5.2-chat-latest", "gpt-5 variants"),
        ("openai/gpt-4.1-2025-04-14", "gpt-4.1"),
        ("ft:gpt-4.1-2025-04-14:house::id", "gpt-4.1"),
    ],
)
def test_the_longest_pattern_counts(model: str, entry: str) -> None:
    """Of several patterns that match, the longest one gives the facts."""
    found = facts_for(model, None)
    expected = TABLES["models"][entry]
    assert (expected.get("window"), expected.get("output"), expected.get("encoding"), True) == (
        found.window,
        found.output,
        found.encoding,
        found.known,
    )


@given(st.text())
def test_any_name_is_answered(model: str) -> None:
    """Any text is a model's name, and the facts say which."""
    assert model == facts_for(model, None).model


@given(st.text(), st.sampled_from(PROVIDERS))
def test_any_name_keeps_the_provider_given(model: str, provider: str) -> None:
    """No name of a model changes the provider that is passed."""
    assert provider == facts_for(model, provider).provider


@given(st.sampled_from(NAMES), st.from_regex(r"[a-z]+|[0-9]{1,2}", fullmatch=True))
def test_any_longer_name_is_another_model(name: str, more: str) -> None:
    """A pattern, a word and nothing else is a model that is not known, or has its own pattern."""
    assume(more not in {"latest", "default", "preview", "exp"})
    longer = f"{name}-{more}"
    assert (longer in NAMES) is facts_for(longer, None).known


@given(st.sampled_from(NAMES), st.integers(min_value=1))
def test_any_shorter_name_is_another_model(name: str, letters: int) -> None:
    """What a pattern begins with is a model that is not known, or has its own pattern."""
    shorter = name[:-letters]
    assume(not shorter.startswith("gpt-4o-2024"))
    assert (shorter in NAMES) is facts_for(shorter, None).known


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


# What other providers take.


@pytest.mark.parametrize("model", [*ABLE, *NOT_ABLE, "claude-3-7-sonnet", "claude-3-haiku"])
def test_what_bedrock_takes_of_claude(model: str) -> None:
    """On Bedrock a Claude continues, binds and is cached as it does elsewhere."""
    there, here = facts_for(model, "bedrock"), facts_for(model, "anthropic")
    assert (here.prefill, here.binds_reasoning, here.cache_minimum, here.forced_tools) == (
        there.prefill,
        there.binds_reasoning,
        there.cache_minimum,
        there.forced_tools,
    )


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("claude-opus-5-5", (1_000_000, 128_000, "patches-28")),
        ("claude-sonnet-4-6", (1_000_000, 64_000, "patches-28")),
        ("claude-haiku-4-5", (200_000, 64_000, "patches-28")),
        ("claude-of-tomorrow", (None, None, None)),
    ],
)
def test_the_size_of_claude_on_bedrock(model: str, expected: object) -> None:
    """On Bedrock a Claude reads and counts as elsewhere, and Sonnet 4.6 answers with less."""
    facts = facts_for(model, "bedrock")
    assert expected == (facts.window, facts.output, facts.image_tokens)


@pytest.mark.parametrize("model", [*ABLE, *NOT_ABLE])
def test_what_bedrock_does_not_take(model: str) -> None:
    """On Bedrock no Claude takes instructions in mid-conversation, and its roles are the user's."""
    facts = facts_for(model, "bedrock")
    assert (False, "user", "user") == (facts.instructions, facts.event_role, facts.ephemeral_role)


@pytest.mark.parametrize("entry", [entry for entry in MODELS if entry["provider"] == "openai"])
def test_responses_take_all_but_names(entry: dict[str, Any]) -> None:
    """On Responses a model of OpenAI is what it is in Chat, but for names and what media go where.

    The roles are those of its own layers, which are called after another provider.
    """
    model = entry["patterns"][0]
    there, here = facts_for(model, "openai_responses"), facts_for(model, "openai")
    expected = attrs.evolve(
        here,
        provider="openai_responses",
        names=False,
        media=tuple(kind for kind in here.media if kind != "audio"),
        document_types=None,
        result_media=("image", "document"),
        role_layers=there.role_layers,
    )
    assert expected == there


@pytest.mark.parametrize("provider", ["openai_compatible", "chat_template"])
@pytest.mark.parametrize("model", ["gpt-6-sol", "claude-opus-5-5", "gemini-4-argon", "gpt-3.5"])
def test_what_open_servers_take(model: str, provider: str) -> None:
    """Other servers take how much a model reads and writes and how it counts, nothing else."""
    there, here = facts_for(model, provider), facts_for(model, None)
    expected = attrs.evolve(
        facts_for(None, provider),
        model=model,
        known=here.known,
        window=here.window,
        output=here.output,
        encoding=here.encoding,
        token_factors=here.token_factors,
        # A family has the keys that its calls need.
        kept_keys=there.kept_keys,
        signatures=there.signatures,
    )
    assert expected == there


@pytest.mark.parametrize(
    ("model", "provider", "known"),
    [
        ("claude-opus-5-5", "bedrock", True),
        ("gpt-6-sol", "openai_responses", True),
        ("gpt-6-sol", "openai_compatible", True),
        ("gpt-6-sol", "bedrock", False),
        ("claude-3-haiku", "openai_compatible", False),
        ("claude-of-tomorrow", "bedrock", False),
    ],
)
def test_what_is_taken_is_known(model: str, provider: str, known: bool) -> None:
    """A model is known where something that is said of it holds."""
    assert known is facts_for(model, provider).known


# Models that only the Responses API serves.


@pytest.mark.parametrize(
    "model",
    [
        "o1-pro",
        "o3-pro-2025-06-10",
        "o3-deep-research",
        "o4-mini-deep-research-2025-06-26",
        "gpt-5-pro",
        "gpt-5.2-pro",
        "gpt-5.4-pro",
        "gpt-5.5-pro-2026-04-23",
        "gpt-5-codex",
        "gpt-5.1-codex",
        "gpt-5.1-codex-max",
        "gpt-5.3-codex",
        "codex-mini-latest",
        "computer-use-preview-2025-03-11",
        "azure/o1-pro",
    ],
)
def test_a_model_of_responses_alone(model: str) -> None:
    """Its name alone renders for the Responses API, and Chat refuses it by name."""
    rendered = render(User("Hi."), model=model)
    assert ("openai_responses", ()) == (rendered.facts.provider, reported(rendered))
    error = raised(TargetError, lambda: render(User("Hi."), model=model, provider="openai"))
    assert (
        f"OpenAI serves {model!r} in the Responses API alone, not in Chat",
        "render with provider='openai_responses', or with the model alone, "
        "and call to_openai_responses()",
        lines_of(test_a_model_of_responses_alone, 24),
    ) == (error.what, error.fix, error.at)


@pytest.mark.parametrize("provider", ["openai_responses", "openai_compatible"])
def test_responses_and_other_servers_take_it(provider: str) -> None:
    """The Responses API takes such a model by name, and so does another server."""
    assert provider == render(User("Hi."), model="o1-pro", provider=provider).facts.provider


@pytest.mark.parametrize(
    ("model", "provider"),
    [
        ("gpt-9-pro", "openai_responses"),
        ("gpt-9-codex-max", "openai_responses"),
        ("gpt-9", "openai"),
    ],
)
def test_an_unknown_model_of_responses(model: str, provider: str) -> None:
    """An unknown GPT goes where all models so far with such a name are served."""
    assert provider == render(User("Hi."), model=model).facts.provider


def test_the_payload_of_a_model_of_responses_alone() -> None:
    """The method for Chat names the right one, from another target too."""
    rendered = render(User("Hi."), model="o1-pro")
    error = raised(TargetError, rendered.to_openai)
    assert (
        "this was rendered for openai_responses, so it has no to_openai()",
        "call to_openai_responses(): OpenAI serves 'o1-pro' in the Responses API alone",
    ) == (error.what, error.fix)
    elsewhere = render(User("Hi."), model="o1-pro", provider="openai_compatible")
    error = raised(TargetError, lambda: elsewhere.for_target("openai"))
    assert "OpenAI serves 'o1-pro' in the Responses API alone, not in Chat" == error.what


def test_a_registered_model_of_responses_alone() -> None:
    """A fact of the user's says where a model is served, a name that we know included."""
    with register_model("house-1", provider="openai", chat=False):
        assert "openai_responses" == render(User("Hi."), model="house-1").facts.provider
    with register_model("o1-pro", provider="openai", chat=True):
        assert "openai" == render(User("Hi."), model="o1-pro").facts.provider


# Names that are near.

NEAR = [
    ("claude-opuss-5-5", "claude-opus-5-5"),
    ("claude-opuss-5-5-20261001", "claude-opus-5-5"),
    ("us.anthropic.claude-sonet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
    ("claude-4-5-sonnet", "claude-sonnet-4-5"),
    ("claude-opus-4.5", "claude-opus-4-5"),
    ("Claude Opus 5.5", "claude-opus-5-5"),
    ("gpt5", "gpt-5"),
    ("GPT-5", "gpt-5"),
    ("gpt4o", "gpt-4o"),
    ("gpt-4o-turbo", "gpt-4-turbo"),
    ("chatgpt-5", "gpt-5-chat"),
    ("o1mini", "o1-mini"),
    ("gemini2.5-pro", "gemini-2.5-pro"),
    ("models/gemini-flash-2.5", "gemini-2.5-flash"),
]
"""Unknown names, and the known name that each is told."""

OTHERS = [
    *("gpt-5.7", "gpt-5.9-mini", "gpt-9-foo", "gpt-77", "gpt-4o-realtime-preview", "gpt-5-small"),
    *("claude-opus-9", "claude-opus-5-6", "claude-sonnet-44-5", "claude-epic-9"),
    *("gemini-4-pro", "gemini-2.6-flash", "claude-5-4-sonnet"),
]
"""Unknown names of known families, which may be newer than what is known."""

ANY = [
    *("gpt-5-2025-08-07", "claude-sonnet-4-5-20250929", "claude-opus-5-5-latest"),
    *("anthropic.claude-opus-4-5-20251101-v1:0", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
    "arn:aws:bedrock:us-east-1:123456789012:inference-profile/global.anthropic.claude-opus-5-5",
    "arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-3-haiku-20240307-v1:0",
    "arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/a1b2c3d4e5",
    *("claude-sonnet-4-5@20250929", "claude-3-5-sonnet-v2@20241022", "vertex_ai/gemini-2.5-pro"),
    *("models/gemini-2.5-flash-preview-05-20", "publishers/google/models/gemini-3.8-flash"),
    *("ft:gpt-4o:acme::id", "ft:gpt-4o-mini-2024-07-18:acme:support:x1:ckpt-step-90"),
    *("openai/gpt-5", "openrouter/openai/gpt-5", "anthropic/claude-sonnet-4.5"),
    *("anthropic/claude-3.7-sonnet:thinking", "azure/gpt-4o", "chatgpt-4o-latest"),
    *("gpt-2", "gpt-oss-120b", "gpt-oss:20b", "gemma-3-27b-it", "qwen2.5-coder:7b", "llama3.1"),
    *("meta.llama3-3-70b-instruct-v1:0", "mistral-large-2411", "deepseek-chat", "grok-4", "phi-4"),
    *("command-r-plus", "kimi-k2", "my-deployment", "prod-chat", "text-embedding-3-small"),
]
"""Names that users have, none of which is a mistake."""


def named(model: str, **target: Any) -> list[str]:
    """Return the reason of each loss of a short prompt for a model."""
    return [hint.why for hint in render(User("Hi."), model=model, **target).hints]


@pytest.mark.parametrize(("model", "meant"), NEAR)
def test_a_name_that_is_near(model: str, meant: str) -> None:
    """An unknown name that is near a known one, or of a known family, is a hint that says which."""
    rendered, line = render(User("Hi."), model=model), this_line()
    (hint,) = rendered.hints
    assert ("hint", f"model {model!r}", line) == (hint.kind, hint.what, hint.source.line)
    assert [f"did you mean {meant!r}?"] == [hint.why.rpartition(": ")[2]]


@pytest.mark.parametrize("model", OTHERS)
def test_a_name_with_another_number(model: str) -> None:
    """A name with other digits, or other words, is another model: no known name is reported."""
    (why,) = named(model)
    assert "register_model() adds its facts" == why.rpartition(": ")[2]


@pytest.mark.parametrize(
    ("model", "meant"),
    [("gpt-5-min", True), ("gpt-5-miini", True), ("gpt-5-moxix", False), ("gpt-5-m", False)],
)
def test_a_near_name_has_two_edits_at_most(model: str, meant: bool) -> None:
    """A letter or two are a slip; more are another name."""
    (why,) = named(model)
    assert meant == why.endswith("did you mean 'gpt-5-mini'?")


@pytest.mark.parametrize("model", ["deepseek-chat", "mistral-large", "grok-4", "qwen3", "glm-4"])
def test_an_open_model_says_how_to_name_its_provider(model: str) -> None:
    """The error for a model that no interface is known for has the answer for nearly all."""
    error = raised(TargetError, render(User("Hi."), model=model).payload)
    assert (
        f"name its provider: render(tree, model={model!r}, "
        'provider="openai_compatible") for open models and most servers'
    ) == error.fix
    assert "messages" in render(User("Hi."), model=model, provider="openai_compatible").payload()


def test_the_text_of_the_hint() -> None:
    """It says what holds instead, and what is meant."""
    (family,), (nowhere,) = named("claude-opuss-5-5"), named("gpt5")
    assert (
        "this model is unknown, so the defaults of anthropic apply: did you mean 'claude-opus-5-5'?"
    ) == family
    assert "this model is unknown, so there is no target: did you mean 'gpt-5'?" == nowhere
    assert [
        "this model is unknown, so the defaults of anthropic apply: register_model() adds its facts"
    ] == named("claude-of-tomorrow")


@pytest.mark.parametrize("model", ANY)
def test_names_in_use_are_no_mistake(model: str) -> None:
    """A snapshot, an id of a cloud, a fine-tuned or an open model is no hint."""
    assert [] == named(model)


@folded("model", [*(name for name, _ in NEAR), *ANY])
@pytest.mark.parametrize("provider", ["openai_compatible", "chat_template"])
def test_any_name_is_fine_there(model: str, provider: str) -> None:
    """An open model, or one of another server, has any name."""
    assert [] == named(model, provider=provider)


@pytest.mark.parametrize("model", ["gpt-4o-prod", "gpt-5-mini-eastus2", "support-bot"])
def test_a_deployment_has_any_name(model: str) -> None:
    """With OpenAI as provider a name that begins like a known one is that of a deployment."""
    assert [] == named(model, provider="openai")


@pytest.mark.parametrize("model", ["gpt5", "gpt-4-o", "claude-opuss-5-5"])
def test_a_misspelt_name_with_a_provider(model: str) -> None:
    """A name that is very near is a hint although the provider is passed."""
    assert [f"model {model!r}"] == [
        hint.what for hint in render(User("Hi."), model=model, provider="openai").hints
    ]


def test_a_registered_name_is_meant() -> None:
    """The names of the user's models are known, and meant."""
    with register_model("support-model", provider="anthropic"):
        assert [] == named("support-model")
        (why,) = named("suport-model")
    assert why.endswith("did you mean 'support-model'?")
    assert [] == named("suport-model")


def test_a_model_with_a_chat_template_has_any_name() -> None:
    """A chat template says where the model is from, whatever its name is."""
    assert [] == named("gpt5", chat_template="{{ messages[0].content }}")


def test_a_payload_without_a_target_says_what_is_meant() -> None:
    """Where the name tells no provider, the error of the payload has the near name as well."""
    error = raised(TargetError, render(User("Hi."), model="gpt5").payload)
    assert "the model 'gpt5' is unknown, so there is no target" == error.what
    assert (
        "did you mean 'gpt-5'? Or name its provider: render(tree, model='gpt5', "
        'provider="openai_compatible") for open models and most servers'
    ) == error.fix


@examples(300)
@given(st.text(min_size=1, max_size=60))
def test_any_text_is_a_name(model: str) -> None:
    """No name is too strange to be looked up: at most one hint is its result."""
    assert len(named(model)) <= 1


def test_arender_names_the_line_of_the_call() -> None:
    """Also where an event loop runs it, a hint names the author's line and not the loop's."""
    rendered, line = asyncio.run(arender(User("Hi."), model="gpt5")), this_line()
    assert [(__file__, line)] == [
        (hint.source.file, hint.source.line) for hint in rendered.hints if hint.source
    ]


# How sure.


@pytest.mark.parametrize(
    ("model", "provider", "label"),
    [
        ("claude-opus-5-5", None, "claude-opus-5-5"),
        ("us.anthropic.claude-opus-5-5", "bedrock", "us.anthropic.claude-opus-5-5"),
        ("claude-9", None, "careful defaults of anthropic (model 'claude-9' is not known)"),
        ("claude-9", "bedrock", "careful defaults of bedrock (model 'claude-9' is not known)"),
        ("", "gemini", "careful defaults of gemini (model '' is not known)"),
        (None, "gemini", "careful defaults of gemini (no model given)"),
        ("llama", None, "no target"),
        (None, None, "no target"),
    ],
)
def test_label(model: str | None, provider: str | None, label: str) -> None:
    """The label is the model's name, or whose careful defaults hold and why."""
    assert label == facts_for(model, provider).label


# The models of November 2026.

OPENAI_6 = {"window": 922_000, "output": 128_000, "instructions": True, "prefill": False}
CLAUDE_5 = {"window": 1_000_000, "output": 128_000, "prefill": False}
CLAUDE_45 = {"window": 200_000, "output": 64_000, "instructions": False, "prefill": True}
GEMINI = {"window": 1_048_576, "output": 65_536, "instructions": False}


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("gpt-6-astra", {**OPENAI_6, "chat_tools": False, "cache_marks": True}),
        ("gpt-6-sol", {**OPENAI_6, "chat_tools": True, "cache_marks": True}),
        ("gpt-6-luna", {**OPENAI_6, "chat_tools": True, "cache_marks": True}),
        ("gpt-6.1-sol", {**OPENAI_6, "chat_tools": False, "cache_marks": True}),
        ("gpt-6.1-terra", {**OPENAI_6, "chat_tools": True, "cache_marks": True}),
        ("gpt-6.2-astra", {**OPENAI_6, "chat_tools": False, "cache_marks": True}),
        ("gpt-5.6-sol", {**OPENAI_6, "chat_tools": True, "cache_marks": True}),
        ("gpt-5.6-terra", {**OPENAI_6, "chat_tools": True, "cache_marks": True}),
        ("gpt-5.6-luna", {**OPENAI_6, "chat_tools": True, "cache_marks": True}),
        ("gpt-5.4", {**OPENAI_6, "window": 1_050_000, "cache_marks": False}),
        ("gpt-5.5", {**OPENAI_6, "window": 1_050_000, "cache_marks": False}),
        ("gpt-5", {**OPENAI_6, "window": 272_000, "cache_marks": False}),
        ("gpt-5.1", {**OPENAI_6, "window": 272_000, "cache_marks": False}),
        ("gpt-5.2", {**OPENAI_6, "window": 272_000, "cache_marks": False}),
        ("gpt-4.1", {**OPENAI_6, "window": 1_047_576, "output": 32_768}),
        ("o3", {**OPENAI_6, "window": 200_000, "output": 100_000}),
        ("o1-mini", {"system": False, "developer": False, "instructions": False}),
        ("claude-fable-5", {**CLAUDE_5, "instructions": True}),
        ("claude-fable-5-1", {**CLAUDE_5, "instructions": True}),
        ("claude-fable-5-2", {**CLAUDE_5, "instructions": True}),
        ("claude-mythos-5", {**CLAUDE_5, "instructions": True}),
        ("claude-mythos-5-1", {**CLAUDE_5, "instructions": True}),
        ("claude-mythos-5-2", {**CLAUDE_5, "instructions": True}),
        ("claude-opus-5", {**CLAUDE_5, "instructions": True}),
        ("claude-opus-5-5", {**CLAUDE_5, "instructions": True}),
        ("claude-sonnet-5-5", {**CLAUDE_5, "instructions": True}),
        ("claude-haiku-5-5", {**CLAUDE_5, "instructions": True}),
        ("claude-opus-4-8", {**CLAUDE_5, "instructions": True}),
        ("claude-sonnet-5", {**CLAUDE_5, "instructions": False}),
        ("claude-opus-4-6", {**CLAUDE_5, "instructions": False}),
        ("claude-opus-4-7", {**CLAUDE_5, "instructions": False}),
        ("claude-sonnet-4-6", {**CLAUDE_5, "instructions": False}),
        ("claude-opus-4-5", CLAUDE_45),
        ("claude-sonnet-4-5", CLAUDE_45),
        ("claude-haiku-4-5", CLAUDE_45),
        ("gemini-4-argon", {**GEMINI, "prefill": False, "signatures": True}),
        ("gemini-4-carbon", {**GEMINI, "prefill": False, "signatures": True}),
        ("gemini-3.6-flash", {**GEMINI, "prefill": False, "signatures": True}),
        ("gemini-3.7-flash", {**GEMINI, "prefill": False, "signatures": True}),
        ("gemini-3.8-flash", {**GEMINI, "prefill": False, "signatures": True}),
        ("gemini-3.1-pro-preview", {**GEMINI, "prefill": True, "signatures": True}),
        ("gemini-3.5-flash", {**GEMINI, "prefill": True, "signatures": True}),
        ("gemini-3.5-flash-lite", {**GEMINI, "prefill": False, "signatures": True}),
        ("gemini-2.5-pro", {**GEMINI, "prefill": True, "signatures": False}),
        ("gemini-2.5-flash", {**GEMINI, "prefill": True, "signatures": False}),
        ("gemini-of-tomorrow", {"prefill": False, "signatures": True, "window": None}),
        ("amazon.nova-2-lite-v1:0", {"window": 1_000_000, "output": 64_000, "prefill": False}),
        ("amazon.nova-2-pro-v1:0", {"window": 1_000_000, "output": 64_000, "prefill": False}),
        ("amazon.nova-lite-v1:0", {"window": 300_000, "output": 10_000, "prefill": False}),
        ("amazon.nova-pro-v1:0", {"window": 300_000, "output": 10_000, "prefill": False}),
    ],
)
def test_models_of_today(model: str, expected: dict[str, Any]) -> None:
    """The models on sale have these windows, these abilities and these gaps."""
    facts = facts_for(model, None)
    assert expected == {name: getattr(facts, name) for name in expected}


@pytest.mark.parametrize(
    ("model", "minimum"),
    [
        ("claude-opus-5", 512),
        ("claude-opus-5-5", 512),
        ("claude-sonnet-5-5", 512),
        ("claude-haiku-5-5", 512),
        ("claude-fable-5", 512),
        ("claude-fable-5-2", 512),
        ("claude-mythos-5", 512),
        ("claude-mythos-5-1", 512),
        ("claude-opus-4-8", 1_024),
        ("claude-sonnet-5", 1_024),
        ("claude-sonnet-4-6", 1_024),
        ("claude-sonnet-4-5", 1_024),
        ("claude-opus-4-7", 2_048),
        ("claude-opus-4-6", 4_096),
        ("claude-opus-4-5", 4_096),
        ("claude-haiku-4-5", 4_096),
        ("claude-3-haiku", None),
        ("claude-of-tomorrow", None),
        ("gpt-5.6", 1_024),
        ("gpt-6-astra", 1_024),
        ("gpt-4o", None),
        ("gemini-2.5-pro", 2_048),
        ("gemini-3.5-flash", 4_096),
        ("gemini-4-argon", 4_096),
        ("amazon.nova-pro-v1:0", None),
    ],
)
def test_cache_minimum(model: str, minimum: int | None) -> None:
    """A prompt shorter than this many tokens is not cached, where the provider says how many."""
    assert minimum == facts_for(model, None).cache_minimum


@pytest.mark.parametrize(
    ("model", "forced"),
    [
        ("claude-fable-5-1", False),
        ("claude-fable-5-2", False),
        ("claude-mythos-5-1", False),
        ("claude-mythos-5-2", False),
        ("claude-opus-5-5", False),
        ("claude-sonnet-5-5", False),
        ("claude-haiku-5-5", True),
        ("claude-fable-5", True),
        ("claude-opus-5", True),
        ("claude-haiku-4-5", True),
        ("gpt-6-astra", True),
        ("gemini-4-argon", True),
    ],
)
@pytest.mark.parametrize("provider", [None, "bedrock"])
def test_forced_tools(model: str, provider: str | None, forced: bool) -> None:
    """The models whose thinking cannot be turned off cannot be made to call a tool."""
    assert forced is facts_for(model, provider).forced_tools


@pytest.mark.parametrize(
    ("model", "provider", "schema"),
    [
        ("gpt-5", None, True),
        ("gpt-5", "openai_responses", True),
        ("gpt-7-nova", None, True),
        ("gpt-4o", None, True),
        ("gpt-4o-2024-05-13", None, False),
        ("gpt-4-turbo", None, False),
        ("gpt-4", None, False),
        ("gpt-3.5-turbo", "openai_responses", False),
        ("gpt-5", "openai_compatible", False),
        ("gemini-2.0-flash", None, True),
        ("gemini-of-tomorrow", None, True),
        ("claude-opus-5-5", None, True),
        ("claude-haiku-4-5", None, True),
        ("claude-opus-4-1", None, False),
        ("claude-of-tomorrow", None, False),
        ("claude-haiku-4-5", "bedrock", True),
        ("claude-sonnet-5-5", "bedrock", True),
        ("claude-opus-5-5", "bedrock", False),
        ("claude-opus-4-7", "bedrock", False),
        ("amazon.nova-2-lite-v1:0", None, False),
        (None, "bedrock", False),
        (None, "chat_template", False),
    ],
)
def test_schema_output(model: str | None, provider: str | None, schema: bool) -> None:
    """OpenAI, Gemini and Claude from 4.5 on take a schema; on Bedrock where two sources say so."""
    assert schema is facts_for(model, provider).schema_output


@pytest.mark.parametrize(
    ("model", "provider", "media"),
    [
        (None, "anthropic", ("image", "document")),
        (None, "openai", ("image", "audio", "document")),
        (None, "openai_responses", ("image", "document")),
        (None, "openai_compatible", ("image", "audio", "document")),
        (None, "gemini", ("image", "audio", "document", "video")),
        (None, "bedrock", ("image", "document")),
        (None, "chat_template", ("image",)),
        (None, None, ()),
        ("gpt-6-sol", None, ("image", "document")),
        ("gpt-4o-audio-preview", None, ("audio",)),
        ("gpt-4o-audio-preview", "openai_responses", ()),
        ("o3-mini", "openai_responses", ()),
        ("gpt-4", None, ()),
        ("amazon.nova-pro-v1:0", None, ("image", "document", "video")),
        ("amazon.nova-micro-v1:0", None, ()),
    ],
)
def test_media(model: str | None, provider: str | None, media: tuple[str, ...]) -> None:
    """These attachments have a form in the request, less those a known model does not take."""
    assert media == facts_for(model, provider).media


@pytest.mark.parametrize(
    ("model", "provider", "held"),
    [
        (None, "anthropic", True),
        (None, "openai_responses", True),
        ("gpt-5", "openai_responses", True),
        (None, "bedrock", True),
        ("gemini-3-pro", None, True),
        ("gemini-3.8-flash", None, True),
        ("gemini-4-argon", None, True),
        ("gemini-2.5-pro", None, False),
        ("amazon.nova-micro-v1:0", None, False),
        (None, "gemini", False),
        (None, "openai", False),
        (None, "openai_compatible", False),
        (None, "chat_template", False),
    ],
)
def test_result_media(model: str | None, provider: str | None, held: bool) -> None:
    """Results hold attachments on Anthropic, Responses, Bedrock and Gemini from 3 on."""
    assert held is bool(facts_for(model, provider).result_media)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (None, (("image", "document"), None, True, True, None)),
        (
            "arn:aws:bedrock:::application-inference-profile/a1",
            (("image", "document"), None, True, True, None),
        ),
        (
            "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            (("image", "document"), ("text", "image"), False, True, "claude_tools"),
        ),
        (
            "claude-opus-5-5",
            (("image", "document"), ("text", "image"), False, True, "claude_tools"),
        ),
        (
            "us.amazon.nova-pro-v1:0",
            (("image", "text/csv", "text/plain"), None, True, False, "nova_tools"),
        ),
        (
            "us.meta.llama4-maverick-17b-instruct-v1:0",
            (("image", "document"), (), False, False, None),
        ),
        ("us.mistral.pixtral-large-2502-v1:0", (("document",), (), False, False, None)),
        ("moonshotai.kimi-k2.5", ((), None, False, False, None)),
        ("us.deepseek.r1-v1:0", (("image", "document"), None, False, True, None)),
        ("deepseek.v3.2", (("image", "document"), None, False, False, None)),
        ("us.openai.gpt-6-sol", (("image", "document"), None, True, True, None)),
    ],
)
def test_facts_of_vendors_on_bedrock(model: str | None, expected: tuple[object, ...]) -> None:
    """Each vendor behind Converse has rules of its own, whether or not the model is known."""
    facts = facts_for(model, "bedrock")
    names = ("result_media", "beside_results", "s3_media", "signed_reasoning", "tool_schemas")
    assert expected == tuple(getattr(facts, name) for name in names)


@pytest.mark.parametrize(("longest", "sent"), [(None, 60), (48, 48), (9, 9)])
def test_the_longest_id(longest: int | None, sent: int) -> None:
    """An id of a call is as long as the model takes it, and the same in its result."""
    with register_model("house-1", provider="openai_compatible", longest_id=longest):
        prompt = User("q"), Assistant(ToolUse("f", {}, id="a" * 60)), ToolMessage("a" * 60, "x")
        rendered = render(Timeline(*prompt), model="house-1")
    _, asked, answered = rendered.to_openai()["messages"]
    ids = {asked["tool_calls"][0]["id"], answered["tool_call_id"]}
    assert [sent] == [len(id) for id in ids]


def test_lists_of_types() -> None:
    """A list of types has types of blocks, or media types where it may name these."""
    lists = {"document_types": ["text/csv"], "result_media": ["image", "text/csv"]}
    with register_model("tuned-1", provider="bedrock", beside_results=["text"], **lists):
        facts = facts_for("tuned-1", None)
    assert (("text/csv",), ("image", "text/csv"), ("text",)) == (
        facts.document_types,
        facts.result_media,
        facts.beside_results,
    )
    with pytest.raises(OptionError, match="result_media") as caught:
        register_model("tuned-1", provider="bedrock", result_media=["picture"])
    assert "known: audio, document, image, media types such as text/csv, video" in str(caught.value)
    with pytest.raises(OptionError, match="beside_results"):
        register_model("tuned-1", provider="bedrock", beside_results=["text/csv"])


@pytest.mark.parametrize(
    ("model", "encoding", "image_tokens"),
    [
        ("gpt-6-sol", "o200k_base", "patches-32"),
        ("gpt-5-nano", "o200k_base", "patches-32"),
        ("gpt-4.1", "o200k_base", "tiles-512"),
        ("gpt-4.1-mini", "o200k_base", "patches-32"),
        ("gpt-4o", "o200k_base", "tiles-512"),
        ("gpt-4o-mini", "o200k_base", "tiles-512"),
        ("o3", "o200k_base", "tiles-512"),
        ("o4-mini", "o200k_base", "patches-32"),
        ("gpt-4", "cl100k_base", None),
        ("gpt-4-turbo", "cl100k_base", "tiles-512"),
        ("gpt-3.5-turbo", "cl100k_base", None),
        ("gpt-7-nova", None, None),
        ("claude-opus-5-5", None, "patches-28"),
        ("claude-of-tomorrow", None, "patches-28"),
        ("gemini-2.0-flash", None, "tiles-258"),
        ("gemini-2.5-flash", None, "tiles-258"),
        ("gemini-3-pro", None, "resolution"),
        ("gemini-4-argon", None, "resolution"),
        ("gemini-of-tomorrow", None, None),
        ("amazon.nova-pro-v1:0", None, None),
    ],
)
def test_how_tokens_are_counted(model: str, encoding: str | None, image_tokens: str | None) -> None:
    """OpenAI's models have a public encoding; what a picture costs is a formula by family."""
    facts = facts_for(model, None)
    assert (encoding, image_tokens) == (facts.encoding, facts.image_tokens)


@pytest.mark.parametrize(
    ("model", "provider", "factors"),
    [
        ("claude-opus-5-5", None, CLAUDE),
        ("claude-opus-4-7", None, CLAUDE),
        ("claude-of-tomorrow", None, CLAUDE),
        ("claude-opus-4-6", None, OLD_CLAUDE),
        ("claude-sonnet-4-6", None, OLD_CLAUDE),
        ("claude-haiku-4-5-20251001", None, OLD_CLAUDE),
        ("claude-opus-4-1", None, OLD_CLAUDE),
        ("claude-3-7-sonnet", None, OLD_CLAUDE),
        ("claude-3-haiku", None, OLD_CLAUDE),
        ("us.anthropic.claude-3-haiku-20240307-v1:0", "bedrock", OLD_CLAUDE),
        ("openrouter/anthropic/claude-opus-5-5", "openai_compatible", CLAUDE),
        ("anthropic/claude-of-tomorrow", "openai", CLAUDE),
        (None, "anthropic", CLAUDE),
        (None, "bedrock", CLAUDE),
        ("application-inference-profile/abc", "bedrock", CLAUDE),
        ("amazon.nova-lite-v1:0", None, OPEN),
        ("gemini-3-pro", None, GEMINI_TOKENS),
        ("gemini-of-tomorrow", "openai_compatible", GEMINI_TOKENS),
        (None, "gemini", GEMINI_TOKENS),
        ("meta-llama/Llama-3.3-70B-Instruct", None, OPEN),
        ("meta.llama3-70b-instruct-v1:0", "bedrock", OPEN),
        ("Qwen/Qwen3-32B", "chat_template", OPEN),
        ("deepseek.v3", "bedrock", OPEN),
        ("claudette", None, OPEN),
        ("mistral-large", "openai_compatible", OPEN),
        (None, "openai_compatible", OPEN),
        (None, "chat_template", OPEN),
        ("gpt-4o", None, None),
        ("gpt-4o", "openai_compatible", None),
        ("gpt-7-nova", None, None),
        (None, "openai", None),
        (None, "openai_responses", None),
        ("gpt-oss-120b", None, None),
        ("", None, None),
        (None, None, None),
    ],
)
def test_token_factors(
    model: str | None, provider: str | None, factors: TokenFactors | None
) -> None:
    """Whose encoding is not public is estimated, by its name wherever it is served."""
    assert factors == facts_for(model, provider).token_factors


@pytest.mark.parametrize(
    ("model", "provider", "encoding"),
    [
        ("gpt-oss-120b", None, "o200k_harmony"),
        ("openai/gpt-oss-20b", "openai_compatible", "o200k_harmony"),
        ("openai.gpt-oss-20b-1:0", "bedrock", "o200k_harmony"),
        ("text-embedding-3-large", None, "cl100k_base"),
        ("text-embedding-ada-002", "openai", "cl100k_base"),
        ("text-embedding-4", None, None),
    ],
)
def test_public_vocabularies(model: str, provider: str | None, encoding: str | None) -> None:
    """Open models of OpenAI and its embeddings have a public encoding, whoever serves them."""
    assert encoding == facts_for(model, provider).encoding


def test_registered_factors_hold_everywhere() -> None:
    """What is registered of how a model counts goes before its name, and on every provider."""
    with register_model("claude-9", provider="anthropic", token_factors=[1, 2, 3, 4.5]):
        found = facts_for("claude-9", "openai_compatible").token_factors
    assert TokenFactors(1, 2, 3, 4.5) == found


def test_a_registered_encoding_goes_first() -> None:
    """A model with an encoding has no factors, whatever its name says."""
    with register_model("claude-9", provider="anthropic", encoding="house"):
        found = facts_for("claude-9", None)
    assert ("house", None) == (found.encoding, found.token_factors)


@pytest.mark.parametrize(
    ("model", "provider", "marks"),
    [
        ("claude-haiku-4-5", "bedrock", True),
        ("claude-3-5-haiku", "bedrock", True),
        ("claude-3-haiku", "bedrock", False),
        ("claude-of-tomorrow", "bedrock", False),
        ("amazon.nova-lite-v1:0", None, True),
        ("amazon.titan-text-express-v1", None, False),
        ("gpt-5.6", "openai_responses", True),
        ("gpt-5.5", "openai_responses", False),
        ("gpt-5.6", "openai_compatible", False),
        ("gemini-3.8-flash", None, False),
    ],
)
def test_cache_marks_elsewhere(model: str, provider: str | None, marks: bool) -> None:
    """Marks are model by model on Bedrock, those of Chat on Responses, and none on Gemini."""
    assert marks is facts_for(model, provider).cache_marks


# What users add.

TOKENS = "write a whole number above 0, or None"
FACTORS = "write four numbers: (typical, must fit, other scripts typical, other must fit)"
KINDS = "write a tuple of these: image, audio, document, video"
LLAMA = "meta-llama/Llama-3.3-70B-Instruct"


@pytest.mark.parametrize(
    ("pattern", "model", "known"),
    [
        ("house-model", "house-model", True),
        ("house-model", "house-model-20261001", True),
        ("house-model", "gateway/house-model@latest", True),
        ("house-model", "house-model-mini", False),
        ("house-model", "house-mode", False),
        (LLAMA, LLAMA, True),
        (LLAMA, "Llama-3.3-70B-Instruct", False),
        ("meta.llama3-70b-instruct", "meta.llama3-70b-instruct-v1:0", True),
    ],
)
def test_a_registered_model(pattern: str, model: str, known: bool) -> None:
    """A name, whole or without a gateway's prefix, is found by a pattern that was registered."""
    with register_model(pattern, provider="openai_compatible", window=8_192):
        found = facts_for(model, None)
    assert (known, 8_192 if known else None) == (found.known, found.window)


def test_all_facts_can_be_registered() -> None:
    """Whatever is a fact can be said of a model, but who it is and what others set."""
    assert FACTS - {"provider"} == set(Facts.__annotations__)


def test_registering_names_the_provider() -> None:
    """A name alone means the provider it was registered with, with that one's defaults."""
    with register_model("house-model", provider="anthropic"):
        found = facts_for("house-model", None)
    expected = attrs.evolve(facts_for(None, "anthropic"), model="house-model", known=True)
    assert expected == found


def test_registering_adds_to_what_is_known() -> None:
    """What is registered wins over what comes with the same pattern, fact by fact."""
    before = facts_for("claude-opus-5-5-20261001", None)
    with register_model("claude-opus-5-5", provider="anthropic", window=500_000):
        found = facts_for("claude-opus-5-5-20261001", None)
    assert attrs.evolve(before, window=500_000) == found


def test_a_longer_pattern_wins() -> None:
    """A longer pattern wins over a shorter one, whichever was registered, and takes nothing."""
    with register_model("gpt-4o-2024-11-20", provider="openai", output=1):
        found = [facts_for(name, None) for name in ("gpt-4o-2024-11-20", "gpt-4o-2024-08-06")]
    assert [(1, None), (16_384, 128_000)] == [(facts.output, facts.window) for facts in found]


def test_registering_again_replaces() -> None:
    """Of two registrations of one pattern the last one counts, alone."""
    with register_model("house-model", provider="openai", window=1, names=False):  # noqa: SIM117
        with register_model("house-model", provider="openai", output=2):
            found = facts_for("house-model", None)
    assert (None, 2, True) == (found.window, found.output, found.names)


def test_registering_for_another_provider_spoils_nothing() -> None:
    """What is known of a model on its own provider is kept when it is registered for another."""
    before = facts_for("claude-opus-5-5", "anthropic")
    with register_model("claude-opus-5-5", provider="bedrock", window=5):
        found = facts_for("claude-opus-5-5", "anthropic"), facts_for("claude-opus-5-5", None)
    assert (before, "bedrock", 5, True) == (
        found[0],
        found[1].provider,
        found[1].window,
        found[1].binds_reasoning,
    )


def test_registering_is_seen_at_once() -> None:
    """Facts that were asked for before are asked for anew, also when it is taken back."""
    before = facts_for("house-model", "openai")
    with register_model("house-model", provider="openai", window=7):
        during = facts_for("house-model", "openai").window
    after = facts_for("house-model", "openai")
    assert (None, 7, None) == (before.window, during, after.window)


def test_only_what_counts_is_taken_back() -> None:
    """Leaving the block of a registration that another one replaced changes nothing."""
    first = register_model("house-model", provider="openai", window=1)
    with register_model("house-model", provider="openai", window=2):
        first.__exit__(None, None, None)
        found = facts_for("house-model", None)
    first.__exit__(None, None, None)
    assert (2, False) == (found.window, facts_for("house-model", None).known)


def test_registering_from_many_threads() -> None:
    """No registration is lost, however many threads register at a time."""
    names = [f"house-{number}x" for number in range(20)]
    with ExitStack() as stack, ThreadPoolExecutor(8) as threads:
        registered = threads.map(partial(register_model, provider="openai"), names)
        deque(map(stack.enter_context, registered), maxlen=0)
        found = {facts_for(name, None).provider for name in names}
    assert ({"openai"}, {None}) == (found, {facts_for(name, None).provider for name in names})


def test_registered_roles_are_a_layer() -> None:
    """The roles of a registered model are a layer of their own, called after the pattern."""
    with register_model("gpt-3.5-turbo", provider="openai", event_role="system"):
        layers = facts_for("gpt-3.5-turbo-0125", None).layers()
    expected = (
        ("provider openai", DEVELOPER),
        ("model gpt-3.5", USER),
        ("model gpt-3.5-turbo", {"role_mapping": {"event": "system"}}),
    )
    assert expected == layers


XML: dict[str, Any] = {"format": "xml", "role_mapping": {"event": "system"}}


@pytest.mark.parametrize(
    ("target", "layer"),
    [
        ({}, "model house"),
        ({"provider": "openai"}, "model house"),
        ({"provider": "openai_responses"}, "model house"),
        ({"provider": "openai_compatible"}, "model house"),
        ({"provider": "chat_template"}, "model house"),
        ({"provider": "anthropic"}, "library"),
    ],
)
def test_a_registered_transformation(target: Any, layer: str) -> None:
    """Settings of a model are a layer above its provider, and below those of an author."""
    for said in (XML, MessageTransformationConfig(**XML)):
        with register_model("house", provider="openai", transformation=said, event_role="user"):
            config = render(User("a"), model="house-2026-01-01", **target).explain()
            assert (
                layer
                == config["format"][1]
                == config["role_mapping.event"][1].replace("provider anthropic", "library")
            )
            above = {"transformation": {"format": "markdown"}}
            tree = Timeline(User("a"), **above)
            assert ("markdown", "Timeline") == render(tree, model="house").explain()["format"]
            assert ("markdown", "render") == render(User("a"), model="house", **above).explain()[
                "format"
            ]
    assert ("markdown", "library") == render(User("a"), model="house").explain()["format"]


def test_every_setting_of_a_registered_transformation() -> None:
    """A registered transformation takes every setting."""
    said: dict[str, Any] = {
        "delimiters": {"event": None},
        "encoding": {"body": "full"},
        "format_block": str,
        "ephemeral_position": "end",
        "merge_consecutive": False,
        "merge_separator": " ",
        "lone_text": "list",
        "tool_pairing": "fill",
        "guard_conversation": True,
        "silent_hints": ["white_space"],
        **XML,
    }
    with register_model("house", provider="openai", transformation=said):
        found = render(User("a"), model="house")
    assert [{"role": "user", "content": [{"type": "text", "text": "a"}]}] == found.to_openai()[
        "messages"
    ]
    settings = dict(MessageTransformationConfig(**said).settings)
    assert settings == {key: it for key, (it, name) in found.explain().items() if "model" in name}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            str,
            f"the transformation of a model cannot be a function: {str}\n  pass the function to "
            "render(transformation=...)",
        ),
        ({"fromat": "xml"}, "unknown key 'fromat' in a configuration\n  did you mean 'format'?"),
        ({"format": "xm"}, "unknown format 'xm'\n  did you mean 'xml'?"),
    ],
)
def test_a_transformation_that_is_wrong(given: Any, message: str) -> None:
    """A wrong transformation of a model is an error at the author's line, and registers nothing."""
    with pytest.raises(ConfigError) as caught:
        register_model("x", provider="openai", transformation=given)
    line = currentframe().f_lineno - 1
    assert f"{__file__}:{line}: {message}" == str(caught.value)
    assert not facts_for("x", None).known


def test_registered_media() -> None:
    """The types of attachments are kept as a tuple, each once and in one order."""
    with register_model("x", provider="gemini", media=["video", "image", "video"]):
        assert ("image", "video") == facts_for("x", None).media


def test_a_registered_template() -> None:
    """A chat template is passed as its text, and the facts can still be hashed."""
    more: Any = {"variables": (("documents", []),)}
    template = ChatTemplate.of("{{ messages }}", **more)
    with register_model("x", provider="chat_template", template=template):
        kept = facts_for("x", None)
    with register_model("x", provider="chat_template", template="{{ messages }}"):
        text = facts_for("x", None).template
    assert (template, ChatTemplate("{{ messages }}"), hash(kept)) == (
        kept.template,
        text,
        hash(attrs.evolve(kept)),
    )


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"windw": 5}, "unknown fact 'windw'\n  did you mean 'window'?"),
        (
            {"known": True},
            f"unknown fact 'known'\n  known: {', '.join(sorted(Facts.__annotations__))}",
        ),
        ({"window": "big"}, f"window='big'\n  {TOKENS}"),
        ({"window": 0}, f"window=0\n  {TOKENS}"),
        ({"output": True}, f"output=True\n  {TOKENS}"),
        ({"cache_minimum": 1.5}, f"cache_minimum=1.5\n  {TOKENS}"),
        ({"prefill": 1}, "prefill=1\n  write True or False"),
        ({"encoding": ""}, "encoding=''\n  write a string, or None"),
        ({"encoding": 5}, "encoding=5\n  write a string, or None"),
        ({"event_role": "usr"}, "event_role='usr'\n  did you mean 'user'?"),
        ({"ephemeral_role": None}, "ephemeral_role=None\n  known: developer, system, user"),
        ({"image_tokens": "tile-512"}, "image_tokens='tile-512'\n  did you mean 'tiles-512'?"),
        ({"token_factors": 1.5}, f"token_factors=1.5\n  {FACTORS}"),
        ({"token_factors": (1, 2, 3)}, f"token_factors=(1, 2, 3)\n  {FACTORS}"),
        ({"token_factors": (0, 1, 1, 1)}, f"token_factors=(0, 1, 1, 1)\n  {FACTORS}"),
        ({"token_factors": (2, 1, 2, 2)}, f"token_factors=(2, 1, 2, 2)\n  {FACTORS}"),
        ({"token_factors": (1, 3, 1, 2)}, f"token_factors=(1, 3, 1, 2)\n  {FACTORS}"),
        ({"token_factors": (1, 1, 1, "2")}, f"token_factors=(1, 1, 1, '2')\n  {FACTORS}"),
        ({"token_factors": (1, 1, 1, inf)}, f"token_factors=(1, 1, 1, inf)\n  {FACTORS}"),
        ({"token_factors": (1, 1, True, 2)}, f"token_factors=(1, 1, True, 2)\n  {FACTORS}"),
        ({"media": "image"}, f"media='image'\n  {KINDS}"),
        ({"media": None}, f"media=None\n  {KINDS}"),
        ({"media": ("image", "vido")}, "media=('image', 'vido')\n  did you mean 'video'?"),
    ],
)
def test_a_fact_that_is_wrong(facts: Any, message: str) -> None:
    """A fact that is unknown or cannot have its value is an error at the author's line."""
    with pytest.raises(OptionError) as caught:
        register_model("x", provider="openai", **facts)
    line = currentframe().f_lineno - 1
    assert f"{__file__}:{line}: {message}" == str(caught.value)


@pytest.mark.parametrize("pattern", ["", None, 5])
def test_a_pattern_that_is_wrong(pattern: Any) -> None:
    """A pattern is a text that is not empty."""
    with pytest.raises(OptionError) as caught:
        register_model(pattern, provider="openai")
    line = currentframe().f_lineno - 1
    expected = f"{__file__}:{line}: a pattern must be the name of a model, not {pattern!r}"
    assert f"{expected}\n  write the name of a model: register_model('my-model', ...)" == str(
        caught.value
    )


def test_a_provider_that_is_wrong() -> None:
    """Registering for a provider that is unknown is an error at the author's line."""
    with pytest.raises(TargetError) as caught:
        register_model("x", provider="opnai")
    line = currentframe().f_lineno - 1
    expected = f"{__file__}:{line}: unknown provider 'opnai'\n  did you mean 'openai'?"
    assert expected == str(caught.value)


@pytest.mark.parametrize("provider", [None, 5, ["openai"]])
def test_what_is_no_provider(provider: Any) -> None:
    """A value that is not text is no provider, whatever it is."""
    with pytest.raises(TargetError) as caught:
        register_model("x", provider=provider)
    assert f"unknown provider {provider!r}" == caught.value.what


def test_a_template_that_is_wrong() -> None:
    """What is no chat template is an error at the author's line."""
    with pytest.raises(ContentError) as caught:
        register_model("x", provider="chat_template", template=5)
    line = currentframe().f_lineno - 1
    assert (f"{__file__}:{line}",) == caught.value.at


def test_a_mistake_registers_nothing() -> None:
    """After an error nothing is registered."""
    with pytest.raises(OptionError):
        register_model("house-model", provider="openai", window=-1)
    assert facts_for("house-model", None).known is False


@given(st.text(min_size=1))
def test_any_pattern_can_be_registered(pattern: str) -> None:
    """Any text that is not empty is a pattern, and found under its own name."""
    with register_model(pattern, provider="openai", window=123):
        assert 123 == facts_for(pattern, None).window


@given(st.text(min_size=1), st.text())
def test_a_pattern_says_nothing_of_other_names(pattern: str, model: str) -> None:
    """A name that does not hold the pattern keeps the facts it has."""
    assume(pattern not in model)
    before = facts_for(model, None)
    with register_model(pattern, provider="openai", window=123):
        assert before == facts_for(model, None)


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


@folded(("pattern", "entry"), PATTERNS, ids=NAMES)
def test_every_pattern_finds_its_entry(pattern: str, entry: dict[str, Any]) -> None:
    """Each pattern is found under its own name, where its entry says that it is served."""
    facts = facts_for(pattern, None)
    if entry.get("chat") is False:
        entry = {**entry, "provider": "openai_responses"}
    stated = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in entry.items()
        if key in FACTS
    }
    found = {key: getattr(facts, key) for key in stated}
    assert (True, {**stated, "media": found["media"]} if "media" in stated else stated) == (
        facts.known,
        found,
    )


def test_every_key_is_a_fact() -> None:
    """An entry holds facts, patterns, its provider and a source, and no misspelt key."""
    known = {*FACTS, "patterns", "source", "takes", "takes_from", "on"}
    assert {} == {name: entry for name, entry in ENTRIES.items() if entry.keys() - known}


def test_every_provider_has_facts_and_is_offered() -> None:
    """The providers of the data file, of the registry and of the command line are the same."""
    assert sorted(TARGETS) == sorted(PROVIDERS) == sorted(CLI_PROVIDERS)


@pytest.mark.parametrize("entry", TABLES["providers"].values(), ids=PROVIDERS)
def test_what_is_taken_are_facts(entry: dict[str, Any]) -> None:
    """A provider takes facts of models, and only of models of providers that are there."""
    taken, owners = set(entry.get("takes", ())), set(entry.get("takes_from", ()))
    assert (set(), set()) == (taken - FACTS, owners - set(PROVIDERS))


def test_what_holds_elsewhere_are_facts() -> None:
    """What holds on another provider only are facts, and the provider is there."""
    elsewhere = [entry.get("on", {}) for entry in TABLES["models"].values()]
    named = {fact for on in elsewhere for facts in on.values() for fact in facts}
    providers = {provider for on in elsewhere for provider in on}
    assert (set(), set()) == (named - FACTS, providers - set(PROVIDERS))


def facts_of(model: str | None, provider: str) -> dict[str, Any]:
    """Return what is known of a model on a provider, by name."""
    facts = facts_for(model, provider)
    return {name: getattr(facts, name) for name in Facts.__annotations__}


def registered(said: dict[str, Any], provider: str) -> dict[str, Any]:
    """Return what is known of a model that is registered with facts."""
    with register_model("x", provider=provider, **said):
        return facts_of("x", provider)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_every_value_is_one_a_user_may_give(provider: str) -> None:
    """The facts of the data file pass the checks of those that are registered."""
    models = [None, *(entry["patterns"][0] for entry in MODELS)]
    expected = {model: facts_of(model, provider) for model in models}
    assert expected == {model: registered(expected[model], provider) for model in models}


@pytest.mark.parametrize("entry", TABLES["vocabularies"])
def test_every_vocabulary_says_how_it_counts(entry: dict[str, Any]) -> None:
    """A vocabulary has words of names, a source, and either an encoding or factors."""
    said = entry.keys() - {"words", "source"}
    assert said in ({"encoding"}, {"token_factors"})


def test_every_entry_names_its_source() -> None:
    """Every entry says where its facts come from."""
    entries = [*ENTRIES.values(), *TABLES["families"], *TABLES["vocabularies"], *TABLES["vendors"]]
    assert [] == [entry for entry in entries if not entry["source"].strip()]


def test_no_pattern_stands_twice() -> None:
    """A pattern belongs to one entry."""
    assert sorted(set(NAMES)) == sorted(NAMES)
