"""What ``render`` says to something that is no prompt, and a prompt that is taken for a result."""

import asyncio
import copy
import pickle
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from promptdsl import *
from tests.errors import lines_of, raised, this_line

HI: Any = Timeline(User("Hi."))
ANY_HISTORY: Any = History
CHAT = {"role": "user", "content": "Hi."}
GEMINI = {"role": "user", "parts": [{"text": "Hi."}]}
call: Any = render
acall: Any = arender


class LangChainMessage:
    """A message as LangChain has them."""


LangChainMessage.__module__ = "langchain_core.messages.human"


async def build_later() -> Timeline:
    """Return a prompt, later."""
    return Timeline(User("Hi."))


NO_PROMPTS: dict[str, tuple[Callable[[], object], str]] = {
    "None": (lambda: None, "write `return prompt` in the function that builds it"),
    "function": (lambda: build_later, "call the function that builds the prompt"),
    "type": (lambda: User, "call it: User(...)"),
    "coroutine": (build_later, "await it: render(await build(...))"),
    "Rendered": (
        lambda: render(HI),
        "it is rendered already: read its messages, or call for_target(provider)",
    ),
    "Message": (lambda: Message("user", "Hi."), "write Timeline(History([message]))"),
    "messages": (lambda: [Message("user", "Hi.")], "write Timeline(History(messages))"),
    "chat": (lambda: [CHAT], "write Timeline(History.from_openai(messages))"),
    "contents": (lambda: [GEMINI], "write Timeline(History.from_gemini(messages))"),
    "pairs": (
        lambda: [("user", "Hi.")],
        "write Timeline(*[Turn(role, text) for role, text in turns])",
    ),
    "turns": (lambda: [User("Hi.")], "write Timeline(*turns)"),
    "generator": (lambda: (User("Hi.") for _ in "ab"), "write Timeline(*turns)"),
    "payload": (lambda: {"messages": [CHAT]}, "write read_payload(payload, provider)"),
    "dictionary": (lambda: CHAT, "write History([message])"),
    "text": (lambda: "Hi.", "write User(text)"),
    "bytes": (lambda: b"Hi.", "decode it: render(User(Value(data.decode())))"),
    "module": (
        lambda: types.ModuleType("support"),
        "pass the prompt in it: render(support.prompt)",
    ),
    "LangChain": (
        LangChainMessage,
        "read it with promptdsl.integrations: History(from_langchain(messages).messages)",
    ),
    "LangChain messages": (
        lambda: [LangChainMessage()],
        "read it with promptdsl.integrations: History(from_langchain(messages).messages)",
    ),
    "number": (lambda: 5, "pass the prompt, for example a Timeline"),
}


@pytest.mark.parametrize("given", NO_PROMPTS)
def test_something_that_is_no_prompt(given: str) -> None:
    """The error names the author's line, the type of what was given, and what to write instead."""
    make, fix = NO_PROMPTS[given]
    tree = make()
    error = raised(ContentError, lambda: call(tree))
    takes = "a prompt must be a Timeline, a turn, a Section or a Fragment, not "
    kind = "type" if isinstance(tree, type) else type(tree).__name__.removesuffix("Type")
    assert (f"{takes}{kind}", fix) == (error.what, error.fix)
    assert lines_of(test_something_that_is_no_prompt, 5) == error.at


def test_no_more_is_read_than_needed() -> None:
    """Of a list without end only its first item is looked at."""
    endless = iter(lambda: User("Hi."), None)
    assert "write Timeline(*turns)" == raised(ContentError, lambda: call(endless)).fix


@pytest.mark.parametrize("function", [call, acall])
@pytest.mark.parametrize(
    ("option", "fix"),
    [
        ("modle", "did you mean 'model'?"),
        ("bugdet", "did you mean 'budget'?"),
        ("temperature", "pass it to the client yourself"),
        ("max_tokens", "pass it to the client yourself; budget= limits the prompt"),
        ("tools", "write them in the prompt: Tool(function)"),
        ("response_format", "write it in the prompt: Output(schema)"),
        ("messages", "write them in the prompt: History(messages)"),
        ("config", "write transformation=..."),
        ("variables", "pass them to the function that builds the prompt"),
    ],
)
def test_an_unknown_option(function: Any, option: str, fix: str) -> None:
    """An unknown keyword is an error that says what is meant, or where it belongs."""
    error, line = raised(OptionError, lambda: function(HI, **{option: "x"})), this_line()
    assert f"{function.__name__}() takes no {option!r}" == error.what
    assert (fix, (f"{__file__}:{line}",)) == (error.fix, error.at)


