"""Tool loops with servers near OpenAI, on the loopback interface, that refuse what real ones do.

The rules are what users report of each server: a request that breaks one is answered with 400.
"""

import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import pytest

from promptdsl import *
from tests.renders import lossy_payload

if TYPE_CHECKING:
    from openai import OpenAI

pytestmark = pytest.mark.sdk("openai")

Json = Any  # Any: the JSON of a server


# What each server refuses.


class Sent(NamedTuple):
    """A message of a request, the one before it, its number, and that of the last user's turn."""

    message: Json
    before: Json
    number: int
    asked: int

    @property
    def calls(self) -> list[Json]:
        """The calls of the message."""
        return [*self.message.get("tool_calls", ())]

    @property
    def ids(self) -> list[str]:
        """The ids of the calls of the message, or of the call that it answers."""
        answered = [self.message["tool_call_id"]] if "tool_call_id" in self.message else []
        return [*(call["id"] for call in self.calls), *answered]

    @property
    def parts(self) -> list[Json]:
        """The parts of its content; a text has none."""
        content = self.message.get("content")
        return [*content] if isinstance(content, list) else []


def further(entries: Json, *allowed: str) -> str | None:
    """Return a key that is not among the known ones, where there is one."""
    usual = ("role", "content", "tool_calls", "tool_call_id", "name", *allowed)
    return next((key for key in entries if key not in usual), None)


def signature_of(call: Json) -> Json:
    """Return the signature of a call at Gemini."""
    return call.get("extra_content", {}).get("google", {}).get("thought_signature")


def signed(text: str) -> str:
    """Return the signature that a server writes for a text or an id."""
    return f"signed-{text}"


SUBSTITUTE = "skip_thought_signature_validator"
THINKING = "thinking is enabled but reasoning_content is missing in assistant tool call message"
GROQ = "'messages.{at}' : for 'role:assistant' the following must be satisfied"
RULES: Mapping[str, Mapping[str, Callable[[Sent], object]]] = {
    "deepseek": {
        "The `reasoning_content` in the thinking mode must be passed back to the API.": lambda it: (
            it.calls and "reasoning_content" not in it.message
        ),
        "invalid type: sequence, expected a string": lambda it: it.parts,
    },
    "moonshotai": {
        f"{THINKING} at index {{at}}": lambda it: (
            it.calls and not it.message.get("reasoning_content")
        ),
    },
    "gemini_openai": {
        "Function call is missing a thought_signature in functionCall parts": lambda it: (
            it.number > it.asked and it.calls and not signature_of(it.calls[0])
        ),
        "Corrupted thought signature.": lambda it: [
            call
            for call in it.calls
            if signature_of(call) not in (None, SUBSTITUTE, signed(call["id"]))
        ],
        "function_response.name: Name cannot be empty.": lambda it: (
            it.message["role"] == "tool" and not it.message.get("name")
        ),
    },
    "vllm": {
        "System message must be at the beginning.": lambda it: (
            it.message["role"] == "system" and it.number > 0
        ),
        "Unknown part type: file": lambda it: "file" in [part["type"] for part in it.parts],
    },
    "mistral": {
        "Tool call id was {wrong} but must be a-z, A-Z, 0-9, with a length of 9.": lambda it: next(
            (id for id in it.ids if not (len(id) == 9 and id.isascii() and id.isalnum())), None
        ),
        "extra_forbidden: {wrong}": lambda it: further(it.message, "prefix"),
        "extra_forbidden: {wrong} of a call": lambda it: next(
            filter(None, (further(call, "id", "type", "function", "index") for call in it.calls)),
            None,
        ),
        "Unexpected role 'user' after role 'tool'": lambda it: (
            (it.before.get("role"), it.message["role"]) == ("tool", "user")
        ),
    },
    "openrouter": {
        "Invalid `signature` in `thinking` block": lambda it: [
            item
            for item in it.message.get("reasoning_details", ())
            if item["type"] == "reasoning.text" and item.get("signature") != signed(item["text"])
        ],
    },
    "cerebras": {
        "property 'messages.{at}.assistant.{wrong}' is unsupported": lambda it: further(
            it.message, "reasoning"
        ),
    },
    "groq": {
        f"{GROQ}[('messages.{{at}}' : property '{{wrong}}' is unsupported)]": lambda it: further(
            it.message
        ),
    },
}
"""By server, what it says of a message for which the rule returns something."""


