"""Make messages that a template can print from the turns of a request; the rest becomes text.

Read ``folded`` first: it goes through the rounds of the conversation. A round is a reply of the
model, the results of its calls, and the words of the user after them. ``_Fold`` appends the
messages of a round.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from promptdsl.foundation.json import write_json
from promptdsl.messages.prompt import Loss, hint
from promptdsl.providers.chat_template.parts import PayloadIds, Templated
from promptdsl.providers.chat_template.run import call_param
from promptdsl.providers.shared.blocks import fenced
from promptdsl.providers.shared.request import OPENING, Location, Param, about, joined_texts

NO_FORMAT = "the template cannot print it here, so it is sent as text"


class _Round(NamedTuple):
    """A turn of the model, the results of its calls, and the user's turn after them."""

    reply: list[Param]
    results: list[Param]
    user: list[Param]


def folded(request: Templated) -> list[Param]:
    """Return the template's messages for a request whose turns are written."""
    fold = _Fold(request)
    head = request.system
    if head and request.abilities.system:
        fold.messages.append({"role": "system", "content": fold.joined(head)})
        head = []
    elif head:
        first = next(
            Location(index, message, message.role)
            for index, message in enumerate(request.messages)
            if message.role in ("system", "developer")
        )
        reason = "the template has no such role, so it is sent before the first words of the user"
        request.lose(first, "role", "system message", reason)
    rounds = list(_rounds(request.payload_messages, head))
    last_user = max((n for n, turns in enumerate(rounds) if turns.user), default=-1)
    for index, (reply, results, user) in enumerate(rounds):
        is_open = index == len(rounds) - 1 and not user
        content = reply if is_open else _with_answered_calls(request, reply, results)
        fold.add_reply(content, results, is_closed=index <= last_user)
        if user:
            fold.add("user", user)
    needs_user = bool(request.prompt.tools) or not request.abilities.no_user
    if needs_user and not request.payload_messages and not head:
        fold.add("user", [{"type": "text", "text": OPENING}])
    return fold.messages


def _rounds(turns: Sequence[Param], head: list[Param]) -> Iterator[_Round]:
    """Yield the rounds of turns.

    The first round has no reply, and the params ``head`` come before its words of the user.
    """
    current = _Round([], [], [*head])
    for turn in turns:
        content: list[Param] = turn["content"]
        if turn["role"] == "assistant":
            yield current
            current = _Round(content, [], [])
        else:
            current.results.extend(param for param in content if param["type"] == "result")
            current.user.extend(param for param in content if param["type"] != "result")
    yield current


def _with_answered_calls(
    request: Templated, reply: list[Param], results: list[Param]
) -> list[Param]:
    """Return a reply in which a text replaces each call without a result, which is a loss.

    It is for all replies but the last, whose calls may still get results.
    """
    answered = {result["id"] for result in results}
    content = [*reply]
    for index, param in enumerate(reply):
        if param["type"] == "call" and param["id"] not in answered:
            reason = f"it has no result, and {NO_FORMAT}"
            loss = Loss("role", f"the call of {param['name']!r}", reason)
            request.losses.append(about(param["location"], loss, at=param["at"]))
            arguments = param["arguments"]
            text = arguments if isinstance(arguments, str) else write_json(arguments)
            content[index] = {"type": "text", "text": fenced("tool_use", text, name=param["name"])}
            request.note_change(param, content[index], fence="tool_use")
    return content


