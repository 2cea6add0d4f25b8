"""The bytes of attachments: the author's ``media_loader`` loads them if a target needs them."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from inspect import isawaitable, iscoroutinefunction
from operator import is_
from typing import cast

import attrs

from promptdsl.components.scope import detached
from promptdsl.config.model_facts import ModelFacts
from promptdsl.foundation.errors import MediaError, OptionError, shown
from promptdsl.foundation.source import Source, author
from promptdsl.foundation.unicode import on_one_line
from promptdsl.messages import Block, MediaBlock, ToolResultBlock
from promptdsl.messages.attachment import of_file
from promptdsl.messages.details import Role
from promptdsl.messages.media_type import MediaSource
from promptdsl.messages.message import Message
from promptdsl.messages.prompt import Prompt
from promptdsl.providers.registry import TARGETS
from promptdsl.rendering.text.blocks import MediaLoader, with_bytes
from promptdsl.tree.node import Node, walk
from promptdsl.tree.part_nodes import MediaNode
from promptdsl.tree.turn_nodes import RecordedNode

ASYNC_ADVICE = "use await arender(...) for this target"
WEB_PAGE_ADVICE = (
    "the bytes look like a web page, perhaps an error page: check the status in media_loader"
)


class Unloaded(Exception):
    """Raised for addresses that ``load`` must load before the render continues."""

    def __init__(self, load: Callable[[], Awaitable[None]]) -> None:
        self.load = load


@attrs.define(eq=False)
class MediaLoading:
    """The ``media_loader`` of a render (``load``), and the bytes at each address (``data``).

    ``waits`` says that an asynchronous function is awaited, between two attempts of a render.
    """

    load: MediaLoader
    waits: bool = False
    data: dict[str, bytes] = attrs.field(factory=dict[str, bytes])
    failed: dict[str, MediaError] = attrs.field(factory=dict[str, MediaError])
    """The errors of addresses that could not be loaded; raised if the attachment is sent."""
    counted: dict[str, Node] = attrs.field(factory=dict[str, Node])
    """The addresses that a budget counts before their bytes are awaited, each with its tree."""
    sources: dict[tuple[MediaSource, str], MediaSource] = attrs.field(
        factory=dict[tuple[MediaSource, str], MediaSource]
    )
    """The sources with bytes, by the source with the address and the type of the block."""

    def with_loaded_bytes(self, prompt: Prompt, facts: ModelFacts, tree: Node) -> Prompt:
        """Return a prompt with bytes instead of the addresses that its target refuses.

        ``tree`` is the tree that the prompt was made of. Raises :class:`MediaError` with the line
        of an attachment that could not be loaded, and :class:`Unloaded` if bytes must be awaited.
        """
        needed = partial(_needed, facts=facts)
        attachments = [block for message in prompt.messages for block in needed(message)]
        self.check_awaited(dict.fromkeys((block.source.value for block in attachments), tree))
        if not attachments:
            return prompt
        filled = {id(block): self._filled(block, tree) for block in attachments}
        messages = tuple(_replaced(message, filled) for message in prompt.messages)
        return attrs.evolve(prompt, messages=messages)

    def with_bytes(
        self, block: MediaBlock, role: Role, *, facts: ModelFacts, tree: Node
    ) -> MediaBlock:
        """Return an attachment as it will be sent, for a budget that counts its tokens.

        It is unchanged if the target needs no bytes, if the bytes could not be loaded, and if they
        must still be awaited.
        """
        address = block.source.value
        if not _needs_bytes(block, role, facts):
            return block
        if self.waits and address not in self.data:
            self.counted[address] = tree
            return block
        with suppress(MediaError):  # it is raised where the attachment is sent
            return self._filled(block, tree)
        return block

    def check_awaited(self, addresses: Mapping[str, Node]) -> None:
        """Raise :class:`Unloaded` if bytes must be awaited first, here or for a budget."""
        addresses = {**self.counted, **addresses} if self.waits else {}
        finished = self.data.keys() | self.failed.keys()
        missing = {address: tree for address, tree in addresses.items() if address not in finished}
        if missing:
            raise Unloaded(partial(self.fetch, missing))

    async def fetch(self, addresses: Mapping[str, Node]) -> None:
        """Load the bytes at addresses concurrently; each address comes with its tree."""
        from asyncio import gather

        async def load_bytes(address: str, tree: Node) -> bytes:
            try:
                with detached():
                    result = self.load(address)
                    data = await result if isawaitable(result) else result
            except Exception as error:
                raise _failed(address, tree, error) from error
            return _checked(data, address, tree)

        loads = (load_bytes(address, tree) for address, tree in addresses.items())
        results = await gather(*loads, return_exceptions=True)
        for address, result in zip(addresses, results, strict=True):
            if isinstance(result, bytes):
                self.data[address] = result
            elif isinstance(result, MediaError):
                self.failed[address] = result
            else:
                raise result

    def _bytes(self, address: str, tree: Node) -> bytes:
        """Return the bytes at an address. The loader is called once for it, even if it fails."""
        if address in self.failed:
            raise self.failed[address]
        if address not in self.data:
            try:
                self.data[address] = self._call(address, tree)
            except MediaError as error:
                self.failed[address] = error
                raise
        return self.data[address]

    def _call(self, address: str, tree: Node) -> bytes:
        """Return the bytes from the author's function; it may not be asynchronous here."""
        try:
            with detached():
                result = self.load(address)
        except Exception as error:
            raise _failed(address, tree, error) from error
        if isawaitable(result):
            close: Callable[[], object] | None = getattr(result, "close", None)
            if close is not None:
                close()
            problem = "this media_loader is asynchronous, and render() does not wait"
            raise MediaError(problem, fix=ASYNC_ADVICE, at=(_line_of(address, tree),))
        return _checked(result, address, tree)

    def _filled(self, block: MediaBlock, tree: Node) -> MediaBlock:
        """Return an attachment with its bytes; they are checked like the bytes of a file."""
        address, key = block.source.value, (block.source, block.type)
        source = self.sources.get(key)
        if source is None:
            data = self._bytes(address, tree)
            try:
                source = of_file(block.source, data, block.type)
            except MediaError as error:
                what = f"{error.what}: {_shortened(address)}"
                fix = WEB_PAGE_ADVICE if data.lstrip()[:1] == b"<" else error.fix
                raise MediaError(what, fix=fix, at=(_line_of(address, tree),)) from None
            self.sources[key] = source
        return with_bytes(block, source)


