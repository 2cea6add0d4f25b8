"""The tools that the model may call. Put the calls of your own systems here."""

from collections.abc import Callable, Mapping
from pathlib import Path

Tools = Mapping[str, Callable[..., str]]

REPEATABLE = {"find_charges"}
"""The tools that only read: it does no harm to run one of their calls twice."""


def tools_of(ledger: Path) -> Tools:
    """Return the tools by name. ``ledger`` is the file that lists the refunds."""

    def find_charges(invoice: int) -> str:
        """List what was charged for an invoice, and what was paid back."""
        lines = ledger.read_text("utf-8").splitlines() if ledger.exists() else []
        count = lines.count(f"invoice {invoice}")
        return f"Invoice {invoice}: charged twice, 49 EUR each; {count} paid back."

    def refund(invoice: int) -> str:
        """Pay one charge of an invoice back."""
        with ledger.open("a", encoding="utf-8") as file:
            file.write(f"invoice {invoice}\n")
        return f"49 EUR of invoice {invoice} are paid back."

    return {"find_charges": find_charges, "refund": refund}
