"""Long: one task, then 400 tool calls whose results are of very different sizes, in 32,000 tokens.

Sizes of results are drawn once, from a fixed seed: log-normal (median 300 tokens, sigma 1.2) or
log-uniform, both from 100 to 20,000 tokens. A request follows each call. Reuse is the share of a
request that is an unchanged prefix of the one before, from the first request on that lost
something. New tokens are never served by a cache, so it is at most 1 - g/B, where g is the mean
round as it is sent first.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from math import exp, log
from random import Random
from statistics import fmean

from benchmarks.conversation import SYSTEM, Chat, cost
from benchmarks.counting import O200K
from benchmarks.growing import count_of, values
from benchmarks.our_trimmers import instructions
from benchmarks.ours import MODEL
from benchmarks.prefixes import Request, fill, pieces_of, reuse
from benchmarks.report import Report, table
from benchmarks.trimming import remembering
from promptdsl import History, Message, Timeline, render
from promptdsl.tokens import counter, fitting_prefix

SEED = 49
CALLS, BUDGET = 400, 32_000
SMALLEST, LARGEST = 100, 20_000
CAP, KEEP = 2_000, 4
TASK: Chat = {"role": "user", "content": "Find out where order 1881 was lost. Ask every depot."}
NOTE = "Order 1881 was last seen in Bergen."
SENTENCE = "the parcel was seen at a depot in town and then left for another place by road"


def sizes(kind: str, count: int = CALLS) -> list[int]:
    """Return the tokens of that many results, always the same ones."""
    random = Random(f"{SEED} {kind}")
    low, high = log(SMALLEST), log(LARGEST)
    draw: Callable[[], float] = (
        (lambda: random.gauss(log(300), 1.2))
        if kind == "log-normal"
        else (lambda: random.uniform(low, high))
    )
    return [round(min(max(exp(draw()), SMALLEST), LARGEST)) for _ in range(count)]


def rounds(kind: str, count: int = CALLS) -> Iterator[list[Chat]]:
    """Yield rounds of an agent: a call and its result. The fifth result is the note to remember."""
    for number, size in enumerate(sizes(kind, count)):
        function = {"name": "ask_depot", "arguments": f'{{"depot": {number}}}'}
        call = {"id": f"call_{number}", "type": "function", "function": function}
        yield [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {
                "role": "tool",
                "tool_call_id": call["id"],
                "content": NOTE if number == 4 else _text(number, size),
            },
        ]


def _text(number: int, size: int) -> str:
    """Return lines of about this many tokens: most words are a token, and so is a line end."""
    random = Random(number)
    words = random.choices(SENTENCE.split(), k=size)
    lines = [" ".join(words[start : start + 11]) for start in range(0, size, 12)]
    return f"Depot {number}:\n" + "\n".join(lines)


Send = Callable[[Sequence[Chat]], Sequence[Chat]]
"""What is sent of what was said."""


@dataclass(frozen=True, slots=True)
class Found:
    """What was found of one loop; ``broken`` requests lack the task, the note or a newest result.

    The newest results are the last four, as they are after a cap.
    """

    name: str
    kind: str
    ceiling: float
    reuse: float
    fill: float
    over: int
    broken: int


def run(only: Sequence[str] = (), quick: bool = False) -> Report:
    """Return what becomes of the loop, of all who send it or of those named."""
    calls = 80 if quick else CALLS
    senders = {**OURS, **_langchain()}
    found = [
        _found(name, kind, send, calls)
        for kind in ("log-normal", "log-uniform")
        for name, send in senders.items()
        if not only or name in only
    ]
    header = (
        f"{calls} calls, B = {BUDGET:,}",
        "results",
        "1 - g/B",
        "reuse",
        "fill",
        "over",
        "lack",
    )
    rows = (
        (
            row.name,
            row.kind,
            f"{row.ceiling:.1%}",
            f"{row.reuse:.1%}",
            f"{row.fill:.1%}",
            f"{row.over}",
            f"{row.broken}",
        )
        for row in found
    )
    return Report(table(header, rows), {"rows": [asdict(row) for row in found]})


def _found(name: str, kind: str, send: Send, calls: int) -> Found:
    count = remembering(O200K).of
    requests: list[Request] = []
    said, broken = [SYSTEM, TASK], 0
    for made in rounds(kind, calls):
        said += made
        sent = send(said)
        tokens = 3 + sum(cost(message, count) for message in sent)
        requests.append(Request(pieces_of({"messages": sent}), tokens, cut=list(sent) != said))
        broken += _lacks(said, sent)
    # A round is new once, as it is sent then.
    capped = name != "promptdsl, no new words"
    each = [[capped_by_hand(m) if capped else m for m in one] for one in rounds(kind, calls)]
    new = fmean(sum(cost(message, count) for message in one) for one in each)
    return Found(
        name,
        kind,
        1 - new / BUDGET,
        reuse(requests, count_of(MODEL)),
        fill(requests, BUDGET),
        sum(request.tokens > BUDGET for request in requests),
        broken,
    )


def _lacks(said: Sequence[Chat], sent: Sequence[Chat]) -> bool:
    texts = {str(message["content"])[:60] for message in sent}
    wanted = [TASK, *(m for m in said if m["content"] == NOTE)]
    wanted += [m for m in said[-2 * KEEP :] if m["role"] == "tool"]
    return any(str(message["content"])[:60] not in texts for message in wanted)


@cache
def _cut(text: str) -> str:
    head = fitting_prefix(text, CAP, counter(MODEL))
    return text if head == text else f"{head}[...]"


def capped_by_hand(message: Chat) -> Chat:
    """Return a message whose result is cut, as an agent without the word for it does."""
    if message["role"] != "tool":
        return message
    return {**message, "content": _cut(message["content"])}


def _rendered(**options: object) -> Send:
    held: list[Message] = []

    def send(said: Sequence[Chat]) -> Sequence[Chat]:
        if len(said) <= len(held):  # another loop begins
            held.clear()
        held.extend(values(said[1 + len(held) :]))
        timeline = Timeline(instructions(), History(held, **options))  # type: ignore[arg-type]
        result = render(timeline, model=MODEL, budget=BUDGET)
        messages: Sequence[Chat] = result.to_openai()["messages"]  # type: ignore[assignment]
        return messages

    return send


def _is_note(message: Message) -> bool:
    return any(NOTE in str(block) for block in message.content)


OURS: dict[str, Send] = {
    "promptdsl, no new words": _rendered(),
    "promptdsl, capped and cleared": _rendered(max_result_tokens=CAP, clear_results=KEEP),
    "promptdsl, capped, cleared, a pin": _rendered(
        max_result_tokens=CAP, clear_results=KEEP, pin=_is_note
    ),
}


def _langchain() -> dict[str, Send]:
    """Return LangChain's way, with the same cap and budget, if it is installed."""
    try:
        from benchmarks.peers.editing import langchain_edits
    except ImportError:
        return {}
    return {
        f"LangChain, {note}": langchain_edits.sender(BUDGET, KEEP, at_least, capped_by_hand)
        for note, at_least in (("clears all", 0), ("clears an eighth", BUDGET // 8))
    }