@pytest.mark.parametrize(
    ("second", "kind", "fix"),
    [
        ("gpt-5", "str", "name it: render(tree, model='gpt-5')"),
        (User("Hi."), "User", "write one Timeline: render(Timeline(...))"),
        (8000, "int", "name it: render(tree, option=...)"),
    ],
)
def test_a_second_argument_without_a_name(second: object, kind: str, fix: str) -> None:
    """A positional argument after the prompt is an error that says how to name it."""
    error = raised(OptionError, lambda: call(HI, second))
    what = f"render() takes one prompt, then options by name, not {kind}"
    assert (what, fix) == (error.what, error.fix)


# A prompt that is taken for its result.

OF_RENDERED = [
    *("messages", "losses", "tokens", "dropped", "payload", "stages", "explain", "for_target"),
    *("to_openai", "to_openai_responses", "to_anthropic"),
    *("to_gemini", "to_bedrock", "to_chat_template"),
]


@pytest.mark.parametrize("name", OF_RENDERED)
def test_a_prompt_is_no_result(name: str) -> None:
    """What a rendered prompt has is an error on the prompt that says to render it first."""
    error, line = raised(UnknownNameError, lambda: getattr(HI, name)), this_line()
    call = name if name in ("messages", "losses", "tokens", "dropped") else f"{name}()"
    assert f"a Timeline has no {call} before it is rendered" == error.what
    assert f"render it first: render(prompt, model=...).{call}" == error.fix
    assert (f"{__file__}:{line}",) == error.at


ANSWER: Any = render(HI, model="gpt-5")
SERVERS = (
    "it has to_anthropic, to_bedrock, to_chat_template, to_gemini, to_openai, "
    "to_openai_responses; many other servers take to_openai()"
)
WHOLE = "str(rendered) is the complete request, rendered.messages[-1].text the last message"
AWAIT = "await it: rendered = await arender(...)"
AS_CONTENT = "give it its content as arguments, or write it in its block"
OPENAI = "write History.from_openai(messages): they are in the format of OpenAI"
NO_NAMES: dict[str, tuple[Callable[[], object], str, str]] = {
    "a misspelt one": (
        lambda: ANSWER.mesages,
        "a Rendered has no 'mesages'",
        "did you mean 'messages'?",
    ),
    "text": (lambda: ANSWER.text, "a Rendered has no 'text'", WHOLE),
    "content": (lambda: ANSWER.content, "a Rendered has no 'content'", WHOLE),
    "a target": (lambda: ANSWER.to_mistral, "a Rendered has no 'to_mistral'", SERVERS),
    "append": (lambda: HI.append(User("a")), "a Timeline has no append()", AS_CONTENT),
    "a render of its own": (
        lambda: HI.render,
        "a Timeline has no render()",
        "write render(prompt, model=...)",
    ),
    "a form": (lambda: ANY_HISTORY.from_mistral([]), "a History has no from_mistral()", OPENAI),
    "a library": (
        lambda: ANY_HISTORY.from_langchain([]),
        "a History has no from_langchain()",
        "write History(from_langchain(messages).messages), from promptdsl.integrations.langchain",
    ),
    "messages": (
        lambda: ANY_HISTORY.from_messages([]),
        "a History has no from_messages()",
        "write History(messages)",
    ),
}


@pytest.mark.parametrize(("ask", "what", "fix"), NO_NAMES.values(), ids=NO_NAMES)
def test_a_name_that_there_is_not(ask: Callable[[], object], what: str, fix: str) -> None:
    """An attribute that there is not is an error of the family, with the line and what to take."""
    error = raised(UnknownNameError, ask)
    assert (what, fix) == (error.what, error.fix)
    assert error.at[0].startswith(__file__)


