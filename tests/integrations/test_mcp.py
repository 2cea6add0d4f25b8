"""MCP, there and back."""

from typing import Any

import pytest

pytest.importorskip("mcp", reason="needs mcp")

from mcp.types import (
    Annotations,
    AudioContent,
    BlobResourceContents,
    EmbeddedResource,
    GetPromptResult,
    ImageContent,
    PromptMessage,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from promptdsl import *
from promptdsl.integrations.mcp import from_mcp, to_mcp
from tests.integrations.crossings import rendered
from tests.providers.conversations import answer, call, media, say
from tests.renders import named_losses, reported

pytestmark = pytest.mark.sdk("mcp")


def spoken(role: Any, text: str) -> PromptMessage:
    """Return a message of one text."""
    return PromptMessage(role=role, content=TextContent(type="text", text=text))


def held(uri: str, **contents: Any) -> EmbeddedResource:
    """Return an embedded resource."""
    made = TextResourceContents if "text" in contents else BlobResourceContents
    return EmbeddedResource(type="resource", resource=made(uri=uri, **contents))


def test_a_conversation() -> None:
    """Users and assistants speak; an instruction is said as a user's, in another voice."""
    prompt = render(Timeline(System("Be brief."), User("Hi."), Assistant("Yes?"), Developer("Go.")))
    bridged = to_mcp(prompt, description="A greeting.")
    expected = [
        spoken("user", "Be brief."),
        spoken("user", "Hi."),
        spoken("assistant", "Yes?"),
        spoken("user", "Go."),
    ]
    assert bridged.messages == GetPromptResult(description="A greeting.", messages=expected)
    assert named_losses(reported(bridged)) == [
        ("role", "system message"),
        ("role", "developer message"),
    ]


@pytest.mark.parametrize(
    ("block", "content"),
    [
        (
            ImageBlock(media("base64", "QQ==", "image/png")),
            ImageContent(type="image", data="QQ==", mime_type="image/png"),
        ),
        (
            AudioBlock(media("base64", "QQ==", "audio/wav")),
            AudioContent(type="audio", data="QQ==", mime_type="audio/wav"),
        ),
        (
            DocumentBlock(media("base64", "QQ==", "application/pdf"), title="a b.pdf"),
            held("attachment:///a%20b.pdf", mime_type="application/pdf", blob="QQ=="),
        ),
        (
            DocumentBlock(media("base64", "QQ==", "text/csv"), title="file:///a.csv"),
            held("file:///a.csv", mime_type="text/csv", blob="QQ=="),
        ),
        (
            VideoBlock(media("base64", "QQ==", "video/mp4"), title="video"),
            held("attachment:///video", mime_type="video/mp4", blob="QQ=="),
        ),
        (
            ImageBlock(media("url", "https://a.b/c"), title="c"),
            ResourceLink(type="resource_link", name="c", uri="https://a.b/c", mime_type="image/*"),
        ),
        (
            DocumentBlock(media("s3", "s3://b/a", "text/csv"), title="a"),
            ResourceLink(type="resource_link", name="a", uri="s3://b/a", mime_type="text/csv"),
        ),
    ],
)
def test_attachments(block: Any, content: Any) -> None:
    """Each attachment has its content, and is read as itself."""
    result = to_mcp(rendered([say("user", block)])).messages
    assert (content, (block,)) == (
        result.messages[0].content,
        from_mcp(result).messages[0].content,
    )


def test_losses() -> None:
    """What a prompt of MCP has no word for is named."""
    messages = [
        say("user", "Hi.", ImageBlock(media("file_id", "f")), name="ada"),
        say("user", ImageBlock(media("base64", "QQ==", "image/png"), "x", "low", "5m")),
        say("assistant", call("a")),
        answer("a", "rain"),
        say("developer", "<event>\nx\n</event>", kind="event"),
    ]
    assert named_losses(reported(to_mcp(rendered(messages)))) == [
        ("content", "image 'f'"),
        ("content", "a block of type 'tool_use'"),
        ("content", "a block of type 'tool_result'"),
        ("hint", "name of a speaker"),
        ("hint", "a cache mark"),
        ("hint", "the title of an attachment"),
        ("hint", "the detail of an attachment"),
        ("hint", "developer message"),
    ]


def test_tools() -> None:
    """Tools are a hint: a server lists them elsewhere."""
    prompt = render(Timeline(Tool(name="f", description="Find."), User("Hi.")))
    assert [("hint", "tools")] == named_losses(to_mcp(prompt).hints)


def test_an_embedded_text() -> None:
    """An embedded text is a document, called by its address."""
    message = PromptMessage(role="user", content=held("file:///a.md", text="é"))
    document = DocumentBlock(MediaSource("base64", "w6k=", "text/plain"), title="file:///a.md")
    assert (document,) == from_mcp(GetPromptResult(messages=[message])).messages[0].content


def test_annotations() -> None:
    """Annotations are for clients: they are a hint."""
    content = TextContent(type="text", text="Hi.", annotations=Annotations(priority=1))
    bridged = from_mcp(GetPromptResult(messages=[PromptMessage(role="user", content=content)]))
    assert [("hint", "annotations of a content")] == named_losses(bridged.hints)
    assert (TextBlock("Hi."),) == bridged.messages[0].content


@pytest.mark.parametrize(
    ("media_type", "made"),
    [("image/png", ImageBlock), ("audio/wav", AudioBlock), ("text/csv", DocumentBlock)],
)
def test_embedded_bytes(media_type: str, made: Any) -> None:
    """Embedded bytes are of the kind that their media type says, and cross back as they were."""
    content = held("file:///a", mime_type=media_type, blob="QQ==")
    result = GetPromptResult(messages=[PromptMessage(role="user", content=content)])
    messages = from_mcp(result).messages
    assert ((made(MediaSource("base64", "QQ==", media_type), title="file:///a"),), result) == (
        messages[0].content,
        to_mcp(rendered(messages)).messages,
    )


LINK: Any = {"type": "resource_link", "name": "a", "uri": "https://a.b"}


@pytest.mark.parametrize(
    ("content", "whats"),
    [
        (TextContent(type="text", text="x"), []),
        (
            ResourceLink(**LINK, description="x", size=1),
            ["the description of a link", "the size of a link"],
        ),
        (held("file:///a", text="x", _meta={"a": 1}), ["the meta of a resource"]),
    ],
)
def test_losses_of_reading(content: Any, whats: list[str]) -> None:
    """The descriptions of a prompt and of its contents are hints."""
    messages = [PromptMessage(role="user", content=content)]
    found = from_mcp(GetPromptResult(description="x", messages=messages))
    assert ["the description of a prompt", *whats] == [loss.what for loss in reported(found)]


def test_no_result() -> None:
    """What is no answer of a server is refused."""
    with pytest.raises(DataError, match="a GetPromptResult is needed, not NoneType"):
        from_mcp(None)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
