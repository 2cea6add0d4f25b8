"""Who trims: the hand-written function, this library, and the peers that can be imported."""

from collections.abc import Sequence

from benchmarks.conversation import conversation
from benchmarks.counting import FREE
from benchmarks.entrants import UnknownName, file_of, load, peers_in, spellings
from benchmarks.our_trimmers import OURS
from benchmarks.peers import trimming
from benchmarks.trimming import HANDWRITTEN, Trimmer

PEERS = peers_in(trimming)
OWN = {"handwritten": (HANDWRITTEN,), "ours": OURS}


def chosen(only: Sequence[str]) -> tuple[list[Trimmer], dict[str, str]]:
    """Return who is measured, the hand-written one first, and why each peer that is not is skipped.

    Everybody has trimmed once by then, and imported what they import late. Raises
    :class:`UnknownName` when nobody is called so.
    """
    modules, skipped = load(PEERS)
    files = {**OWN, **{file_of(module.__name__): module.TRIMMERS for module in modules}}
    known = {trimmer.name for each in files.values() for trimmer in each}
    known.update(files, *map(spellings, PEERS))
    if unknown := set(only) - known:
        raise UnknownName(unknown, known)
    asked = [
        trimmer
        for file, each in files.items()
        for trimmer in each
        if not only or file == "handwritten" or {trimmer.name, *spellings(file)} & set(only)
    ]
    for trimmer in asked:
        trimmer.chat(trimmer.trim(trimmer.hold(conversation(20)), 600, FREE))
    return asked, skipped
