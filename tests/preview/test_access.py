"""What the server of a preview refuses, and the headers of what it answers."""

import asyncio
import json
import socket
from collections.abc import Iterator

import pytest
from starlette.responses import Response
from starlette.types import Message

from tests.internals import Guard
from tests.preview.running import SUPPORT, Preview, preview

pytestmark = pytest.mark.slow
CHOICES = json.dumps({"prompt": None, "budget": None, "model": None, "targets": []}).encode()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Preview]:
    """Return a preview."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "support.py").write_text(SUPPORT)
    with preview(folder, "support.py:answer") as running:
        yield running


def raw(running: Preview, head: str) -> bytes:
    """Return the first line of the answer to a request that is sent as it is."""
    with socket.create_connection(("127.0.0.1", running.port), timeout=60) as connection:
        connection.sendall(head.replace("\n", "\r\n").encode() + b"\r\n\r\n")
        return connection.recv(1000).partition(b"\r\n")[0]


def test_the_page(running: Preview) -> None:
    """The page holds no text of a prompt and no token, and loads nothing of others."""
    status, headers, body = running.request("GET", "/")
    assert 200 == status
    assert running.token.encode() not in body
    assert b"Be kind." not in body
    policy = headers["content-security-policy"].split("; ")
    assert {"default-src 'none'", "connect-src 'self'", "frame-ancestors 'none'"} <= {*policy}
    scripts = [rule for rule in policy if rule.startswith("script-src ")]
    assert [1] == [len(rule.split()) - 1 for rule in scripts]
    assert scripts[0].startswith("script-src 'sha256-")
    assert ("nosniff", "no-store") == (headers["x-content-type-options"], headers["cache-control"])
    assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_this_machine(running: Preview, host: str) -> None:
    """Both names of this machine are allowed, and its own origin."""
    origin = f"http://{host}:{running.port}"
    status, _, _ = running.request("GET", "/", Host=f"{host}:{running.port}", Origin=origin)
    assert 200 == status


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1.nip.io:{port}",
        "[::1]:{port}",
        "localhost.:{port}",
        "",
    ],
)
def test_another_host(running: Preview, host: str) -> None:
    """A name that a foreign site can give to this machine is refused."""
    status, headers, body = running.request("GET", "/", Host=host.format(port=running.port))
    assert (403, b'{"error":"the host is not this machine"}') == (status, body)
    assert "frame-ancestors 'none'" in headers["content-security-policy"]


def test_no_host_and_two(running: Preview) -> None:
    """A request without a host, or with two, is refused."""
    assert b"403" in raw(running, "GET / HTTP/1.0")
    two = f"GET / HTTP/1.1\nHost: 127.0.0.1:{running.port}\nHost: evil.example"
    assert b"200" not in raw(running, two)


@pytest.mark.parametrize(
    "host", ["localhost:{other}", "127.0.0.1:{other}", "localhost", "127.0.0.1"]
)
def test_another_port(running: Preview, host: str) -> None:
    """Through a tunnel with another port a page says why, with the command that works."""
    status, headers, body = running.request("GET", "/", Host=host.format(other=running.port + 1))
    assert (403, True) == (status, headers["content-type"].startswith("text/html"))
    command = f"ssh -N -L {running.port}:127.0.0.1:{running.port}"
    assert command.encode() in body
    assert running.token.encode() not in body


def test_a_tunnel_with_the_same_port(running: Preview) -> None:
    """What ssh forwards from the same port is a request like any other."""
    host = f"localhost:{running.port}"
    headers = {"Host": host, "x_promptdsl_token": running.token, "content_type": "application/json"}
    assert (
        200 == running.request("POST", "/choices", CHOICES, Origin=f"http://{host}", **headers)[0]
    )


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "https://127.0.0.1:{port}",
        "http://127.0.0.1",
        "http://localhost:1",
    ],
)
def test_another_origin(running: Preview, origin: str) -> None:
    """A page of another origin is refused, also with the token."""
    headers = {"x_promptdsl_token": running.token, "content_type": "application/json"}
    origin = origin.format(port=running.port)
    status, _, body = running.request("POST", "/choices", CHOICES, Origin=origin, **headers)
    assert (403, b'{"error":"the request is from a page of another origin"}') == (status, body)


@pytest.mark.parametrize("token", [None, "", "x", "{token}x", "{token}, {token}", "\u00e9"])
@pytest.mark.parametrize(("method", "path"), [("GET", "/states"), ("POST", "/choices")])
def test_another_token(running: Preview, method: str, path: str, token: str | None) -> None:
    """Without the token in its header nothing is answered."""
    headers = {} if token is None else {"x_promptdsl_token": token.format(token=running.token)}
    cookie = f"token={running.token}"
    status, _, _ = running.request(method, path, CHOICES, Cookie=cookie, **headers)
    assert 403 == status


def test_a_token_in_the_address(running: Preview) -> None:
    """A token in a query is none."""
    assert 403 == running.request("GET", f"/states?token={running.token}")[0]


@pytest.mark.parametrize(
    "method", ["HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "PROPFIND"]
)
@pytest.mark.parametrize("path", ["/", "/states", "/choices"])
def test_another_method(running: Preview, method: str, path: str) -> None:
    """Each address has one method."""
    status, headers, _ = running.request(method, path, x_promptdsl_token=running.token)
    assert (405, {"/": "GET", "/states": "GET", "/choices": "POST"}[path]) == (
        status,
        headers["allow"],
    )
    assert "access-control-allow-methods" not in headers


@pytest.mark.parametrize(
    "path", ["/x", "//", "/states/", "/../etc/passwd", "/%2e%2e/etc/passwd", "/static/app.js"]
)
def test_another_path(running: Preview, path: str) -> None:
    """There is nothing else: no file is served."""
    assert 404 == running.request("GET", path, x_promptdsl_token=running.token)[0]


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", None])
def test_another_content_type(running: Preview, kind: str | None) -> None:
    """A form of another site is refused."""
    headers = {} if kind is None else {"content_type": kind}
    headers["x_promptdsl_token"] = running.token
    assert 415 == running.request("POST", "/choices", CHOICES, **headers)[0]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"[" * 60_000, 400),
        (b"[]", 400),
        (b"{}", 400),
        (CHOICES.replace(b"null", b"true"), 400),
        (CHOICES.replace(b"[]", b"[1]"), 400),
        (b'{"prompt": null, "budget": 0, "model": null, "targets": []}', 400),
        (b'{"prompt": null, "budget": 1e3, "model": null, "targets": []}', 400),
        (b'{"prompt": null, "budget": null, "model": "", "targets": []}', 400),
        (b'{"prompt": null, "budget": null, "model": null, "targets": [], "x": 1}', 400),
        (b" " * 70_000, 413),
        (b"\xff", 400),
    ],
)  # fmt: skip
def test_another_body(running: Preview, body: bytes, status: int) -> None:
    """What is no choice is refused with the reason."""
    headers = {"x_promptdsl_token": running.token, "content_type": "application/json"}
    answered, _, answer = running.request("POST", "/choices", body, **headers)
    assert (status, True) == (answered, "error" in json.loads(answer))


def test_a_socket_of_the_web(running: Preview) -> None:
    """A WebSocket is refused."""
    upgrade = "Connection: Upgrade\nUpgrade: websocket\nSec-WebSocket-Key: eA=="
    assert b"101" not in raw(running, f"GET / HTTP/1.1\nHost: 127.0.0.1:{running.port}\n{upgrade}")


def test_only_this_machine(running: Preview) -> None:
    """The server listens at 127.0.0.1 alone: another address of this machine is refused."""
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.2", running.port), timeout=5)


@pytest.mark.parametrize(("port", "status"), [(80, 204), (8080, 403)])
def test_the_usual_port(port: int, status: int) -> None:
    """At the port 80 a browser sends a host without a port."""
    statuses: list[int] = []

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    async def receive() -> Message:
        return {"type": "http.request"}

    guard = Guard(Response(status_code=204), port=port, token="x")
    headers = [(b"host", b"localhost"), (b"origin", b"http://localhost")]
    scope = {"type": "http", "method": "GET", "path": "/", "headers": headers}
    asyncio.run(guard(scope, receive, send))
    assert [status] == statuses


def test_a_body_that_ends_too_early(running: Preview) -> None:
    """Who leaves in the middle of a body is no error of the server."""
    with socket.create_connection(("127.0.0.1", running.port), timeout=60) as connection:
        head = f"POST /choices HTTP/1.1\r\nHost: 127.0.0.1:{running.port}\r\n"
        head += f"x-promptdsl-token: {running.token}\r\ncontent-type: application/json\r\n"
        connection.sendall(f"{head}content-length: 100\r\n\r\n{{".encode())
    assert 200 == running.request("GET", "/")[0]
    assert "Traceback" not in running.errors()
