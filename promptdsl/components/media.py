"""Attachments."""

import os
import sys
from collections.abc import Iterable, Mapping
from types import FrameType
from typing import Never, Self, TypeVar, cast

from promptdsl import nodes
from promptdsl.blocks import ImageBlock
from promptdsl.components.options import refuse_options
from promptdsl.components.writing import Written
from promptdsl.errors import ContentError, PromptError
from promptdsl.json_text import exact
from promptdsl.media import of_bytes, of_url
from promptdsl.scope import OPENED, join
from promptdsl.sources import MediaSource, author
from promptdsl.tree import DEFAULTS, MEDIA, bits

_getframe = sys._getframe  # pyright: ignore[reportPrivateUsage]


class Image(Written, nodes.Media):
    """A picture in a user turn or a tool's answer, made by one of the ``from_`` methods.

    ``title`` describes it to people, ``detail`` is the resolution OpenAI is asked to look at
    (``low``, ``high``, ``auto``).
    """

    __slots__ = ()
    _node = nodes.Media

    def __init__(self, *_: object, **__: object) -> None:
        raise ContentError(
            "an Image is made by one of its methods",
            fix="Image.from_url(url), Image.from_path(path) or Image.from_bytes(data)",
            at=(author(),),
        )

    @classmethod
    def from_url(
        cls,
        url: str,
        *,
        title: str | None = None,
        detail: str | None = None,
        **options: Never,
    ) -> Self:
        """Return a picture at an address, which the provider fetches."""
        component = _written(cls, _getframe(1), options)
        try:
            source = of_url(_text(url, "an address, a string"))
        except PromptError as error:
            raise error.located(component.source) from None
        return _placed(component, ImageBlock(source, title, detail))

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
        component = _written(cls, _getframe(1), options, {"media_type"})
        try:
            place = os.fspath(path) if isinstance(path, os.PathLike) else path
            source = MediaSource("path", _text(place, "a path, a string or a Path"), media_type)
        except PromptError as error:
            raise error.located(component.source) from None
        return _placed(component, ImageBlock(source, title, detail))

    @classmethod
    def from_bytes(
        cls,
        data: bytes,
        media_type: str | None = None,
        *,
        title: str | None = None,
        detail: str | None = None,
        **options: Never,
    ) -> Self:
        """Return a picture given as bytes; without ``media_type`` they tell it themselves.

        Raises :class:`MediaError` when they do not, or tell another one.
        """
        component = _written(cls, _getframe(1), options, {"media_type"})
        try:
            source = of_bytes(_bytes(data), media_type)
        except PromptError as error:
            raise error.located(component.source) from None
        return _placed(component, ImageBlock(source, title, detail))


def _text(given: object, needed: str) -> str:
    if not isinstance(given, str):
        raise ContentError(
            f"an Image is made of {needed}, not {type(given).__name__}",
            fix="Image.from_url(url), Image.from_path(path) or Image.from_bytes(data)",
        )
    return cast("str", exact(given))


def _bytes(given: object) -> bytes:
    if not isinstance(given, bytes | bytearray | memoryview):
        raise ContentError(
            f"an Image is made of bytes, not {type(given).__name__}",
            fix="Image.from_bytes(data), or Image.from_path(path) for a file",
        )
    return bytes(cast("bytes", given))


P = TypeVar("P", bound=Image)


def _written(
    cls: type[P], frame: FrameType, options: Mapping[str, Never], also: Iterable[str] = ()
) -> P:
    component = object.__new__(cls)
    component.code = frame.f_code
    component.offset = frame.f_lasti
    component.content = ()
    component.mask = bits(MEDIA)
    component.options = DEFAULTS
    refuse_options(component, options, {"title", "detail", *also})
    return component


def _placed(component: P, block: ImageBlock) -> P:
    component.block = block
    top = OPENED.get()
    if top is not None:
        join(component, top, component.mask)
    return component
