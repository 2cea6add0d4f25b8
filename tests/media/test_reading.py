"""Attachments: what their bytes are, and which files may be read."""

import base64
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import Document, History, Image, MediaError, MediaSource, Node, User, render
from tests.errors import lines_of, raised
from tests.internals import (
    MAX_BYTES,
    check_url,
    of_base64,
    of_bytes,
    of_file_id,
    of_path,
    of_url,
    read_path,
)
from tests.renders import reported

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)
JPEG = b"\xff\xd8\xff\xe0" + bytes(8)
ENCODED = base64.b64encode(PNG).decode()


def source(tree: Node, **options: object) -> MediaSource:
    """Return where the bytes of the first block of the first message are."""
    return render(tree, **options).messages[0].content[0].source  # type: ignore[arg-type, union-attr]


@given(st.binary())
def test_bytes_arrive_as_they_are(data: bytes) -> None:
    """Whatever follows the first bytes of a picture is sent to the byte."""
    image = source(User(Image.from_bytes(PNG + data)))
    assert ("image/png", PNG + data) == (image.media_type, base64.b64decode(image.value))


@pytest.mark.parametrize(
    ("data", "declared", "expected"),
    [
        (PNG, None, "image/png"),
        (PNG, "image/png", "image/png"),
        (JPEG, "image/jpg", "image/jpeg"),
        (b"<svg></svg>", "image/svg+xml", "image/svg+xml"),
    ],
)
def test_a_type_is_declared_or_told(data: bytes, declared: str | None, expected: str) -> None:
    """A type may be left out where the bytes tell it, and is believed where they do not."""
    assert expected == of_bytes(data, declared).media_type


@pytest.mark.parametrize(
    ("data", "declared", "what", "fix"),
    [
        (b"", None, "the attachment is empty", "give its bytes"),
        (b"", "image/png", "the attachment is empty", "give its bytes"),
        (
            b"<svg></svg>",
            None,
            "the media type of these bytes is unknown",
            'declare it: media_type="image/png"',
        ),
        (
            PNG,
            "image/jpeg",
            "the attachment is declared image/jpeg, but its bytes are image/png",
            'write media_type="image/png", or leave it out',
        ),
        *(
            (
                b"<html>Not found",
                declared,
                f"the attachment is declared {known}, but its bytes begin with b'<html>Not fo'",
                "give the bytes of the picture; the server may have sent an error page",
            )
            for declared, known in (
                ("image/png", "image/png"),
                ("IMAGE/JPG", "image/jpeg"),
                ("image/gif", "image/gif"),
                ("image/webp; q=1", "image/webp"),
            )
        ),
    ],
)
def test_bytes_that_are_wrong_are_refused(
    data: bytes, declared: str | None, what: str, fix: str
) -> None:
    """No bytes, unknown bytes and bytes of another type are errors that say what to write."""
    error = raised(MediaError, lambda: of_bytes(data, declared))
    assert (what, fix) == (error.what, error.fix)


def test_too_many_bytes_are_refused() -> None:
    """More bytes than any provider takes are an error that names the limit."""
    error = raised(MediaError, lambda: of_bytes(PNG + bytes(MAX_BYTES)))
    assert (
        f"the attachment has {MAX_BYTES + len(PNG):,} bytes, the limit is 33,554,432" == error.what
    )


def test_bytes_are_checked_where_they_are_written() -> None:
    """An error about bytes has the line of the picture."""

    def write() -> None:
        Image.from_bytes(
            PNG,
            "image/jpeg",
        )

    assert lines_of(write, 1) == raised(MediaError, write).at


@pytest.mark.parametrize(
    "url", ["https://example.com/x.png", "http://example.com", "HTTPS://EXAMPLE.COM"]
)
def test_addresses_are_passed_on(url: str) -> None:
    """An address is sent as it is; nothing is fetched."""
    assert url == check_url(url)
    assert MediaSource("url", url) == source(User(Image.from_url(url)))


@pytest.mark.parametrize(
    ("url", "kind"), [("s3://b/x.png", "s3"), ("S3://b/x.png", "s3"), ("gs://b/x.png", "gcs")]
)
def test_addresses_of_stores_have_their_own_kind(url: str, kind: Any) -> None:
    """An address in a cloud's store says so, with the type it was declared to be."""
    image = Image.from_url(url, media_type="image/png")
    assert MediaSource(kind, url, "image/png") == source(User(image))


