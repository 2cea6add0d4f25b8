"""Attachments in data: paths and addresses without a type, and the files of a message."""

from pathlib import Path
from typing import Any

import pytest

from promptdsl import *
from tests.any_data import anything
from tests.errors import lines_of, raised
from tests.searching import outcomes

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)
WEB = "https://e.org/"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"path": "a.png"}, ImageBlock(MediaSource("path", "a.png"))),
        ({"path": "b/A.PDF"}, DocumentBlock(MediaSource("path", "b/A.PDF"))),
        ({"path": "a.mp3"}, AudioBlock(MediaSource("path", "a.mp3"))),
        ({"path": "a.json"}, DocumentBlock(MediaSource("path", "a.json"))),
        ({"url": WEB + "a.mp4?t=1"}, VideoBlock(MediaSource("url", WEB + "a.mp4?t=1"))),
        ({"uri": "gs://b/a.jpg"}, ImageBlock(MediaSource("gcs", "gs://b/a.jpg"))),
        ({"uri": "GS://b/a.jpg"}, ImageBlock(MediaSource("gcs", "GS://b/a.jpg"))),
        (
            {"url": WEB + "a", "media_type": "image/png"},
            ImageBlock(MediaSource("url", WEB + "a", "image/png")),
        ),
        (
            {"path": "a.png", "media_type": "application/pdf"},
            DocumentBlock(MediaSource("path", "a.png", "application/pdf")),
        ),
        (
            {"url": "data:audio/wav;base64,UklGRg=="},
            AudioBlock(MediaSource("url", "data:audio/wav;base64,UklGRg==")),
        ),
        (
            {"data": "aGk=", "media_type": "text/csv"},
            DocumentBlock(MediaSource("base64", "aGk=", "text/csv")),
        ),
        (
            {"source": {"type": "url", "url": WEB + "a.png"}, "detail": "low"},
            ImageBlock(MediaSource("url", WEB + "a.png"), detail="low"),
        ),
        (
            {"path": "a.png", "title": "T", "x": 1},
            ImageBlock(MediaSource("path", "a.png"), "T", extra={"x": 1}),
        ),
    ],
)
def test_an_attachment_tells_its_type(data: dict[str, Any], expected: Block) -> None:
    """A path or an address needs no type: its media type tells it, or else its extension."""
    assert expected == block_from_dict(data)
    assert (expected,) == Message.from_dict({"role": "user", "content": [data]}).content
    assert expected == block_from_dict(expected.to_dict())


@pytest.mark.parametrize(
    ("data", "what"),
    [
        ({"path": "a"}, "the path 'a' does not show whether it is an image or a document"),
        ({"url": WEB}, f"the url '{WEB}' does not show whether it is an image or a document"),
        ({"file_id": "f"}, "the file_id 'f' does not show whether it is an image or a document"),
        ({"data": "aGk="}, "the data 'aGk=' does not show whether it is an image or a document"),
        (
            {"path": "a.png", "media_type": "png"},
            "the path 'a.png' does not show whether it is an image or a document",
        ),
        ({"path": 5}, "a block needs a 'type'"),
        ({"title": "T"}, "a block needs a 'type'"),
        ({"type": None, "path": "a.png"}, "a block needs a 'type'"),
        ({"path": "a.png", "url": WEB + "a.png"}, "'url' and 'path' contradict each other"),
    ],
)
def test_what_tells_no_type_is_an_error(data: dict[str, Any], what: str) -> None:
    """Data that does not tell its type is an error that says where it is and what to write."""
    error = raised(DataError, lambda: Message.from_dict({"role": "user", "content": ["x", data]}))
    assert f"content[1]: {what}" == error.what
    assert "" != error.fix


def test_the_advice_names_the_key() -> None:
    """An attachment without a type gets the advice to write it beside its own key."""
    error = raised(DataError, lambda: block_from_dict({"url": WEB}))
    expected = 'write its type: {"type": "image", "url": ...}; known: image, audio, document, video'
    assert expected == error.fix


# The files of a message.

FILES = (
    ImageBlock(MediaSource("path", "a.png")),
    DocumentBlock(MediaSource("url", WEB + "a.pdf")),
    AudioBlock(MediaSource("path", "b"), "T"),
    VideoBlock(MediaSource("file_id", "f")),
)


