"""A complete prompt as values, and its losses and hints.

Adapters write payloads from a :class:`Prompt` and read payloads into it. Its parts come first,
losses and hints are at the end.
"""

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias, cast, get_args

import attrs

from promptdsl.foundation.errors import DataError, LossError, is_one_of, nearest, shown
from promptdsl.foundation.frozen import EMPTY, FrozenDict, new_dict, plain
from promptdsl.foundation.json import JsonObject, JsonValue
from promptdsl.foundation.source import Position, Source, looked_up, made_by_render, public_api
from promptdsl.foundation.unicode import on_one_line
from promptdsl.messages.field_checks import Cache
from promptdsl.messages.message import Message

# A complete prompt as values.


def _not_empty(description: str | None) -> str | None:
    """Return a description; ``None`` for an empty one, and any other value unchanged."""
    return None if isinstance(description, str) and not description else description


def _json(value: object, key: str = "") -> Any:  # Any: each field has its type
    """Return JSON data that nobody can change; :class:`DataError` for any other value."""
    # A FrozenDict was made by plain(), so it is already checked: attrs.evolve() passes the data of
    # an earlier tool here again.
    return value if type(value) is FrozenDict else plain(value, key)


def _schema(value: object) -> Any:  # Any: as above
    """Return a schema as JSON data; :class:`DataError` for any other value."""
    return _json(value, "schema")


@attrs.frozen
class ToolDefinition:
    """A tool that a model may call: its name, its description, and the schema of its input.

    An empty description is the same as no description. ``input_schema`` is a JSON schema of type
    ``object``. ``cache`` is a cache mark after the tool. ``origin`` is the provider that the tool
    was read from. ``extra`` are keys that are sent to this provider unchanged. ``raw`` is a tool
    that only this provider has, such as a web search: it is sent only there, unchanged.

    >>> from promptdsl import ToolDefinition
    >>> tool = ToolDefinition("find", "Find tea.", {"type": "object", "properties": {}})
    >>> tool.input_schema["type"]
    'object'

    Raises :class:`DataError` for values that JSON cannot express.
    """

    name: str
    description: str | None = attrs.field(default=None, converter=_not_empty)
    input_schema: JsonObject = attrs.field(default=EMPTY, converter=_schema, hash=False)
    cache: Cache | None = None
    extra: JsonObject = attrs.field(default=EMPTY, converter=_json, hash=False)
    raw: JsonObject | None = attrs.field(default=None, converter=_json, hash=False)
    origin: str | None = None
    at: Position | Source | None = attrs.field(default=None, eq=False, repr=False)

    @property
    def source(self) -> Source | None:
        """The author's file and line, ``None`` for a tool that was read from a payload."""
        return looked_up(self.at)


OutputMode: TypeAlias = Literal["native", "prompted"]
"""How an output schema is sent: as a setting of the request, or as text of the messages."""

OUTPUT_MODES: tuple[OutputMode, ...] = get_args(OutputMode)


def _checked_mode(mode: object) -> OutputMode | None:
    """Return the mode of an output; :class:`DataError` for an unknown mode."""
    if mode is None or is_one_of(mode, OUTPUT_MODES):
        return cast("OutputMode | None", mode)
    raise DataError(f"mode={shown(mode)}", fix=nearest(mode, OUTPUT_MODES))


@attrs.frozen
class OutputSchema:
    """The JSON schema of an answer, its name and its description.

    An empty description is the same as no description. With ``strict``, the provider is asked to
    guarantee that the answer fits the schema exactly. ``mode`` is how the schema is sent:
    ``native`` as a setting of the request, ``prompted`` as text of the messages, or ``None`` for
    the first of these that the target has.

    >>> from promptdsl import OutputSchema
    >>> OutputSchema({"type": "object", "properties": {}}, name="city").strict
    True

    Raises :class:`DataError` for an unknown mode, and for values that JSON cannot express.
    """

    schema: JsonObject = attrs.field(converter=_schema, hash=False)
    name: str = "output"
    description: str | None = attrs.field(default=None, converter=_not_empty)
    strict: bool = True
    mode: OutputMode | None = attrs.field(default=None, converter=_checked_mode)
    at: Position | Source | None = attrs.field(default=None, eq=False, repr=False)

    @property
    def source(self) -> Source | None:
        """The author's file and line, ``None`` for a schema that was read from a payload."""
        return looked_up(self.at)