def complaints(name: str, messages: list[Json], answers: list[Json]) -> Iterator[str]:
    """Yield what a server says of the messages of a request, after the answers that it wrote."""
    last_question = max(
        (at for at, message in enumerate(messages) if message["role"] == "user"), default=0
    )
    open_ids: list[str] = []
    for at, message in enumerate(messages):
        message_in_request = Sent(message, messages[at - 1] if at else {}, at, last_question)
        problems = {why: rule(message_in_request) for why, rule in RULES[name].items()}
        yield from (why.format(at=at, wrong=wrong) for why, wrong in problems.items() if wrong)
        if message["role"] not in ("system", "user", "assistant", "tool"):
            yield f"messages[{at}].role: unknown variant `{message['role']}`"
        if (message["role"] == "tool") != bool(open_ids) or message_in_request.ids[:1] != open_ids[
            :1
        ] != []:
            yield "'tool_calls' must be followed by messages responding to each 'tool_call_id'"
        open_ids = open_ids[1:] or [call["id"] for call in message_in_request.calls]
    # What a server wrote comes back in its order, as it was.
    keys = ("content", "tool_calls", *SERVERS[name].back)
    values = iter([[message.get(key) for key in keys] for message in messages])
    for number, answer in enumerate(answers):
        if [answer.get(key) for key in keys] not in values:
            yield f"answer {number} was changed"


# What each server answers.


class Near(NamedTuple):
    """A server near OpenAI: a model, the ids of its calls, and further keys of its answers.

    ``#`` stands for a number. ``back`` are the further keys that have to come back as they were.
    """

    model: str
    id: str
    answer: Mapping[str, Json] = {}
    back: Sequence[str] = ()


CALLS = (1, 2, 1, 0, 1, 0)
"""How many calls each answer has; one without any ends the turn of the model."""
REASONING = {"reasoning": "Look #."}
KEY = {"reasoning_content": "Look #."}
THOUGHT = {"type": "thinking", "thinking": [{"type": "text", "text": "Look #."}]}
ITEM = {"type": "reasoning.text", "text": "Look #.", "index": 0, "signature": signed("Look #.")}
SECRET = {"type": "reasoning.encrypted", "data": "ZGF0YQ==#", "index": 1}
DETAILS = {**REASONING, "reasoning_details": [ITEM, SECRET]}
SERVERS = {
    "deepseek": Near("deepseek-v4-pro", "call_00_#", KEY, [*KEY]),
    "moonshotai": Near("kimi-k3", "functions.find:#", KEY, [*KEY]),
    "gemini_openai": Near("gemini-3.1-pro", "function-call-#"),
    "vllm": Near("Qwen/Qwen3-32B", "chatcmpl-tool-#", REASONING),
    "mistral": Near("magistral-medium-latest", "abCD1234#", {"content": [THOUGHT]}),
    "openrouter": Near("anthropic/claude-sonnet-4.5", "toolu_vrtx_#", DETAILS, [*DETAILS]),
    "cerebras": Near("qwen-3-32b", "#abcdef01", REASONING, [*REASONING]),
    "groq": Near("openai/gpt-oss-120b", "fc_#", REASONING),
}


