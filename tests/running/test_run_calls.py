"""Running the calls of a message one after the other."""

import copy
import logging
import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from functools import partial
from typing import Any
from uuid import UUID

import attrs
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.errors import raised
from tests.internals import type_schemas_module
from tests.running.tools import call, charges, only_result, outcome, results


def test_a_call_is_run() -> None:
    """A result is a tool message with the id of its call, the name of its tool, and JSON."""
    assert [Message.tool_result("call_1", "[49.0, 49.0]", name="charges")] == [
        *run_calls([call("charges", month="May")], [charges])
    ]


def test_an_iterator_that_is_discarded() -> None:
    """A warning at the line of the call says that no function ran, if there were calls."""
    problem = "run_calls() was not iterated, so no function ran (calls: 2)"
    fix = "write for result in run_calls(...): a function runs with its result"
    calls = [call("charges", month="May"), call("charges", month="June")]
    with pytest.warns(RuntimeWarning) as caught:
        run_calls(calls, [charges])
    run_calls([], [charges])
    assert [(f"{problem}\n  {fix}", __file__)] == [
        (str(warning.message), warning.filename) for warning in caught
    ]


def test_an_iterator_that_is_left() -> None:
    """Nothing is said of calls that are left after the first one ran."""
    calls = [call("charges", month="May"), call("charges", month="June")]
    results = run_calls(calls, [charges])
    assert "[49.0, 49.0]" == next(results).text
    del results


def test_calls_of_a_transcript() -> None:
    """Each result is stored before the next function runs, and answers its call."""
    transcript = Transcript(["Hi."])
    transcript.append(Message("assistant", [call("count", "a"), call("count", "b")]))
    seen: list[int] = []

    def count() -> int:
        seen.append(len(transcript))
        return len(transcript)

    for result in run_calls(transcript.pending_calls, [count]):
        transcript.append(result)
    assert [2, 3] == seen
    assert ["2", "3"] == [message.text for message in transcript[2:]]
    assert () == transcript.pending_calls


def test_leaving_early_runs_nothing_more() -> None:
    """Nothing runs before the first result is asked for, nor after the iteration is left."""
    ran: list[int] = []

    def note(number: int) -> int:
        ran.append(number)
        return number

    results = run_calls([call("note", str(n), number=n) for n in range(3)], [note])
    assert not ran
    assert "0" == next(results).text
    results.close()
    assert [0] == ran


@given(st.lists(st.sampled_from(["text", "bad", "unknown", "raises"]), max_size=8))
def test_results_are_in_the_order_of_the_calls(kinds: list[str]) -> None:
    """There is a result for each call, in the order of the calls."""

    def text() -> str:
        return "text"

    def bad(needed: int) -> int:
        return needed

    def raises() -> None:
        raise RuntimeError

    calls = [call(kind, f"call_{number}") for number, kind in enumerate(kinds)]
    expected = {
        "text": None,
        "bad": "validation_error",
        "unknown": "unknown_tool",
        "raises": "execution_error",
    }
    results = [*run_calls(calls, [text, bad, raises])]
    assert [f"call_{number}" for number in range(len(kinds))] == [
        block.tool_use_id
        for message in results
        for block in message.content
        if isinstance(block, ToolResultBlock)
    ]
    assert [expected[kind] for kind in kinds] == [outcome(message)[1] for message in results]


# Which calls are run.


def test_calls_that_have_their_result() -> None:
    """A call that is answered in its message, or that its provider ran, is left out."""
    message = Message(
        "assistant",
        [
            call("charges", "a", month="May"),
            UnknownBlock({"type": "function_call_output", "call_id": "a", "output": "1"}, "x"),
            call("charges", "srvtoolu_1", month="May"),
            call("charges", "b", month="May"),
        ],
    )
    assert ["b"] == [result.content[0].tool_use_id for result in run_calls(message, [charges])]  # type: ignore[union-attr]


def test_a_call_that_is_the_answer() -> None:
    """A call of the name of an Output among the tools is the answer, and is not run."""
    answer = Output({"type": "object", "properties": {}}, name="answer", strict=False)
    calls = [call("answer", "a"), call("charges", "b", month="May")]
    assert [("[49.0, 49.0]", None)] == results(calls, [charges, answer])