@pytest.mark.parametrize(
    "url", ["https://", "http:///x", "s3://", "gs://?a", "https://x/\n", "https://x\x00"]
)
def test_half_an_address_is_refused(url: str) -> None:
    """An address without a host or a bucket, or with a control character, is an error."""
    error = raised(MediaError, lambda: Image.from_url(url))
    assert (True, True) == ("is not a complete address" in error.what, "write it like" in error.fix)


@pytest.mark.parametrize(
    "url", ["", "x.png", "/tmp/x.png", "file:///x.png", "ftp://x", "javascript:x", " https://x"]
)
def test_other_addresses_are_refused(url: str) -> None:
    """An address no provider fetches is an error at its line that names what it may start with."""

    def write() -> None:
        Image.from_url(url)

    error = raised(MediaError, write)
    assert lines_of(write, 1) == error.at
    assert "begin it with one of http://, https://" in error.fix


# Files.


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    """Return a file that is a picture."""
    path = tmp_path / "x.png"
    path.write_bytes(PNG)
    return path


def recorded(path: object) -> History:
    """Return a recorded conversation with a picture in a file."""
    block = {"type": "image", "source": {"type": "path", "path": str(path)}}
    return History([{"role": "user", "content": [block]}])


@pytest.mark.parametrize("form", [str, Path])
def test_a_path_written_in_code_is_read(picture: Path, form: type) -> None:
    """A file named in code is read when the prompt is rendered, wherever it is."""
    assert MediaSource("base64", ENCODED, "image/png") == source(
        User(Image.from_path(form(picture)))
    )


def test_a_path_is_read_when_rendered(picture: Path) -> None:
    """What is in the file at the time of rendering is sent, every time."""
    tree = User(Image.from_path(picture))
    first = source(tree)
    picture.write_bytes(JPEG)
    assert ("image/png", "image/jpeg") == (first.media_type, source(tree).media_type)


