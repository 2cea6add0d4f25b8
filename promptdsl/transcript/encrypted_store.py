"""A store that encrypts entries and keeps them in another store."""

from collections.abc import Awaitable, Iterable, Sequence
from inspect import isawaitable, iscoroutinefunction
from typing import Any

from promptdsl.foundation.errors import OptionError, TranscriptError
from promptdsl.foundation.extras import require
from promptdsl.foundation.frozen import is_mapping
from promptdsl.foundation.source import public_api
from promptdsl.transcript.entries import TranscriptEntry
from promptdsl.transcript.stores import SEALED, TranscriptStore


class EncryptedStore:
    """A store that keeps its entries encrypted in another store of any kind.

    ``key`` is a key of Fernet, which encrypts and signs, or several keys: the first one encrypts,
    all decrypt. Without it, the content, the type and the time of an entry cannot be read. An entry
    that was changed, or moved to another key or number, raises :class:`TranscriptError`.

    Not hidden are the keys of transcripts, and the number and the size of their entries. Missing
    entries at the end are not detected. It needs the extra ``encryption``.

    >>> from cryptography.fernet import Fernet
    >>> from tempfile import mkdtemp
    >>> from promptdsl import EncryptedStore, FolderStore, Transcript
    >>> folder = FolderStore(mkdtemp())
    >>> store = EncryptedStore(folder, Fernet.generate_key())
    >>> entry = Transcript.open("1881", store=store).append("Why twice?")
    >>> Transcript.open("1881", store=store)[0].text
    'Why twice?'
    >>> folder.load("1881")[0].type
    'sealed'
    """

    @public_api
    def __init__(self, store: TranscriptStore, key: str | bytes | Sequence[str | bytes]) -> None:
        require("cryptography.fernet", "encryption")
        from cryptography.fernet import Fernet, MultiFernet

        self._store: Any = store  # Any: it may have more methods
        try:
            keys = [key] if isinstance(key, str | bytes) else [*key]
            self._cipher = MultiFernet([Fernet(secret) for secret in keys])
        except (TypeError, ValueError):
            fix = "make one with Fernet.generate_key() of cryptography.fernet, and keep it secret"
            raise OptionError("this is not a key of Fernet", fix=fix) from None
        if iscoroutinefunction(store.append):
            self.__class__ = AsyncEncryptedStore  # pyright: ignore[reportAttributeAccessIssue]

    @public_api
    def append(self, key: str, entries: Sequence[TranscriptEntry]) -> Awaitable[None] | None:
        """Encrypt entries, and add them to those of a key."""
        written: Awaitable[None] | None = self._store.append(key, self._sealed(key, entries))
        return written

    @public_api
    def load(
        self, key: str, after: int = 0
    ) -> Iterable[TranscriptEntry] | Awaitable[Iterable[TranscriptEntry]]:
        """Return the entries of a key; :class:`TranscriptError` for one that it cannot decrypt."""
        sealed = self._store.load(key, after)
        return self._later(key, sealed) if isawaitable(sealed) else self._opened(key, sealed)

    @property
    def list(self) -> Any:  # Any: a method, which may be asynchronous
        """The method ``list(prefix="")`` of the other store, if it has one."""
        return self._store.list

    @property
    def delete(self) -> Any:  # Any: a method, which may be asynchronous
        """The method ``delete(key)`` of the other store, if it has one."""
        return self._store.delete

    def _sealed(self, key: str, entries: Sequence[TranscriptEntry]) -> Sequence[TranscriptEntry]:
        return [self._seal(key, entry) for entry in entries]

    def _seal(self, key: str, entry: TranscriptEntry) -> TranscriptEntry:
        """Return an encrypted entry of the same number, without a type and a time of its own."""
        text = f"{entry.to_line()}\0{key}".encode(errors="surrogatepass")
        data = {"token": self._cipher.encrypt_at_time(text, 0).decode()}
        return TranscriptEntry(entry.number, SEALED, None, entry.number, data, opaque=True)

    async def _later(
        self, key: str, sealed: Awaitable[Iterable[TranscriptEntry]]
    ) -> Sequence[TranscriptEntry]:
        from asyncio import to_thread

        return await to_thread(self._opened, key, await sealed)

    def _opened(self, key: str, sealed: Iterable[TranscriptEntry]) -> Sequence[TranscriptEntry]:
        return [self._open(key, entry) for entry in sealed]

    def _open(self, key: str, sealed: TranscriptEntry) -> TranscriptEntry:
        """Return the decrypted entry; the number and the key in it are compared."""
        from cryptography.fernet import InvalidToken

        which, data = f"entry {sealed.number} of {key!r}", sealed.data
        token = data.get("token") if is_mapping(data) else None
        if sealed.type != SEALED or not isinstance(token, str) or not token.isascii():
            fix = "copy it to another store: encrypted.append(key, plain.load(key))"
            raise TranscriptError(f"{which} is not encrypted", fix=fix)
        try:
            text = self._cipher.decrypt(token)
        except InvalidToken:
            fix = "add the key that it was written with, or restore it from a copy"
            raise TranscriptError(f"{which} cannot be decrypted", fix=fix) from None
        line, _, home = text.decode(errors="surrogatepass").partition("\0")
        entry = TranscriptEntry.from_line(line)
        if (entry.number, home) != (sealed.number, key):
            what = f"{which} was written as entry {entry.number} of {home!r}"
            raise TranscriptError(what, fix="restore it from a copy")
        return entry


class AsyncEncryptedStore(EncryptedStore):
    """An :class:`EncryptedStore` around an asynchronous store; it encrypts in threads."""

    async def append(self, key: str, entries: Sequence[TranscriptEntry]) -> None:
        """Encrypt entries, and add them to those of a key."""
        from asyncio import to_thread

        await self._store.append(key, await to_thread(self._sealed, key, entries))

    async def load(self, key: str, after: int = 0) -> Sequence[TranscriptEntry]:
        """Return the entries of a key; :class:`TranscriptError` for one that it cannot decrypt."""
        return await self._later(key, self._store.load(key, after))