def test_a_result_that_is_not_awaited() -> None:
    """A coroutine that is taken for its result is an error that says to await it."""
    waiting: Any = arender(HI)
    error, line = raised(UnknownNameError, lambda: waiting.messages), this_line()
    waiting.close()
    assert ("arender() returns a coroutine, which has no 'messages'", AWAIT) == (
        error.what,
        error.fix,
    )
    assert (f"{__file__}:{line}",) == error.at


def test_a_coroutine_as_content() -> None:
    """A coroutine of ``arender`` that is given as content is refused as any other one."""
    error = raised(ContentError, lambda: User(acall(HI)))
    assert "a coroutine cannot be content of a User" == error.what
    assert "await it first, or write Lazy(function) and arender()" == error.fix


def test_a_coroutine_that_nobody_awaits() -> None:
    """Python's warning names the function that the author called."""
    with pytest.warns(RuntimeWarning, match="coroutine 'arender' was never awaited"):
        arender(HI)  # type: ignore[unused-coroutine]


@pytest.mark.parametrize(
    "run",
    [
        asyncio.run,
        lambda waiting: asyncio.run(_awaiting(waiting)),
        lambda waiting: asyncio.run(_awaiting(asyncio.wait_for(waiting, 60))),
        lambda waiting: asyncio.run(_in_a_task(waiting)),
    ],
    ids=["run", "await", "wait_for", "task"],
)
def test_every_way_to_await(run: Callable[[Any], Any]) -> None:
    """The coroutine of a prompt that waits is awaited in every way of asyncio."""

    async def later(_: object) -> str:
        await asyncio.sleep(0)
        return "Hi."

    assert ["Hi."] == [message.text for message in run(arender(User(Lazy(later)))).messages]


async def _awaiting(waiting: Any) -> Any:
    return await waiting


async def _in_a_task(waiting: Any) -> Any:
    task = asyncio.create_task(waiting)
    task.print_stack()
    return await task


def test_a_task_that_is_cancelled() -> None:
    """An exception that is thrown into the coroutine reaches the function that waits."""
    ends: list[str] = []

    async def waits(_: object) -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ends.append("cancelled")
            raise
        return ""

    async def main() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(arender(User(Lazy(waits))), 0.01)

    asyncio.run(main())
    assert ["cancelled"] == ends


def test_an_error_in_a_property_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """An ``AttributeError`` inside of a result is not taken for a missing name."""
    rendered = render(HI)

    def broken(_: object) -> object:
        raise AttributeError("'int' object has no attribute 'x'")

    monkeypatch.setattr(Rendered, "losses", property(broken))
    error = raised(AttributeError, lambda: rendered.losses)
    assert "'int' object has no attribute 'x'" == str(error)


@pytest.mark.parametrize("name", [*OF_RENDERED, "__html__", "_repr_png_", "__deepcopy", "foo"])
def test_a_node_has_none_of_these(name: str) -> None:
    """Code that asks an object what it can do is told no."""
    assert (False, None) == (hasattr(HI, name), getattr(HI, name, None))


@pytest.mark.parametrize("name", ["text", "__html__", "_repr_png_", "__deepcopy__", "foo"])
def test_a_result_has_none_of_these(name: str) -> None:
    """Code that asks a result what it can do is told no."""
    assert (False, None) == (hasattr(ANSWER, name), getattr(ANSWER, name, None))


def test_copies_are_not_hindered() -> None:
    """Copying and saving a prompt ask for attributes, and get what they need."""
    assert HI == copy.copy(HI) == copy.deepcopy(HI) == pickle.loads(pickle.dumps(HI))


def test_a_field_of_such_a_name() -> None:
    """A part that has a field of such a name keeps it."""
    assert 5 == Reserve(5).tokens
    assert "a" == Value("a").text
    assert not hasattr(Node, "messages")


# Data that is no message, block or reply.


class LikeModel:
    """A message as an SDK returns it."""

    def model_dump(self) -> dict[str, object]:
        """Return it as data."""
        return {}


