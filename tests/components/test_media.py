"""Pictures: how they are written, and what becomes of them."""

from pathlib import Path
from typing import Any

import pytest

from promptdsl import (
    Assistant,
    ContentError,
    Image,
    ImageBlock,
    MediaSource,
    Text,
    TextBlock,
    Timeline,
    ToolMessage,
    ToolUse,
    User,
    render,
)
from promptdsl.tree import Node
from tests.places import places, raised

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)
URL = "https://example.com/x.png"
DATA = "iVBORw0KGgoAAAAAAAAAAA=="


def blocks(tree: Node, **options: Any) -> tuple[Any, ...]:
    """Return the blocks of the last message."""
    return render(tree, **options).messages[-1].content


def test_a_picture_at_an_address() -> None:
    """An address is passed on."""
    assert (ImageBlock(MediaSource("url", URL)),) == blocks(User(Image.from_url(URL)))


def test_a_picture_of_bytes() -> None:
    """Bytes are sent in base64, with the type they tell."""
    expected = ImageBlock(MediaSource("base64", DATA, "image/png"))
    assert (expected,) == blocks(User(Image.from_bytes(PNG)))


@pytest.mark.parametrize("form", [str, Path])
def test_a_picture_in_a_file(tmp_path: Path, form: type) -> None:
    """A file is read when the prompt is rendered, and sent like bytes."""
    (tmp_path / "x.png").write_bytes(PNG)
    expected = ImageBlock(MediaSource("base64", DATA, "image/png"))
    assert (expected,) == blocks(User(Image.from_path(form(tmp_path / "x.png"))))


def test_the_type_may_be_said(tmp_path: Path) -> None:
    """The type of bytes that do not tell it is said, by position or by name."""
    (tmp_path / "x.svg").write_bytes(b"<svg/>")
    tree = User(
        Image.from_bytes(b"<svg/>", "image/svg+xml"),
        Image.from_bytes(b"<svg/>", media_type="image/svg+xml"),
        Image.from_path(tmp_path / "x.svg", media_type="image/svg+xml"),
    )
    assert ["image/svg+xml"] * 3 == [block.source.media_type for block in blocks(tree)]


def test_title_and_detail_survive(tmp_path: Path) -> None:
    """Title and detail are the block's, however the picture is given."""
    (tmp_path / "x.png").write_bytes(PNG)
    tree = User(
        Image.from_url(URL, title="T", detail="low"),
        Image.from_bytes(PNG, title="T", detail="low"),
        Image.from_path(tmp_path / "x.png", title="T", detail="low"),
    )
    assert [("T", "low")] * 3 == [(block.title, block.detail) for block in blocks(tree)]


def test_pictures_stand_where_they_are_written() -> None:
    """A picture between texts is a block between theirs."""
    with User() as turn:
        Text("a")
        Image.from_url(URL)
        Text("b")
    assert (TextBlock("a"), ImageBlock(MediaSource("url", URL)), TextBlock("b")) == blocks(turn)


def test_a_tool_answers_with_a_picture() -> None:
    """A picture is content of a tool's answer."""
    tree = Timeline(
        User("q"), Assistant(ToolUse("t", {}, id="1")), ToolMessage("1", Image.from_bytes(PNG))
    )
    (result,) = blocks(tree)
    assert (ImageBlock(MediaSource("base64", DATA, "image/png")),) == result.content


@pytest.mark.parametrize(
    ("provider", "expected"),
    [
        ("openai", {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{DATA}"}}),
        (
            "anthropic",
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": DATA},
            },
        ),
    ],
)
def test_pictures_reach_providers(provider: str, expected: Any) -> None:
    """A picture of bytes is in the payload of each provider."""
    payload = render(User("a", Image.from_bytes(PNG)), provider=provider).payload()
    assert expected == payload["messages"][-1]["content"][-1]


@pytest.mark.parametrize("args", [(), ("x.png",), (PNG,)])
def test_an_image_is_made_by_its_methods(args: Any) -> None:
    """Calling ``Image`` itself is an error at the line that names the methods."""

    def write() -> None:
        Image(*args)

    error = raised(ContentError, write)
    assert places(write, 1) == error.at
    assert "Image.from_url(url), Image.from_path(path) or Image.from_bytes(data)" == error.fix


def test_a_picture_is_a_part() -> None:
    """A picture written outside of any block serves many turns."""
    image = Image.from_url(URL)
    assert blocks(User(image)) == blocks(User(image))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Image.from_url(None),  # type: ignore[arg-type]
        lambda: Image.from_path([1]),  # type: ignore[arg-type]
        lambda: Image.from_path(b"/x.png"),  # type: ignore[arg-type]
        lambda: Image.from_bytes("x", "image/png"),  # type: ignore[arg-type]
        lambda: Image.from_bytes(7),  # type: ignore[arg-type]
    ],
)
def test_a_picture_of_something_else_is_refused(make: Any) -> None:
    """What is no address, path or bytes is an error at its line that says what to write."""
    error = raised(ContentError, make)
    assert (places(make, 0), True) == (error.at, "Image.from_bytes(data)" in error.fix)
