"""A payload copied as code: what the SDKs of the providers and curl send is the payload."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from promptdsl import *
from promptdsl.comparing import visible
from promptdsl.page import write_page
from tests.browser import Browser
from tests.page.opening import settled
from tests.views.hostile_prompt import ATTACKS, hostile_prompt

pytestmark = pytest.mark.browser

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
SHELL = (
    "it's '\\'' $(touch ran) `touch ran` \"$HOME\" \\ ! !! %s %n \\n\\0",
    "'\nEOF\n'; touch ran; '",
)
ODD = ("\ud800", "\x7f\x80\x9b31m", "\U000e0041\u202e", "~", "\r", "\u2028")
MODELS = {
    "anthropic": "claude-opus-5-5",
    "openai": "gpt-5",
    "openai_responses": "gpt-5",
    "gemini": "gemini-3.8-flash",
    "bedrock": "us.anthropic.claude-sonnet-4-5-v1:0",
    "mistral": "mistral-large's $(touch ran)",
}
TEMPLATE = "{% for message in messages %}[{{ message.role }}]{{ message.content }}{% endfor %}"


class Recorder(BaseHTTPRequestHandler):
    """Answers each request with ``{}``, and keeps its path, its key and its body."""

    requests: list[tuple[str, str, bytes]]

    def do_POST(self) -> None:
        """Keep a request."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        header_names = ("x-api-key", "x-goog-api-key", "Authorization")
        key = next(self.headers[name] for name in header_names if self.headers[name])
        self.requests.append((self.path, key, body))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, format: str, *args: object) -> None:
        """Write nothing."""


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    """Return a server on this machine that records what is sent to it; curl has to be there."""
    if shutil.which("curl") is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("there is no curl")
    Recorder.requests = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def prompt_for(provider: str) -> Timeline:
    """Return a prompt whose texts try to leave code and a shell, with a picture and a deep call."""
    deep: Any = "end"
    for _ in range(120):
        deep = [deep]
    surrogates = () if provider in ("gemini", "bedrock") else ODD[:1]
    with Timeline(*hostile_prompt("http://127.0.0.1:9").content) as prompt:
        User(*map(Text, (*SHELL, *ODD[1:], *surrogates)), Image.from_bytes(PNG, "image/png"))
        call = {"none": None, "yes": True, "no": False, "big": 10**30, "float": 1e-7, "deep": deep}
        Assistant(ToolUse("find", {**call, "10": 1, "2": {}, "bytes": "AAAA"}, id="call_2"))
        ToolMessage("call_2", "done")
        User(ATTACKS[0])
    return prompt


def copied(browser: Browser, tmp_path: Path, way: str, rendered: Rendered) -> str:
    """Return the text that a button of the page copies."""
    write_page(file := tmp_path / "page.html", rendered)
    browser.look()
    browser.open(file.as_uri())
    settled(browser)
    keep = "navigator.clipboard.writeText = async text => { window.kept = text; }"
    text: str = browser.run(
        f"({keep}, document.querySelector('[data-copy={way}]').click(), "
        "new Promise(done => setTimeout(() => done(window.kept), 50)))"
    )
    return text


def run(
    program: str, folder: Path, environment: dict[str, str], code: str
) -> subprocess.CompletedProcess[bytes]:
    """Return how a shell, or Python, ran code that it reads from its standard input."""
    return subprocess.run(
        [program],
        check=False,
        input=code.encode(),
        env=environment,
        cwd=folder,
        capture_output=True,
    )


def variables(server: ThreadingHTTPServer) -> dict[str, str]:
    """Return an environment in which every provider is the server, and every key is ``secret``."""
    address = f"http://127.0.0.1:{server.server_port}"
    return {
        "PATH": os.environ["PATH"],
        **dict.fromkeys(("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"), "secret"),
        **dict.fromkeys(("MISTRAL_API_KEY", "CHAT_TEMPLATE_API_KEY"), "secret"),
        "AWS_BEARER_TOKEN_BEDROCK": "secret",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": address,
        "ANTHROPIC_BASE_URL": address,
        "GOOGLE_GEMINI_BASE_URL": address,
        **dict.fromkeys(("OPENAI_BASE_URL", "MISTRAL_BASE_URL"), f"{address}/v1"),
        "CHAT_TEMPLATE_BASE_URL": f"{address}/v1",
    }