def test_files_are_attachments_after_the_content() -> None:
    """Files are paths, addresses, dictionaries or blocks, and come after the content."""
    files = ["a.png", WEB + "a.pdf", {"type": "audio", "path": "b", "title": "T"}, FILES[3]]
    data = {"role": "user", "content": "See.", "files": files}
    message = Message.from_dict(data)
    assert (TextBlock("See."), *FILES) == message.content
    assert message == Message("user", "See.", files=files)
    assert message == Message.from_dict(message.to_dict())


@pytest.mark.parametrize("data", [{}, {"content": None}, {"content": []}, {"content": ""}])
def test_files_need_no_content(data: dict[str, Any]) -> None:
    """A message may have files alone."""
    assert FILES[:1] == Message.from_dict({"role": "user", "files": ["a.png"], **data}).content


@pytest.mark.parametrize("files", [None, [], ()])
def test_no_files_are_nothing(files: Any) -> None:
    """A message without files is its content."""
    data = {"role": "user", "content": "See.", "files": files}
    assert Message("user", "See.") == Message.from_dict(data)


@pytest.mark.parametrize(
    ("files", "what"),
    [
        ("a.png", "'files' must be a list of attachments, not str"),
        ({"path": "a.png"}, "'files' must be a list of attachments, not dict"),
        (
            ["a.png", "b"],
            "files[1]: the path 'b' does not show whether it is an image or a document",
        ),
        ([5], "files[0]: a block must be a dictionary or a string, not int"),
        (
            [{"type": "text", "text": "x"}],
            "files[0]: a file is an attachment, not a 'text' block",
        ),
    ],
)
def test_files_that_are_none_are_an_error(files: Any, what: str) -> None:
    """Anything but a list of attachments is an error that says where it is."""
    data = {"role": "user", "content": "See.", "files": files}
    error = raised(DataError, lambda: Message.from_dict(data))
    assert (what, True) == (error.what, error.fix != "" or "dictionary" in what)


def test_a_result_has_no_files() -> None:
    """A tool message holds results, and no files beside them."""
    data = {"role": "tool", "content": [], "files": ["a.png"]}
    error = raised(DataError, lambda: Message.from_dict(data))
    assert "a tool message contains tool results, not a 'image' block" == error.what


@pytest.mark.hypothesis
def test_any_files_are_read_or_refused() -> None:
    """Whatever is given as files is read, or refused by name; nothing else happens."""
    good = ["a.png", {"url": WEB + "a.pdf"}]
    assert {"read", "refused"} == outcomes(verdict, good, anything)


def verdict(files: Any) -> str:
    """Return what becomes of a value that is given as files."""
    try:
        Message.from_dict({"role": "user", "files": files})
    except DataError:
        return "refused"
    return "read"


# Where they are read.


def test_a_recorded_file_is_read_under_a_root(tmp_path: Path) -> None:
    """A path in data is read under a media root only; the error has the line of the History."""
    (tmp_path / "a.png").write_bytes(PNG)
    path = str(tmp_path / "a.png")

    def write() -> Any:
        return History([{"role": "user", "content": [{"path": path}], "files": [path]}])

    tree = write()
    error = raised(MediaError, lambda: render(tree))
    assert lines_of(write, 1) == error.at
    assert f"the path {path!r} comes from data, and is not in a folder of media_roots" == error.what
    picture = ImageBlock(MediaSource("base64", "iVBORw0KGgoAAAAAAAAAAA==", "image/png"))
    assert (picture, picture) == render(tree, media_roots=[tmp_path]).messages[0].content


def test_a_recorded_error_has_its_line() -> None:
    """What cannot be told in a History is an error with its line and its place in the data."""

    def write() -> Any:
        return History([{"role": "user", "content": "x"}, {"role": "user", "files": ["a"]}])

    tree = write()
    error = raised(DataError, lambda: render(tree))
    assert lines_of(write, 1) == error.at
    expected = "the path 'a' does not show whether it is an image or a document"
    assert f"messages[1]: files[0]: {expected}" == error.what
