"""A component refuses what it never holds, and takes what it may hold.

``tests/components/test_contents.py`` runs each line of the first functions.
"""
# Each ignored line has an error in mypy, which is strict, and in pyright, by the next line.
# pyright: reportUnnecessaryTypeIgnoreComment=error

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal

from promptdsl import (
    Assistant,
    Block,
    CacheBreakpoint,
    Checklist,
    Code,
    Developer,
    Ephemeral,
    Event,
    Example,
    FirstFit,
    Format,
    Fragment,
    Grounding,
    Group,
    Heading,
    History,
    Image,
    Item,
    Json,
    Lazy,
    LazyContext,
    Limit,
    List,
    Message,
    Node,
    Note,
    Output,
    Paragraph,
    Quote,
    Reasoning,
    Reserve,
    Section,
    StateChange,
    System,
    SystemEvent,
    Table,
    Template,
    Text,
    TextBlock,
    Timeline,
    Tool,
    ToolMessage,
    ToolResult,
    ToolUse,
    Turn,
    Untrusted,
    User,
    UserAction,
    Value,
    Volatile,
    component,
    include,
    render,
)

IMAGE = Image.from_url("https://example.com/a.png")
CALL = ToolUse("search", {}, id="1")
RESULT = ToolResult("1", "x")


def timelines(block: Block, message: Message, value: str) -> None:
    """Write what is no part of a whole prompt, and what is."""
    Timeline("loose")  # type: ignore[arg-type]
    Timeline(1)  # type: ignore[arg-type]
    Timeline(Text("loose"))  # type: ignore[arg-type]
    Timeline(Value("loose"))  # type: ignore[arg-type]
    Timeline(Limit(5, "loose"))  # type: ignore[arg-type]
    Timeline(IMAGE)  # type: ignore[arg-type]
    Timeline(CALL)  # type: ignore[arg-type]
    Timeline(RESULT)  # type: ignore[arg-type]
    Timeline(UserAction("left"))  # type: ignore[arg-type]
    Timeline(Item("x"))  # type: ignore[arg-type]
    Timeline(TextBlock("loose"))  # type: ignore[arg-type]
    Timeline({"type": "text", "text": "loose"})  # type: ignore[arg-type]
    Timeline(block)  # type: ignore[arg-type]
    Timeline(message)  # type: ignore[arg-type]
    Timeline(Timeline(User("x")))  # type: ignore[arg-type]
    Timeline(value and User(value))  # type: ignore[arg-type]
    Timeline(System("x"), Developer("x"), User("x"), Assistant("x"), Event("x"), None, False)
    Timeline(ToolMessage("1", "x"), Ephemeral("x"), Grounding("g", "x"), Turn("user", "x"))
    Timeline(
        History([message]), Tool(name="search"), Output({}, strict=False), Section("rules", "x")
    )
    Timeline(Reserve(5), CacheBreakpoint(), Note("x"), Format("xml", Section("rules", "x")))
    Timeline(Group(User("x")), FirstFit(User("x"), None), Fragment(User("x")), Lazy(later))
    Timeline(User(value) if value else None, bool(value) and User("x"), rule())


def turns_in_turns(message: Message) -> None:
    """Write turns, and what stands beside them, in a turn or a part of one."""
    System(User("x"))  # type: ignore[arg-type]
    Developer(System("x"))  # type: ignore[arg-type]
    User(System("x"))  # type: ignore[arg-type]
    Assistant(ToolMessage("1", "x"))  # type: ignore[arg-type]
    Event(Ephemeral("x"))  # type: ignore[arg-type]
    ToolMessage("1", User("x"))  # type: ignore[arg-type]
    ToolResult("1", User("x"))  # type: ignore[arg-type]
    Ephemeral(User("x"))  # type: ignore[arg-type]
    Grounding("g", Grounding("h", "x"))  # type: ignore[arg-type]
    Section("rules", User("x"))  # type: ignore[arg-type]
    Section("rules", History([message]))  # type: ignore[arg-type]
    Section("rules", Timeline(User("x")))  # type: ignore[arg-type]
    User(Tool(name="search"))  # type: ignore[arg-type]
    User(Output({}, strict=False))  # type: ignore[arg-type]
    User(Turn("user", "x"))  # type: ignore[arg-type]
    Note(User("x"))  # type: ignore[arg-type]