PATHS = {
    "anthropic": "/v1/messages",
    "openai": "/v1/chat/completions",
    "openai_responses": "/v1/responses",
    "gemini": "/v1/models/gemini-3.8-flash:generateContent",
    "bedrock": "/model/us.anthropic.claude-sonnet-4-5-v1%3A0/converse",
    "mistral": "/v1/chat/completions",
}


def body_for(provider: str, rendered: Rendered) -> Any:
    """Return the body of a request: what the SDK adds to the payload, and bytes as base64."""
    from base64 import b64encode

    payload: Any = json.loads(
        json.dumps(rendered._payload(), default=lambda value: b64encode(value).decode())
    )
    if provider == "gemini":
        config = payload.pop("config")
        lifted = {key: config.pop(key) for key in [*config] if not key.startswith("response_")}
        return {**payload, **lifted, "generation_config": config}
    if provider == "bedrock":
        return payload
    extra_keys = {"max_tokens": 1024} if provider == "anthropic" else {}
    return {"model": MODELS[provider], **extra_keys, **payload}


@pytest.mark.parametrize(
    ("shell", "provider"), [*(("sh", provider) for provider in MODELS), ("bash", "openai")]
)
def test_curl(
    browser: Browser, tmp_path: Path, server: ThreadingHTTPServer, *, shell: str, provider: str
) -> None:
    """What a shell and curl send is the payload of a hostile prompt, and nothing in it is run."""
    rendered = render(prompt_for(provider), model=MODELS[provider], provider=provider)  # type: ignore[arg-type]
    command = copied(browser, tmp_path, "curl", rendered)
    assert visible(command) == command
    process = run(shell, tmp_path, variables(server), command)
    assert (0, b"{}", b"") == (process.returncode, process.stdout, process.stderr)
    ((path, key, body),) = Recorder.requests
    assert (PATHS[provider], "secret") == (path, key.removeprefix("Bearer "))
    expected = body_for(provider, rendered)
    assert expected == json.loads(body)
    assert json.dumps(expected) == json.dumps(json.loads(body))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("provider", MODELS)
def test_the_bytes_that_leave_the_shell(browser: Browser, tmp_path: Path, provider: str) -> None:
    """With ``cat`` in the place of curl, the JSON of the payload comes out, byte for byte."""
    rendered = render(prompt_for(provider), model=MODELS[provider], provider=provider)  # type: ignore[arg-type]
    command = copied(browser, tmp_path, "curl", rendered)
    (tmp_path / "curl").write_text("#!/bin/sh\nexec cat\n")
    (tmp_path / "curl").chmod(0o755)
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "AWS_REGION": "us-east-1"}
    process = run("sh", tmp_path, path, command)
    assert shlex.split(command)[2].encode() == process.stdout
    assert json.dumps(body_for(provider, rendered), indent=2) == (
        json.dumps(json.loads(process.stdout), indent=2)
    )
    assert visible(process.stdout.decode()) == process.stdout.decode()


def snake_case(value: Any) -> Any:
    """Return JSON data with the keys of google-genai, ``inlineData``, and its base64, as ours."""
    if isinstance(value, dict):
        return {
            re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", key): snake_case(part)
            for key, part in value.items()
        }
    if isinstance(value, list):
        return [*map(snake_case, value)]
    is_base64 = isinstance(value, str) and re.fullmatch(r"[\w+/-]{99,}=*", value)
    return value.translate(str.maketrans("-_", "+/")) if is_base64 else value


@pytest.mark.sdk("anthropic", "boto3", "google.genai", "openai")
@pytest.mark.parametrize("provider", MODELS)
def test_python(
    browser: Browser, tmp_path: Path, server: ThreadingHTTPServer, provider: str
) -> None:
    """What the SDK of a provider sends is the payload of a hostile prompt."""
    rendered = render(prompt_for(provider), model=MODELS[provider], provider=provider)  # type: ignore[arg-type]
    code = copied(browser, tmp_path, "Python", rendered)
    assert visible(code) == code
    environment = variables(server)
    # Over HTTP, boto3 sends no key: it signs.
    del environment["AWS_BEARER_TOKEN_BEDROCK"]
    environment |= dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "secret")
    process = run(sys.executable, tmp_path, environment, code)
    assert (0, b"") == (process.returncode, process.stderr)
    ((path, key, body),) = Recorder.requests
    assert (PATHS[provider], True) == (path, "secret" in key)
    expected = body_for(provider, rendered)
    assert snake_case(expected) == snake_case(json.loads(body))
    assert not (tmp_path / "ran").exists()