HOW = 'write a message as {"role": "user", "content": "..."}, or as Message("user", "...")'
IMAGE: Any = {"type": "image", "source": {"type": "file"}}
SOURCES = "known: base64, file_id, gcs, path, s3, url"
RESULT: Any = {"type": "tool_result", "tool_use_id": "c", "content": ["a", IMAGE]}
FAILED = {"code": "server_error", "message": "The model crashed."}
data: Any = Message
WRONG_DATA: dict[str, tuple[Callable[[], object], str, str]] = {
    "a role of another library": (
        lambda: data("human"),
        "unknown role 'human'",
        "did you mean 'user'?",
    ),
    "the role of a model": (
        lambda: data.from_dict({"role": "AI", "content": "Hi."}),
        "unknown role 'AI'",
        "did you mean 'assistant'?",
    ),
    "a misspelt role": (
        lambda: data("asistant"),
        "unknown role 'asistant'",
        "did you mean 'assistant'?",
    ),
    "a pair": (
        lambda: data.from_dict(("user", "Hi.")),
        "a message must be a mapping, not tuple",
        HOW,
    ),
    "a LangChain message": (
        lambda: data.from_dict(LangChainMessage()),
        "a message must be a mapping, not LangChainMessage",
        "write History(from_langchain(messages).messages), with from_langchain of "
        "promptdsl.integrations.langchain",
    ),
    "a message of an SDK": (
        lambda: data.from_dict(LikeModel()),
        "a message must be a mapping, not LikeModel",
        "write History.from_openai(messages), or from_ and the name of its provider",
    ),
    "a source in a message": (
        lambda: data.from_dict({"role": "user", "content": ["a", "b", IMAGE]}),
        "content[2].source: unknown source 'file'",
        SOURCES,
    ),
    "a source in a result in a message": (
        lambda: data.from_dict({"role": "tool", "content": [RESULT]}),
        "content[0].content[1].source: unknown source 'file'",
        SOURCES,
    ),
    "a source in a block": (
        lambda: block_from_dict(IMAGE),
        "source: unknown source 'file'",
        SOURCES,
    ),
    "a block without its source": (
        lambda: block_from_dict({"type": "image"}),
        "an 'image' block needs 'source'",
        "or one of 'path', 'url', 'data', 'file_id'",
    ),
    "a reply that is empty": (
        lambda: read_response({}),
        "no provider sends a response with these keys: none",
        "give the object the client returned",
    ),
    "a reply without choices": (
        lambda: read_response({"choices": []}),
        "a response without choices",
        "read its error, if it has one",
    ),
    "a response that failed": (
        lambda: read_response({"object": "response", "output": [], "error": FAILED}),
        "the response failed: server_error: The model crashed.",
        "the request failed: read reply['error']",
    ),
    "a reply that is a message": (
        lambda: read_response(Message("assistant", "Hi.")),
        "no provider sends a response with these keys: role, content",
        "it is a message already",
    ),
    "a reply that is a text": (
        lambda: read_response("Hi."),
        "a dictionary is needed, not str",
        'a text alone is Message("assistant", text)',
    ),
    "a reply that is a stream": (
        lambda: read_response(iter("ab")),
        "a dictionary is needed, not str_ascii_iterator",
        "read a stream by reading = read_stream(stream); for event in reading: ...; "
        "then reading.message",
    ),
    "a reply that is being read": (
        lambda: read_response(read_stream([])),
        "a dictionary is needed, not Reading",
        "read its message: reading.message",
    ),
}


@pytest.mark.parametrize("given", WRONG_DATA)
def test_wrong_data(given: str) -> None:
    """The error says where in the data it is, at which line it was given, and what to do."""
    write, what, fix = WRONG_DATA[given]
    error = raised(DataError, write)
    assert (what, fix) == (error.what, error.fix)
    first = write.__code__.co_firstlineno
    assert error.at in [(f"{__file__}:{line}",) for line in (first, first + 1)]


@pytest.mark.parametrize(
    ("recorded", "what"),
    [
        ({"role": "human"}, "messages[1]: unknown role 'human'"),
        (
            {"role": "tool", "content": [RESULT]},
            "messages[1]: content[0].content[1].source: unknown source 'file'",
        ),
    ],
)
def test_wrong_data_in_a_history(recorded: Any, what: str) -> None:
    """An error in a recorded conversation names the message, and the line of its History."""
    history, line = History([CHAT, recorded]), this_line()
    error = raised(DataError, lambda: render(Timeline(history)))
    assert (what, (f"{__file__}:{line}",)) == (error.what, error.at)


