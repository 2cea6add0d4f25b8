"""Recorded traffic of providers, read and written again: ``python -m tests.wire.traffic FOLDER``.

FOLDER has files ``PROVIDER.jsonl.gz``; a line is a request that the provider accepted, and its
reply. Each request is read and rendered for its provider: the payload is equal up to the normal
forms of ``normal.py``, or losses name the places that differ. Each reply, and each stream, has the
calls, the texts and the token counts that its raw JSON has (``recorded_replies.py``), and can be
sent back; the texts of a stream are those of its message, also where it is cut after any event.
Each key with a value is read, kept, told in a loss, or listed on the provider's page.
"""

import gzip
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from promptdsl import *
from tests.internals import servers
from tests.providers.recorder import text_blocks
from tests.renders import reported
from tests.wire.normal import DATA, content_of, differences, spelled
from tests.wire.recorded_replies import answer_of, calls_of, events_of, leaves, merged, usage_of

Json = Any  # Any: the JSON of a provider
PROVIDERS = ("anthropic", "bedrock", "gemini", "openai", "openai_compatible", "openai_responses")
FORMS = (
    *((provider, False) for provider in PROVIDERS),
    *(("openai_compatible", True), ("openai_responses", True)),
)
"""The recordings of each provider, and once more those of servers, with their names."""
PAGES = Path(__file__).parents[2] / "docs" / "providers"
ENTRIES = {"gemini": "contents", "openai_responses": "input"}


class Row(NamedTuple):
    """A recorded request, and its reply."""

    case: str
    provider: str
    model: str
    request: Json
    reply: Json
    stream: bool
    server: str = ""
    """The host that answered."""
    target: str = ""
    """The name of the provider as promptdsl has it: a server's, where it is to be named."""


