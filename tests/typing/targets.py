"""Only checked, never run: a provider is a name that promptdsl has, or a registered one."""
# Each ignored line has an error in mypy, which is strict, and in pyright, by the next line.
# pyright: reportUnnecessaryTypeIgnoreComment=error

from collections.abc import AsyncIterator, Sequence
from typing import assert_type

from promptdsl import (
    History,
    ModelFacts,
    ProviderId,
    ProviderName,
    Rendered,
    Transcript,
    User,
    aread_stream,
    arender,
    provider_names,
    read_payload,
    read_response,
    read_stream,
    register_model,
    register_provider,
    render,
)

PROMPT = User("Hi.")


async def misspelled(rendered: Rendered, transcript: Transcript, data: dict[str, object]) -> None:
    """Name a provider with a slip, which is an error wherever one is named."""
    render(PROMPT, provider="opnai")  # type: ignore[arg-type]
    await arender(PROMPT, provider="opnai")  # type: ignore[arg-type]
    rendered.for_target("opnai")  # type: ignore[arg-type]
    read_payload(data, "opnai")  # type: ignore[arg-type]
    read_response(data, provider="opnai")  # type: ignore[arg-type]
    read_stream([data], provider="opnai")  # type: ignore[arg-type]
    aread_stream(chunks(), provider="opnai")  # type: ignore[arg-type]
    transcript.append(data, provider="opnai")  # type: ignore[arg-type]
    History.from_openai([data], origin="opnai")  # type: ignore[arg-type]
    register_model("house-1", provider="opnai")  # type: ignore[arg-type]
    register_provider("house", adapter="deepseek")  # type: ignore[arg-type]


async def chunks() -> AsyncIterator[dict[str, object]]:
    """Yield the chunks of a stream."""
    yield {}


async def known(rendered: Rendered, transcript: Transcript, data: dict[str, object]) -> None:
    """Name a provider, a server, and none."""
    render(PROMPT, provider="openai", model="gpt-5")
    render(PROMPT, provider=None)
    await arender(PROMPT, provider="deepseek")
    rendered.for_target("openrouter")
    read_payload(data, "bedrock")
    read_response(data, provider="anthropic")
    transcript.append(data, provider="gemini")
    History.from_openai([data], origin="groq")
    register_model("house-1", provider="vllm")
    register_provider("house", adapter="openai_compatible")


def registered(name: str, rendered: Rendered, data: dict[str, object]) -> None:
    """Name a registered server, and one in a variable: both are a ``ProviderId``."""
    render(PROMPT, provider=ProviderId("house"))
    render(PROMPT, provider=ProviderId(name))
    rendered.for_target(ProviderId(name))
    read_response(data, provider=ProviderId("house"))
    History.from_openai([data], origin=ProviderId("house"))
    render(PROMPT, provider=name)  # type: ignore[arg-type]


def taken(rendered: Rendered, provider: ProviderName, facts: ModelFacts) -> Sequence[Rendered]:
    """Give a name that promptdsl returned, and a parameter, to it."""
    render(PROMPT, provider=rendered.facts.provider)
    assert_type(provider_names(), tuple[ProviderId, ...])
    assert rendered.facts.provider != "openai"
    assert "openai" in provider_names()
    names = [known for known in provider_names() if known != "openai"]
    assert_type(facts.provider, ProviderName | None)
    name: str = provider
    assert name
    return [rendered.for_target(provider), *map(rendered.for_target, names)]