def test_reading_data_inside_names_the_outermost_line() -> None:
    """What the package reads for a render is no call of the author: the History is named."""
    history, line = History.from_anthropic([{"role": "human", "content": "Hi."}]), this_line()
    error = raised(DataError, lambda: render(Timeline(history)))
    assert (f"{__file__}:{line}",) == error.at


# Arguments that a function or a class does not take, and options of a wrong type.

A_RECORD = render(User("Hi."), model="gpt-5").record()
WRONG_CALLS: dict[str, tuple[Callable[[Any], object], str, str]] = {
    "an unknown option": (
        lambda _: SqliteStore("a.db", timout=3),  # type: ignore[call-arg]
        "SqliteStore() takes no 'timout'",
        "did you mean 'timeout'?",
    ),
    "an unknown option of a method": (
        lambda _: A_RECORD.token_tree(deep=3),  # type: ignore[call-arg]
        "PromptRecord.token_tree() takes no 'deep'",
        "did you mean 'depth'?",
    ),
    "an unknown option of a class of values": (
        lambda _: ClearResults(keep=2, atleast=5),  # type: ignore[call-arg]
        "ClearResults() takes no 'atleast'",
        "did you mean 'at_least'?",
    ),
    "a missing argument": (
        lambda _: FolderStore(),  # type: ignore[call-arg]
        "FolderStore() needs 'folder'",
        "it takes FolderStore(folder, timeout=...)",
    ),
    "an argument too many": (
        lambda _: dedent("a", 4),  # type: ignore[call-arg]
        "dedent() takes 1 argument by position, not 2",
        "it takes dedent(text)",
    ),
    "a path that is none": (
        PromptLog,
        "{} is not a path",
        'write a text, such as "log"',
    ),
    "a database that is none": (
        SqliteStore,
        "{} is not a path",
        'write a text, such as "chats.db"',
    ),
    "a time limit that is none": (
        lambda value: FolderStore("chats", timeout=value),
        "timeout={}",
        "write a number of seconds above 0",
    ),
    "a depth that is none": (
        lambda value: A_RECORD.token_tree(depth=value),
        "depth={}",
        "write a number of 0 or more, or None for no limit",
    ),
    "a file that is none": (
        A_RECORD.save,
        "{} is not a path",
        'write a text, such as "record.json"',
    ),
    "a key that is none": (
        lambda value: FolderStore("chats").load(value),
        "{} is not a key",
        'write a text, such as "Ann/1881"',
    ),
}


@pytest.mark.parametrize("value", [b"a", [1], {"a": 1}, -3.5], ids=repr)
@pytest.mark.parametrize("case", WRONG_CALLS)
def test_a_wrong_call(
    case: str, value: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrong argument is an error of the project, at the author's line, with advice."""
    monkeypatch.chdir(tmp_path)
    wrong, what, fix = WRONG_CALLS[case]

    def write() -> None:
        wrong(value)

    error = raised(OptionError, write)
    assert (what.format(repr(value)), fix) == (error.what, error.fix)
    assert error.at
    assert error.at[0].startswith(__file__)


def test_an_error_of_a_function_is_not_a_wrong_call() -> None:
    """A ``TypeError`` that is raised in a function of the author stays what it is."""

    def count(text: Any) -> Any:
        return text + 1

    with pytest.raises(TypeError, match="can only concatenate str") as caught:
        render(User("Hi."), budget=100, counter=count)
    assert not isinstance(caught.value, PromptError)


def test_conversations_and_inputs_of_a_wrong_type() -> None:
    """A transcript of no list, an answer to no call, and inputs of a diff that are no pair."""
    talk, other = Timeline(User("Hi.")), Timeline(User("Bye."))
    wrong: Any = None
    assert "write Transcript([message]), or Transcript() for an empty transcript" == (
        raised(ContentError, lambda: Transcript(wrong)).fix
    )
    assert "pass a call of transcript.pending_calls, or its id" == (
        raised(OptionError, lambda: Transcript().answer(wrong, "4")).fix
    )
    inputs: Any = [{"plan": "Pro"}]
    assert 'write a mapping for each prompt: inputs=({"plan": "Pro"}, {"plan": "Free"})' == (
        raised(OptionError, lambda: diff(talk, other, inputs=inputs)).fix
    )
