"""The vocabularies that come along are the published ones."""

import hashlib
from pathlib import Path

import pytest

from tests.internals import packed_file, unpack, vocabulary
from tests.tokens.packing import PUBLISHED, main, pack, publish

every_name = pytest.mark.parametrize("name", PUBLISHED)


@every_name
def test_a_packed_file_is_the_published_one(name: str) -> None:
    """From what comes along the published file can be made again, to the byte."""
    assert PUBLISHED[name] == hashlib.sha256(publish(vocabulary(name))).hexdigest()


@pytest.mark.parametrize(("name", "kilobytes"), [("cl100k_base", 430), ("o200k_base", 995)])
def test_a_packed_file_is_small(name: str, kilobytes: int) -> None:
    """A packed file is about a quarter of the published one."""
    assert packed_file(name).stat().st_size < kilobytes * 1000


@every_name
def test_the_licence_lies_beside_them(name: str) -> None:
    """Beside the vocabularies stands under which licence they are tiktoken's."""
    notice = packed_file(name).with_name("LICENSE-tiktoken").read_text("utf-8")
    assert "Copyright (c) 2022 OpenAI, Shantanu Jain" in notice


def test_packing_is_undone_by_unpacking() -> None:
    """What is packed is unpacked as it was, tokens of every length too."""
    tokens = [b"a", b"bc", b"\x00" * 255, b" "]
    assert tokens == unpack(pack(publish(tokens)))


def test_packing_twice_gives_the_same_bytes() -> None:
    """A packed file holds no time."""
    assert pack(publish([b"a", b"b"])) == pack(publish([b"a", b"b"]))


def test_a_gap_between_ranks_cannot_be_packed() -> None:
    """A file whose ranks are not 0, 1, 2 is refused, not packed as if they were."""
    with pytest.raises(ValueError, match="the ranks are not"):
        pack(b"YQ== 0\nYg== 2\n")


@pytest.mark.slow
def test_a_maintainer_packs_published_files(tmp_path: Path) -> None:
    """A published file is known by its hash, whatever it is called, and packed to the same byte."""
    source = tmp_path / "any name"
    source.write_bytes(publish(vocabulary("cl100k_base")))
    assert 0 == main([str(source)], tmp_path)
    packed = packed_file("cl100k_base")
    assert packed.read_bytes() == (tmp_path / packed.name).read_bytes()


def test_another_file_is_not_packed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that nobody published is refused."""
    source = tmp_path / "o200k_base.tiktoken"
    source.write_bytes(b"YQ== 0\n")
    assert 1 == main([str(source)], tmp_path)
    assert f"{source}: not a file of these: cl100k_base, o200k_base\n" == capsys.readouterr().err
