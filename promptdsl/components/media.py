"""Attachments."""

import os
import sys
from collections.abc import Callable, Mapping
from types import FrameType
from typing import TYPE_CHECKING, Any, ClassVar, Never, Self, TypeVar, cast

from promptdsl.components.block import Written
from promptdsl.components.options import unknown_option
from promptdsl.components.scope import place
from promptdsl.foundation.errors import ContentError, OptionError, PromptError
from promptdsl.foundation.source import author
from promptdsl.foundation.unicode import exact
from promptdsl.messages import AudioBlock, DocumentBlock, ImageBlock, MediaBlock, VideoBlock
from promptdsl.messages.media.attachment import of_base64, of_bytes, of_file_id, of_path, of_url
from promptdsl.messages.media.media_type import Kind
from promptdsl.messages.media.source import MediaSource
from promptdsl.tree.masks import MEDIA, bits
from promptdsl.tree.node import DEFAULTS, named_label
from promptdsl.tree.part_nodes import MediaNode

_getframe = sys._getframe  # pyright: ignore[reportPrivateUsage]


class Attachment(Written, MediaNode):
    """What all attachments share: being made by one of the ``from_`` methods.

    ``title`` names it; ``media_type`` may be left out where bytes tell it. Each method raises
    :class:`MediaError` at its line for what is no attachment of this kind.
    """

    __slots__ = ()
    _accepts: ClassVar[frozenset[str]] = frozenset({"media_type", "title"})
    _block: ClassVar[type[MediaBlock]]

    def __init__(self, *_: object, **__: object) -> None:
        raise ContentError(
            f"{named_label(self)} is made by one of its methods", fix=_methods(self), at=(author(),)
        )

    @classmethod
    def from_path(
        cls,
        path: str | os.PathLike[str],
        *,
        media_type: str | None = None,
        title: str | None = None,
        **options: Never,
    ) -> Self:
        """Return an attachment in a file, which is read when the prompt is rendered."""
        return _made(
            cls,
            _getframe(1),
            lambda it, kind: of_path(_path(it, path), media_type, kind=kind),
            {"title": title, **options},
        )

    @classmethod
    def from_url(
        cls,
        url: str,
        *,
        media_type: str | None = None,
        title: str | None = None,
        **options: Never,
    ) -> Self:
        """Return an attachment at an address: ``http(s):``, ``s3:``, ``gs:``, or ``data:``.

        The provider fetches it; a ``data:`` address holds the bytes.
        """
        return _made(
            cls,
            _getframe(1),
            lambda it, kind: of_url(_text(it, url, "an address"), media_type, kind=kind),
            {"title": title, **options},
        )

    @classmethod
    def from_bytes(
        cls,
        data: bytes | bytearray | memoryview,
        media_type: str | None = None,
        *,
        title: str | None = None,
        **options: Never,
    ) -> Self:
        """Return an attachment given as bytes, at most 32 MB."""
        return _made(
            cls,
            _getframe(1),
            lambda it, kind: of_bytes(_bytes(it, data), media_type, kind=kind),
            {"title": title, **options},
        )

    @classmethod
    def from_base64(
        cls,
        data: str | bytes,
        media_type: str | None = None,
        *,
        title: str | None = None,
        **options: Never,
    ) -> Self:
        """Return an attachment given as base64, at most 32 MB decoded; white space is skipped."""
        return _made(
            cls,
            _getframe(1),
            lambda it, kind: of_base64(_encoded(it, data), media_type, kind=kind),
            {"title": title, **options},
        )

    @classmethod
    def from_file_id(
        cls,
        id: str,
        *,
        media_type: str | None = None,
        title: str | None = None,
        **options: Never,
    ) -> Self:
        """Return an attachment uploaded before, by the id its provider gave it."""
        return _made(
            cls,
            _getframe(1),
            lambda it, kind: of_file_id(_text(it, id, "a file id"), media_type, kind=kind),
            {"title": title, **options},
        )