_Choice: TypeAlias = Literal["auto", "none", "required"]
ToolChoice: TypeAlias = _Choice | str
"""``auto``, ``none``, ``required``, or the name of the tool to be called."""

FIXED_CHOICES: tuple[_Choice, ...] = get_args(_Choice)
"""The choices that are not the name of a tool."""


@attrs.frozen
class RawSetting:
    """A setting of a request as its provider writes it: a choice of tools, or an output schema.

    ``meaning`` is the value of ``Prompt.tool_choice`` or ``Prompt.output`` that was made of it. As
    long as the prompt has this value, ``raw`` is sent to its ``origin``. ``unsayable`` names the
    part of the setting that a prompt cannot express, such as a choice among several tools. For
    another provider, this part is a loss.

    >>> from promptdsl import read_payload
    >>> payload = {"messages": [], "response_format": {"type": "json_object"}}
    >>> prompt = read_payload(payload, "openai")
    >>> prompt.output, prompt.raw_output.unsayable
    (None, "response_format 'json_object'")
    """

    raw: JsonValue = attrs.field(converter=_json, hash=False)
    origin: str
    meaning: "ToolChoice | OutputSchema | None" = None
    unsayable: str = ""


@attrs.frozen
class StoredConversation:
    """A conversation whose earlier messages are stored at the server of the provider ``origin``.

    The caller sends its id, as ``previous_response_id`` or ``conversation``. ``instructions`` is
    true if the system text is sent as instructions, which the server does not store.

    >>> from promptdsl import read_payload
    >>> payload = {"input": "And in Rome?", "previous_response_id": "resp_1"}
    >>> read_payload(payload, "openai_responses").stored
    StoredConversation(origin='openai_responses', instructions=False)
    """

    origin: str
    instructions: bool = False


LoneText: TypeAlias = Literal["string", "list"]
"""How content that is only a text is sent: as a string, or as a list of blocks."""
Joints: TypeAlias = dict[tuple[int, ...], str]
"""The separators before merged turns, by the index of the message and of the turn's first block."""


@made_by_render
@attrs.frozen
class Prompt:
    """The content of a request: messages, the tools a model may call, the schema of its answer.

    ``tool_choice`` is ``auto``, ``none``, ``required``, or the name of the tool to be called.

    >>> from promptdsl import Message, Prompt, render
    >>> render(Prompt((Message("user", "Hi."),)), model="gpt-5").to_openai()["messages"]
    [{'role': 'user', 'content': 'Hi.'}]
    """

    messages: tuple[Message, ...] = ()
    tools: tuple[ToolDefinition, ...] = ()
    tool_choice: ToolChoice | None = None
    output: OutputSchema | None = None
    untrimmed_from: int = 0
    """The index of the first message that was written after a budget last removed parts.

    The messages before this index were written when the prompt had more parts. Some models refuse
    their own reasoning if the prompt before it has changed. So adapters leave out the reasoning in
    these messages. 0 if no part was removed.
    """
    lone_text: LoneText | None = None
    """How content that is only a text is sent; ``None`` for the usual way of each target."""
    # The next two are not compared, because ``tool_choice`` and ``output`` have their meaning. So
    # two prompts are equal if they differ only in what these cannot express (``unsayable``).
    raw_choice: RawSetting | None = attrs.field(default=None, kw_only=True, eq=False)
    """The choice of a tool as it was read, because its provider can express more."""
    raw_output: RawSetting | None = attrs.field(default=None, kw_only=True, eq=False)
    """The output schema as it was read."""
    stored: StoredConversation | None = attrs.field(default=None, kw_only=True)
    """The conversation before these messages, if the provider's server stores it."""
    unpaired_at: str | None = attrs.field(default=None, kw_only=True)
    """The provider that gets calls and results unchanged, because some are answered later."""
    join_texts: bool = attrs.field(default=True, kw_only=True)
    """Whether neighbouring texts of a message are sent as one, if the target reads them as one.

    This is for texts that were written, not for those that were recorded.
    """
    merges: bool = attrs.field(default=True, kw_only=True)
    """Whether neighbouring messages of one role may become one message."""
    prompts_output: bool = attrs.field(default=False, kw_only=True)
    """Whether the schema of the answer is text of the messages, not a setting of the request."""
    joints: Joints = attrs.field(factory=new_dict, hash=False)
    """The separators before merged turns (``merge_separator``), if they are not a blank line."""

    @property
    def sent_output(self) -> OutputSchema | None:
        """The output schema, if it is a setting of the request, else ``None``."""
        return None if self.prompts_output else self.output

    @property
    def has_choice_or_output(self) -> bool:
        """Whether the prompt has a choice of tools or an output schema."""
        settings = (self.tool_choice, self.output, self.raw_choice, self.raw_output)
        return any(setting is not None for setting in settings)


