"""The turns ``System``, ``Developer``, ``User``, ``Assistant`` and ``Event``.

Each becomes a message of its role.
"""

from typing import TYPE_CHECKING, ClassVar, Unpack

from promptdsl.components.block import (
    PART_FORBIDS,
    ROOTED,
    Container,
    begin,
    part_advice,
    turn_advice,
)
from promptdsl.components.options import EventOptions, SpeechOptions, TurnOptions, at_priority
from promptdsl.components.scope import getframe, innermost, join
from promptdsl.messages.roles import Role
from promptdsl.tree import masks
from promptdsl.tree.masks import OPAQUE, UNWRITTEN, bits
from promptdsl.tree.node import DEFAULTS, Node
from promptdsl.tree.turn_nodes import TurnNode

if TYPE_CHECKING:
    from promptdsl.components.contents import (
        AssistantContent,
        Content,
        EventContent,
        PartContent,
        SystemContent,
        UserContent,
    )


class TurnComponent(Container, TurnNode):
    """The base class of the turns. Not for authors."""

    __slots__ = ()
    _options_type = TurnOptions
    _spoken_by: ClassVar[Role] = "user"
    _forbids_at_once = ROOTED
    _elsewhere: ClassVar[str] = ""
    """The advice for a node that may only be in another turn."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        # Not an assignment: editors would read it as the signature.
        type.__setattr__(cls, "__init__", TurnComponent.__init__)

    # For type checkers, each turn has an __init__ with its content. At run time all have this one:
    # a call from one to the other makes a turn 10 % slower.
    def __init__(self, *content: "Content", **options: Unpack[TurnOptions]) -> None:
        self.role = self._spoken_by
        self.kind = "written"
        text = content[0] if content else ""
        alone = not options or (len(options) == 1 and "priority" in options)
        if type(text) is not str or len(content) > 1 or not alone:
            begin(self, content, options)
            return
        # The fast path, 0.5 µs instead of 2.5 µs: one string, or no content, needs no checks.
        frame = getframe(1)
        self._code = frame.f_code
        self._offset = frame.f_lasti
        self.content = content
        self.options = at_priority(self, options.get("priority")) if options else DEFAULTS
        mask = self._initial_mask
        if not text:
            mask |= OPAQUE if content else UNWRITTEN
        top = innermost()
        self._mask = mask if top is None else join(self, top, mask)

    @classmethod
    def _advice(cls, node: Node) -> str:
        return turn_advice(node, cls._elsewhere)


class SpeechTurn(TurnComponent):
    """The base class of the user's and the assistant's turns. Not for authors."""

    __slots__ = ()
    _options_type = SpeechOptions
    _initial_mask = bits(masks.TURN | masks.SPOKEN)


class System(TurnComponent):
    """The instructions of a prompt: text and sections, no attachments.

    All system content of a prompt becomes the first message. Options:

    - ``id``: any text that names the turn in addresses and reports; it has to be unique;
    - ``metadata``: a mapping of your own data, which is not sent;
    - ``tags``: strings to select or filter by, ``()`` by default;
    - ``audience``: ``"all"`` (default), ``"model"`` or ``"people"``;
    - ``priority``: a number; a budget drops the lowest first, and ``None`` (default) never;
    - ``cache``: ``True`` marks the end of a part that the provider may cache;
    - ``separator``: the white space between its parts, spaces or line ends; ``None`` (default) is a
      blank line, and in user, assistant and tool turns each part is a block of its own.

    Raises :class:`OptionError` for an unknown option or a bad value, :class:`PlacementError` for a
    child that may not be here, such as another turn or an attachment.

    >>> from promptdsl import Section, System, render
    >>> with System("You are a guide.") as system:
    ...     rules = Section("rules", "Answer in one sentence.")
    >>> print(render(system).messages[0].text)
    You are a guide.
    <BLANKLINE>
    Answer in one sentence.
    """

    __slots__ = ()
    _spoken_by = "system"
    _initial_mask = bits(masks.TURN | masks.SYSTEM)
    _forbids = PART_FORBIDS | masks.MEDIA | masks.MEDIA << masks.SHIFT
    _elsewhere = "system content is text only: put it in a User turn"

    if TYPE_CHECKING:

        def __init__(self, *content: "SystemContent", **options: Unpack[TurnOptions]) -> None: ...


class Developer(TurnComponent):
    """An instruction in the middle of a conversation; it stays where it is written.

    It takes the options of :class:`System` and raises its errors. For a provider without such a
    role, its text is sent between delimiters in a user message.

    >>> from promptdsl import Developer, Timeline, User, render
    >>> prompt = Timeline(User("Hi."), Developer("Answer in French."), User("How are you?"))
    >>> [message.role for message in render(prompt).messages]
    ['user', 'developer', 'user']
    """

    __slots__ = ()
    _spoken_by = "developer"
    _initial_mask = bits(masks.TURN | masks.DEVELOPER)
    _forbids = PART_FORBIDS
    _elsewhere = "put it in a User turn"

    if TYPE_CHECKING:

        def __init__(self, *content: "PartContent", **options: Unpack[TurnOptions]) -> None: ...


class User(SpeechTurn):
    """A turn of the user: text, attachments and tool results.

    It takes the options of :class:`System`, and also ``name``, the name of the speaker, and
    ``merge=False``: then it is not merged with a neighbouring turn of the user.

    Raises :class:`OptionError` for an unknown option or a bad value, :class:`PlacementError` for a
    child that may not be here, such as a tool call.

    >>> from promptdsl import User, Value, render
    >>> question = "Is 1 < 2?"
    >>> render(User("Answer this: ", Value(question), name="ann")).messages[0].text
    'Answer this: Is 1 < 2?'
    """

    __slots__ = ()
    _spoken_by = "user"
    _forbids = ROOTED | masks.ITEM | masks.CALL | masks.EVENT_BLOCK
    _elsewhere = "write it outside of the User turn"

    if TYPE_CHECKING:

        def __init__(self, *content: "UserContent", **options: Unpack[SpeechOptions]) -> None: ...


class Assistant(SpeechTurn):
    """A turn of the model: text, reasoning and the tool calls it made.

    It takes the options of :class:`User`. Raises :class:`OptionError` for an unknown option or a
    bad value, :class:`PlacementError` for a child that may not be here, such as a tool result.

    >>> from promptdsl import Assistant, ToolUse
    >>> turn = Assistant("I look it up.", ToolUse("search", {"query": "tide"}, id="call_1"))
    >>> len(turn.content)
    2
    """

    __slots__ = ()
    _spoken_by = "assistant"
    _forbids = ROOTED | masks.ITEM | masks.RESULT | masks.EVENT_BLOCK
    _elsewhere = "write it outside of the Assistant turn"

    if TYPE_CHECKING:

        def __init__(
            self, *content: "AssistantContent", **options: Unpack[SpeechOptions]
        ) -> None: ...


class Event(TurnComponent):
    """Something that happened in the application, as text or event blocks.

    The configuration decides in which role it is sent. It takes the options of :class:`System`, and
    also ``encoding``, like an :class:`Ephemeral`. It raises the errors of :class:`System`; a tool
    call or a tool result in it is a :class:`PlacementError`.

    >>> from promptdsl import Event, Timeline, User, UserAction, render
    >>> prompt = Timeline(Event(UserAction("opened", target="invoice 1881")), User("Why?"))
    >>> "User opened: invoice 1881" in render(prompt).messages[0].text
    True
    """

    __slots__ = ()
    _options_type = EventOptions
    _spoken_by = "event"
    _initial_mask = bits(masks.TURN | masks.EVENT)
    _forbids = ROOTED | masks.ITEM | masks.CALL | masks.RESULT
    _elsewhere = "write it outside of the Event"

    if TYPE_CHECKING:

        def __init__(self, *content: "EventContent", **options: Unpack[EventOptions]) -> None: ...


class ToolResults(TurnComponent):
    """The turn of ``Turn("tool", ToolResult(...), ...)``: only tool results."""

    __slots__ = ()
    _spoken_by = "tool"
    _initial_mask = bits(masks.TURN)
    _forbids = PART_FORBIDS & ~masks.RESULT | masks.TEXT | masks.MEDIA | masks.SECTION

    @classmethod
    def _advice(cls, node: Node) -> str:
        advice = "a tool turn holds tool results only: ToolResult(tool_use_id, ...)"
        return part_advice(node, advice)