def answer_of(name: str, number: int) -> Json:
    """Return an answer of a server: reasoning, a text except in the first, and calls."""
    server, text = SERVERS[name], f"Answer {number}." if number else None
    further_keys: Json = json.loads(json.dumps({**server.answer}).replace("#", str(number)))
    if "content" in further_keys and text:
        further_keys["content"].append({"type": "text", "text": text})
    calls: list[Json] = []
    for index in range(CALLS[number]):
        id = server.id.replace("#", str(2 * number + index))
        function = {"name": "find", "arguments": json.dumps({"q": number})}
        calls.append({"id": id, "type": "function", "function": function})
        if name == "gemini_openai" and index == 0:
            calls[0]["extra_content"] = {"google": {"thought_signature": signed(id)}}
    answer = {"role": "assistant", "content": text, **further_keys}
    return {**answer, "tool_calls": calls} if calls else answer


def deltas(answer: Json) -> Iterator[Json]:
    """Yield an answer in the pieces of a stream, without its role."""
    for key in [key for key in answer if key not in ("role", "tool_calls")]:
        yield from ({key: piece} for piece in pieces(answer[key]))
    for index, call in enumerate(answer.get("tool_calls", ())):
        first, second = pieces(call["function"]["arguments"])
        function = {"name": call["function"]["name"], "arguments": first}
        yield {"tool_calls": [{"index": index, **call, "function": function}]}
        yield {"tool_calls": [{"index": index, "function": {"arguments": second}}]}


def pieces(value: Json) -> Iterator[Json]:
    """Yield a text in two pieces, the items of a list in theirs, and anything else whole.

    The signature of an item comes after its text.
    """
    if isinstance(value, str):
        yield from (value[:3], value[3:])
    elif isinstance(value, list):
        for item in cast("Json", value):
            key = item["type"].removeprefix("reasoning.")
            rest = {name: item[name] for name in item if name not in (key, "signature")}
            texts = pieces(item[key]) if key in item else ()
            yield from ([{**rest, key: piece}] for piece in texts)
            if "signature" in item or key not in item:
                yield [{name: item[name] for name in item if name != key}]
    else:
        yield value


class Loopback(HTTPServer):
    """All servers on a free port, each under its name, with the answers of one conversation."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: list[Json] = []


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        name, answers = self.path.split("/")[1], cast("Loopback", self.server).answers
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if wrong := " ".join(complaints(name, body["messages"], answers)):
            self._send(400, "application/json", json.dumps({"error": {"message": wrong}}))
            return
        answer = answer_of(name, len(answers))
        answers.append(answer)
        end = {"index": 0, "finish_reason": "tool_calls" if "tool_calls" in answer else "stop"}
        reply = {"id": "x", "object": "chat.completion", "created": 0, "model": "m"}
        if not body.get("stream"):
            complete_reply = {**reply, "choices": [{**end, "message": answer}]}
            self._send(200, "application/json", json.dumps(complete_reply))
            return
        choices: list[Json] = [
            *({"index": 0, "delta": delta} for delta in deltas(answer)),
            {**end, "delta": {}},
        ]
        chunk = {**reply, "object": "chat.completion.chunk"}
        events = [json.dumps({**chunk, "choices": [choice]}) for choice in choices]
        self._send(
            200, "text/event-stream", *(f"data: {delta}\n\n" for delta in (*events, "[DONE]"))
        )

    def _send(self, status: int, type: str, *texts: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", type)
        self.end_headers()
        for text in texts:
            self.wfile.write(text.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the test's own report is enough."""


Begin = Callable[[str], "OpenAI"]


@pytest.fixture(scope="module")
def begin() -> Generator[Begin]:
    """Return the function that begins a conversation with a server and returns its client."""
    from openai import OpenAI

    assert {*SERVERS} <= {*provider_names()}
    with Loopback() as server:
        url = f"http://127.0.0.1:{server.server_port}"

        def client_of(name: str) -> OpenAI:
            server.answers.clear()
            return client.with_options(base_url=f"{url}/{name}")

        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        with OpenAI(base_url=url, api_key="x", max_retries=0) as client:
            yield client_of
        server.shutdown()
        thread.join()


