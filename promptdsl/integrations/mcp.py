"""MCP: convert ``GetPromptResult``, the answer of a server to ``prompts/get``, both ways.

An MCP message has one content, and its role is user or assistant. Pictures and sound are contents
of MCP. Any other attachment is an embedded resource, and an address is a link to one.
"""

from base64 import b64encode
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote, unquote

from promptdsl import AudioBlock, Block, DataError, ImageBlock, Message, Rendered, TextBlock
from promptdsl.foundation.errors import require
from promptdsl.integrations import Converted
from promptdsl.integrations.shared import (
    Conversion,
    MediaBlock,
    address_source,
    media_block,
    media_kind,
    media_type_of,
)

if TYPE_CHECKING:
    from mcp import types

__all__ = ["from_mcp", "to_mcp"]

_OWN_SCHEME = "attachment:///"
"""The beginning of the address of a resource that has only a title."""


def to_mcp(
    rendered: Rendered, *, description: str | None = None, strict: bool = False
) -> "Converted[types.GetPromptResult]":
    """Return the answer to ``prompts/get``, as ``messages`` of the result.

    >>> from promptdsl import Timeline, User, render
    >>> from promptdsl.integrations.mcp import to_mcp
    >>> result = to_mcp(render(Timeline(User("Hi."))), description="A greeting.").messages
    >>> result.messages[0].content.text
    'Hi.'

    Raises :class:`LossError` with ``strict=True`` if content is lost or gets another role, and
    :class:`PromptError` if ``mcp`` is not installed.
    """
    require("mcp.types", "mcp")
    from mcp import types

    conversion = Conversion.of("MCP", rendered)
    messages: list[types.PromptMessage] = []
    for conversion.index, conversion.message in enumerate(rendered.messages):
        message = conversion.message
        contents: list[types.ContentBlock] = []
        for block in message.content:
            if isinstance(block, TextBlock):
                conversion.lose_hints(block)
                if text := conversion.clean(block.text, "a text"):
                    contents.append(types.TextContent(type="text", text=text))
            elif isinstance(block, MediaBlock):
                content = _media_content(conversion, block)
                contents += [] if content is None else [content]
            else:
                conversion.lose_block(block)
        if contents and message.role not in ("user", "assistant"):
            what = f"{message.role} message"
            reason = "MCP has only users and assistants: it is sent as a user message"
            if message.kind in ("event", "request"):
                conversion.hint("fenced_turn", what, reason)
            else:
                conversion.lose("role", what, reason)
        if contents and message.name is not None:
            conversion.hint("speaker_name", "name of a speaker")
        role: Literal["user", "assistant"] = "assistant" if message.role == "assistant" else "user"
        messages += [types.PromptMessage(role=role, content=content) for content in contents]
    conversion.lose_settings(rendered)
    if rendered.tools:
        conversion.hint("unsent_setting", "tools", "an MCP server lists its tools in tools/list")
    result = types.GetPromptResult(description=description, messages=messages)
    return Converted(result, conversion.checked(strict=strict))


def _media_content(conversion: Conversion, block: MediaBlock) -> "types.ContentBlock | None":
    """Return the MCP content of an attachment; ``None`` for a file that a provider stores."""
    from mcp import types

    kind, value = block.source.kind, conversion.clean(block.source.value, "a source")
    media_type = conversion.clean(media_type_of(block), "a media type")
    if kind == "file_id":
        reason = "MCP has no files that a provider stores"
        conversion.lose("content", f"{block.type} {value!r}", reason, block=block)
        return None
    # A title with another scheme is the address of a resource, which from_mcp() read.
    title = block.title or ""
    is_address = "://" in title and not title.startswith(_OWN_SCHEME)
    if kind == "base64" and isinstance(block, ImageBlock | AudioBlock) and not is_address:
        conversion.lose_hints(block)
        if isinstance(block, ImageBlock):
            return types.ImageContent(type="image", data=value, mime_type=media_type)
        return types.AudioContent(type="audio", data=value, mime_type=media_type)
    conversion.lose_hints(block, "title")
    name = conversion.clean(title or block.type, "a title")
    if kind != "base64":
        return types.ResourceLink(type="resource_link", name=name, uri=value, mime_type=media_type)
    uri = name if is_address else _OWN_SCHEME + quote(name)
    resource = types.BlobResourceContents(uri=uri, mime_type=media_type, blob=value)
    return types.EmbeddedResource(type="resource", resource=resource)