@pytest.mark.parametrize("calls", ["charges", {"a": 1}, 7, [Message("user", "Hi.")], ["a"]])
def test_what_is_no_call(calls: Any) -> None:
    """Anything but calls is an error of the option that says what to give."""
    error = raised(OptionError, lambda: run_calls(calls, [charges]))
    assert "give a message, its calls, or transcript.pending_calls" == error.fix


# The tools.


def test_a_tool_with_another_name() -> None:
    """A Tool is called by its own name, also after it was placed in a prompt."""
    tool = Tool(charges, name="list_charges")
    Timeline(tool, User("Hi."))
    assert [("[49.0, 49.0]", None)] == results([call("list_charges", month="May")], [tool])


def test_functions_with_arguments_of_their_own() -> None:
    """A partial, a bound method, an object and a model are tools, too."""

    class Desk:
        plan = "Pro"

        def plan_of(self, customer: str) -> str:
            return f"{customer}: {self.plan}"

        def __call__(self, customer: str) -> str:
            return customer

    class City(pydantic.BaseModel):
        name: str
        size: int = 1

    def find(database: Mapping[str, str], key: str) -> str:
        return database[key]

    calls = [
        call("find", key="a"),
        call("plan_of", customer="Ann"),
        call("Desk", customer="Bo"),
        call("City", name="Oslo"),
        call("small", name="Rome"),
    ]
    small = Tool(partial(City, size=0), name="small")
    tools = [partial(find, {"a": "tea"}), Desk().plan_of, Desk(), City, small]
    assert [
        "tea",
        "Ann: Pro",
        "Bo",
        '{"name": "Oslo", "size": 1}',
        '{"name": "Rome", "size": 0}',
    ] == [text for text, _ in results(calls, tools)]


def test_a_mapping_gets_arguments_unchecked() -> None:
    """The function of a mapping gets the arguments as they came, and the call if it asks for it."""

    def search(call: ToolUseBlock, **arguments: Any) -> str:
        return f"{call.id} {arguments}"

    calls = [call("search", "7", q=[1], call="mine"), ToolUseBlock("8", "search", "[1]")]
    assert [
        ("7 {'q': [1]}", None),
        ("the arguments are no JSON object", "validation_error"),
    ] == results(calls, {"search": search})


def test_a_function_gets_its_call() -> None:
    """A parameter that is annotated with ToolUseBlock is no argument: it gets the call."""

    def pay(amount: int, call: ToolUseBlock) -> str:
        return f"{call.id}: {amount}"

    assert ["amount"] == [*Tool(pay).definition.input_schema["properties"]]  # type: ignore[misc,index,call-overload]
    assert ("call_1: 3", None) == only_result(pay, amount=3)
    assert "validation_error" == only_result(pay, amount=3, **{"call": "x"})[1]


def everything(*names: str) -> str:
    """Take any names."""
    return str(names)


async def wait() -> None:
    """Wait."""


@pytest.mark.parametrize(
    ("tools", "problem"),
    [
        ([charges, Tool(charges)], "two tools are named 'charges'"),
        ([Tool(name="find")], "the tool 'find' has no function"),
        ([everything], "a model cannot fill *names"),
        ([ToolDefinition("find")], "ToolDefinition is not a tool that can be run"),
        ([lambda: 1], "a lambda has no name"),
        ([wait], "the tool 'wait' is asynchronous"),
        ({"wait": wait}, "the tool 'wait' is asynchronous"),
        ({"find": Tool(charges)}, "'find': Tool is not a function"),
        ("charges", "a str is not a list of tools"),
        (charges, "a function is not a list of tools"),
        (Tool(charges), "a Tool is not a list of tools"),
    ],
)
def test_tools_that_cannot_be_run(tools: Any, problem: str) -> None:
    """A tool that cannot be run is an error before anything runs, also one that nobody called."""
    assert problem == raised(OptionError, lambda: run_calls([], tools)).what