def test_a_chat_template(browser: Browser, tmp_path: Path, server: ThreadingHTTPServer) -> None:
    """Of a chat template the text is sent, to a server that the environment names."""
    prompt = Timeline(System("Be kind."), User(*map(Text, SHELL)))
    rendered = render(prompt, provider="chat_template", chat_template=TEMPLATE)
    command = copied(browser, tmp_path, "curl", rendered)
    assert 0 == run("sh", tmp_path, variables(server), command).returncode
    ((path, key, body),) = Recorder.requests
    assert ("/v1/completions", "Bearer secret") == (path, key)
    text = rendered.to_chat_template()["prompt"]
    assert {"model": "MODEL", "max_tokens": 1024, "prompt": text} == json.loads(body)
    code = copied(browser, tmp_path, "Python", rendered)
    assert [
        "import os",
        "from openai import OpenAI",
        "",
        "payload = {",
        f'    "prompt": {json.dumps(text)},',
        "}",
        'client = OpenAI(base_url=os.environ["CHAT_TEMPLATE_BASE_URL"], '
        'api_key=os.environ.get("CHAT_TEMPLATE_API_KEY", "none"))',
        'print(client.completions.create(model="MODEL", max_tokens=1024, **payload))',
    ] == code.splitlines()
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("provider", "name"),
    [
        ("openrouter_responses", "OPENROUTER"),
        ("deepseek_responses", "DEEPSEEK"),
        ("gemini_openai", "GEMINI"),
        ("groq", "GROQ"),
    ],
)
def test_the_names_of_variables(browser: Browser, tmp_path: Path, provider: Any, name: str) -> None:
    """The variables of a provider have one name, whichever of its interfaces is called."""
    rendered = render(Timeline(User("Hi.")), provider=provider, model="a-model")
    code = copied(browser, tmp_path, "Python", rendered)
    client = f'OpenAI(base_url=os.environ["{name}_BASE_URL"], api_key=os.environ["{name}_API_KEY"])'
    assert client in code
    command = copied(browser, tmp_path, "curl", rendered)
    assert [f"${name}_API_KEY", f"${name}_BASE_URL"] == sorted(re.findall(r"\$\w+", command))


@pytest.mark.sdk("openai")
@pytest.mark.parametrize("provider", ["vllm", "ollama", "litellm"])
def test_a_local_server_without_a_key(
    browser: Browser, tmp_path: Path, server: ThreadingHTTPServer, provider: Any
) -> None:
    """A server on one's own machine may have no key: the code runs without its variable."""
    rendered = render(Timeline(User("Hi.")), provider=provider, model="a-model")
    address = f"http://127.0.0.1:{server.server_port}/v1"
    environment = {"PATH": os.environ["PATH"], f"{provider.upper()}_BASE_URL": address}
    process = run(
        sys.executable, tmp_path, environment, copied(browser, tmp_path, "Python", rendered)
    )
    assert (0, b"") == (process.returncode, process.stderr)
    command = copied(browser, tmp_path, "curl", rendered)
    assert 0 == run("sh", tmp_path, environment, command).returncode
    sent = [json.loads(body) for _, _, body in Recorder.requests]
    assert [{"model": "a-model", **rendered._payload()}] * 2 == sent  # type: ignore[dict-item]


def test_a_large_request(browser: Browser, tmp_path: Path, server: ThreadingHTTPServer) -> None:
    """A request may be larger than an argument of a program."""
    rendered = render(Timeline(User("it's " * 100_000)), model="gpt-5")
    command = copied(browser, tmp_path, "curl", rendered)
    assert 0 == run("sh", tmp_path, variables(server), command).returncode
    ((_, _, body),) = Recorder.requests
    assert {"model": "gpt-5", **rendered.to_openai()} == json.loads(body)