def parts_of_other_turns() -> None:
    """Write what belongs in a turn of another role, and in its own."""
    Assistant(RESULT)  # type: ignore[arg-type]
    Event(RESULT)  # type: ignore[arg-type]
    System(RESULT)  # type: ignore[arg-type]
    Section("rules", RESULT)  # type: ignore[arg-type]
    User(CALL)  # type: ignore[arg-type]
    User(Reasoning("x"))  # type: ignore[arg-type]
    ToolMessage("1", CALL)  # type: ignore[arg-type]
    Developer(CALL)  # type: ignore[arg-type]
    User(UserAction("left"))  # type: ignore[arg-type]
    Assistant(StateChange("plan", old=1, new=2))  # type: ignore[arg-type]
    Section("rules", SystemEvent("restart"))  # type: ignore[arg-type]
    System(IMAGE)  # type: ignore[arg-type]
    User(Item("x"))  # type: ignore[arg-type]
    Assistant("x", IMAGE, Reasoning("x"), CALL)
    User("x", IMAGE, RESULT)
    Event("x", IMAGE, UserAction("left"), StateChange("plan", old=1, new=2), SystemEvent("up"))
    ToolMessage("1", "x", IMAGE, Section("rules", IMAGE))
    Grounding("g", "x", IMAGE, Section("rules", IMAGE))


def texts(value: str | None) -> None:
    """Write what is no text in parts that are one text, and what is."""
    Text(Text("x"))  # type: ignore[arg-type]
    Paragraph(None)  # type: ignore[arg-type]
    Code(value)  # type: ignore[arg-type]
    Heading(Section("rules", "x"))  # type: ignore[arg-type]
    Item(IMAGE)  # type: ignore[arg-type]
    Item(value)  # type: ignore[arg-type]
    Example("x", None)  # type: ignore[arg-type]
    Item(Item("x"))  # type: ignore[arg-type]
    Quote(Section("rules", "x"))  # type: ignore[arg-type]
    List(IMAGE)  # type: ignore[arg-type]
    List(TextBlock("x"))  # type: ignore[arg-type]
    Example("x", User("y"))  # type: ignore[arg-type]
    Limit(5, Section("rules", "x"))  # type: ignore[arg-type]
    UserAction("left", IMAGE)  # type: ignore[arg-type]
    Text("x", 1, Decimal("1.5"), Value("x"), Volatile("x", "day"))
    Item(Text("x"), Value("x"), List("x", Item("y")), Quote("x"))
    Checklist(Item("x", done=True), value, "y")
    Limit(5, Json({}), Table([]), Template("x"), Untrusted("x"), Code("x"), Example("x", Text("y")))


def everywhere(parts: Sequence[Node], block: Block, data: dict[str, object], flag: bool) -> None:
    """Write parts of any kind, blocks, data and nothing in turns and parts."""
    Timeline(*parts, *turns(), of_any_kind(), Fragment(*parts))
    for turn in (System, Developer, User, Assistant, Event):
        turn(*parts, block, data, 1, 1.5, None, flag and Text("x"), of_any_kind(), card("x"))
        turn(Lazy(later), Fragment(), Group("x"), FirstFit("x", None), Limit(5, "x"), Note("x"))
        turn(CacheBreakpoint(), Reserve(5), Format("xml", "x"), Section("rules", "x"), Value("x"))
    Section("rules", *parts, block, data, of_any_kind(), card("x"), card)  # type: ignore[arg-type]
    Section("rules", *parts, block, data, of_any_kind(), card("x"), *texts_of(parts))
    Text(of_any_kind())
    with System(), card("x"):
        include(*parts, block, data)


def of_any_kind() -> Node:
    """Return a part of any kind."""
    return Text("x")


def turns() -> list[System | User]:
    """Return turns of two roles."""
    return [System("x"), User("x")]


def texts_of(parts: Iterable[Node]) -> Iterable[str | Node]:
    """Return what parts hold."""
    return (child for part in parts for child in part.content)


def page(*content: str | Node) -> Timeline:
    """Return a prompt of content of any kind."""
    return Timeline(System(*content), User(*content))


def later(context: LazyContext) -> Node | None:
    """Return a part at the time of the render."""
    return None if context.tokens is None else Text("x")


@component
def rule() -> Node:
    """Return a section."""
    return Section("rules", "x")


@component
def card(title: str) -> Iterator[None]:
    """Write a section around its children."""
    with Section("card", title=title):
        yield


def rendered() -> list[str]:
    """Return the texts of the messages of a mixed list."""
    parts = [System("x"), User(Text("x")), Section("rules", "x"), None]
    return [message.text for message in render(Timeline(*parts)).messages]
