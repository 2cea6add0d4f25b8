"""The turns, the groundings, and the root of a prompt: :class:`Timeline`.

In this order: the turns of a role, ``Ephemeral`` and ``Grounding``, :func:`Turn` for a turn of any
role, the timeline.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Never, Unpack, get_args

from promptdsl.components.arguments import adopt, value_text
from promptdsl.components.block import (
    PART_FORBIDS,
    ROOTED,
    Container,
    begin,
    part_advice,
    turn_advice,
)
from promptdsl.components.options import (
    EphemeralOptions,
    EventOptions,
    FencedOptions,
    SpeechOptions,
    TurnOptions,
    at_priority,
    bad_option,
    check_choice,
    is_real,
)
from promptdsl.components.scope import getframe, innermost, is_text, join, open_block, retract
from promptdsl.config.transformation import EphemeralPosition, as_layer
from promptdsl.foundation.errors import (
    ContentError,
    OptionError,
    PlacementError,
    ScopeError,
    nearest,
    shown,
)
from promptdsl.foundation.source import LEFT_OUT, Source, author
from promptdsl.messages.details import Role
from promptdsl.tree.masks import (
    CACHE,
    CALL,
    DEVELOPER,
    EVENT,
    EVENT_BLOCK,
    ITEM,
    MEDIA,
    OPAQUE,
    REQUEST,
    RESULT,
    ROOT,
    SECTION,
    SHIFT,
    SPOKEN,
    SYSTEM,
    TEXT,
    TURN,
    UNWRITTEN,
    bits,
)
from promptdsl.tree.node import DEFAULTS, Child, Node, label, named_label, walk
from promptdsl.tree.part_nodes import MediaNode, ValueNode
from promptdsl.tree.rewrite import numbered
from promptdsl.tree.turn_nodes import (
    CacheBreakpointNode,
    FragmentNode,
    RequestOnlyNode,
    RootNode,
    TurnNode,
)

if TYPE_CHECKING:
    from promptdsl.components.block import (
        AssistantContent,
        Content,
        EventContent,
        PartContent,
        SystemContent,
        TimelineContent,
        UserContent,
    )
    from promptdsl.config.transformation import Transformation


# The turns ``System``, ``Developer``, ``User``, ``Assistant``, ``Event`` and ``ToolResults``.
#
# Most become a message of their role. But all system content becomes the first message, the
# configuration decides the role of an event, and neighbouring turns of one role are merged.


class TurnComponent(Container, TurnNode):
    """The base class of the turns. Not for authors."""

    __slots__ = ()
    _options_type = TurnOptions
    _turn_role: ClassVar[Role] = "user"
    """The role of the turn: the author's word for it, also ``"event"`` and ``"tool"``."""
    # A turn in a turn is refused at its line, and not at the end of the block.
    _forbids_at_once = ROOTED
    _misplaced_advice: ClassVar[str] = ""
    """The advice for a node that may not be in this turn, but in another one."""

    # For type checkers, each turn that an author can write has its own __init__, with the types of
    # its content. At run time all turns inherit this one, because a call of super().__init__ would
    # make a turn 10 % slower.
    def __init__(self, *content: "Content", **options: Unpack[TurnOptions]) -> None:
        self.role = self._turn_role
        self.kind = "written"
        text = content[0] if content else ""
        has_at_most_priority = not options or (len(options) == 1 and "priority" in options)
        if type(text) is not str or len(content) > 1 or not has_at_most_priority:
            begin(self, content, options)
            return
        # The fast path, 0.5 µs instead of 2.5 µs: one string or no content needs no checks. It does
        # what ``begin`` does: it notes the line of the caller, and joins the innermost open block.
        frame = getframe(1)
        self._code = frame.f_code
        self._offset = frame.f_lasti
        self.content = content
        self.options = at_priority(self, options.get("priority")) if options else DEFAULTS
        mask = self._initial_mask
        if not text:
            # With an empty text as its argument, the turn is empty: the passes look at such a node
            # (OPAQUE). Without an argument, its content may still be written in a block.
            mask |= OPAQUE if content else UNWRITTEN
        top = innermost()
        self._mask = mask if top is None else join(self, top, mask)

    @classmethod
    def _advice(cls, node: Node) -> str:
        return turn_advice(node, cls._misplaced_advice)


