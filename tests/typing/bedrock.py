"""Only checked, never run: what ``write`` returns is what the Bedrock client takes."""

from types_boto3_bedrock_runtime import BedrockRuntimeClient
from types_boto3_bedrock_runtime.type_defs import (
    ConverseResponseTypeDef,
    ConverseStreamResponseTypeDef,
    MessageUnionTypeDef,
)

from promptdsl import Loss, Message, ModelFacts, Prompt, Rendered, read_response
from tests.internals import read_bedrock as read
from tests.internals import write_bedrock as write


def send(client: BedrockRuntimeClient, prompt: Prompt) -> ConverseResponseTypeDef:
    """Pass a payload as keyword arguments of ``converse``."""
    payload, losses = write(prompt, ModelFacts())
    reported: tuple[Loss, ...] = losses
    assert not reported
    return client.converse(modelId="us.amazon.nova-pro-v1:0", **payload)


def stream(client: BedrockRuntimeClient, rendered: Rendered) -> ConverseStreamResponseTypeDef:
    """Pass it to the streaming call, beside settings."""
    settings = rendered.to_bedrock()
    return client.converse_stream(
        modelId="us.amazon.nova-pro-v1:0", inferenceConfig={"maxTokens": 1}, **settings
    )


def answered(client: BedrockRuntimeClient, rendered: Rendered) -> Message:
    """Read what the client returns."""
    reply = client.converse(modelId="us.amazon.nova-pro-v1:0", **rendered.to_bedrock())
    return read_response(reply)


def continued(prompt: Prompt) -> list[MessageUnionTypeDef]:
    """Return the messages of a payload as the SDK's own type."""
    return write(prompt, ModelFacts())[0]["messages"]


def again(recorded: list[MessageUnionTypeDef]) -> Prompt:
    """Read what the SDK's types hold."""
    return read(recorded)
