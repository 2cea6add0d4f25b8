"""A provider on the loopback interface: the real clients of the examples talk to it."""

import json
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, cast

Server = Callable[[dict[str, Any]], tuple[int, Iterator[bytes]]]
"""Returns for the JSON body of a request the status and the parts of the answer."""


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status, parts = cast("Any", self.server).reply(body)
        self.send_response(status)
        self.send_header(
            "Content-Type", "text/event-stream" if body.get("stream") else "application/json"
        )
        self.end_headers()
        for part in parts:
            self.wfile.write(part)
            self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the test's own report is enough."""


@contextmanager
def served(reply: Server) -> Generator[str]:
    """Answer requests for the length of a ``with`` block; the address is yielded."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        server.daemon_threads = True
        server.reply = reply  # type: ignore[attr-defined]
        server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a killed client
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
