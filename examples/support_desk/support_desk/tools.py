"""The functions that the model may call. The model reads their signatures and docstrings."""

CHARGES = {1881: [49.0, 49.0], 1902: [49.0]}


def find_charges(invoice: int) -> list[float]:
    """List the charges of an invoice, in EUR.

    Args:
        invoice: The number of the invoice.
    """
    return CHARGES.get(invoice, [])


def open_case(team: str, reason: str) -> str:
    """Open a case for another team, and return its number.

    Args:
        team: The team, such as "billing".
        reason: One sentence that the team reads first.
    """
    return f"{team}-1: {reason}"
