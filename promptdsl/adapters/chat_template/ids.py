"""Ids as a template takes them: any, or nine letters and digits as those of Mistral ask for."""

import re
from hashlib import sha256

_NINE = re.compile("[a-zA-Z0-9]{9}")


class Ids:
    """The ids of a request. No two calls have the same one."""

    def __init__(self, *, short: bool) -> None:
        self.short = short
        self.sent: dict[str, str] = {}
        self.taken: set[str] = set()

    def fit(self, id: str) -> str:
        """Return the id that one of the request is sent with; it depends on earlier ones only."""
        if not self.short:
            return id
        if id not in self.sent:
            found, count = id, 0
            while found in self.taken or not _NINE.fullmatch(found):
                found = sha256(f"{count}/{id}".encode()).hexdigest()[:9]
                count += 1
            self.sent[id] = found
            self.taken.add(found)
        return self.sent[id]
