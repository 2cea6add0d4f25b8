"""The attachments: images, audio, documents and videos.

:func:`_write_media` makes each of them, for all ``from_`` methods.
"""

import os
from collections.abc import Callable, Mapping
from typing import (
    Any,
    ClassVar,
    Literal,
    Never,
    Self,
    TypeAlias,
    TypedDict,
    TypeGuard,
    TypeVar,
    Unpack,
    get_args,
)

from promptdsl.components.options import bad_option, check_choice, unknown_option
from promptdsl.components.scope import Component, join_open_block, start
from promptdsl.foundation.errors import ContentError, OptionError, PromptError, with_article
from promptdsl.foundation.source import LEFT_OUT, author, public_api
from promptdsl.foundation.unicode import exact
from promptdsl.messages import AudioBlock, DocumentBlock, ImageBlock, MediaBlock, VideoBlock
from promptdsl.messages.attachment import SCHEMES, of_base64, of_bytes, of_file_id, of_path, of_url
from promptdsl.messages.field_checks import kind_of
from promptdsl.messages.media_type import MediaSource
from promptdsl.tree.masks import MEDIA, bits
from promptdsl.tree.node import named_label
from promptdsl.tree.part_nodes import MediaNode

Detail: TypeAlias = Literal["auto", "high", "low"]
DETAILS: tuple[Detail, ...] = get_args(Detail)


class ShownOptions(TypedDict, total=False):
    """The title of an attachment; and its ``detail``, which only images have."""

    title: str | None
    detail: Detail | None


class MediaOptions(ShownOptions, total=False):
    """The options of an attachment."""

    media_type: str | None


class MediaComponent(Component, MediaNode):
    """The base class of the attachments. Write a ``from_`` method of a subclass.

    All methods take ``title``, a name for people, and ``media_type``, which you can leave out if
    the bytes show it. Images also take ``detail``. They raise :class:`MediaError` for data that is
    not an attachment of this kind, :class:`ContentError` for an argument of another type and
    :class:`OptionError` for an unknown option or a bad value.
    """

    __slots__ = ()
    _initial_mask = bits(MEDIA)
    _accepts = frozenset({"media_type", "title"})
    _block_class: ClassVar[type[MediaBlock]]

    def __init__(self, *_: object, **__: object) -> None:
        raise ContentError(
            f"{named_label(self)} is made by one of its methods",
            fix=_methods(type(self).__name__),
            at=(author(),),
        )

    @classmethod
    def from_path(
        cls, path: str | os.PathLike[str], *extra: Never, **options: Unpack[MediaOptions]
    ) -> Self:
        """Return the attachment in a file; the file is read when the prompt is rendered."""
        text = os.fspath(path) if isinstance(path, os.PathLike) else path
        return _write_media(cls, of_path, text, options, extra=extra)

    @classmethod
    def from_url(cls, url: str, *extra: Never, **options: Unpack[MediaOptions]) -> Self:
        """Return the attachment at an address: ``http(s):``, ``s3:``, ``gs:``, or ``data:``.

        The provider fetches it, or the ``media_loader`` of a render. A ``data:`` address contains
        the bytes, so nothing is fetched.
        """
        return _write_media(cls, of_url, url, options, extra=extra)

    @classmethod
    def from_bytes(
        cls,
        data: bytes | bytearray | memoryview,
        media_type: str | None = None,
        *extra: Never,
        **options: Unpack[ShownOptions],
    ) -> Self:
        """Return an attachment made of its bytes, at most 32 MB."""
        return _write_media(cls, of_bytes, data, {"media_type": media_type, **options}, extra=extra)

    @classmethod
    def from_base64(
        cls,
        data: str | bytes,
        media_type: str | None = None,
        *extra: Never,
        **options: Unpack[ShownOptions],
    ) -> Self:
        """Return an attachment made of base64 text; white space in it is skipped.

        The decoded bytes are at most 32 MB.
        """
        return _write_media(
            cls, of_base64, data, {"media_type": media_type, **options}, extra=extra
        )

    @classmethod
    def from_file_id(cls, id: str, *extra: Never, **options: Unpack[MediaOptions]) -> Self:
        """Return an attachment that you uploaded before; ``id`` is the file id of its provider."""
        return _write_media(cls, of_file_id, id, options, extra=extra)


class Image(MediaComponent):
    """An image in a user turn or a tool result, made by one of its ``from_`` methods.

    ``title`` is a description for people. ``detail`` is the resolution that OpenAI uses: ``"low"``,
    ``"high"`` or ``"auto"``; by default the provider chooses.

    Raises :class:`MediaError` for data that is not an image.

    >>> from promptdsl import Image, User, render
    >>> user = User("What is it?", Image.from_url("https://example.com/cat.png", detail="low"))
    >>> render(user, model="gpt-5").to_openai()["messages"][0]["content"][1]["image_url"]
    {'url': 'https://example.com/cat.png', 'detail': 'low'}
    """

    __slots__ = ()
    _accepts = MediaComponent._accepts | {"detail"}
    _block_class = ImageBlock