def rows(folder: Path, provider: str, *, named: bool = False) -> Iterator[Row]:
    """Yield the recordings of a provider; ``named`` are those of servers with a row, by name."""
    with gzip.open(folder / f"{provider}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            server = server_at(row["server"], provider)
            if not named or server:
                fields = [row[key] for key in Row._fields[:-1]]
                yield Row(*fields, server if named else provider)


def server_at(host: str, provider: str) -> str:
    """Return the server with a row for this host, empty where there is none."""
    rows = [server for server in servers() if server.host and server.adapter == provider]
    return next((server.name for server in rows if host.endswith(server.host)), "")


# Requests.


def request_result(row: Row) -> tuple[str, list[str]]:
    """Return ``equal``, ``reported``, ``silent`` or ``raises``, and what that is about."""
    provider = row.provider
    try:
        prompt = read_payload(row.request, row.target or provider)
        rendered = render(prompt, provider=row.target or provider, model=row.model)
        payload = rendered.payload()
    except PromptError as error:
        return "raises", [str(error)]
    stored = bool(row.request.get("previous_response_id") or row.request.get("conversation"))
    contents = [content_of(provider, body, stored=stored) for body in (row.request, payload)]
    places = [*_aligned(*contents, ENTRIES.get(provider, "messages"))]
    silent = [path for path in places if not _is_excused(path, rendered, row)]
    if silent:
        return "silent", silent
    return ("reported", places) if places else ("equal", [])


def _aligned(recorded: Json, sent: Json, entries: str) -> Iterator[str]:
    """Yield the places that differ, those of messages by the index of the recorded one."""
    outer_keys = [{key: side[key] for key in side if key != entries} for side in (recorded, sent)]
    for path, _, _ in differences(*outer_keys):
        yield path
    left, right = recorded.get(entries, []), _with_recorded_ids(recorded, sent).get(entries, [])
    # Entries are inserted, joined or left out: each recorded one is looked for behind the last.
    start = 0
    for index, entry in enumerate(left):
        rest = [n for n in range(start, len(right)) if not [*differences(entry, right[n])]]
        if rest:
            start = rest[0] + 1
            continue
        following = right[start] if start < len(right) else {}
        paths = [path for path, _, _ in differences(entry, following)] if following else [""]
        start += all(
            entry.get(key) == following.get(key, "") for key in ("role", "type") if key in entry
        )
        yield from (f"{entries}[{index}].{path}" for path in paths)
    extra = len(right) - len(left)
    if extra > 0:
        yield f"{entries}[{len(left)}]"


def _with_recorded_ids(recorded: Json, sent: Json) -> Json:
    """Return what is sent with the ids of calls as they were recorded: a target may want others.

    Older models of Gemini write calls without ids, which get some.
    """
    ids = ("id", "call_id", "tool_use_id", "tool_call_id", "toolUseId")
    left, right = (
        [value for path, value in leaves(side) if path[-1] in ids and DATA.isdisjoint(path[:-1])]
        for side in (recorded, sent)
    )
    id_by_id = dict(zip(right, left, strict=True)) if len(left) == len(right) else {}
    if not left:
        id_by_id = dict.fromkeys(right)

    def renamed(value: Json, key: str = "") -> Json:
        if isinstance(value, Mapping):
            entries = {
                name: inner if name in DATA else renamed(inner, name)
                for name, inner in value.items()
            }
            return {name: inner for name, inner in entries.items() if inner is not None}
        if isinstance(value, list):
            return [renamed(item) for item in value]
        return id_by_id.get(value, value) if key in ids else value

    return renamed(sent)


_KEY = re.compile(r"^key '(.*)'$")
_MARKS = ("cache_control", "prompt_cache_breakpoint", "cachePoint")


def _is_excused(location: str, rendered: Rendered, row: Row) -> bool:
    """Return whether a loss names this place, and this key of it."""
    key = location.rpartition(".")[2]
    if key == "name" and rendered.facts.result_names:
        return True  # the server asks for the name of a tool
    for loss in reported(rendered):
        keys = (*_MARKS, "content") if loss.name == "cache_mark" else ()
        if key_match := _KEY.match(loss.what):
            keys = (key_match[1].rpartition(".")[2],)
        is_key = not keys or key.split("[")[0] in keys
        if is_key and any(_names(at, loss, location, row) for at in (loss.path, *loss.also)):
            return True
    return False


def _names(path: str, loss: Loss, place: str, row: Row) -> bool:
    """Return whether the address of a loss is about a place of the request."""
    head = re.split(r"[.\[]", place)[0]
    if path.startswith("tools/"):
        return head in ("tools", "toolConfig")
    if path == "output":
        return head in ("response_format", "text", "output_config", "outputConfig")
    if path == "tool_choice" or loss.name == "tool_choice":
        return head in ("tool_choice", "tool_config", "toolConfig")
    entries = ENTRIES.get(row.provider, "messages")
    number = re.match(rf"{entries}\[(\d+)\]", place)
    if loss.name == "inserted_text" and not path:
        # A user speaks first: a turn before the first one, which moves the others.
        return number is not None
    message = re.match(r"(?:history|system)\[(\d+)\]", path)
    if message is None:
        return False
    first, last = _messages_of(row, int(number[1]) if number else -1)
    # Of turns that are sent as one, the hint names one.
    reach = int(loss.name == "joined_turns")
    return first - reach <= int(message[1]) < last + reach


def _messages_of(row: Row, entry: int) -> tuple[int, int]:
    """Return the range of the messages that an entry of a request is read as, -1 for its system."""
    entries = ENTRIES.get(row.provider, "messages")
    listed = row.request[entries]
    if not isinstance(listed, list):
        return 0, 2

    def count(stop: int) -> int:
        request = {**row.request, entries: listed[:stop]}
        return len(read_payload(request, row.target or row.provider).messages)

    has_instructions = row.provider == "openai_responses" and "instructions" in row.request
    entry -= has_instructions
    if entry < 0:
        return 0, max(count(0), 1)
    # A message that goes on with the one before is the same message.
    return min(count(entry), count(entry + 1) - 1), count(entry + 1)


# Replies.

_WORDS = (
    *("type", "role", "object", "status", "finish_reason", "finishReason", "stop_reason"),
    *("stopReason", "index", "thought"),
)
"""The keys whose values become words of ours, or name what a value is."""


def unlisted(provider: str) -> set[str]:
    """Return the keys that the page of a provider lists as without content."""
    page = "openai" if provider == "openai_compatible" else provider
    text = (PAGES / f"{page}.md").read_text("utf-8")
    section = re.search(r"^## Keys of a reply\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert section, f"{page}.md has no section on the keys of a reply"
    return set(re.findall(r"`([\w$]+)`", section[1]))


def reply_problems(row: Row) -> list[str]:
    """Return what is wrong with the message of a reply, or of a stream."""
    provider, reply, target = row.provider, row.reply, row.target or row.provider
    try:
        if row.stream:
            events = events_of(row._asdict())
            reading = read_stream(events, provider=target)
            for _ in reading:
                pass
            if any(event.get("error") for event in events):
                return ["an error of the server does not raise"]
            message, reply = reading.message, merged(provider, events)
            for count in range(len(events) + 1):
                cut = read_stream(events[:count], provider=target)
                if "".join(cut.texts) != text_blocks(cut.message):
                    return [f"the texts after {count} events are not those of the message"]
        else:
            message = read_response(reply, provider=target)
        problems = [*_problems(provider, message, reply)]
        if not row.stream:
            problems += _problems_of_recording(row)
        return problems + _problems_of_sending(row, message)
    except PromptError as error:
        is_told = row.stream and "the provider sent an error" in str(error)
        return [] if is_told else [f"raises {error}"]


def _problems(provider: str, message: Message, reply: Json) -> Iterator[str]:
    calls = [(call.id, call.name, call.input) for call in message.calls]
    expected = calls_of(provider, reply)
    expected_calls = [
        (expected_call.id or call[0], *expected_call[1:])
        for expected_call, call in zip(expected, calls, strict=False)
    ]
    if len(calls) != len(expected) or expected_calls != calls:
        yield f"calls: {calls} is not {expected}"
    counts = message.token_usage or {}
    usage = usage_of(provider, reply)
    if usage and usage != (counts.get("input", 0), counts.get("output", 0)):
        yield f"usage: {dict(counts)} is not {usage}"
    yield from _missing(provider, message, reply)


_TAGS = re.compile(r"<think>|</think>\s*")
"""The tags around thoughts, which are read as reasoning apart."""


def _missing(provider: str, message: Message, reply: Json) -> Iterator[str]:
    """Yield the keys whose value is neither in the message nor listed on the page."""
    ignored = {*unlisted(provider), *_WORDS, "usage", "usageMetadata"}
    message_texts = [str(value) for _, value in leaves(message.to_dict())]
    message_texts += [call.arguments for call in message.calls]
    text = "\n".join(message_texts)
    for path, value in leaves(reply):
        names = [spelled(key) for key in path] if provider == "gemini" else path
        if not value or not ignored.isdisjoint([*path, *names]):
            continue
        if str(value) not in text and not all(piece in text for piece in _TAGS.split(str(value))):
            yield f"{'.'.join(path)}: {str(value)[:60]!r} is in no list and in no message"


def _problems_of_recording(row: Row) -> Iterator[str]:
    """Yield what is wrong where the answer of a reply is read as a recorded conversation."""
    provider, target = row.provider, row.target or row.provider
    answer = answer_of(provider, row.reply)
    if not answer:
        return
    recorded = answer if isinstance(answer, list) else [answer]
    if provider == "anthropic":
        recorded = [{"role": "assistant", "content": answer["content"]}]
    messages = read_payload({ENTRIES.get(provider, "messages"): recorded}, target).messages
    blocks = [block for message in messages for block in message.content]
    extra = {key: value for message in messages for key, value in message.extra.items()}
    for problem in _missing(provider, Message("assistant", tuple(blocks), extra=extra), recorded):
        yield f"as a recording, {problem}"


def _problems_of_sending(row: Row, message: Message) -> list[str]:
    """Return what is wrong where a message is sent back, with results of its calls."""
    results = [ToolMessage(call.id, "done") for call in message.calls]
    prompt = Timeline(User("q"), History([message]), *results)
    rendered = render(prompt, provider=row.target or row.provider, model=row.model)
    rendered.payload()
    reported_keys = " ".join(loss.what for loss in reported(rendered))
    # Without its name, nobody knows where a signature of a server goes back.
    is_named = row.target != "openai_compatible"
    lost = rendered.losses
    lost = [lost_block for lost_block in lost if is_named or not lost_block.what.startswith("key ")]
    untold = [key for key in message.extra if f"{key.rpartition('.')[2]!r}" not in reported_keys]
    return [str(loss) for loss in lost] + [f"no hint names {key}" for key in untold]


def main(folder: Path, *, verbose: bool = True) -> int:
    """Print what becomes of each provider's traffic; return the number of faults."""
    faults = 0
    for provider, named in FORMS:
        requests: Counter[str] = Counter()
        replies: Counter[str] = Counter()
        for row in rows(folder, provider, named=named):
            result, places = request_result(row)
            requests[result] += 1
            problems = reply_problems(row)
            replies["wrong" if problems else "right"] += 1
            shown_paths = places if result in ("silent", "raises") else []
            for problem in [*shown_paths, *problems] if verbose else ():
                print(f"  {row.case}: {problem}"[:400])
        faults += requests["silent"] + requests["raises"] + replies["wrong"]
        by_name = ", servers by name" if named else ""
        print(f"{provider}{by_name}: requests {dict(requests)}, replies {dict(replies)}")
    return faults


if __name__ == "__main__":
    sys.exit(1 if main(Path(sys.argv[1])) else 0)