# What a user's program does.

SCHEMA = {"type": "object", "properties": {"q": {"type": "integer"}}}
FIND = Tool(name="find", description="Finds a page.", input_schema=SCHEMA)
INSTRUCTIONS: Sequence[Node] = [System("Be kind."), Developer("Be brief."), FIND]
PDF = Document.from_bytes(b"%PDF-1.7", "application/pdf")
LATER: Mapping[int, Sequence[Node]] = {
    1: [User("Be quick.")],
    2: [Developer("Plan mode."), User("Go on.")],
    3: [Developer("Act."), User("And this?", PDF)],
}
"""What is said after an answer and its results, by the number of the answer."""
USES = [
    {"type": "tool_use", "id": f"toolu_0{number}ABCdef", "name": "find", "input": {"q": number}}
    for number in (1, 2)
]
RESULTS = [{"type": "tool_result", "tool_use_id": use["id"], "content": "49 EUR"} for use in USES]
CLAUDE: Json = [
    {"role": "user", "content": "q"},
    {
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}, *USES],
    },
    {"role": "user", "content": RESULTS},
]
STARTS: Mapping[str, Node] = {"a user": User("q"), "Claude": History.from_anthropic(CLAUDE)}
"""By who began it, the turns with which a conversation begins."""


def talk(client: "OpenAI", provider: str, model: str, *, start: str, stream: bool) -> list[str]:
    """Return the texts of a model in a conversation with tools and later instructions."""
    turns, texts = [STARTS[start]], list[str]()
    for number in range(len(CALLS)):
        rendered = render(Timeline(*INSTRUCTIONS, *turns), provider=provider, model=model)
        reply: Any = client.chat.completions.create(  # Any: a completion, or a stream
            model=model, stream=stream, **lossy_payload(rendered)
        )
        message = message_of(reply, provider) if stream else read_response(reply, provider=provider)
        results = [ToolMessage(call.id, "49 EUR") for call in message.calls]
        turns += [History([message]), *results, *LATER.get(number, ())]
        texts.append(message.text)
    return texts


def message_of(stream: Any, provider: str) -> Message:
    """Return the message of a stream."""
    reading = read_stream(stream, provider=provider)
    _ = [*reading]
    return reading.message


def refusal(ask: Callable[[], object]) -> str:
    """Return what a server complains of, nothing where it answers."""
    from openai import BadRequestError

    try:
        ask()
    except BadRequestError as error:
        return error.message
    return ""


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("name", SERVERS)
def test_a_tool_loop(begin: Begin, name: str, start: str, *, stream: bool) -> None:
    """No request of a tool loop is refused, whoever began the conversation."""
    texts = talk(begin(name), name, SERVERS[name].model, start=start, stream=stream)
    assert ["", *(f"Answer {number}." for number in range(1, len(CALLS)))] == texts


OTHERS = {
    "deepseek": ("openai_compatible", "must be passed back to the API"),
    "moonshotai": ("openrouter", "missing in assistant tool call message at index 3"),
    "gemini_openai": ("groq", "Function call is missing a thought_signature"),
    "vllm": ("groq", "System message must be at the beginning"),
    "mistral": ("openai_compatible", "Unexpected role 'user' after role 'tool'"),
    "openrouter": ("openai_compatible", "answer 0 was changed"),
    "cerebras": ("deepseek", "assistant.reasoning_content' is unsupported"),
    "groq": ("deepseek", "property 'reasoning_content' is unsupported"),
}
"""By server, a provider whose requests it refuses, and what it says."""


@pytest.mark.parametrize("name", SERVERS)
def test_the_requests_of_another_provider(begin: Begin, name: str) -> None:
    """A server refuses a tool loop that is rendered for another provider."""
    client, (other, why) = begin(name), OTHERS[name]
    complaint = refusal(
        lambda: talk(client, other, SERVERS[name].model, start="a user", stream=False)
    )
    assert why in complaint


