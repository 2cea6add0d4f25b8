"""The use of a budget: its line of text and its bar."""

import attrs

BUDGET_BAR = 40
"""The width of the bar of a budget, in characters."""
_EIGHTHS = " ▏▎▍▌▋▊▉"


@attrs.frozen
class BudgetUse:
    """The use of a budget, in tokens."""

    limit: int
    used: int
    reserve: int
    free: int

    def line(self, word: str = "") -> str:
        """Return the use in words; ``word`` follows the limit."""
        texts = [f"{self.used:,} of {self.limit:,}{word}"]
        if self.reserve:
            texts.append(f"{self.reserve:,} for the answer")
        texts.append(f"{self.free:,} free" if self.free >= 0 else f"{-self.free:,} too many")
        return " · ".join(texts)

    def shares(self) -> tuple[float, float]:
        """Return the shares of the limit that are used, and used or reserved; at most 1."""
        if not self.limit:
            return 1, 1
        return min(self.used / self.limit, 1), min((self.used + self.reserve) / self.limit, 1)

    def bar(self) -> str:
        """Return a bar: what is used, what is kept for the answer, what is free."""
        used, taken = (round(share * BUDGET_BAR * 8) for share in self.shares())
        full = eighths(used / (BUDGET_BAR * 8), BUDGET_BAR).rstrip()
        reserve = "▒" * (round(taken / 8) - len(full))
        return f"{full}{reserve}".ljust(BUDGET_BAR, "·")


def eighths(share: float, width: int) -> str:
    """Return a bar of a share, in eighths of a character, padded to a width."""
    full, rest = divmod(max(round(min(share, 1) * width * 8), 0), 8)
    return f"{'█' * full}{_EIGHTHS[rest] if rest else ''}".ljust(width)