class SpeechTurn(TurnComponent):
    """The base class of the user's and the assistant's turns. Not for authors."""

    __slots__ = ()
    _options_type = SpeechOptions
    _initial_mask = bits(TURN | SPOKEN)


class System(TurnComponent):
    """The instructions of a prompt: text and sections, no attachments.

    All system content of a prompt becomes the first message. Options:

    - ``id``: any text that names the turn in addresses and reports; it has to be unique;
    - ``metadata``: a mapping of your own data, which is not sent;
    - ``tags``: strings to select or filter by, ``()`` by default;
    - ``audience``: ``"all"`` (default), ``"model"`` or ``"people"``;
    - ``priority``: a number; a budget drops the turn with the lowest priority first, and never
      drops a turn with ``None`` (default);
    - ``cache``: with ``True`` the provider may cache everything up to the end of the turn;
      ``False`` by default;
    - ``separator``: the white space between its parts, spaces or line ends. ``None`` (default) is a
      blank line; in user, assistant and tool turns, each part is then a separate block.

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
    _turn_role = "system"
    _initial_mask = bits(TURN | SYSTEM)
    _forbids = PART_FORBIDS | MEDIA | MEDIA << SHIFT  # no attachment, at any depth
    _misplaced_advice = "system content is text only: put it in a User turn"

    if TYPE_CHECKING:

        def __init__(self, *content: "SystemContent", **options: Unpack[TurnOptions]) -> None: ...


class Developer(TurnComponent):
    """An instruction in the middle of a conversation, at the position where it is written.

    It takes the options of :class:`System` and raises its errors. If a provider has no role for it,
    its text is sent between delimiters in a user message.

    >>> from promptdsl import Developer, Timeline, User, render
    >>> prompt = Timeline(User("Hi."), Developer("Answer in French."), User("How are you?"))
    >>> [message.role for message in render(prompt).messages]
    ['user', 'developer', 'user']
    """

    __slots__ = ()
    _turn_role = "developer"
    _initial_mask = bits(TURN | DEVELOPER)
    _forbids = PART_FORBIDS
    _misplaced_advice = "put it in a User turn"

    if TYPE_CHECKING:

        def __init__(self, *content: "PartContent", **options: Unpack[TurnOptions]) -> None: ...


class User(SpeechTurn):
    """A turn of the user: text, attachments and tool results.

    It takes the options of :class:`System`, and two others. ``name`` is the name of the speaker.
    With ``merge=False`` (default ``True``) it is not merged with a neighbouring turn of the user.

    Raises :class:`OptionError` for an unknown option or a bad value, :class:`PlacementError` for a
    child that may not be here, such as a tool call.

    >>> from promptdsl import User, Value, render
    >>> question = "Is 1 < 2?"
    >>> render(User("Answer this: ", Value(question), name="ann")).messages[0].text
    'Answer this: Is 1 < 2?'
    """

    __slots__ = ()
    _turn_role = "user"
    _forbids = ROOTED | ITEM | CALL | EVENT_BLOCK
    _misplaced_advice = "write it outside of the User turn"

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
    _turn_role = "assistant"
    _forbids = ROOTED | ITEM | RESULT | EVENT_BLOCK
    _misplaced_advice = "write it outside of the Assistant turn"

    if TYPE_CHECKING:

        def __init__(
            self, *content: "AssistantContent", **options: Unpack[SpeechOptions]
        ) -> None: ...


class Event(TurnComponent):
    """Something that happened in the application, as text, event blocks or attachments.

    The configuration decides in which role it is sent. It takes the options of :class:`System`, and
    the ``encoding`` of an :class:`Ephemeral`. It raises the errors of :class:`System`, and
    :class:`PlacementError` for a tool call or a tool result in it.

    >>> from promptdsl import Event, Timeline, User, UserAction, render
    >>> prompt = Timeline(Event(UserAction("opened", target="invoice 1881")), User("Why?"))
    >>> "User opened: invoice 1881" in render(prompt).messages[0].text
    True
    """

    __slots__ = ()
    _options_type = EventOptions
    _turn_role = "event"
    _initial_mask = bits(TURN | EVENT)
    _forbids = ROOTED | ITEM | CALL | RESULT
    _misplaced_advice = "write it outside of the Event"

    if TYPE_CHECKING:

        def __init__(self, *content: "EventContent", **options: Unpack[EventOptions]) -> None: ...


class ToolResults(TurnComponent):
    """The turn that ``Turn("tool", ToolResult(...), ...)`` makes: it holds only tool results."""

    __slots__ = ()
    _turn_role = "tool"
    _initial_mask = bits(TURN)
    _forbids = PART_FORBIDS & ~RESULT | TEXT | MEDIA | SECTION

    @classmethod
    def _advice(cls, node: Node) -> str:
        advice = "a tool turn holds tool results only: ToolResult(tool_use_id, ...)"
        return part_advice(node, advice)


# ``Ephemeral`` and ``Grounding``: content for this request only, which no conversation repeats.

POSITIONS: tuple[EphemeralPosition, ...] = get_args(EphemeralPosition)


class RequestOnlyComponent(Container, RequestOnlyNode):
    """The base class of ``Grounding`` and ``Ephemeral``. Not for authors."""

    __slots__ = ()
    _initial_mask = bits(REQUEST)
    _forbids = PART_FORBIDS | CACHE
    _forbids_at_once = ROOTED

    def _check_fields(self) -> None:
        # A type and a title are data: an author may pass a string or a ``Value``.
        type_and_title: tuple[object, ...] = (self.type, self.title)
        try:
            plain_texts = [*map(_plain, type_and_title)]
        except ContentError as error:
            raise error.located(self.source) from None
        adopt(self, type_and_title)  # a ``Value`` joined the open block when it was written
        self.type, self.title = plain_texts
        if self.position is not None:
            check_choice(self, "position", self.position, POSITIONS)
        if not is_real(self.order):
            raise bad_option(self, "order", self.order, "write a number")

    @classmethod
    def _advice(cls, node: Node) -> str:
        if node._mask & CACHE:
            cache_mark = "the breakpoint" if isinstance(node, CacheBreakpointNode) else "cache=True"
            return f"its content is sent only once, so it cannot be cached: leave {cache_mark} out"
        return part_advice(node, f"write it next to the {cls.__name__}, not in it")


def _plain(text: object) -> str | None:
    return None if text is None else value_text(text)


class Ephemeral(RequestOnlyComponent):
    """Content for this request only, between delimiters; the next request does not repeat it.

    Options:

    - ``type`` and ``title``: texts that are written in the opening tag, ``None`` by default;
    - ``position``: ``"flow"`` (where it is written), ``"after_system"``, ``"start"``,
      ``"before_user"`` or ``"end"``; ``None`` (default) is the position of the configuration;
    - ``order``: a number, 0 by default; at one position, the lowest order comes first;
    - ``encoding``: ``"minimal"`` or ``"full"``, how values in it are encoded; ``None`` (default) is
      the encoding of the configuration;
    - ``id``, ``metadata``, ``tags``, ``audience``, ``priority``: see :class:`System`.

    Raises :class:`OptionError` for an unknown option or a bad value, :class:`ContentError` for a
    type or a title that is not a text, :class:`PlacementError` for a child that may not be here,
    such as a turn or a part with a cache mark.

    >>> from promptdsl import Ephemeral, Timeline, User, render
    >>> prompt = Timeline(Ephemeral("It is 9 am.", type="clock"), User("Am I late?"))
    >>> "It is 9 am." in render(prompt).messages[0].text
    True
    """

    __slots__ = ()
    _options_type = EphemeralOptions

    def __init__(
        self,
        *content: "PartContent",
        type: str | ValueNode | None = None,
        title: str | ValueNode | None = None,
        position: EphemeralPosition | None = None,
        order: float = 0,
        **options: Unpack[EphemeralOptions],
    ) -> None:
        self.type, self.title, self.position, self.order = type, title, position, order  # type: ignore[assignment]
        self.grounding = False
        begin(self, content, options)


class Grounding(RequestOnlyComponent):
    r"""Facts for this request only. Every string in it is a value, unless you mark it as trusted.

    A string is a value even if you write it in your code; ``trusted()`` makes it your own text.
    ``id`` names the facts in addresses and reports. It is any text, such as the id of a document;
    several groundings may have the same id. The facts are sent directly before the last user
    message, unless ``position`` or the configuration says otherwise. The options and errors are
    those of :class:`Ephemeral`, without ``type`` and the option ``id``.

    >>> from promptdsl import Grounding, Timeline, User, render
    >>> page = Grounding("page", "<b>Shop</b> </context>")
    >>> render(Timeline(page, User("Is it open?"))).messages[0].text
    '<context>\n<b>Shop</b> &lt;/context>\n</context>\n\nIs it open?'
    """

    __slots__ = ()
    _options_type = FencedOptions

    def __init__(
        self,
        id: str,
        /,
        *content: "PartContent",
        title: str | ValueNode | None = None,
        position: EphemeralPosition | None = None,
        order: float = 0,
        **options: Unpack[FencedOptions],
    ) -> None:
        self.type = None
        self.title, self.position, self.order = title, position, order  # type: ignore[assignment]
        self.grounding = True
        begin(self, content, options, id=id)


# The function :func:`Turn`: a turn of any role, for generic code.

TURNS: Mapping[str, type[TurnComponent]] = {
    "system": System,
    "developer": Developer,
    "user": User,
    "assistant": Assistant,
    "event": Event,
    "tool": ToolResults,
}


def Turn(  # noqa: N802 (it reads like the components it makes)
    role: Role,
    /,
    *content: "Content",
    **options: Any,  # Any: the options depend on the role
) -> TurnComponent | Ephemeral:
    """Return the turn of any role, for generic code.

    ``role`` is ``"system"``, ``"developer"``, ``"user"``, ``"assistant"``, ``"event"``,
    ``"ephemeral"``, or ``"tool"`` for a turn of tool results. The options and errors are those of
    the class of the role: ``User`` for ``"user"``.

    Raises :class:`OptionError` also for an unknown role.

    >>> from promptdsl import Timeline, Turn, render
    >>> log = [("user", "Hi."), ("assistant", "Hello.")]
    >>> prompt = Timeline(*[Turn(role, text) for role, text in log])
    >>> [message.role for message in render(prompt).messages]
    ['user', 'assistant']
    """
    # The class of the role is not called, because ``begin`` notes the line that is two calls up.
    argument: object = role
    if is_text(argument) and argument == "ephemeral":
        ephemeral = object.__new__(Ephemeral)
        ephemeral.type = options.pop("type", None)
        ephemeral.title = options.pop("title", None)
        ephemeral.position = options.pop("position", None)
        ephemeral.order = options.pop("order", 0)
        ephemeral.grounding = False
        begin(ephemeral, content, options)
        return ephemeral
    cls = TURNS.get(role) if is_text(role) else None
    if cls is None:
        # The arguments of a call that fails must not stay in the open block.
        retract((role, *content))
        fix = 'the role comes first: Turn("user", ...)'
        if is_text(argument):
            fix = nearest(argument, (*TURNS, "ephemeral"))
        problem = f"unknown role {shown(argument)}"
        problem = "a Turn needs its role" if argument is LEFT_OUT else problem
        raise OptionError(problem, fix=fix, at=(author(),))
    turn = object.__new__(cls)
    turn.role = cls._turn_role
    turn.kind = "written"
    begin(turn, content, options)
    return turn


# The default of ``role``, for an error with advice. Editors still show that it is required.
Turn.__defaults__ = (LEFT_OUT,)


# The root of a prompt: :class:`Timeline`.


class Timeline(Container, RootNode):
    """A complete prompt: turns, histories, tools and sections, in the order of the conversation.

    ``transformation`` is the configuration of this prompt: a
    :class:`MessageTransformationConfig`, a mapping of its fields, or a function
    ``(model, provider) -> config``; ``None`` by default.

    Raises :class:`ScopeError` if another block is open, :class:`PlacementError` for a child that
    belongs in a turn, such as text outside of a turn.

    >>> from promptdsl import System, Timeline, User, render
    >>> with Timeline() as prompt:
    ...     system = System("You are a guide.")
    ...     user = User("Hello.")
    >>> [message.role for message in render(prompt).messages]
    ['system', 'user']
    """

    __slots__ = ()
    _initial_mask = ROOT
    _forbids_at_once = ROOT
    _forbids = ROOT | TEXT | MEDIA | CALL | RESULT | EVENT_BLOCK

    def __init__(
        self,
        *content: "TimelineContent",
        transformation: "Transformation | None" = None,
        **unknown: Never,
    ) -> None:
        self.transformation = transformation
        self.equipment = ()  # the pass ``extract_tools`` returns a copy with the tools in it
        begin(self, content, unknown)

    def _check_fields(self) -> None:
        enclosing = open_block()
        if enclosing is not None:
            raise ScopeError(
                "a Timeline cannot be written while a block is open",
                fix="write it under `with detached():`, or call its function outside of the block",
                at=(self.source, enclosing.source),
            )
        if self.transformation is not None:
            self.transformation = as_layer(self.transformation, at=self.source)

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        super().__exit__(kind, error, trace)
        if kind is None:
            # A parent freezes its children, but a timeline has no parent.
            self.__class__ = self._frozen  # type: ignore[assignment]  # a subclass

    def _finished_content(self, content: tuple[Child, ...], mask: int) -> tuple[Child, ...]:
        if mask & SECTION and mask & MEDIA << SHIFT:  # not always in the same child
            refuse_loose_media(content)
        return numbered(content)

    @classmethod
    def _advice(cls, node: Node) -> str:
        if isinstance(node, RootNode):
            return "a prompt cannot be in a prompt: include a Fragment of its turns"
        name = label(node)
        if node._mask & CALL:
            return f"put it in an Assistant: Assistant({name}(...))"
        if node._mask & RESULT:
            return "write ToolMessage(tool_use_id, ...), or put it in a User"
        if node._mask & EVENT_BLOCK:
            return f"put it in an Event: Event({name}(...))"
        if node._mask & MEDIA:
            return "put it in a User"
        return "put it in a System for instructions, or in a User"


def refuse_loose_media(content: tuple[Child, ...]) -> None:
    """Raise :class:`PlacementError` for an attachment in a section outside of any turn."""
    child_stack = [*reversed(content)]
    while child_stack:
        child = child_stack.pop()
        if isinstance(child, str):
            continue
        if isinstance(child, FragmentNode):
            child_stack.extend(reversed(child.content))
        elif child._mask & SECTION and child._mask & MEDIA << SHIFT:
            media = next(node for node, _ in walk(child) if isinstance(node, MediaNode))
            raise PlacementError(
                f"{named_label(media)} cannot be in a Section outside of a turn: "
                "it is system content",
                fix="put it in a User turn",
                at=(media.source, child.source),
            )


def timeline_of(content: tuple[Node, ...], at: Source) -> Timeline:
    """Return a timeline of nodes that an author wrote without a timeline; its line is ``at``."""
    timeline = object.__new__(Timeline)
    timeline.transformation = None
    timeline.equipment = ()
    begin(timeline, content, {}, at=at)
    return timeline