class Image(Attachment):
    """A picture in a user turn or a tool's answer, made by one of the ``from_`` methods.

    ``title`` describes it to people, ``detail`` is the resolution OpenAI is asked to look at
    (``low``, ``high``, ``auto``).
    """

    __slots__ = ()
    _accepts = Attachment._accepts | {"detail"}
    _block = ImageBlock

    if TYPE_CHECKING:
        # At run time these are the methods above; ``detail`` is one of their options.

        @classmethod
        def from_path(
            cls,
            path: str | os.PathLike[str],
            *,
            media_type: str | None = None,
            title: str | None = None,
            detail: str | None = None,
            **options: Never,
        ) -> Self:
            """Return a picture in a file, which is read when the prompt is rendered."""
            ...

        @classmethod
        def from_url(
            cls,
            url: str,
            *,
            media_type: str | None = None,
            title: str | None = None,
            detail: str | None = None,
            **options: Never,
        ) -> Self:
            """Return a picture at an address, which the provider fetches."""
            ...

        @classmethod
        def from_bytes(
            cls,
            data: bytes | bytearray | memoryview,
            media_type: str | None = None,
            *,
            title: str | None = None,
            detail: str | None = None,
            **options: Never,
        ) -> Self:
            """Return a picture given as bytes."""
            ...

        @classmethod
        def from_base64(
            cls,
            data: str | bytes,
            media_type: str | None = None,
            *,
            title: str | None = None,
            detail: str | None = None,
            **options: Never,
        ) -> Self:
            """Return a picture given as base64."""
            ...

        @classmethod
        def from_file_id(
            cls,
            id: str,
            *,
            media_type: str | None = None,
            title: str | None = None,
            detail: str | None = None,
            **options: Never,
        ) -> Self:
            """Return a picture uploaded before."""
            ...


class Audio(Attachment):
    """A recording in a user turn, made by one of the ``from_`` methods.

    OpenAI Chat takes WAV and MP3 given as bytes, Anthropic none: there it is a loss of content.
    """

    __slots__ = ()
    _block = AudioBlock


class Document(Attachment):
    """A PDF, an office document or a text in a user turn, made by one of the ``from_`` methods.

    ``title`` is what it is called for the model. UTF-8 text is ``text/plain`` unless declared; the
    type of an office document is declared.
    """

    __slots__ = ()
    _block = DocumentBlock


class Video(Attachment):
    """A film in a user turn, made by one of the ``from_`` methods.

    Neither OpenAI Chat nor Anthropic takes one: there it is a loss of content.
    """

    __slots__ = ()
    _block = VideoBlock


A = TypeVar("A", bound=Attachment)


def _made(
    cls: type[A],
    frame: FrameType,
    source: Callable[[A, Kind], MediaSource],
    said: Mapping[str, object],
) -> A:
    """Return a new component and place it; ``source`` reads what it was given."""
    component, block = object.__new__(cls), cast("Any", cls)._block
    component.code = frame.f_code
    component.offset = frame.f_lasti
    component.content = ()
    component.mask = bits(MEDIA)
    component.options = DEFAULTS
    words: dict[str, Any] = {
        name: _word(component, name, value)
        for name, value in said.items()
        if value is not None or name != "title"
    }
    try:
        found = source(component, block.type)
    except PromptError as error:
        raise error.located(component.source) from None
    component.block = block(found, **words)
    place(component)
    return component


def _word(component: Attachment, name: str, value: object) -> str | None:
    """Return the value of a keyword: a string, or none."""
    accepted = component._keywords()  # pyright: ignore[reportPrivateUsage]
    if name not in accepted:
        raise unknown_option(component, name, accepted, component.source)
    if value is not None and not isinstance(value, str):
        what = f"{type(component).__name__}({name}={value!r})"
        raise OptionError(what, fix="write a string", at=(component.source,))
    return exact(value)


def _text(component: Attachment, given: object, needed: str) -> str:
    if not isinstance(given, str):
        raise _wrong(component, f"{needed}, a string", given)
    return exact(given)


def _path(component: Attachment, given: object) -> str:
    path: object = given
    if isinstance(given, os.PathLike):
        path = os.fspath(cast("os.PathLike[str]", given))
    return _text(component, path, "a path, a Path or")


def _bytes(component: Attachment, given: object) -> bytes:
    if not isinstance(given, bytes | bytearray | memoryview):
        raise _wrong(component, "bytes", given)
    return bytes(cast("bytes", given))


def _encoded(component: Attachment, given: object) -> str | bytes:
    if isinstance(given, bytes | bytearray | memoryview):
        return bytes(cast("bytes", given))
    return _text(component, given, "base64 text")


def _wrong(component: Attachment, needed: str, given: object) -> ContentError:
    return ContentError(
        f"{named_label(component)} is made of {needed}, not {type(given).__name__}",
        fix=_methods(component),
    )


def _methods(component: Attachment) -> str:
    name = type(component).__name__
    given = ("path(path)", "url(url)", "bytes(data)", "base64(text)", "file_id(id)")
    *first, last = (f"{name}.from_{method}" for method in given)
    return f"write {', '.join(first)} or {last}"
