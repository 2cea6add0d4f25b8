"""Recorded conversations."""

import sys
from collections.abc import Iterable, Mapping
from types import FrameType
from typing import Any, Self, TypedDict, TypeVar, Unpack, cast

from promptdsl.components.arguments import retract
from promptdsl.components.block import Written
from promptdsl.components.options import check_count, check_priority, refuse_options
from promptdsl.components.scope import place
from promptdsl.foundation.errors import ContentError, OptionError, PromptError
from promptdsl.messages import conversation_cache
from promptdsl.messages.conversation_cache import recorded_before
from promptdsl.messages.message import Message
from promptdsl.tree.masks import RECORDED
from promptdsl.tree.node import DEFAULTS, Node, found_in, named_label
from promptdsl.tree.turn_nodes import RecordedNode

_getframe = sys._getframe  # pyright: ignore[reportPrivateUsage]


class Trimming(TypedDict, total=False):
    """What a budget may take of a history: see :class:`History`."""

    keep: int
    step: int | None
    priority: float


class History(Written, RecordedNode):
    """A recorded conversation: :class:`Message` values, or their dictionary forms. May be empty.

    What is recorded is sent to the byte. A budget that is too small takes its oldest exchanges,
    from a user's turn to the next one: those of the history with the lowest ``priority`` first,
    never the last ``keep``, in steps of ``step`` tokens (an eighth of the budget; 0 for an exact
    fit), so that a prompt cache stays warm.

    It is read when the prompt is rendered; raises :class:`ContentError` when what is given is no
    list at all, or holds a component, :class:`OptionError` for options that are no numbers.
    """

    __slots__ = ()

    def __init__(
        self,
        messages: Iterable[Message | Mapping[str, Any]],
        /,
        **options: Unpack[Trimming],
    ) -> None:
        _keep(self, messages, "messages", frame=_getframe(1), said=options)

    @classmethod
    def from_openai(cls, messages: object, /, **options: Unpack[Trimming]) -> Self:
        """Return a conversation in OpenAI Chat form: a list of messages, or a request's payload."""
        return _keep(object.__new__(cls), messages, "openai", frame=_getframe(1), said=options)

    @classmethod
    def from_openai_responses(cls, messages: object, /, **options: Unpack[Trimming]) -> Self:
        """Return a conversation in OpenAI Responses form: a list of items, or a payload."""
        return _keep(
            object.__new__(cls), messages, "openai_responses", frame=_getframe(1), said=options
        )

    @classmethod
    def from_anthropic(cls, messages: object, /, **options: Unpack[Trimming]) -> Self:
        """Return a conversation in Anthropic form: a list of messages, or a request's payload."""
        return _keep(object.__new__(cls), messages, "anthropic", frame=_getframe(1), said=options)

    @classmethod
    def from_gemini(cls, messages: object, /, **options: Unpack[Trimming]) -> Self:
        """Return a conversation in Gemini form: a list of contents, or a request's payload."""
        return _keep(object.__new__(cls), messages, "gemini", frame=_getframe(1), said=options)

    @classmethod
    def from_bedrock(cls, messages: object, /, **options: Unpack[Trimming]) -> Self:
        """Return a conversation in Bedrock Converse form: a list of messages, or a payload."""
        return _keep(object.__new__(cls), messages, "bedrock", frame=_getframe(1), said=options)

    @classmethod
    def from_chat_template(cls, messages: object, /, **options: Unpack[Trimming]) -> Self:
        """Return a conversation as a chat template takes it: a list of messages, or a payload."""
        return _keep(
            object.__new__(cls), messages, "chat_template", frame=_getframe(1), said=options
        )


H = TypeVar("H", bound=History)


_KEYWORDS = tuple(Trimming.__annotations__)


def _keep(
    component: H,
    messages: object,
    form: str,
    *,
    frame: FrameType,
    said: Trimming,
) -> H:
    component.code = frame.f_code
    component.offset = frame.f_lasti
    try:
        _say(component, said)
    except PromptError:
        retract(found_in(messages, *said.values()))
        raise
    component.content = ()
    component.mask = RECORDED
    component.options = DEFAULTS
    component.form = form
    component.start = 0
    component.known = None
    component.items = _snapshot(component, messages)
    place(component)
    return component


def _say(component: History, said: Trimming) -> None:
    """Note what a budget may take, or raise :class:`OptionError`."""
    refuse_options(component, [name for name in said if name not in _KEYWORDS], _KEYWORDS)
    component.keep = check_count(component, "keep", said.get("keep", 0), 0)
    step = said.get("step")
    component.step = None if step is None else check_count(component, "step", step, 0)
    given = check_priority(component, said.get("priority", 0))
    if given is None:
        raise OptionError(
            "History(priority=None)",
            fix="write a number; keep= says how many of its last exchanges stay",
            at=(component.source,),
        )
    component.priority = given


def _snapshot(component: History, messages: object) -> object:
    """Return what was given, its list copied, so that appending to it later changes nothing."""
    if isinstance(messages, Mapping) and component.form != "messages":
        entries = cast("Mapping[str, object]", messages)
        return {
            k: _entries(component, cast("list[object]", v)) if isinstance(v, list) else v
            for k, v in entries.items()
        }
    if isinstance(messages, Iterable) and not isinstance(messages, str | bytes | Mapping):
        return _entries(component, cast("Iterable[object]", messages))
    raise ContentError(
        f"a History takes a list of messages, not {type(messages).__name__}",  # pyright: ignore[reportUnknownArgumentType]
        fix="give the list itself: History(messages)",
        at=(component.source,),
    )


def _entries(component: History, messages: Iterable[object]) -> tuple[object, ...]:
    entries = tuple(messages)
    known = None
    if component.form == "messages" and len(entries) >= conversation_cache.SHORTEST:
        known = recorded_before(entries)
    component.known = known
    # A recording may be long, but is of few types; what was read before is of one.
    new = entries if known is None else entries[len(known.given) :]
    if any(issubclass(kind, Node) for kind in set(map(type, new))):
        raise _written(component, [entry for entry in entries if isinstance(entry, Node)])
    return entries


def _written(component: History, parts: list[Node]) -> ContentError:
    """Return the error for components in a list of messages; no block keeps them."""
    retract(parts)
    return ContentError(
        f"{named_label(parts[0])} cannot stand in the list of a History",
        fix="write it behind the History, directly in the Timeline",
        at=(component.source, parts[0].source),
    )
