"""The server of a preview: it sends the page and its states, and takes what a reader chooses.

Read :func:`serve` first.
"""

import asyncio
import json
import logging
import os
import secrets
import signal
import socket
import sys
import webbrowser
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from html import unescape

import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from promptdsl.page import live_page_html
from promptdsl.preview.access import Guard, refused
from promptdsl.preview.keepers import ColdKeeper, Keeper, NurseryKeeper
from promptdsl.preview.session import Choices, PreviewJob, Session

MAX_BODY = 64 * 1024
"""The maximum number of bytes in the body of a request."""


def listening_socket(port: int) -> socket.socket:
    """Return a socket that listens on this machine only; port 0 means any free port.

    Raises :class:`OSError` for a port that another program uses.
    """
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if os.name == "posix":  # elsewhere it would share the port with another program
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        listening.listen(100)
    except OSError:
        listening.close()
        raise
    return listening


def serve(
    job: PreviewJob,
    command: Sequence[str],
    listening: socket.socket,
    *,
    title: str,
    started: Callable[[str], None],
) -> None:
    """Serve a preview until Ctrl-C.

    ``command`` starts the other processes. ``started`` is called with the address before the
    preview answers: ``listening`` already takes requests.
    """
    token = secrets.token_urlsafe(32)
    port: int = listening.getsockname()[1]
    started(f"http://127.0.0.1:{port}/#token={token}")
    asyncio.run(_serve(job, command, listening, title=title, token=token))


async def _serve(
    job: PreviewJob,
    command: Sequence[str],
    listening: socket.socket,
    *,
    title: str,
    token: str,
) -> None:
    """Run the server and the session until a signal ends them."""
    keeper: Keeper = ColdKeeper(command)
    if not job.is_cold:
        keeper = nursery = NurseryKeeper(command)
        await nursery.start_nursery()
    session = Session(job, keeper)
    app = Guard(_app(session, title), port=listening.getsockname()[1], token=token)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, lifespan="off",
        proxy_headers=False, ws="none", http="h11", loop="asyncio",
        timeout_graceful_shutdown=1,  # a client may not read the response to its request
    )  # fmt: skip
    server = _Server(config)

    def stop() -> None:
        """End the server; the second call ends it without waiting for its responses."""
        session.end()
        logging.getLogger("uvicorn.error").setLevel(
            logging.CRITICAL
        )  # clients that are still connected are no error
        server.force_exit = server.should_exit
        server.should_exit = True

    session_task = asyncio.create_task(session.run())
    session_task.add_done_callback(lambda _: stop())
    loop = asyncio.get_running_loop()

    def interrupted(signal_number: int, frame: object) -> None:
        del signal_number, frame
        loop.call_soon_threadsafe(stop)

    signals = [signal.SIGINT, signal.SIGTERM]
    if os.name == "posix" and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # not with nohup
        signals.append(signal.SIGHUP)
    for signal_number in signals:
        signal.signal(signal_number, interrupted)
    await server.serve(sockets=[listening])
    session_task.cancel()
    with suppress(asyncio.CancelledError):
        await session_task


class _Server(uvicorn.Server):
    """A server that does not handle signals: the handlers in ``_serve`` also end the streams."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Capture no signals."""
        yield


def _app(session: Session, title: str) -> Starlette:
    """Return the application: its three paths and their responses."""
    html = live_page_html(title)
    # The first ``content`` in the page is its security policy. As a header, it may also forbid
    # other pages to show this one in a frame.
    _, _, after_content = html.partition(' content="')
    policy = unescape(after_content.partition('"')[0]) + "; frame-ancestors 'none'"

    async def page(_: Request) -> Response:
        return HTMLResponse(html, headers={"content-security-policy": policy})

    async def states(_: Request) -> Response:
        return StreamingResponse(session.states(), media_type="application/x-ndjson")

    async def choices(request: Request) -> Response:
        body = bytearray()
        try:
            async for piece in request.stream():
                body += piece
                if len(body) > MAX_BODY:
                    return refused(413, "the body is too large")
            session.choose(Choices.from_data(json.loads(body)))
        except (ValueError, RecursionError) as error:
            return refused(400, str(error))
        except ClientDisconnect:
            return refused(400, "the body ended too early")
        return JSONResponse({})

    return Starlette(
        routes=[
            Route("/", page, methods=["GET"]),
            Route("/states", states, methods=["GET"]),
            Route("/choices", choices, methods=["POST"]),
        ]
    )


def open_browser(address: str) -> None:
    """Open an address in the browser of the reader, if there is a screen."""
    has_screen = sys.platform != "linux" or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    if has_screen:
        webbrowser.open(address)
