"""The names of snapshot files: safe on every system, and different for different tests."""

import os
import re
from hashlib import sha256
from pathlib import Path

LONGEST = 110
"""The most characters of a test name in a file name, with the hash."""
LONGEST_NAME = 40
"""The most characters of a name from ``name=``."""

_RESERVED = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|com\d|lpt\d)(?=\.|$)", re.IGNORECASE)
_PLAIN_TEST = re.compile(r"\w+(\.\w+)*(\[[\w.,=+@-]+])?", re.ASCII)
_PLAIN_NAME = re.compile(r"[a-z0-9_.,=+@-]+")
_ODD = re.compile(r"[^\w.,=+@-]+", re.ASCII)


def name_of(nodeid: str, name: str) -> str:
    """Return the name of a test in its file, after its classes: ``TestRefund.test_plan[free]``.

    ``name`` is that of the last node; it may contain ``::``.
    """
    classes = nodeid[: -len(f"::{name}")].split("::")[1:]
    return ".".join([*classes, name])


def stem_of(test: str, *, alone: bool = True) -> str:
    """Return the beginning of the files of a test: its name, or a part of it and a short hash.

    There is a hash if a character was replaced, or the name is too long or reserved on Windows. A
    test that is not ``alone`` also gets one: another name differs from its name only in case.

    >>> stem_of("TestRefund.test_plan[free]")
    'TestRefund.test_plan[free]'
    >>> stem_of("test_model[openai/gpt-5]")
    'test_model[openai-gpt-5]-ce18db3f'
    """
    reserved = _RESERVED.match(test)
    if alone and not reserved and len(test) <= LONGEST and _PLAIN_TEST.fullmatch(test):
        return test
    head, bracket, params = test.partition("[")
    inner = _ODD.sub("-", params[:-1]).strip("-")
    slug = _ODD.sub("-", head) + (f"[{inner}]" if bracket else "")
    return _hashed("_" * bool(reserved) + slug, test, LONGEST)


def suffix_of(name: str | None, number: int) -> str:
    """Return the text after the stem for a prompt with a name, or for the n-th one without.

    >>> suffix_of("second", 2), suffix_of(None, 1), suffix_of(None, 2)
    ('[second]', '', '.2')
    """
    if name is None:
        return f".{number}" if number > 1 else ""
    if len(name) <= LONGEST_NAME and _PLAIN_NAME.fullmatch(name):
        return f"[{name}]"
    return f"[{_hashed(_ODD.sub('-', name), name, LONGEST_NAME)}]"


def stems_in(file_stem: str) -> list[str]:
    """Return the possible stems of the test of a file: its own, and that before each suffix."""
    cuts = [match.start() for match in re.finditer(r"[.\[]", file_stem)]
    return [file_stem, *(file_stem[:cut] for cut in reversed(cuts))]


def path_from(folder: Path, path: Path) -> str:
    """Return a path as messages show it, relative to a folder."""
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # another drive of Windows
        return path.as_posix()


def _hashed(slug: str, full_name: str, longest: int) -> str:
    digest = sha256(full_name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{slug[: longest - 9].rstrip('-. ')}-{digest}".lstrip("-.")
