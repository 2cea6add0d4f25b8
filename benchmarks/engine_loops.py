"""Programs that write the requests of rows in the engines of others, each a process of its own.

``python -m benchmarks.engine_loops NAME ROWS OUTPUT``
"""

import json
import sys
from collections.abc import Iterator
from typing import Any

from benchmarks.row_loops import MAIL, MODEL, RULES, TEAMS, TOOL
from benchmarks.triage import triage
from promptdsl import Timeline

COLUMNS = "customer string, plan string, subject string, mail string, orders int"


def sort_mail(*, mail: str, **cells: Any) -> Timeline:
    """Return the prompt of a row whose column is not named as that of the requests."""
    return triage(body=mail, **cells)


def requests_by_hand(columns: dict[str, Any]) -> dict[str, Any]:
    """Return the bodies of a batch of Ray Data, written with ``str.format``; nothing is checked."""
    teams = "\n".join(f"| {team} | {handles} |" for team, handles in TEAMS)
    bodies: list[str] = []
    for cells in zip(*columns.values(), strict=True):
        named = dict(zip(columns, cells, strict=True))
        named["body"] = named.pop("mail")
        texts = (RULES.format_map(named) + teams, MAIL.format_map(named))
        roles = zip(("system", "user"), texts, strict=True)
        messages = [{"role": role, "content": text} for role, text in roles]
        body = {"model": MODEL, "messages": messages, "tools": [TOOL]}
        bodies.append(json.dumps(body, ensure_ascii=False))
    return {"body": bodies}


def with_ray_data(name: str, rows: str, output: str) -> None:
    """Write the requests with the readers, actors and writers of Ray Data."""
    import ray

    from promptdsl.batch import RowRenderer

    mails = ray.data.read_json(rows).rename_columns({"body": "mail"})
    if name == "ray_by_hand":
        mails.map_batches(requests_by_hand).write_json(output)
        return
    mails.map_batches(
        RowRenderer,
        fn_constructor_args=(sort_mail,),
        fn_constructor_kwargs={"model": MODEL},
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(size=1),
    ).write_json(output)


def with_daft(_name: str, rows: str, output: str) -> None:
    """Write the requests with a batch function of Daft."""
    import daft

    from promptdsl.batch import RowRenderer

    renderer, text = RowRenderer(triage, model=MODEL), daft.DataType.string()
    mails = daft.read_json(rows)
    names = mails.column_names

    @daft.func.batch(return_dtype=text)
    def body(*columns: Any) -> list[str | None]:
        cells = zip(*(column.to_pylist() for column in columns), strict=True)
        results = renderer([dict(zip(names, values, strict=True)) for values in cells])
        return [result.body or None for result in results]

    mails.select(body(*(mails[name] for name in names))).write_json(output)


def with_spark(_name: str, rows: str, output: str) -> None:
    """Write the requests with Spark's Arrow batches."""
    import pyarrow
    from pyspark.sql import SparkSession

    from promptdsl.batch import RowRenderer

    renderer = RowRenderer(sort_mail, model=MODEL)

    def rendered(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            yield from renderer(pyarrow.Table.from_batches([batch])).to_batches()

    spark = SparkSession.builder.getOrCreate()
    schema = COLUMNS.replace("mail", "body")
    mails = spark.read.json(rows, schema=schema).withColumnRenamed("body", "mail")
    mails.mapInArrow(rendered, f"{COLUMNS}, body string, problem string").write.json(output)


def with_datasets(_name: str, rows: str, output: str) -> None:
    """Write the requests with datasets."""
    from datasets import load_dataset

    from promptdsl.batch import RowRenderer

    cache = f"{output}-cache"
    mails = load_dataset("json", data_files=rows, split="train", cache_dir=cache)
    mails, renderer = mails.rename_column("body", "mail"), RowRenderer(sort_mail, model=MODEL)
    mails.with_format("arrow").map(renderer, batched=True).to_json(f"{output}.jsonl")


LOOPS = {
    "ray_data": with_ray_data,
    "ray_by_hand": with_ray_data,
    "daft": with_daft,
    "spark": with_spark,
    "datasets": with_datasets,
}

if __name__ == "__main__":
    LOOPS[sys.argv[1]](*sys.argv[1:])
