"""A store that encrypts: nothing is readable without the key, nothing can be moved."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet

from promptdsl import *
from promptdsl.testing import check_store
from tests.errors import raised

OLD, NEW = Fernet.generate_key(), Fernet.generate_key().decode()
FIX = "add the key that encrypted it, or restore it from a copy"


class PlainStore:
    """A store in memory, as short as it can be."""

    def __init__(self) -> None:
        self.kept: dict[str, list[TranscriptEntry]] = {}

    def append(self, key: str, entries: Sequence[TranscriptEntry]) -> None:
        """Keep entries."""
        known = self.kept.setdefault(key, [])
        if entries[0].number <= len(known):
            raise ConflictError("another writer was faster")
        known += entries

    def load(self, key: str, after: int = 0) -> list[TranscriptEntry]:
        """Return what is kept."""
        return self.kept.get(key, [])[after:]


class AwaitedStore:
    """The same for asynchronous programs."""

    def __init__(self) -> None:
        self.inner = PlainStore()

    async def append(self, key: str, entries: Sequence[TranscriptEntry]) -> None:
        """Keep entries."""
        self.inner.append(key, entries)

    async def load(self, key: str, after: int = 0) -> list[TranscriptEntry]:
        """Return what is kept."""
        return self.inner.load(key, after)


class LateStore(AwaitedStore):
    """One that returns what can be awaited, of plain methods."""

    def append(self, key: str, entries: Sequence[TranscriptEntry]) -> Any:  # Any: an awaitable
        """Keep entries, later."""
        return super().append(key, entries)

    def load(self, key: str, after: int = 0) -> Any:  # Any: an awaitable
        """Return what is kept, later."""
        return super().load(key, after)


def written(*keys: str, with_key: Any = OLD) -> PlainStore:
    """Return a store in which each key has two encrypted entries."""
    inner = PlainStore()
    for key in keys:
        transcript = Transcript.open(key, store=EncryptedStore(inner, with_key))
        transcript.append("Why twice?")
        transcript.note({"mood": "calm"})
    return inner


def test_nothing_is_readable(tmp_path: Path) -> None:
    """A file of a folder has the numbers, and no text, type or time; two equal texts differ."""
    store = EncryptedStore(FolderStore(tmp_path), OLD)
    transcript = Transcript.open("a", store=store)
    assert [transcript.append("Why twice?").number, transcript.append("Why twice?").number] == [
        1,
        2,
    ]
    with Transcript.open(tmp_path / "a.jsonl", read_only=True) as sealed:
        entries = sealed.entries
    assert [(e.number, e.type, e.at, [*e.data], e.opaque) for e in entries] == [
        (number, "sealed", None, ["token"], True) for number in (1, 2)
    ]
    tokens = [str(entry.data["token"]) for entry in entries]
    assert tokens[0] != tokens[1]
    assert [Fernet(OLD).extract_timestamp(token) for token in tokens] == [0, 0]
    assert b"twice" not in (tmp_path / "a.jsonl").read_bytes()


def test_what_is_read_is_what_was_written() -> None:
    """Entries come back to the byte, with their times, and those that belong together."""
    transcript = Transcript(["Grüße \ud800 \u2028", "Hi."])
    store = EncryptedStore(PlainStore(), OLD)
    store.append("ä\U0001f600", transcript.entries)
    found = [entry.to_line() for entry in Transcript.open("ä\U0001f600", store=store).entries]
    assert [entry.to_line() for entry in transcript.entries] == found


def test_keys_are_rotated() -> None:
    """The first key encrypts, all decrypt; a copy is encrypted with the new key alone."""
    inner = written("a")
    both = EncryptedStore(inner, [NEW, OLD])
    Transcript.open("a", store=both).append("Hi.")
    assert len(Transcript.open("a", store=both)) == 2
    assert len([*EncryptedStore(inner, NEW).load("a", after=2)]) == 1
    copy = EncryptedStore(PlainStore(), NEW)
    copy.append("a", [*both.load("a")])
    assert [*copy.load("a")] == [*both.load("a")]


def moved(inner: PlainStore) -> None:
    """Put the entries of another transcript in the place of these."""
    inner.kept["a"] = inner.kept["b"]


def swapped(inner: PlainStore) -> None:
    """Give an entry the token of another one."""
    first, second = inner.kept["a"]
    data = second.data
    inner.kept["a"][0] = TranscriptEntry(first.number, "sealed", None, 1, data, opaque=True)


def changed(inner: PlainStore) -> None:
    """Change a character of a token."""
    token = str(inner.kept["a"][1].data["token"])
    data = {"token": f"{token[:50]}{'A' if token[50] != 'A' else 'B'}{token[51:]}"}
    inner.kept["a"][1] = TranscriptEntry(2, "sealed", None, 2, data, opaque=True)


def forged(inner: PlainStore) -> None:
    """Put an entry there that is not encrypted."""
    inner.kept["a"][1] = TranscriptEntry(2, "note", None, 2, {"note": 1})


def mangled(data: Any) -> Any:
    """Return what puts other data in the place of a token."""

    def damage(inner: PlainStore) -> None:
        inner.kept["a"][1] = TranscriptEntry(2, "sealed", None, 2, data, opaque=True)

    return damage


@pytest.mark.parametrize(
    ("damage", "what", "fix"),
    [
        *(
            (mangled(data), "entry 2 of 'a' is not encrypted", None)
            for data in ("x", [1], {"token": 5}, {"token": "\xe9"})
        ),
        (moved, "entry 1 of 'a' was written as entry 1 of 'b'", "restore it from a copy"),
        (swapped, "entry 1 of 'a' was written as entry 2 of 'a'", "restore it from a copy"),
        (changed, "entry 2 of 'a' cannot be decrypted", FIX),
        (forged, "entry 2 of 'a' is not encrypted", None),
    ],
)
def test_what_was_changed_is_found(damage: Any, what: str, fix: str | None) -> None:
    """An entry that was changed or moved is an error that names it, and none is left out."""
    inner = written("a", "b")
    damage(inner)
    store = EncryptedStore(inner, OLD)
    error = raised(TranscriptError, lambda: Transcript.open("a", store=store))
    assert (what, fix or error.fix) == (error.what, error.fix)


def test_without_a_key_is_told() -> None:
    """A transcript that is opened without its key cannot be changed, and says why."""
    talk = Transcript.open("a", store=written("a"))
    error = raised(TranscriptError, lambda: talk.append("Hi."))
    assert "it is encrypted: open it with store=EncryptedStore(store, key)" == error.fix


def test_another_key_is_told() -> None:
    """With another key nothing is read, and nothing of an entry is in the error."""
    store = EncryptedStore(written("a"), NEW)
    error = raised(TranscriptError, lambda: Transcript.open("a", store=store))
    assert ("entry 1 of 'a' cannot be decrypted", FIX) == (error.what, error.fix)


@pytest.mark.parametrize("key", [None, "", "secret", b"x" * 44, [], [OLD, "x"], 7, [None]])
def test_a_key_of_another_kind_is_refused(key: Any) -> None:
    """What is no key of Fernet is refused, and not shown."""
    error = raised(OptionError, lambda: EncryptedStore(PlainStore(), key))
    assert error.what == "this is not a key of Fernet"


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without cryptography, the error says how to install it."""
    monkeypatch.setitem(sys.modules, "cryptography.fernet", None)
    error = raised(PromptError, lambda: EncryptedStore(PlainStore(), OLD))
    assert error.fix == "install the extra `encryption` of promptdsl"