def test_a_relative_path_is_read(picture: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path is one from the working directory."""
    monkeypatch.chdir(picture.parent)
    assert ENCODED == source(User(Image.from_path("x.png"))).value


def test_a_missing_file_is_an_error_at_its_line(tmp_path: Path) -> None:
    """A file that is not there is told by its name, with the line of the picture."""

    def write() -> Node:
        return User(Image.from_path(tmp_path / "x.png"))

    error = raised(MediaError, lambda: render(write()))
    assert lines_of(write, 1) == error.at
    assert f"cannot read {str(tmp_path / 'x.png')!r}: No such file or directory" == error.what


def test_a_file_of_another_type_is_an_error_at_its_line(picture: Path) -> None:
    """A declared type is compared with the bytes of the file."""

    def write() -> Node:
        return User(Image.from_path(picture, media_type="image/gif"))

    assert lines_of(write, 1) == raised(MediaError, lambda: render(write())).at


def test_an_empty_file_is_refused(picture: Path) -> None:
    """A file with nothing in it is no attachment."""
    picture.write_bytes(b"")
    error = raised(MediaError, lambda: render(User(Image.from_path(picture))))
    assert "the attachment is empty" == error.what


def test_a_folder_is_refused(tmp_path: Path) -> None:
    """A folder is not read."""
    error = raised(MediaError, lambda: render(User(Image.from_path(tmp_path))))
    assert f"{str(tmp_path)!r} is a folder, not a file" == error.what


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_refused(tmp_path: Path) -> None:
    """A named pipe is refused at once, instead of waiting for somebody to write."""
    os.mkfifo(tmp_path / "pipe")
    error = raised(MediaError, lambda: render(User(Image.from_path(tmp_path / "pipe"))))
    assert "is not a regular file" in error.what


def test_a_device_is_refused() -> None:
    """A device is not read, which could go on for ever."""
    error = raised(MediaError, lambda: render(User(Image.from_path(os.devnull))))
    assert f"{os.devnull!r} is not a regular file" == error.what


def test_a_large_file_is_refused(picture: Path) -> None:
    """A file over the limit is refused by its size, and the error names the limit."""
    os.truncate(picture, MAX_BYTES + 1)
    error = raised(MediaError, lambda: render(User(Image.from_path(picture))))
    assert f"{str(picture)!r} has 33,554,433 bytes, the limit is 33,554,432" == error.what


@pytest.mark.parametrize("name", ["\x00", "a\x00b", "x" * 5_000])
def test_a_path_that_is_none_is_refused(name: str) -> None:
    """A name no file can have is an error like that of a missing file."""
    error = raised(MediaError, lambda: render(User(Image.from_path(name))))
    assert error.what.startswith("cannot read ")


def test_links_in_a_circle_are_refused(tmp_path: Path) -> None:
    """Links that lead to each other are an error, not an endless search."""
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    error = raised(MediaError, lambda: render(User(Image.from_path(tmp_path / "a"))))
    assert error.what.startswith("cannot read ")


def test_a_path_in_data_is_refused(picture: Path) -> None:
    """A path that came in a recording is not read unless its folder was declared."""
    error = raised(MediaError, lambda: render(recorded(picture)))
    assert lines_of(recorded, 3) == error.at
    reason = "comes from data, and is not in a folder of media_roots"
    assert f"the path {str(picture)!r} {reason}" == error.what
    assert "declare the folder: render(..., media_roots=[folder])" == error.fix


@pytest.mark.parametrize("form", [str, Path])
def test_a_path_in_data_is_read_under_a_declared_root(picture: Path, form: type) -> None:
    """A path that came in a recording is read when it lies under a media root."""
    roots = [form(picture.parent / "other"), form(picture.parent)]
    assert ENCODED == source(recorded(picture), media_roots=roots).value


@pytest.mark.parametrize(
    "name", ["root/../x.png", "root/link.png", "root/link/x.png", "rooted.png"]
)
def test_a_path_in_data_does_not_leave_its_root(picture: Path, name: str) -> None:
    """Dots, links and names that begin alike lead out of no media root."""
    folder = picture.parent
    (folder / "root").mkdir()
    (folder / "root" / "link.png").symlink_to(picture)
    (folder / "root" / "link").symlink_to(folder)
    (folder / "rooted.png").write_bytes(PNG)
    error = raised(
        MediaError, lambda: render(recorded(folder / name), media_roots=[folder / "root"])
    )
    assert "is not in a folder of media_roots" in error.what


def test_a_link_inside_a_root_is_read(picture: Path) -> None:
    """A link that stays under its media root is followed."""
    (picture.parent / "link.png").symlink_to(picture)
    tree = recorded(picture.parent / "link.png")
    assert ENCODED == source(tree, media_roots=[picture.parent]).value


def test_a_root_is_no_leave_to_read_the_missing(tmp_path: Path) -> None:
    """A path under a media root that is not there is an error like any other."""
    error = raised(MediaError, lambda: render(recorded(tmp_path / "x"), media_roots=[tmp_path]))
    assert error.what.startswith("cannot read ")


def test_a_source_keeps_who_named_it_out_of_equality() -> None:
    """The same path is the same source, in code and in data; only reading it differs."""
    assert MediaSource("path", "x") == MediaSource("path", "x", from_data=True)


def test_reading_a_path_keeps_what_was_declared(picture: Path) -> None:
    """The type in a source is compared with the bytes, not lost."""
    error = raised(
        MediaError, lambda: read_path(MediaSource("path", str(picture), "audio/wav"), ())
    )
    assert "the attachment is declared audio/wav, but its bytes are image/png" == error.what


@pytest.mark.parametrize("from_data", [False, True])
def test_a_file_of_another_kind_is_refused(picture: Path, from_data: bool) -> None:
    """What a file holds is of the kind of its block, whoever named the file."""
    held = MediaSource("path", str(picture), from_data=from_data)
    error = raised(MediaError, lambda: read_path(held, [picture.parent], "document"))
    assert ("a Document cannot be image/png", "make it an Image") == (error.what, error.fix)


def test_data_cannot_find_out_which_files_there_are(tmp_path: Path) -> None:
    """A path in data outside the roots is refused in the same words, whether its file exists."""
    (tmp_path / "there.png").write_bytes(PNG)
    there, gone = (
        MediaSource("path", str(tmp_path / name), from_data=True)
        for name in ("there.png", "gone.png")
    )
    told = raised(MediaError, lambda: read_path(there, ())).what
    assert told.replace("there", "gone") == raised(MediaError, lambda: read_path(gone, ())).what


# Bytes in an address.


@pytest.mark.parametrize(
    "head",
    [
        "data:image/png;base64,",
        "DATA:image/PNG;BASE64,",
        "data:;base64,",
        "data:image/png;a=b;base64,",
    ],
)
def test_an_address_may_hold_the_bytes(head: str) -> None:
    """A data address is the bytes it holds, of the type it says or they tell."""
    expected = MediaSource("base64", ENCODED, "image/png")
    assert expected == source(User(Image.from_url(head + ENCODED)))


@pytest.mark.parametrize(
    "url",
    [
        f"data:image/jpeg;base64,{ENCODED}",
        "data:image/png,x",
        "data:image/png;base64,!",
        "data:image/png;base64,",
        "data:",
    ],
)
def test_an_address_that_holds_other_bytes_is_refused(url: str) -> None:
    """Bytes of another type than declared, or none, are an error at the line of the picture."""

    def write() -> None:
        Image.from_url(url)

    assert lines_of(write, 1) == raised(MediaError, write).at


NO_ADDRESS = "image block (user[0]): Chat takes no address of one"
NO_SOURCE = "image ({}) (user[0]): its source or its media type is not taken"


@pytest.mark.parametrize(
    ("provider", "url", "expected"),
    [
        ("openai", "s3://b/x.png", NO_ADDRESS),
        ("openai", "S3://b/x.png", NO_ADDRESS),
        ("openai", "gs://b/x.png", NO_ADDRESS),
        ("anthropic", "s3://b/x.png", NO_SOURCE.format("s3")),
        ("anthropic", "S3://b/x.png", NO_SOURCE.format("s3")),
        ("anthropic", "gs://b/x.png", NO_SOURCE.format("gcs")),
    ],
)
def test_addresses_of_stores_are_lost(provider: str, url: str, expected: str) -> None:
    """An address these providers cannot fetch is a loss of content, which tells what to do."""
    [loss] = render(User("see", Image.from_url(url)), provider=provider).losses
    advice = "a media_loader can give it the bytes: render(..., media_loader=...)"
    assert f"content: {expected}; {advice}: {loss.source}" == str(loss)


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_upper_case_addresses_are_sent(provider: str) -> None:
    """The case of a scheme does not matter."""
    assert () == reported(render(User(Image.from_url("HTTPS://X/Y.PNG")), provider=provider))


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_recorded_addresses_may_hold_bytes(provider: str) -> None:
    """A data address in a recording is sent as the bytes it holds."""
    image = {"type": "image", "url": f"DATA:image/png;base64,{ENCODED}"}
    rendered = render(History([{"role": "user", "content": [image]}]), provider=provider)
    assert (True, ()) == (ENCODED in str(rendered.payload()), reported(rendered))


@pytest.mark.parametrize(
    ("url", "declared", "what"),
    [
        (
            f"data:image/png;base64,{ENCODED}",
            "image/gif",
            "the attachment is declared image/gif, but its address says image/png",
        ),
        (f"data:;base64,{ENCODED}", "image/gif", "declared image/gif, but its bytes are image/png"),
        ("data:application/pdf;base64,JVBERi0x", None, "an Image cannot be application/pdf"),
        ("https://x/y", "audio/wav", "an Image cannot be audio/wav"),
        ("s3://x/y", "pdf", "'pdf' is not a media type"),
    ],
)
def test_what_an_address_is_said_to_hold(url: str, declared: str | None, what: str) -> None:
    """An address, the bytes in it and what is declared of it agree, or there is an error."""
    error = raised(MediaError, lambda: of_url(url, declared, kind="image"))
    assert (True, True) == (what in error.what, bool(error.fix))


# Base64.


@given(st.binary(), st.lists(st.sampled_from(list(" \t\r\n\f\v")), max_size=3).map("".join))
def test_any_base64_is_the_bytes_it_says(data: bytes, space: str) -> None:
    """Whatever the bytes are, their base64 in lines is what the bytes are themselves."""
    lines = base64.encodebytes(PNG + data).decode().replace("\n", space + "\n")
    assert of_bytes(PNG + data) == of_base64(lines) == of_base64(lines.encode())


def test_base64_is_written_in_one_way() -> None:
    """Bits that say nothing are no part of what is sent."""
    assert "QQ==" == of_base64("QR==", "text/plain").value


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("QQ", "base64.b64encode(data)"),
        ("QQ=", "base64.b64encode(data)"),
        ("Q", "base64.b64encode(data)"),
        ("QQ==QQ==", "base64.b64encode(data)"),
        ("====", "base64.b64encode(data)"),
        ("_-_-", "base64.b64encode(data)"),
        ("QQ==\x00", "base64.b64encode(data)"),
        ("QQ\u2003==", "base64.b64encode(data)"),
        ("\ud800", "base64.b64encode(data)"),
        (b"\xff", "base64.b64encode(data)"),
        (f"data:image/png;base64,{ENCODED}", "write from_url() for a data: address"),
        (f"DATA:image/png;base64,{ENCODED}".encode(), "write from_url() for a data: address"),
    ],
)
def test_what_is_no_base64_is_refused(text: str | bytes, fix: str) -> None:
    """Another alphabet, missing or further padding and stray signs are an error."""
    error = raised(MediaError, lambda: of_base64(text))
    assert (True, True) == ("is not base64: " in error.what, fix in error.fix)


@given(st.text(st.characters(codec=None)) | st.binary())
def test_any_text_is_base64_or_an_error(text: Any) -> None:
    """Whatever is given as base64, there is a source or an error that says what to do."""
    assert source_or_error(text)


def source_or_error(text: Any) -> object:
    """Return the source of base64 text, or what its error says to do."""
    try:
        return of_base64(text, "application/octet-stream")
    except MediaError as error:
        return error.fix


@pytest.mark.parametrize("text", ["", " \n"])
def test_empty_base64_is_refused(text: str) -> None:
    """Base64 of nothing is no attachment."""
    assert "the attachment is empty" == raised(MediaError, lambda: of_base64(text)).what


def test_large_base64_is_refused_before_it_is_decoded() -> None:
    """Base64 over the limit is refused by its length, though it could not even be decoded."""
    text = "!" * (MAX_BYTES // 3 * 4 + 8)
    error = raised(MediaError, lambda: of_base64(text))
    assert "the attachment has 33,554,436 bytes, the limit is 33,554,432" == error.what
    assert "make it smaller, or upload it and write from_file_id(id)" == error.fix


@pytest.mark.slow
def test_base64_of_the_limit_is_taken() -> None:
    """The limit itself is not over it, with its padding counted."""
    encoded = base64.b64encode(PNG.ljust(MAX_BYTES, b"\x00")).decode()
    assert encoded == of_base64(encoded).value


# Files uploaded before, and paths as they are written.


def test_a_file_id_is_kept() -> None:
    """The id of a file is passed on, with what it was declared to be."""
    expected = MediaSource("file_id", "file-1", "application/pdf")
    assert expected == of_file_id("file-1", "application/x-pdf", kind="document")


@pytest.mark.parametrize("id", ["", " "])
def test_an_empty_file_id_is_refused(id: str) -> None:
    """An id that says nothing is an error."""
    assert "the file id is empty" == raised(MediaError, lambda: of_file_id(id)).what


def test_an_empty_path_is_refused() -> None:
    """A path that says nothing is an error."""
    assert "the path is empty" == raised(MediaError, lambda: of_path("")).what


@pytest.mark.parametrize("of", [of_path, of_file_id])
def test_a_declared_type_of_another_kind_is_refused_at_once(of: Any) -> None:
    """A type that is not of the kind is an error before anything is read."""
    error = raised(MediaError, lambda: of("x", "image/png", kind="video"))
    assert ("a Video cannot be image/png", "make it an Image") == (error.what, error.fix)


def test_a_path_in_a_recorded_result_is_read(picture: Path) -> None:
    """A picture in the result of a tool is read under a declared root, as any other."""
    block = {"type": "image", "source": {"type": "path", "path": str(picture)}}
    result = {"type": "tool_result", "tool_use_id": "a", "content": [block]}
    call = {"type": "tool_use", "id": "a", "name": "look", "input": {}}
    messages = [{"role": "assistant", "content": [call]}, {"role": "tool", "content": [result]}]
    rendered = render(History(messages), media_roots=[picture.parent])
    ((settled,),) = (block.to_dict()["content"] for block in rendered.messages[1].content)
    assert ENCODED == settled["source"]["data"]


@pytest.mark.parametrize(("title", "expected"), [("Mine", "Mine"), (None, "a.pdf")])
def test_the_title_of_a_document_that_is_read(
    tmp_path: Path, title: str | None, expected: str
) -> None:
    """A document from a path has its own title, or the name of its file."""
    file = tmp_path / "a.pdf"
    file.write_bytes(b"%PDF-1.7")
    rendered = render(User(Document.from_path(file, title=title)))
    assert expected == rendered.messages[0].content[0].to_dict()["title"]
