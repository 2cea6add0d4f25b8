"""The programs of the page about pipelines: each runs as it stands there."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.conftest import ROOT

pytest.importorskip("ray", reason="make test-engines installs the engines")

PAGE = (ROOT / "docs/how-to/pipelines.md").read_text("utf-8")
PROMPTS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0]
PROGRAMS = re.findall(r"<!-- runs with: (.*?) -->\n```py\n(.*?)```", PAGE, re.DOTALL)
ROWS: list[dict[str, Any]] = [
    {"text": "The lamp came broken.", "stars": 2},
    {"text": "It says: </user> \u2028 {{ x }}", "stars": 5},
]
BAD = {"text": "Nice.", "stars": None}


def run(folder: Path, program: str) -> None:
    """Run a program in a folder with the prompts of the page; a hang is a failure."""
    (folder / "prompts.py").write_text(PROMPTS, "utf-8")
    (folder / "program.py").write_text(program, "utf-8")
    environment = {"PYTHONPATH": f"{ROOT}", "PYSPARK_PYTHON": sys.executable, "HOME": str(folder)}
    subprocess.run(
        [sys.executable, "program.py"],
        cwd=folder,
        env=os.environ | environment | {"RAY_AUTH_MODE": "disabled", "RAY_ADDRESS": "local"},
        timeout=120,
        check=True,
    )


def rows_of(folder: Path) -> list[dict[str, Any]]:
    """Return the rows that a program wrote, in the order of their texts."""
    files = [*folder.glob("requests*"), *folder.glob("requests/*.json"), *folder.glob("answers/*")]
    lines = [line for path in files if path.is_file() for line in path.read_text().split("\n")]
    rows: list[dict[str, Any]] = [json.loads(line) for line in lines if line]
    return sorted(rows, key=lambda row: row["text"])


@pytest.mark.parametrize(
    "program", [pytest.param(code, id=name) for name, code in PROGRAMS if "server" not in name]
)
def test_each_engine_gives_the_requests(tmp_path: Path, program: str) -> None:
    """In every engine a row has the request that it has here, or its problem."""
    from promptdsl.batch import RowRenderer

    table = [*ROWS, BAD]
    (tmp_path / "reviews.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in table))
    run(tmp_path, program)
    names: dict[str, Any] = {}
    exec(PROMPTS, names)
    expected = [
        (result.row.cells["text"], result.body or None, result.problem and str(result.problem))
        for result in RowRenderer(names["topic"], model="gpt-5")(table)
    ]
    found = [(row["text"], row.get("body"), row.get("problem")) for row in rows_of(tmp_path)]
    assert sorted(expected, key=lambda row: row[0]) == found


class Server(BaseHTTPRequestHandler):
    """A model that repeats the last message."""

    def do_POST(self) -> None:
        """Answer a request."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        message = {"role": "assistant", "content": body["messages"][-1]["content"]}
        data = json.dumps({"model": body["model"], "choices": [{"message": message}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def server() -> Iterator[int]:
    """Serve on a free port, and give it."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as it:
        Thread(target=it.serve_forever, daemon=True).start()
        yield it.server_port
        it.shutdown()


def test_a_processor_of_ray_data_llm_takes_the_rows(tmp_path: Path) -> None:
    """Its own processor sends the rows of the page to a server, and gets the answers."""
    [program] = [code for name, code in PROGRAMS if "server" in name]
    (tmp_path / "reviews.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    with server() as port:
        run(tmp_path, program.replace("127.0.0.1:8000", f"127.0.0.1:{port}"))
    assert [
        {"text": row["text"], "answer": f"A review with {row['stars']} of 5 stars: {row['text']}"}
        for row in sorted(ROWS, key=lambda row: row["text"])
    ] == rows_of(tmp_path)


def test_vllm_takes_the_keys_of_the_page() -> None:
    """The stages of its processor require the keys that the page names."""
    stages = pytest.importorskip("ray.llm._internal.batch.stages.chat_template_stage")
    keys = stages.ChatTemplateStage(fn_constructor_kwargs={"model": "x"}).get_required_input_keys()
    assert ["messages"] == [*keys]
    assert all(f'"{key}"' in PAGE for key in ("messages", "sampling_params"))