@pytest.mark.native
@pytest.mark.parametrize("kind", [PlainStore, AwaitedStore, LateStore])
def test_any_store_of_an_asynchronous_program(kind: Any) -> None:
    """A store may be asynchronous, or not."""
    store = EncryptedStore(kind(), OLD)

    async def talk() -> int:
        transcript = await Transcript.aopen("a", store=store)
        transcript.append("Hi.")
        await transcript.acommit()
        return len(await Transcript.aopen("a", store=store))

    assert asyncio.run(talk()) == 1


def test_an_asynchronous_store_is_refused_where_it_cannot_wait() -> None:
    """``open`` says what opens a store that is asynchronous."""
    store = EncryptedStore(AwaitedStore(), OLD)
    error = raised(OptionError, lambda: Transcript.open("a", store=store))
    assert error.fix == "await Transcript.aopen(key, store=...)"


def test_other_methods_are_those_of_the_store(tmp_path: Path) -> None:
    """``list`` and ``delete`` are there if the other store has them."""
    store = EncryptedStore(FolderStore(tmp_path), OLD)
    Transcript.open("a", store=store).append("Hi.")
    assert store.list() == ["a"]
    store.delete("a")
    assert store.list("a") == []
    assert not hasattr(EncryptedStore(PlainStore(), OLD), "list")


@pytest.mark.slow
@pytest.mark.native
def test_the_contract_of_stores(tmp_path: Path) -> None:
    """It does what a store has to do, also where processes write."""
    check_store(lambda: EncryptedStore(FolderStore(tmp_path), OLD), entries=100)


@pytest.mark.slow
@pytest.mark.native
@pytest.mark.parametrize("kind", [PlainStore, AwaitedStore])
def test_the_contract_of_stores_in_memory(kind: Any) -> None:
    """It does the same over a store of any kind."""
    inner = kind()
    check_store(lambda: EncryptedStore(inner, OLD), entries=100, processes=False)
