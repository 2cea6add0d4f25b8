"""Attachments."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Self, TypeVar

from promptdsl import tree
from promptdsl.blocks import ImageBlock
from promptdsl.components.writing import Written
from promptdsl.errors import ContentError, PromptError
from promptdsl.media import check_url, of_bytes
from promptdsl.scope import OPENED, join
from promptdsl.sources import MediaSource, caller
from promptdsl.tree import DEFAULTS, MEDIA, bits

_getframe = sys._getframe  # pyright: ignore[reportPrivateUsage]


class Image(Written, tree.Media):
    """A picture in a user turn or a tool's answer, made by one of the ``from_`` methods.

    ``title`` describes it to people, ``detail`` is the resolution OpenAI is asked to look at
    (``low``, ``high``, ``auto``).
    """

    __slots__ = ()
    _node = tree.Media

    def __init__(self, *_: object, **__: object) -> None:
        raise ContentError(
            "an Image is made by one of its methods",
            fix="Image.from_url(url), Image.from_path(path) or Image.from_bytes(data)",
            at=(caller(2),),
        )

    @classmethod
    def from_url(cls, url: str, *, title: str | None = None, detail: str | None = None) -> Self:
        """Return a picture at an address, which the provider fetches."""
        component = _written(cls, _getframe(1))
        with _located(component):
            source = MediaSource("url", check_url(url))
        return _placed(component, ImageBlock(source, title, detail))

    @classmethod
    def from_path(
        cls,
        path: str | os.PathLike[str],
        *,
        media_type: str | None = None,
        title: str | None = None,
        detail: str | None = None,
    ) -> Self:
        """Return a picture in a file, which is read when the prompt is rendered."""
        component = _written(cls, _getframe(1))
        source = MediaSource("path", os.fspath(path), media_type)
        return _placed(component, ImageBlock(source, title, detail))

    @classmethod
    def from_bytes(
        cls,
        data: bytes,
        media_type: str | None = None,
        *,
        title: str | None = None,
        detail: str | None = None,
    ) -> Self:
        """Return a picture given as bytes; without ``media_type`` they tell it themselves.

        Raises :class:`MediaError` when they do not, or tell another one.
        """
        component = _written(cls, _getframe(1))
        with _located(component):
            source = of_bytes(data, media_type)
        return _placed(component, ImageBlock(source, title, detail))


I = TypeVar("I", bound=Image)


def _written(cls: type[I], frame: FrameType) -> I:
    component = object.__new__(cls)
    component.at = (frame.f_code, frame.f_lasti)
    component.content = ()
    component.mask = bits(MEDIA)
    component.options = DEFAULTS
    return component


@contextmanager
def _located(component: Image) -> Iterator[None]:
    """Give errors about an attachment the line it was written in."""
    try:
        yield
    except PromptError as error:
        raise error.located(component.source) from None


def _placed(component: I, block: ImageBlock) -> I:
    component.block = block
    top = OPENED.get()
    if top is not None:
        join(component, top)
    return component