class Audio(MediaComponent):
    """Audio in a user turn, made by one of its ``from_`` methods.

    OpenAI Chat takes WAV and MP3 as bytes. Anthropic takes no audio: there it is lost content.

    Raises :class:`MediaError` for data that is not audio.

    >>> from promptdsl import Audio, User
    >>> turn = User(Audio.from_path("call.wav", title="The call"))
    >>> turn.content[0].block.title
    'The call'
    """

    __slots__ = ()
    _block_class = AudioBlock


class Document(MediaComponent):
    """A PDF, an office document or a text in a user turn, made by one of its ``from_`` methods.

    ``title`` is its name for the model, by default the name of its file. UTF-8 text is
    ``text/plain``, unless ``media_type`` or the extension of the file is another type. An office
    document without such an extension needs ``media_type``.

    Raises :class:`MediaError` for data that is not a document.

    >>> from promptdsl import Document, User
    >>> turn = User("Sum it up.", Document.from_bytes(b"Dear Ann", title="letter"))
    >>> turn.content[1].block.source.media_type
    'text/plain'
    """

    __slots__ = ()
    _block_class = DocumentBlock


class Video(MediaComponent):
    """A video in a user turn, made by one of its ``from_`` methods.

    OpenAI Chat and Anthropic take no video: there it is lost content.

    Raises :class:`MediaError` for data that is not a video.

    >>> from promptdsl import User, Video
    >>> turn = User("Cut it.", Video.from_url("https://example.com/tour.mp4", title="The tour"))
    >>> turn.content[1].block.title
    'The tour'
    """

    __slots__ = ()
    _block_class = VideoBlock


M = TypeVar("M", bound=MediaComponent)

_DATA: Mapping[Callable[..., MediaSource], str] = {
    of_path: "a path, a Path or a string",
    of_url: "an address, a string",
    of_bytes: "bytes",
    of_base64: "base64 text, a string",
    of_file_id: "a file id, a string",
}
"""What each ``from_`` method takes, in the words of an error."""


@public_api
def _write_media(
    cls: type[M],
    read: Callable[..., MediaSource],
    data: object,
    options: Mapping[str, object],
    *,
    extra: tuple[object, ...],
) -> M:
    """Return a new attachment in the open block; ``read`` makes its source from the data.

    The errors are those of :class:`MediaComponent`.
    """
    component = object.__new__(cls)
    start(component, 4)
    if extra:
        method = f"{cls.__name__}.from_{read.__name__.removeprefix('of_')}"
        raise OptionError(
            f"{method}() takes no further argument by position",
            fix=f"name it: {method}(..., title=...)",
            at=(component.source,),
        )
    texts: dict[str, Any] = {}  # Any: strings, for parameters of any type
    for name, value in options.items():
        if name not in cls._accepts:
            raise unknown_option(component, name)
        if value is not None and name == "detail":
            check_choice(component, name, value, DETAILS)
        if value is not None and not isinstance(value, str) and name != "media_type":
            raise bad_option(component, name, value, "write a string")
        if value is not None:
            texts[name] = exact(value)
    media_type = texts.pop("media_type", None)
    try:
        source = read(_checked_data(cls, read, data), media_type, kind=cls._block_class.type)
        component.block = cls._block_class(source, **texts)
    except PromptError as error:
        raise error.located(component.source) from None
    join_open_block(component)
    return component


def _checked_data(
    cls: type[MediaComponent], read: Callable[..., MediaSource], data: object
) -> str | bytes:
    """Return the data that ``read`` takes, as an exact ``str`` or ``bytes``.

    Raises :class:`ContentError` for data of another type, and for an address instead of a path.
    """
    if isinstance(data, str) and read is of_path and data.startswith(SCHEMES):
        problem = f"{data[:60]!r} is an address, not a path"
        raise ContentError(problem, fix=f"write {cls.__name__}.from_url(url)")
    if isinstance(data, str) and read is not of_bytes:
        return exact(data)
    if _is_binary(data) and read in (of_bytes, of_base64):
        return bytes(data)
    problem = f"{with_article(cls.__name__)} is made of {_DATA[read]}, not {kind_of(data)}"
    if data is LEFT_OUT:
        method = f"from_{read.__name__.removeprefix('of_')}"
        raise ContentError(problem, fix=f"write {cls.__name__}.{method}(..., title=...)")
    raise ContentError(problem, fix=_methods(cls.__name__))


def _is_binary(value: object) -> TypeGuard[bytes | bytearray | memoryview]:
    return isinstance(value, bytes | bytearray | memoryview)


def _methods(name: str) -> str:
    arguments = ("path(path)", "url(url)", "bytes(data)", "base64(text)", "file_id(id)")
    *first, last = (f"{name}.from_{method}" for method in arguments)
    return f"write {', '.join(first)} or {last}"
