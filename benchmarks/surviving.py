"""Surviving: what is wrong with a conversation of 200 messages after it was trimmed.

The numbers are how many of 200 budgets leave such a fault: from a tenth of the conversation's
tokens to nearly all of them.
"""

from collections import Counter as Tally
from collections.abc import Iterator, Sequence

from benchmarks.conversation import Chat, conversation, total
from benchmarks.counting import O200K
from benchmarks.entrants import version_of
from benchmarks.faults import FAULTS
from benchmarks.report import Report, skipped_list, table
from benchmarks.trimmers import chosen
from benchmarks.trimming import Trimmer, remembering

OVER, REFUSED = "over the budget", "refused with an error"
COLUMNS = (*FAULTS, OVER, REFUSED)


def run(only: Sequence[str] = (), quick: bool = False) -> Report:
    """Return in how many budgets what a trimmer leaves has which fault."""
    trimmers, skipped = chosen(only)
    said = conversation(198)
    tokens = total(said, O200K.of)
    budgets = [tokens * share // 2_000 for share in range(200, 2_000, 90 if quick else 9)]
    found = {trimmer: Tally(_all_faults(trimmer, said, budgets)) for trimmer in trimmers}
    header = (f"{len(said)} messages, {len(budgets)} budgets", "version", *COLUMNS)
    shown = table(header, (_row(trimmer, tally) for trimmer, tally in found.items()))
    data = {trimmer.name: dict(tally) for trimmer, tally in found.items()}
    return Report(
        shown + skipped_list(skipped),
        {"budgets": len(budgets), "faults": data, "skipped": skipped},
    )


def _all_faults(trimmer: Trimmer, said: Sequence[Chat], budgets: Sequence[int]) -> Iterator[str]:
    held = trimmer.hold(said)
    for budget in budgets:
        try:
            # Whom it lets count, it lets remember: this is not about time.
            left = trimmer.chat(trimmer.trim(held, budget, remembering(O200K)))
        except Exception:
            yield REFUSED
            continue
        yield from (fault for fault, has in FAULTS.items() if has(left, said))
        if total(left, remembering(O200K).of) > budget:
            yield OVER


def _row(trimmer: Trimmer, tally: Tally[str]) -> tuple[str, ...]:
    counts = (f"{tally[fault]}" for fault in COLUMNS)
    return (trimmer.name, version_of(trimmer.package), *counts)