def answered(name: str = "", **keys: Json) -> list[Json]:
    """Return a question, an answer with a call, and its result, of a tool with a name.

    ``id`` and ``extra_content`` are keys of the call, any others of the answer.
    """
    call = {"id": "abcDEF123", "type": "function", "function": {"name": "find", "arguments": "{}"}}
    call |= {key: keys.pop(key) for key in ("id", "extra_content") if key in keys}
    result = {"role": "tool", "tool_call_id": call["id"], "content": "49 EUR"}
    named_result = {**result, "name": name} if name else result
    return [USER, {"role": "assistant", "tool_calls": [call], **keys}, named_result]


def google(signature: str) -> Json:
    """Return the further key of a call that has a signature."""
    return {"google": {"thought_signature": signature}}


USER, RULE = {"role": "user", "content": "q"}, {"role": "system", "content": "Be kind."}
PARTS = {"role": "user", "content": [{"type": "text", "text": "q"}]}
FILE = {"role": "user", "content": [{"type": "file", "file": {"file_id": "file-1"}}]}
OWN = google(signed("abcDEF123"))
FORGED = [{"type": "reasoning.text", "text": "Look.", "signature": signed("Look")}]
MESSAGES: Sequence[tuple[str, str, list[Json]]] = [
    ("deepseek", "", answered(reasoning_content="")),
    ("deepseek", "must be passed back to the API", answered()),
    ("deepseek", "invalid type: sequence, expected a string", [PARTS]),
    ("moonshotai", "", answered(reasoning_content=" ")),
    ("moonshotai", "missing in assistant tool call message at index 1", answered()),
    ("moonshotai", "tool call message at index 1", answered(reasoning_content="")),
    ("gemini_openai", "", answered("find", extra_content=google(SUBSTITUTE))),
    ("gemini_openai", "", answered("find", extra_content=OWN)),
    ("gemini_openai", "", [*answered("find"), USER]),
    ("gemini_openai", "missing a thought_signature", answered("find")),
    ("gemini_openai", "Corrupted thought", answered("find", extra_content=google("c2ln"))),
    ("gemini_openai", "Name cannot be empty", answered(extra_content=OWN)),
    ("vllm", "", [RULE, USER]),
    ("vllm", "System message must be at the beginning", [RULE, RULE, USER]),
    ("vllm", "Unknown part type: file", [FILE]),
    ("mistral", "", answered("find", content="Look.")),
    ("mistral", "Tool call id was call_1 but must be", answered(id="call_1")),
    ("mistral", "extra_forbidden: reasoning", answered(reasoning="Look.")),
    ("mistral", "extra_forbidden: extra_content of a call", answered(extra_content=OWN)),
    ("mistral", "Unexpected role 'user' after role 'tool'", [*answered(), USER]),
    ("openrouter", "", answered()),
    ("openrouter", "Invalid `signature` in", answered(reasoning_details=FORGED)),
    ("cerebras", "", answered(reasoning="Look.")),
    ("cerebras", "messages.1.assistant.thinking' is unsupported", answered(thinking="Look.")),
    ("groq", "", answered()),
    ("groq", "property 'reasoning' is unsupported", answered(reasoning="Look.")),
    ("groq", "responding to each 'tool_call_id'", [*answered()[:2], USER]),
    ("groq", "unknown variant `developer`", [{**RULE, "role": "developer"}, USER]),
]
"""Messages that are sent to a server, and what it complains of; nothing where they are right."""


@pytest.mark.parametrize(("name", "why", "messages"), MESSAGES)
def test_what_a_server_refuses(begin: Begin, name: str, why: str, messages: list[Json]) -> None:
    """A server refuses messages that break a rule, and takes others that are near them."""
    client = begin(name)
    complaint = refusal(lambda: client.chat.completions.create(model="m", messages=messages))
    assert (True, bool(why)) == (why in complaint, bool(complaint))