# Losses and hints, each with the reason and the author's line.

LossKind: TypeAlias = Literal["content", "role", "hint"]


@attrs.frozen
class Loss:
    """Something that a target does not accept, or a possible mistake of the author.

    ``kind`` says what is lost:

    - ``content``: text or media that is not sent.
    - ``role``: text that is sent in another role.
    - ``hint``: a detail that the target has no field for, such as a cache mark, or a possible
      mistake of the author, such as an empty block. ``name`` is the name of the hint, which the
      setting ``silent_hints`` takes.

    ``path`` is the address in the prompt, and ``source`` the author's file and line, if they are
    known. They are those of the part that wrote the block; for a recorded block, those of the
    ``History``. ``message`` is the message with the loss. ``at`` is the location: the index of the
    message in ``Rendered.messages``, of the block in its content, and of the block in a result.
    ``also`` are the addresses of further locations with the same cause that the same line wrote.
    They all share one hint. ``count`` is the number of all these locations, with the first one.

    >>> from promptdsl import Loss
    >>> print(Loss("hint", "name of a speaker", "messages have none there", "user[0]"))
    hint: name of a speaker (user[0]): messages have none there
    """

    kind: LossKind
    what: str
    why: str
    path: str = ""
    source: Source | None = None
    message: Message | None = attrs.field(default=None, eq=False, repr=False)
    at: tuple[int, ...] = attrs.field(default=(), eq=False, repr=False)
    name: str = attrs.field(default="", kw_only=True)
    also: tuple[str, ...] = attrs.field(default=(), kw_only=True)

    @property
    def count(self) -> int:
        """The number of locations with this loss."""
        return 1 + len(self.also)

    def __str__(self) -> str:
        location = f": {self.source}" if self.source else ""
        path = f" ({self.path})" if self.path else ""
        times = f" ({self.count} times)" if self.also else ""
        return on_one_line(f"{self.kind}: {self.what}{path}: {self.why}{times}{location}")

    def _refusal(self, participle: str) -> str:
        """Return the sentence of an error; ``participle`` says what cannot be done: "sent"."""
        verdict = f"cannot be {participle}"
        if self.kind == "role":
            verdict = f"can only be {participle} in another role"
        return f"{self.what} {verdict}: {self.why}"

    @staticmethod
    @public_api
    def refuse(losses: "Iterable[Loss]", done: str, *, fix: str) -> None:
        """Raise :class:`LossError` for the first loss that is more than a hint.

        Nothing happens if all losses are hints. ``done`` is a participle for the text of the error,
        such as "sent". ``fix`` is the advice.
        """
        serious = [loss for loss in losses if loss.kind != "hint"]
        if not serious:
            return
        first = serious[0]
        further = f" (and {len(serious) - 1} more)" if len(serious) > 1 else ""
        raise LossError(
            f"{first._refusal(done)}{further}", fix=fix, at=(first.source or first.path or None,)
        )


def hint(
    name: str,
    what: str,
    why: str,
    path: str = "",
    *,
    source: Source | None = None,
    at: tuple[int, ...] = (),
) -> Loss:
    """Return a hint; ``name`` is a key of ``HINTS`` in ``messages/names.py``."""
    return Loss("hint", what, why, path, source, at=at, name=name)
