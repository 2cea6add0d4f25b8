"""Tables of random types of Arrow through a batch, its resumption, and the way back.

Run it:  python -m tests.batch.odd_tables --tables 300 --seed 1
"""

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from promptdsl import Timeline, User, Value
from promptdsl.batch import (
    Job,
    ProcessPool,
    RowReader,
    RowRenderer,
    read_results,
    render_rows,
    write_batch,
)
from tests.batch.folders import contents

ROWS = 12
BITS = (8, 16, 32, 64)
Maker = Callable[[Random], Any]


def ask(text: Any = "nothing", other: Any = None) -> Timeline:
    """Return a prompt that shows its cells; some fail."""
    if str(text).endswith("3"):
        raise ValueError(f"odd {text!r}")
    return Timeline(User("Cells: ", Value(str(text)), Value(str(other))))


def renderer() -> RowRenderer:
    """Return the renderer of the rows."""
    return RowRenderer(ask, model="gpt-5")


def integers(bits: int, low: int = 0) -> Maker:
    """Return a maker of integers; many are at the ends of what the bits hold."""
    return lambda random: random.choice([low, 0, 1, 2**bits - 1, random.randrange(low, 2**bits)])


def plain(pyarrow: Any) -> list[tuple[Any, Maker]]:
    """Return types that nest nothing, and what makes their cells, as integers where they can be."""
    unit = ("s", "ms", "us", "ns")
    zones = (None, "UTC", "Europe/Oslo", "+05:30", "Nowhere/X")
    types: list[tuple[Any, Maker]] = [
        (pyarrow.null(), lambda _: None),
        (pyarrow.bool_(), lambda random: random.random() < 0.5),
        *(
            (getattr(pyarrow, f"int{n}")(), integers(n - 1, -(2 ** (n - 1))))
            for n in (8, 16, 32, 64)
        ),
        *((getattr(pyarrow, f"uint{n}")(), integers(n)) for n in (8, 16, 32, 64)),
        *((kind, number) for kind in (pyarrow.float32(), pyarrow.float64())),
        *((pyarrow.decimal128(38, places), decimal) for places in (0, 2)),
        (pyarrow.decimal256(60, 1), decimal),
        (pyarrow.date32(), integers(31, -(2**31))),
        (pyarrow.date64(), lambda random: 86_400_000 * random.randrange(-(10**8), 10**8)),
        *((pyarrow.timestamp(u, tz=tz), integers(62, -(2**62))) for u in unit for tz in zones),
        *((pyarrow.timestamp(u), integers(31)) for u in unit),
        *((pyarrow.time32(u), lambda random: random.randrange(86_400)) for u in unit[:2]),
        *((pyarrow.time64(u), lambda random: random.randrange(86_400_000)) for u in unit[2:]),
        *((pyarrow.duration(u), integers(40, -(2**40))) for u in unit),
        *((kind, text) for kind in (pyarrow.string(), pyarrow.large_string())),
        *((kind, data) for kind in (pyarrow.binary(), pyarrow.large_binary())),
        (pyarrow.binary(3), lambda random: random.randbytes(3)),
    ]
    return types


def number(random: Random) -> float:
    """Return a number, or none that JSON has."""
    return random.choice([0.0, -0.5, 1e30, 1e-9, float("nan"), float("inf"), float("-inf")])


def decimal(random: Random) -> Any:
    """Return a decimal number."""
    from decimal import Decimal

    return Decimal(random.randrange(-(10**6), 10**6))


def text(random: Random) -> str:
    """Return a text."""
    return random.choice(["", "a", "nan", "3", " ", "\0", "\u2028", "\U0001f600", "x" * 300, '"'])


def data(random: Random) -> bytes:
    """Return bytes; some are no UTF-8."""
    return random.choice([b"", b"a", b"\xff", b"\0", random.randbytes(5)])


def column(pyarrow: Any, random: Random) -> Any:
    """Return a column of a random type, which may be nested, a dictionary, or no UTF-8."""
    kind, make = random.choice(plain(pyarrow))
    many = ROWS * 3
    cells = [None if random.random() < 0.15 else make(random) for _ in range(many)]
    if pyarrow.types.is_temporal(kind):  # given as integers, so that any of them can be there
        width = pyarrow.int32() if kind.bit_width == 32 else pyarrow.int64()
        flat = pyarrow.array(cells, width).view(kind)
    else:
        flat = pyarrow.array(cells, kind)
    shape = random.randrange(6)
    if shape == 0:
        return pyarrow.ListArray.from_arrays([*range(0, many + 1, 3)], flat)
    if shape == 1:
        return pyarrow.FixedSizeListArray.from_arrays(flat, 3)
    if shape == 2:
        return flat[:ROWS].dictionary_encode() if not pyarrow.types.is_null(kind) else flat[:ROWS]
    if shape == 3 and pyarrow.types.is_string(kind):
        odd = pyarrow.array([random.choice([b"a\xffb", b"fine", None]) for _ in range(ROWS)])
        return odd.view(pyarrow.string())
    return flat[:ROWS]


