"""Packs a vocabulary as OpenAI publishes it into the file that ships with promptdsl.

For maintainers::

    python -m tests.tokens.packing o200k_base.tiktoken
"""

import base64
import gzip
import hashlib
import sys
from pathlib import Path

from tests.internals import packed_file, unpack

PUBLISHED = {
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
}
"""The vocabularies that ship, with the SHA-256 of the files that OpenAI publishes."""


def pack(published: bytes) -> bytes:
    """Return the packed form of a published file, the same bytes every time."""
    tokens = [base64.b64decode(line.split()[0]) for line in published.splitlines()]
    raw = len(tokens).to_bytes(4) + bytes(map(len, tokens)) + b"".join(tokens)
    data = gzip.compress(raw, mtime=0)
    if publish(unpack(data)) != published:
        raise ValueError("the ranks are not 0, 1, 2 ..., so a packed file cannot hold them")
    return data


def publish(tokens: list[bytes]) -> bytes:
    """Return the file that OpenAI publishes for these tokens."""
    lines = (b"%s %d\n" % (base64.b64encode(token), rank) for rank, token in enumerate(tokens))
    return b"".join(lines)


def main(paths: list[str], folder: Path) -> int:
    """Pack published files, known by their SHA-256, into a folder; return the exit code."""
    names = {digest: name for name, digest in PUBLISHED.items()}
    for path in paths:
        published = Path(path).read_bytes()
        name = names.get(hashlib.sha256(published).hexdigest())
        if name is None:
            print(f"{path}: not a file of these: {', '.join(PUBLISHED)}", file=sys.stderr)
            return 1
        packed = folder / packed_file(name).name
        packed.write_bytes(pack(published))
        print(packed)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], packed_file("o200k_base").parent))