class _Fold:
    """The messages so far, and the role of the last message that is not a call or a result."""

    def __init__(self, request: Templated) -> None:
        self.request = request
        self.abilities = request.abilities
        self.messages: list[Param] = []
        self.ids = PayloadIds(request)
        self.last_role = ""

    def joined(self, params: list[Param]) -> str | list[Param]:
        """Return the content of parts: neighbouring texts are joined, a single text is a string.

        Some templates take a list only.
        """
        parts: list[Param] = []
        for is_text, run in groupby(params, lambda param: param["type"] == "text"):
            if is_text:
                text = joined_texts("\n\n", [*run], self.request.notes)
                parts.append({"type": "text", "text": text})
            else:
                parts += run
        if self.abilities.lists:
            return parts or [{"type": "text", "text": ""}]
        if len(parts) == 1 and parts[0]["type"] == "text":
            only_text: str = parts[0]["text"]
            return only_text
        return parts or ""

    def add(self, role: str, params: list[Param], **keys: str) -> None:
        """Append a turn.

        If the template requires turns that alternate, a turn of the other role is added between two
        turns of the same role, with a hint.
        """
        if role == self.last_role and not self.abilities.user_after_result:
            other = "assistant" if role == "user" else "user"
            opening = self.joined([{"type": "text", "text": OPENING}])
            self.messages.append({"role": other, "content": opening})
            reason = f"{OPENING!r} is sent between two of the same role"
            self.request.losses.append(hint("inserted_text", "turns alternate", reason))
        self.messages.append({"role": role, "content": self.joined(params), **keys})
        self.last_role = role

    def add_reply(self, content: list[Param], results: list[Param], *, is_closed: bool) -> None:
        """Append a turn of the model: texts, then calls with their results.

        ``is_closed`` says whether a user turn follows, now or later.
        """
        self.ids.begin()
        parts: dict[str, list[Param]] = {"text": [], "call": [], "reasoning": []}
        for param in content:
            parts.get(param["type"], parts["text"]).append(param)
        texts, calls, reasoning = parts["text"], parts["call"], parts["reasoning"]
        # In a turn with calls, a template prints only texts.
        is_text = all(param["type"] == "text" for param in texts)
        with_text = bool(texts and calls and is_text and self.abilities.text_with_calls)
        keys: dict[str, str] = {}
        if reasoning:
            prints = self.abilities.answers
            if calls and (with_text or not texts):
                prints = self.abilities.rounds
            keys = self._reasoning_keys(
                reasoning, with_text=with_text, prints=prints or not is_closed
            )
        if (texts and not with_text) or (keys and not calls):
            self.add("assistant", texts, **keys)
            texts, keys = [], {}
        results_by_id = {result["id"]: result for result in results}
        # The first turn with calls has the texts and the reasoning, if these were not added above.
        for batch in self._batches(calls):
            self._add_calls(batch, texts, keys)
            for call in batch:
                if call["id"] in results_by_id:
                    self._add_result(results_by_id[call["id"]])
            texts, keys = [], {}

    def _reasoning_keys(
        self, reasoning: list[Param], *, with_text: bool, prints: bool
    ) -> dict[str, str]:
        """Return reasoning under its key. If the template leaves it out, this records a hint.

        ``with_text`` says whether the turn has text and calls. ``prints`` says whether the template
        prints reasoning in this turn.
        """
        text = joined_texts("\n\n", reasoning, self.request.notes, "reasoning")
        if with_text and not self.abilities.reasoning_with_text:
            reason = "the template prints none in a turn with text and calls"
            self._hint(reasoning, "unsent_reasoning", "reasoning", reason)
            return {}
        if not prints:
            reason = "the template prints none before the last user message"
            self._hint(reasoning, "unsent_reasoning", "reasoning", reason)
        return {"reasoning_content": text}

    def _batches(self, calls: list[Param]) -> list[list[Param]]:
        """Return the calls of each turn: all calls in one turn, or one call in each turn."""
        if not calls:
            return []
        if self.abilities.parallel or len(calls) == 1:
            return [calls]
        reason = "the template prints one call in a turn, so each call has its own turn"
        self._hint(calls[1:2], "parallel_calls", "parallel calls", reason)
        return [[call] for call in calls]

    def _add_calls(self, calls: list[Param], texts: list[Param], keys: dict[str, str]) -> None:
        """Append a turn of the model with calls, and the texts and reasoning before them."""
        call_params: list[Param] = []
        for call in calls:
            id = self.ids.fit(call["id"])
            call_params.append(call_param(id, call["name"], call["arguments"]))
            self.request.note_change(call, call_params[-1])
        message = {"role": "assistant", "content": self.joined(texts), "tool_calls": call_params}
        self.messages.append({**message, **keys})

    def _add_result(self, result: Param) -> None:
        """Append the result of a call."""
        id, name, text = self.ids.fit(result["id"]), result["name"], result["text"]
        message = {"role": "tool", "tool_call_id": id, "name": name, "content": text}
        self.messages.append(message)
        self.request.note_change(result, message)

    def _hint(self, params: list[Param], name: str, what: str, reason: str) -> None:
        """Record a hint about the first of these params."""
        location, at = params[0]["location"], params[0]["at"]
        self.request.hint(location, name, what, reason, at=at)