def from_mcp(result: "types.GetPromptResult") -> Converted[tuple[Message, ...]]:
    """Return the messages in the answer of a server, for a ``History``.

    >>> from mcp.types import GetPromptResult, PromptMessage, TextContent
    >>> from promptdsl.integrations.mcp import from_mcp
    >>> content = TextContent(type="text", text="Hi.")
    >>> result = GetPromptResult(messages=[PromptMessage(role="user", content=content)])
    >>> from_mcp(result).messages[0].text
    'Hi.'

    An embedded text becomes a document. Annotations, metadata and descriptions are lost, with
    ``hints``. Raises :class:`DataError` for anything but a ``GetPromptResult``.
    """
    prompt_messages: Iterable[types.PromptMessage] | None = getattr(result, "messages", None)
    if prompt_messages is None:
        problem = f"a GetPromptResult is needed, not {type(result).__name__}"
        raise DataError(problem, fix="give the answer of prompts/get")
    conversion, messages = Conversion("promptdsl"), list[Message]()
    _lose_fields(conversion, result, ("description", "meta"), "a prompt")
    for conversion.index, prompt_message in enumerate(prompt_messages):
        content = prompt_message.content
        conversion.message = Message(
            prompt_message.role, (_read_content(content),), kind="recorded"
        )
        messages.append(conversion.message)
        if content.annotations is not None or content.meta is not None:
            conversion.hint("unsent_key", "annotations of a content")
        if content.type == "resource":
            _lose_fields(conversion, content.resource, ("meta",), "a resource")
        if content.type == "resource_link":
            _lose_fields(conversion, content, ("description", "size", "icons"), "a link")
    return Converted(tuple(messages), conversion.checked(strict=False))


def _lose_fields(
    conversion: Conversion, owner: object, names: Iterable[str], owner_name: str
) -> None:
    """Record a hint for each of these fields that has a value."""
    for name in names:
        if getattr(owner, name, None) is not None:
            conversion.hint("unsent_key", f"the {name} of {owner_name}")


def _read_content(content: "types.ContentBlock") -> Block:
    """Return the block of a content: a text or an attachment."""
    match content.type:
        case "text":
            return TextBlock(content.text)
        case "resource_link":
            # The default for a link is a document.
            kind, title = media_kind(content.mime_type), content.title or content.name
            source = address_source(str(content.uri))
            return media_block(kind, content.mime_type, source, title=title)
        case "resource":
            return _read_resource(content)
        case kind:
            return media_block(kind, content.mime_type, {"data": content.data})


def _read_resource(content: "types.EmbeddedResource") -> Block:
    """Return the attachment of an embedded resource; a text becomes a document."""
    from mcp import types

    resource, uri = content.resource, str(content.resource.uri)
    has_own_scheme = uri.startswith(_OWN_SCHEME)
    title = unquote(uri.removeprefix(_OWN_SCHEME)) if has_own_scheme else uri
    media_type = resource.mime_type
    if isinstance(resource, types.TextResourceContents):
        kind, media_type = "document", media_type or "text/plain"
        data = b64encode(resource.text.encode("utf-8", "replace")).decode("ascii")
    else:
        data = resource.blob
        # to_mcp() writes no picture and no sound with its own scheme: MCP has contents for these.
        kind = media_kind(media_type)
        kind = "document" if has_own_scheme and kind != "video" else kind
    return media_block(kind, media_type, {"data": data}, title=title)
