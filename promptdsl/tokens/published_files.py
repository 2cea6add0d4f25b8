"""The vocabularies that come with promptdsl, packed into files beside this one.

A packed file is the number of tokens (four bytes, the highest first), the length of each token (a
byte) and the bytes of all of them, by rank, gzipped. What OpenAI publishes is base64 with the rank
behind every token, 3.6 MB where this is 1 MB. The tokens are tiktoken's, under its licence, which
lies beside them.

Maintainers pack a published file::

    python -m promptdsl.tokens.published_files o200k_base.tiktoken
"""

import base64
import gzip
import hashlib
import sys
from itertools import accumulate, pairwise
from pathlib import Path

PUBLISHED = {
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
}
"""The vocabularies that come along, with the SHA-256 of the files that OpenAI publishes."""

_FOLDER = Path(__file__).parent


def packed_file(name: str) -> Path:
    """Return where the packed vocabulary of a name is."""
    return _FOLDER / f"{name}.tokens.gz"


def vocabulary(name: str) -> list[bytes]:
    """Return the tokens of a vocabulary that comes along, by rank."""
    return unpack(packed_file(name).read_bytes())


def unpack(data: bytes) -> list[bytes]:
    """Return the tokens of a packed file, by rank."""
    raw = gzip.decompress(data)
    number = int.from_bytes(raw[:4])
    ends = accumulate(raw[4 : 4 + number], initial=4 + number)
    return [raw[start:end] for start, end in pairwise(ends)]


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


def main(paths: list[str]) -> int:
    """Pack published files, known by their SHA-256, into this folder; return the exit code."""
    names = {digest: name for name, digest in PUBLISHED.items()}
    for path in paths:
        published = Path(path).read_bytes()
        name = names.get(hashlib.sha256(published).hexdigest())
        if name is None:
            print(f"{path}: not a file of these: {', '.join(PUBLISHED)}", file=sys.stderr)
            return 1
        packed_file(name).write_bytes(pack(published))
        print(packed_file(name))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
