"""Two rows of a benchmark, of which the second takes twice as many instructions."""

from benchmarks.rows import HAND, Row


def repeated(times: int) -> None:
    """Run an empty loop."""
    for _ in range(times):
        pass


def rows() -> list[Row]:
    """Return the rows."""
    return [
        Row("a loop", {HAND: lambda _question: repeated(50_000)}),
        Row("a loop, twice as long", {HAND: lambda _question: repeated(100_000)}),
    ]
