"""Ids as a template takes them: any, or nine letters and digits as those of Mistral ask for."""

import re
from collections.abc import Callable
from hashlib import sha256

_NINE = re.compile("[a-zA-Z0-9]{9}")


class Ids:
    """The ids of a request: those that were given, or short ones, no two of them the same.

    ``given`` tells what an id of the request was before, ``harmless`` breaks the tokens in it.
    """

    def __init__(
        self, *, short: bool, given: dict[str, str], harmless: Callable[[str], str]
    ) -> None:
        self.short = short
        self.given = given
        self.harmless = harmless
        self.sent: dict[str, str] = {}
        self.taken: set[str] = set()

    def begin(self) -> None:
        """Begin a turn: what was given may be given again, and is not the same call."""
        if not self.short:
            self.sent.clear()
            self.taken.clear()

    def fit(self, id: str) -> str:
        """Return the id that one of the request is sent with; it depends on earlier ones only."""
        if id not in self.sent:
            self.sent[id] = found = self._short(id) if self.short else self._kept(id)
            self.taken.add(found)
        return self.sent[id]

    def _short(self, id: str) -> str:
        found, count = id, 0
        while found in self.taken or not _NINE.fullmatch(found):
            found = sha256(f"{count}/{id}".encode()).hexdigest()[:9]
            count += 1
        return found

    def _kept(self, id: str) -> str:
        found = stem = self.harmless(self.given.get(id, id) or "_")
        count = 1
        while found in self.taken:
            count += 1
            found = self.harmless(f"{stem}_{count}")
        return found
