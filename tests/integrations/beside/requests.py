"""The requests of one history: promptdsl's own, and the one that Pydantic AI sends.

Pydantic AI's is that of its model class and the provider's real client. Only the client's method
that would send it is replaced. Both libraries get the same bytes for an address.
"""

from collections.abc import Sequence
from functools import cache
from operator import attrgetter
from pkgutil import resolve_name
from types import SimpleNamespace
from typing import Any, NoReturn, TypeAlias

import pytest
from pydantic_ai import exceptions, models
from pydantic_ai.messages import InstructionPart, ModelRequest

from promptdsl import History, PromptError, Timeline, Tool, render
from promptdsl.integrations.pydantic_ai import from_pydantic_ai
from tests.integrations.beside.atoms import Atom, atoms_of
from tests.integrations.beside.histories import FILES, Sent

PEERS = {
    "openai": "openai:OpenAIChatModel openai:OpenAI chat.completions create",
    "openai_responses": "openai:OpenAIResponsesModel openai:OpenAI responses create",
    "anthropic": "anthropic:AnthropicModel anthropic:Anthropic beta.messages create",
    "gemini": "google:GoogleModel google:Google aio.models generate_content",
    "bedrock": "bedrock:BedrockConverseModel bedrock:Bedrock - converse converse_stream",
}
"""The class of a provider's model, that of its client, and where the client's methods are."""

Target: TypeAlias = tuple[str, str]
TARGETS: Sequence[Target] = (
    ("openai", "gpt-5"),
    ("openai_responses", "gpt-5"),
    ("anthropic", "claude-sonnet-4-5"),
    ("anthropic", "claude-opus-5-5"),
    ("gemini", "gemini-2.5-pro"),
    ("gemini", "gemini-3-pro-preview"),
    ("bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
    ("bedrock", "us.amazon.nova-pro-v1:0"),
)
"""The providers, each with a model."""


class _SentError(Exception):
    """What a client was asked to send."""


async def both_requests(history: Sent, target: Target) -> tuple[list[Atom], list[Atom]]:
    """Return the atoms of both requests; of a refusal there is one, and no other is compared."""
    our_request, theirs = _own_request(history, target), await _peer_request(history, target)
    refusals = tuple(
        [atom for atom in side if atom.kind == "refused"] for side in (our_request, theirs)
    )
    return refusals if any(refusals) else (our_request, theirs)


def _own_request(history: Sent, target: Target) -> list[Atom]:
    messages, tools = history
    own = [Tool(name=t.name, input_schema=t.parameters_json_schema) for t in tools]
    try:
        prompt = Timeline(*own, History(from_pydantic_ai(messages, provider=target[0]).messages))
        rendered = render(prompt, provider=target[0], model=target[1], media_loader=_loaded)
    except (PromptError, ValueError) as error:
        return [Atom("request", "refused", str(error))]
    return atoms_of(rendered.payload())


def _loaded(address: str) -> bytes:
    return FILES["application/pdf" if address.endswith(".pdf") else "image/png"]


async def _peer_request(history: Sent, target: Target) -> list[Atom]:
    messages, tools = history
    given = [m.instructions for m in messages if isinstance(m, ModelRequest) and m.instructions]
    last = [InstructionPart(content=text) for text in given[-1:]]
    asked = models.ModelRequestParameters(function_tools=tools, instruction_parts=last)
    model = _model(target)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(models, "_download_within_request_budget", _downloaded)
        try:
            await model.request(model.prepare_messages(messages, asked), None, asked)
        except _SentError as sent:
            return atoms_of(sent.args[0])
        except (RuntimeError, exceptions.UserError) as error:
            return [Atom("request", "refused", str(error))]
    raise AssertionError("nothing was sent")


async def _downloaded(address: str, **_: Any) -> Any:
    return SimpleNamespace(content=_loaded(address), headers={})


@cache
def _model(target: Target) -> Any:
    """Return Pydantic AI's model, with a client that raises what it was asked to send."""

    def raise_sent(**sent: Any) -> NoReturn:
        raise _SentError(sent)

    name, provider, place, *methods = PEERS[target[0]].split()
    aws = {"region_name": "a", "aws_access_key_id": "x", "aws_secret_access_key": "x"}
    arguments = aws if target[0] == "bedrock" else {"api_key": "x"}
    client = resolve_name(f"pydantic_ai.providers.{provider}Provider")(**arguments)
    model = resolve_name(f"pydantic_ai.models.{name}")(target[1], provider=client)
    owner = model.client if target[0] == "bedrock" else attrgetter(place)(model.client)
    for method in methods:
        setattr(owner, method, raise_sent)
    return model