def written(path: Path, random: Random) -> Any:
    """Write a table, and return it as it is read again."""
    import pyarrow
    from pyarrow import parquet

    while True:
        table = pyarrow.table(
            {
                "text": column(pyarrow, random),
                "other": column(pyarrow, random),
                "key": [random.choice(["a", "b-1", "", None, "no id", str(n)]) for n in range(ROWS)]
                if random.random() < 0.5
                else column(pyarrow, random)[:ROWS],
            }
        )
        try:
            parquet.write_table(table, path)
        except pyarrow.ArrowException:
            continue  # a type that Parquet does not have
        return parquet.read_table(path)


def job(path: Path, *, workers: int = 1) -> Job:
    """Return the batch of a table."""
    reader = RowReader([str(path)], {"text", "other", "key"})
    pools = partial(ProcessPool, workers=workers) if workers > 1 else None
    return Job(reader, renderer(), renderer, {}, pools)


def checked(folder: Path, random: Random, *, workers: int = 1) -> Iterator[str]:
    """Yield what is wrong with the batch of one table."""
    path, out = folder / "t.parquet", folder / "out"
    table = written(path, random)
    options: dict[str, Any] = random.choice([{}, {"dedupe": True}, {"id": "key"}])
    writer = [*write_batch(job(path), str(out), **options)][-1]
    if writer.rows != ROWS or not writer.finished:
        yield f"{writer.rows} rows of {ROWS}"
    entries = {
        name: [json.loads(line) for line in (out / name).read_text("utf-8").splitlines()]
        for name in ("ids.jsonl", "errors.jsonl")
    }
    rows = sorted(journal_line["row"] for both in entries.values() for journal_line in both)
    if rows != [*range(1, ROWS + 1)]:
        yield f"rows {rows}"
    if not all(journal_line["what"] for journal_line in entries["errors.jsonl"]):
        yield "a failure without a reason"
    again = folder / "again"
    with closing(write_batch(job(path), str(again), **options)) as batch:
        for _ in range(random.randrange(1, ROWS)):
            next(batch)
    [*write_batch(job(path, workers=workers), str(again), resume=True, **options)]
    if contents(out) != contents(again):
        yield "a batch that was resumed is another one"
    answers = [*read_results([], str(out), ("text", "key"))]
    if [answer["row"] for answer in answers] != [*range(1, ROWS + 1)]:
        yield "rows without an answer"
    json.dumps(answers, allow_nan=False)
    bodies = renderer()(table).column("body").to_pylist()
    results = [*render_rows(RowReader([str(path)]), ask, model="gpt-5")]
    if [result.body or None for result in results] != bodies:
        yield "a table in memory gives other requests"


def tried(
    folder: Path, *, tables: int, seed: int, pooled: int = 0
) -> tuple[list[str], Counter[str]]:
    """Try so many tables, each ``pooled``-th one with two workers; return faults and figures."""
    faults, figures = list[str](), Counter[str]()
    for number in range(tables):
        random = Random(f"{seed} {number}")
        subfolder = folder / str(number)
        subfolder.mkdir()
        workers = 2 if pooled and number % pooled == 0 else 1
        try:
            new_faults = [*checked(subfolder, random, workers=workers)]
        except Exception as error:
            new_faults = [f"{type(error).__name__}: {error}"]
        faults += [f"table {number}: {fault}" for fault in new_faults]
        errors = subfolder / "out" / "errors.jsonl"
        lines = errors.read_text("utf-8").count("\n") if errors.exists() else 0
        figures += Counter(tables=1, rows=ROWS, failed=lines)
    return faults, figures


def main() -> None:
    """Print what is wrong, and the figures."""
    parser = argparse.ArgumentParser(description="Make batches of tables of random types.")
    parser.add_argument("--tables", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pooled", type=int, default=10, help="each so manieth with two workers")
    options = vars(parser.parse_args())
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        faults, figures = tried(Path(folder), **options)
    print(dict(figures), *(faults or ["nothing is wrong"]), sep="\n")
    sys.exit(bool(faults))


if __name__ == "__main__":
    from tests.batch.odd_tables import main as imported  # workers have to find it

    imported()