def checked_loading(media_loader: object, *, waits: bool) -> MediaLoading:
    """Return the loading of a render.

    Raises :class:`OptionError` if ``media_loader`` is no function, or if it is asynchronous and the
    render does not wait.
    """
    if not callable(media_loader):
        fix = "pass a function that returns the bytes at an address"
        raise OptionError(f"media_loader={shown(media_loader)}", fix=fix, at=(author(),))
    call_method = type(media_loader).__call__
    if not waits and (iscoroutinefunction(media_loader) or iscoroutinefunction(call_method)):
        problem = "this media_loader is asynchronous, and render() does not wait"
        raise OptionError(problem, fix="use await arender(...)", at=(author(),))
    return MediaLoading(cast("MediaLoader", media_loader), waits)


def _needed(message: Message, *, facts: ModelFacts) -> Iterator[MediaBlock]:
    if message._plain is None:
        for block in _attachments(message.content):
            if _needs_bytes(block, message.role, facts):
                yield block


def _needs_bytes(block: MediaBlock, role: Role, facts: ModelFacts) -> bool:
    """Return whether a target takes an attachment only as bytes, in a message of a role."""
    if role not in ("user", "assistant", "tool") or block.type not in facts.media:
        return False
    if block.source.kind == "s3" and not facts.s3_media:
        return True
    if facts.file_addresses and block.is_document and block.is_url:
        return False
    return TARGETS[str(facts.provider)].needs_bytes(block, role)


def _attachments(blocks: Iterable[Block]) -> Iterator[MediaBlock]:
    for block in blocks:
        if isinstance(block, MediaBlock):
            yield block
        elif isinstance(block, ToolResultBlock):
            yield from (inner for inner in block.content if isinstance(inner, MediaBlock))


def _replaced(message: Message, filled: dict[int, MediaBlock]) -> Message:
    """Return a message with its loaded blocks; the same object if it has none."""
    if message._plain is not None:
        return message

    def changed(block: Block) -> Block:
        if not isinstance(block, ToolResultBlock):
            return filled.get(id(block), block)
        content = tuple(filled.get(id(inner), inner) for inner in block.content)
        is_unchanged = all(map(is_, content, block.content))
        return block if is_unchanged else attrs.evolve(block, content=content)

    content = tuple(map(changed, message.content))
    is_unchanged = all(map(is_, content, message.content))
    return message if is_unchanged else message.replace(content=content)


# Errors.


def _checked(data: object, address: str, tree: Node) -> bytes:
    if isinstance(data, bytes | bytearray):
        return bytes(data)
    problem = f"media_loader returned {type(data).__name__} for {_shortened(address)}"
    raise MediaError(problem, fix="return its bytes", at=(_line_of(address, tree),))


def _failed(address: str, tree: Node, error: Exception) -> MediaError:
    """Return the error for an address whose loader raised an error."""
    message = ""
    with suppress(Exception):
        # The text may be anything, for example the answer of a server.
        message = on_one_line(f": {error}"[:300])
    problem = f"media_loader failed for {_shortened(address)}: {type(error).__name__}{message}"
    fix = "correct the function, or leave the attachment out"
    return MediaError(problem, fix=fix, at=(_line_of(address, tree),))


def _shortened(address: str) -> str:
    return repr(address if len(address) <= 200 else f"{address[:200]}...")


def _line_of(address: str, tree: Node) -> Source | None:
    """Return the line of the first attachment at an address, or that of its ``History``."""
    for node, _ in walk(tree):
        blocks: Iterable[Block] = ()
        if isinstance(node, MediaNode):
            blocks = (node.block,)
        elif isinstance(node, RecordedNode):
            blocks = (block for message in node.items for block in message.content)
        for block in _attachments(blocks):
            if block.source.value == address:
                return node.source
    return None
