"""MCP: the ``GetPromptResult`` that a server answers ``prompts/get`` with, both ways.

A message holds one content there, and users and assistants alone speak. An attachment is an
embedded resource, or a link; its title is the resource's address.
"""

from base64 import b64encode
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from promptdsl import (
    AudioBlock,
    Block,
    DataError,
    DocumentBlock,
    ImageBlock,
    Message,
    Rendered,
    TextBlock,
    VideoBlock,
    block_from_dict,
)
from promptdsl.integrations import Bridged
from promptdsl.integrations.losses import Crossing, media_type_of
from promptdsl.integrations.values import address, foreign, kind_of_media

if TYPE_CHECKING:
    from mcp.types import GetPromptResult

_HELD = "attachment:///"


def to_mcp(
    rendered: Rendered, *, description: str | None = None, strict: bool = False
) -> "Bridged[GetPromptResult]":
    """Return the answer to ``prompts/get``, under ``messages``.

    Raises :class:`LossError` with ``strict=True`` when something is lost or said in a user's voice,
    and :class:`PromptError` when ``mcp`` is not installed.
    """
    mcp, crossing = foreign("mcp.types", "mcp"), Crossing.of("MCP", rendered)
    messages: list[Any] = []
    for crossing.index, crossing.message in enumerate(rendered.messages):
        messages.extend(_written(mcp, crossing, crossing.message))
    crossing.lose_settings(rendered)
    if rendered.tools:
        crossing.lose("hint", "tools", "a server lists its own: tools/list")
    result = mcp.GetPromptResult(description=description, messages=messages)
    return Bridged(result, crossing.checked(strict=strict))


def _written(mcp: Any, crossing: Crossing, said: Message) -> Iterator[Any]:
    contents = [_content(mcp, crossing, block) for block in said.content]
    kept = [content for content in contents if content is not None]
    if kept and said.role not in ("user", "assistant"):
        fenced = said.kind in ("event", "request")
        why = "MCP has users and assistants alone: said as a user's"
        crossing.lose("hint" if fenced else "role", f"{said.role} message", why)
    if kept and said.name is not None:
        crossing.lose("hint", f"the name {said.name!r}")
    role = "assistant" if said.role == "assistant" else "user"
    yield from (mcp.PromptMessage(role=role, content=content) for content in kept)


def _content(mcp: Any, crossing: Crossing, block: Block) -> Any:
    match block:
        case TextBlock():
            crossing.lose_hints(block)
            text = crossing.clean(block.text, "a text")
            return mcp.TextContent(type="text", text=text) if text else None
        case ImageBlock() | AudioBlock() | DocumentBlock() | VideoBlock():
            return _attachment(mcp, crossing, block)
        case _:
            crossing.lose_block(block)
            return None


def _attachment(mcp: Any, crossing: Crossing, block: Any) -> Any:
    kind, value = block.source.kind, crossing.clean(block.source.value, "a source")
    media_type = crossing.clean(media_type_of(block), "a media type")
    if kind == "file_id":
        crossing.lose("content", f"{block.type} {value!r}", "MCP knows no files of a provider")
        return None
    if kind != "base64":
        crossing.lose_hints(block, "title")
        name = crossing.clean(block.title or block.type, "a title")
        return mcp.ResourceLink(type="resource_link", name=name, uri=value, mime_type=media_type)
    if type(block) in (ImageBlock, AudioBlock) and not _is_address(block.title):
        crossing.lose_hints(block)
        made = mcp.ImageContent if type(block) is ImageBlock else mcp.AudioContent
        return made(type=block.type, data=value, mime_type=media_type)
    crossing.lose_hints(block, "title")
    title = crossing.clean(block.title or block.type, "a title")
    uri = title if _is_address(title) else _HELD + quote(title)
    held = mcp.BlobResourceContents(uri=uri, mime_type=media_type, blob=value)
    return mcp.EmbeddedResource(type="resource", resource=held)


def _is_address(title: str | None) -> bool:
    """Whether a title is the address that a resource was read from."""
    return title is not None and "://" in title and not title.startswith(_HELD)


def from_mcp(result: "GetPromptResult") -> Bridged[tuple[Message, ...]]:
    """Return the messages of a prompt that a server answered with, for a ``History``.

    Annotations, metadata and descriptions are hints in ``losses``. An embedded text is a document.
    Raises :class:`DataError` for what is no such answer.
    """
    given: Any = getattr(result, "messages", None)
    if given is None:
        what = f"a GetPromptResult is needed, not {type(result).__name__}"
        raise DataError(what, fix="give the answer of prompts/get")
    crossing, found = Crossing("promptdsl"), list[Message]()
    _lose(crossing, result, ("description", "meta"), "a prompt")
    for crossing.index, said in enumerate(given):
        crossing.message = Message(said.role, (_block(said.content),), kind="recorded")
        found.append(crossing.message)
        _lose_of(crossing, said.content)
    return Bridged(tuple(found), crossing.checked(strict=False))


def _lose_of(crossing: Crossing, content: Any) -> None:
    if content.annotations is not None or content.meta is not None:
        crossing.lose("hint", "annotations of a content")
    if content.type == "resource":
        _lose(crossing, content.resource, ("meta",), "a resource")
    if content.type == "resource_link":
        _lose(crossing, content, ("description", "size", "icons"), "a link")


def _lose(crossing: Crossing, given: Any, names: Iterable[str], of: str) -> None:
    for name in names:
        if getattr(given, name, None) is not None:
            crossing.lose("hint", f"the {name} of {of}")


def _block(content: Any) -> Block:
    if content.type == "text":
        return TextBlock(content.text)
    if content.type == "resource_link":
        return _link(content)
    if content.type != "resource":
        return _read(content.type, content.mime_type, {"type": "base64", "data": content.data})
    held, uri = content.resource, str(content.resource.uri)
    title = unquote(uri.removeprefix(_HELD)) if uri.startswith(_HELD) else uri
    if not hasattr(held, "blob"):
        return _read("document", held.mime_type or "text/plain", _encoded(held.text), title)
    # What came under a title of ours was no picture or recording: these have contents of their own.
    kind = kind_of_media(held.mime_type)
    kind = "document" if uri.startswith(_HELD) and kind != "video" else kind
    return _read(kind, held.mime_type, {"type": "base64", "data": held.blob}, title)


def _link(content: Any) -> Block:
    """Return what a link leads to; what its media type does not tell is a document."""
    title = content.title or content.name
    kind = kind_of_media(content.mime_type)
    return _read(kind, content.mime_type, address(str(content.uri)), title)


def _encoded(text: str) -> dict[str, str]:
    data = text.encode("utf-8", "replace")
    return {"type": "base64", "data": b64encode(data).decode("ascii")}


def _read(
    kind: str, media_type: str | None, source: dict[str, Any], title: str | None = None
) -> Block:
    known = None if media_type == f"{kind}/*" else media_type
    told = {} if title is None else {"title": title}
    return block_from_dict({"type": kind, "source": {**source, "media_type": known}, **told})