def test_without_pydantic(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra a list of functions is an error that names it, and a mapping works."""
    monkeypatch.setattr(type_schemas_module, "find_spec", lambda _: None)

    def today() -> str:
        return "Monday"

    assert "install the extra `tools`" in raised(OptionError, lambda: run_calls([], [today])).fix
    assert [("Monday", None)] == results([call("today")], {"today": today})


def test_the_function_is_no_part_of_a_tool() -> None:
    """Tools with other functions are equal; a tool that was pickled has no function."""

    def other(month: str) -> list[float]:
        """List the charges of a month."""
        return [float(month)]

    tool, other_tool = Tool(charges), Tool(other, name="charges")
    assert (tool == other_tool, hash(tool) == hash(other_tool), repr(tool) == repr(other_tool)) == (
        True,
        True,
        True,
    )
    assert "function" not in dir(tool)
    copied_tool = pickle.loads(pickle.dumps(Timeline(tool))).content[0]
    assert copied_tool == tool == copy.deepcopy(tool)
    assert "has no function" in raised(OptionError, lambda: run_calls([], [copied_tool])).what


# What functions raise.


@pytest.mark.parametrize(
    ("errors", "text"),
    [("hide", "the tool failed"), ("text", "KeyError: 'June'")],
)
def test_an_exception(errors: Any, text: str, caplog: pytest.LogCaptureFixture) -> None:
    """An exception is a result that says so, and with errors="text" says all; it is logged."""
    calls = [call("charges", month="June")]
    assert [(text, "execution_error")] == results(calls, [charges], errors=errors)
    (record,) = caplog.records
    assert record.exc_info is not None
    assert ("promptdsl.tools", logging.ERROR, KeyError) == (
        record.name,
        record.levelno,
        record.exc_info[0],
    )
    assert "the tool 'charges' failed in the call 'call_1'" == record.getMessage()


def test_an_exception_is_raised() -> None:
    """With errors="raise" the exception itself is raised, but arguments that do not fit are not."""
    iterator = run_calls([call("charges", month="June")], [charges], errors="raise")
    assert ("June",) == raised(KeyError, lambda: next(iterator)).args
    assert "validation_error" == results([call("charges")], [charges], errors="raise")[0][1]


def test_an_error_for_the_model(caplog: pytest.LogCaptureFixture) -> None:
    """The text of a ToolError is the result, also that of a validator; it is logged as a hint."""
    caplog.set_level(logging.INFO, "promptdsl.tools")

    def refuse(invoice: int) -> None:
        raise ToolError("no such invoice" if invoice else "")

    class Invoice(pydantic.BaseModel):
        number: int

        @pydantic.field_validator("number")
        @classmethod
        def check(cls, number: int) -> int:
            raise ToolError("give an invoice of this year" if number else "")

    assert ("no such invoice", "execution_error") == only_result(refuse, invoice=1)
    assert [logging.INFO] == [record.levelno for record in caplog.records]
    assert (
        "the arguments do not fit:\n- number: give an invoice of this year",
        "validation_error",
    ) == only_result(Invoice, number=1)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_what_ends_the_program(kind: type[BaseException]) -> None:
    """What is no Exception passes."""

    def end() -> None:
        raise kind

    with pytest.raises(kind):
        only_result(end)


@pytest.mark.parametrize("errors", ["hidden", None, 1])
def test_an_unknown_way_with_errors(errors: Any) -> None:
    """Another value of errors= is an error that names the known ones."""
    assert "errors=" in raised(OptionError, lambda: run_calls([], [], errors=errors)).what


# What functions return.


class Color(Enum):
    """A color."""

    RED = "red"


@dataclass
class Charge:
    """A charge."""

    amount: Decimal
    day: date


@attrs.frozen
class Plan:
    """A plan."""

    name: str
    charges: tuple[Charge, ...] = ()


class Account(pydantic.BaseModel):
    """An account."""

    since: datetime


CHARGE = Charge(Decimal("49.90"), date(2026, 5, 1))
CHARGE_TEXT = '{"amount": "49.90", "day": "2026-05-01"}'


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("Rain.", "Rain."),
        ("", ""),
        (None, "null"),
        (True, "true"),
        (3, "3"),
        ({"é": [1, (2.5,)]}, '{"é": [1, [2.5]]}'),
        ([], "[]"),
        (date(2026, 5, 1), '"2026-05-01"'),
        (CHARGE, CHARGE_TEXT),
        (Plan("Pro", (CHARGE,)), f'{{"name": "Pro", "charges": [{CHARGE_TEXT}]}}'),
        ([Account(since=datetime(2026, 5, 1))], '[{"since": "2026-05-01T00:00:00"}]'),
        ([Color.RED, UUID(int=1)], '["red", "00000000-0000-0000-0000-000000000001"]'),
    ],
)
def test_data(value: Any, text: str) -> None:
    """Text is the result as it is, data is its JSON, and None is null."""

    def give() -> Any:
        return value

    assert (text, None) == only_result(give)


def infinite() -> float:
    """Return no JSON number."""
    return float("inf")


def nested() -> list[Any]:
    """Return data that contains itself."""
    data: list[Any] = []
    data.append(data)
    return data


def steps() -> Iterator[int]:
    """Yield a number."""
    yield 1


def part() -> Text:
    """Return a part of a prompt."""
    return Text("Hi.")


async def coroutine() -> None:
    """Return nothing, later."""


def asynchronous() -> Any:
    """Return what somebody has to await."""
    return coroutine()


@pytest.mark.parametrize(
    "function", [infinite, nested, steps, part, asynchronous, object, lambda: {1: 2}, lambda: b"x"]
)
def test_what_json_cannot_say(function: Any) -> None:
    """A value that JSON cannot express is an error of the tool, and is never guessed."""
    assert [("the tool failed", "execution_error")] == results([call("f")], {"f": function})


IMAGE = ImageBlock(MediaSource("base64", "R0lGODlhAwAFAAAAACw=", "image/gif"))


@pytest.mark.parametrize(
    ("value", "content"),
    [
        (IMAGE, (IMAGE,)),
        ([TextBlock("a"), IMAGE], (TextBlock("a"), IMAGE)),
        ((IMAGE, IMAGE), (IMAGE, IMAGE)),
    ],
)
def test_blocks(value: Any, content: tuple[Block, ...]) -> None:
    """A block and a list of blocks are the content of the result as they are."""

    def give() -> Any:
        return value

    (message,) = run_calls([call("give")], [give])
    assert (ToolResultBlock("call_1", content, "give"),) == message.content


@pytest.mark.sdk("mcp")
def test_results_of_mcp() -> None:
    """The result of a tool of an MCP server has its contents, and is an error if it says so."""
    from mcp import types

    data = "R0lGODlhAwAFAAAAACw="
    contents: list[types.ContentBlock] = [
        types.TextContent(type="text", text="Rain."),
        types.ImageContent(type="image", data=data, mime_type="image/gif"),
        types.EmbeddedResource(
            type="resource", resource=types.TextResourceContents(uri="file:///a.txt", text="Tea.")
        ),
        types.ResourceLink(type="resource_link", name="b", uri="file:///b.txt"),
    ]
    values = {
        "contents": types.CallToolResult(content=contents),
        "failed": types.CallToolResult(content=contents[:1], is_error=True),
        "structured": types.CallToolResult(content=[], structured_content={"a": 1}),
    }
    expected = [
        message.content[0]
        for message in run_calls(
            [*map(call, values)], {name: lambda v=v: v for name, v in values.items()}
        )
    ]
    assert [
        ToolResultBlock(
            "call_1",
            (TextBlock("Rain."), IMAGE, TextBlock("Tea."), TextBlock("b: file:///b.txt")),
            "contents",
        ),
        ToolResultBlock("call_1", "Rain.", "failed", is_error=True),
        ToolResultBlock("call_1", '{"a": 1}', "structured"),
    ] == expected


# Prompts in functions.


def test_a_tool_that_writes_components() -> None:
    """A function runs with no block open: what it writes joins no prompt that is being written."""

    def summary() -> str:
        with Timeline() as prompt:
            User("Sum it up.")
        return render(prompt).messages[0].text

    with Timeline() as outer, System("Be kind."):
        assert ("Sum it up.", None) == only_result(summary)
    assert ["Be kind."] == [message.text for message in render(outer).messages]


def test_a_tool_that_leaves_a_block_open() -> None:
    """A function that leaves a block open fails, and the next one has none open."""

    def careless() -> str:
        System("Be kind.").__enter__()
        return "done"

    assert ("the tool failed", "execution_error") == only_result(careless)
    assert ("null", None) == only_result(wait_not)


def wait_not() -> None:
    """Return nothing."""


def test_a_tool_that_runs_calls() -> None:
    """A function may run calls of its own."""

    def agent(month: str) -> str:
        (result,) = run_calls([call("charges", "inner", month=month)], [charges])
        return result.text

    assert ("[49.0, 49.0]", None) == only_result(agent, month="May")
