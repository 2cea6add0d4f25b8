"""Calls and results as text, where a template has no form for them: fences they cannot leave."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from promptdsl.foundation.escaping import attribute
from promptdsl.foundation.guards import guard
from promptdsl.foundation.json import write_json
from promptdsl.messages.loss import Loss
from promptdsl.providers.chat_template.names import Ids
from promptdsl.providers.chat_template.request import Templated
from promptdsl.providers.shared.request import Param
from promptdsl.providers.shared.two_sided import OPENING

NO_FORM = "the template has no form for it here: sent as text"


def fenced(tag: str, name: str, text: str) -> Param:
    """Return the param of a text that stands in a fence called ``tag``."""
    named = f' name="{attribute(name)}"' if name else ""
    return {"type": "text", "text": f"<{tag}{named}>\n{guard(text, (tag,))}\n</{tag}>"}


class _Round(NamedTuple):
    """A turn of the model, the results of its calls, and what a user said then."""

    said: list[Param]
    results: list[Param]
    asked: list[Param]


def folded(request: Templated) -> list[Param]:
    """Return the messages of a request whose turns are written."""
    fold = _Fold(request)
    head = request.system
    if head and request.abilities.system:
        fold.out.append({"role": "system", "content": fold.joined(head)})
        head = []
    elif head:
        first = next(said for said in request.messages if said.role in ("system", "developer"))
        why = "the template has no such role: it stands before what the user says first"
        request.lose(first, "role", "system message", why)
    rounds = list(_rounds(request.entries, head))
    ends = [place for place, (_, _, asked) in enumerate(rounds) if asked]
    for place, (said, results, asked) in enumerate(rounds):
        fold.closed = place <= max(ends, default=-1)
        final = said is rounds[-1].said and not asked
        fold.answer(said if final else _paired(request, said, results), results)
        if asked:
            fold.add("user", asked)
    needed = bool(request.prompt.tools) or not request.abilities.no_user
    if needed and not request.entries and not head:
        fold.add("user", [{"type": "text", "text": OPENING}])
    return fold.out


def _paired(request: Templated, said: list[Param], results: list[Param]) -> list[Param]:
    """Return a turn whose calls without a result are text, as the conversation went on."""
    answered = {result["id"] for result in results}
    sent = [*said]
    for index, param in enumerate(said):
        if param["type"] == "call" and param["id"] not in answered:
            why = f"it has no result, and {NO_FORM}"
            request.losses.append(Loss("role", f"the call of {param['name']!r}", why))
            arguments = param["arguments"]
            text = arguments if isinstance(arguments, str) else write_json(arguments)
            sent[index] = fenced("tool_use", param["name"], text)
    return sent


def _rounds(turns: Sequence[Param], head: list[Param]) -> Iterator[_Round]:
    found = _Round([], [], [*head])
    for turn in turns:
        content: list[Param] = turn["content"]
        if turn["role"] == "assistant":
            yield found
            found = _Round(content, [], [])
        else:
            found.results.extend(param for param in content if param["type"] == "result")
            found.asked.extend(param for param in content if param["type"] != "result")
    yield found


class _Fold:
    """The messages so far, and who spoke last, calls and results aside."""

    def __init__(self, request: Templated) -> None:
        self.request = request
        self.abilities = request.abilities
        self.out: list[Param] = []
        self.ids = Ids(
            short=self.abilities.short_ids, given=request.given, harmless=request.harmless
        )
        self.closed = False
        self.last = ""

    def joined(self, params: list[Param]) -> str | list[Param]:
        """Return texts as one, a blank line between them; a list of parts where one is no text."""
        parts: list[Param] = []
        for is_text, run in groupby(params, lambda param: param["type"] == "text"):
            if is_text:
                text = "\n\n".join(param["text"] for param in run)
                parts.append({"type": "text", "text": text})
            else:
                parts += run
        if self.abilities.lists:
            return parts or [{"type": "text", "text": ""}]
        if not parts:
            return ""
        return parts[0]["text"] if parts[0]["type"] == "text" and len(parts) == 1 else parts

    def add(self, role: str, params: list[Param], **more: str) -> None:
        """Append a turn, with another one between it and an earlier one of its role."""
        if role == self.last and not self.abilities.user_behind_result:
            other = "assistant" if role == "user" else "user"
            self._append(other, [{"type": "text", "text": OPENING}])
            self._hint("turns alternate", f"{OPENING!r} is said between two of one role")
        self._append(role, params, **more)

    def _append(self, role: str, params: list[Param], **more: str) -> None:
        self.out.append({"role": role, "content": self.joined(params), **more})
        self.last = role

    def answer(self, said: list[Param], results: list[Param]) -> None:
        """Append a turn of the model: text, then calls, each with its result behind it."""
        self.ids.begin()
        texts = [param for param in said if param["type"] not in ("call", "reasoning")]
        calls = [param for param in said if param["type"] == "call"]
        beside = bool(texts and calls and self.abilities.beside)
        more = self._thought(said, beside=beside)
        if more and self.closed:
            self._lose_thought(called=bool(calls) and (beside or not texts))
        if texts and not beside:
            self.add("assistant", texts, **more)
            texts, more = [], {}
        if calls:
            self._call(texts, calls, results, more)
        elif more:
            self.add("assistant", texts, **more)

    def _thought(self, said: list[Param], *, beside: bool) -> dict[str, str]:
        thoughts = [param["thought"] for param in said if param["type"] == "reasoning"]
        if not thoughts:
            return {}
        if beside and not self.abilities.reasoning_beside:
            self._hint("reasoning", "the template shows none where text stands beside a call")
            return {}
        return {"reasoning_content": "\n\n".join(thoughts)}

    def _lose_thought(self, *, called: bool) -> None:
        shown = self.abilities.rounds if called else self.abilities.answers
        if not shown:
            self._hint("reasoning", "the template shows none before what a user said last")

    def _call(
        self, texts: list[Param], calls: list[Param], results: list[Param], more: dict[str, str]
    ) -> None:
        by_id = {result["id"]: result for result in results}
        batches = [calls] if self.abilities.parallel else [[call] for call in calls]
        if len(batches) > 1:
            self._hint("parallel calls", "the template shows one in a turn: each has a turn")
        for batch in batches:
            made = [self._made(call) for call in batch]
            content = self.joined(texts)
            self.out.append({"role": "assistant", "content": content, "tool_calls": made, **more})
            answered = [by_id[call["id"]] for call in batch if call["id"] in by_id]
            self.out += [self._answered(result) for result in answered]
            texts, more = [], {}

    def _made(self, call: Param) -> Param:
        function = {"name": call["name"], "arguments": call["arguments"]}
        return {"id": self.ids.fit(call["id"]), "type": "function", "function": function}

    def _answered(self, result: Param) -> Param:
        id, name = self.ids.fit(result["id"]), result["name"]
        return {"role": "tool", "tool_call_id": id, "name": name, "content": result["text"]}

    def _hint(self, what: str, why: str) -> None:
        self.request.losses.append(Loss("hint", what, why))
