"""The warning about content of an author that is about to be sent incompletely."""

import threading
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from promptdsl import *
from promptdsl.integrations.litellm import to_litellm
from promptdsl.integrations.mcp import to_mcp
from promptdsl.integrations.openai_agents import to_openai_agents
from tests.errors import this_line

VIDEO = "https://example.com/a.mp4"
TEXT = "video block cannot be sent: the target takes no such block in a user message"
LINE = this_line() + 1
PROMPT = Timeline(User("What is this?", Video.from_url(VIDEO)))
SEARCH = {"type": "web_search_20250305", "name": "web_search"}
TEMPLATE = "{% for message in messages %}{{ message.content }}{% endfor %}"


def find(query: str) -> str:
    """Find a book."""
    return query


def warned(send: Callable[[], object]) -> list[tuple[str, str, int]]:
    """Return the text, the file and the line of each warning about lost content."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LostContentWarning)
        send()
    return [(str(warning.message), warning.filename, warning.lineno) for warning in caught]


SENDS: dict[str, Callable[[], object]] = {
    "payload": lambda: render(PROMPT, model="gpt-5").payload(),
    "to_openai": lambda: render(PROMPT).to_openai(),
    "for_target": lambda: render(PROMPT).for_target("openai").to_openai(),
    "prefix": lambda: render(
        Timeline(System("Be kind.", cache=True), *PROMPT.content), model="claude-opus-5-5"
    ).prefix(),
    "to_litellm": lambda: to_litellm(render(PROMPT, model="gpt-5")),
    "to_openai_agents": lambda: to_openai_agents(render(PROMPT)),
}


@pytest.mark.parametrize("name", SENDS)
def test_what_sends_warns(name: str) -> None:
    """What makes a request warns at the line that wrote the block, with the text of an error."""
    assert [(TEXT, __file__, LINE)] == warned(SENDS[name])


def test_code_without_a_module_warns() -> None:
    """The code of a cell, which is in no module, warns at its line."""
    names: dict[str, Any] = {}
    exec(
        compile(
            "from promptdsl import *\nprompt = User(Video.from_url(VIDEO))", "<cell 1>", "exec"
        ),
        {"VIDEO": VIDEO},
        names,
    )
    assert [(TEXT, "<cell 1>", 2)] == warned(
        lambda: render(names["prompt"], model="gpt-5").payload()
    )


def test_two_on_a_line() -> None:
    """Each content of a line has its own text."""
    prompt = User("What?", Video.from_url(VIDEO), Audio.from_url("https://example.com/a.wav"))
    texts = {text for text, *_ in warned(lambda: render(prompt, provider="anthropic").payload())}
    assert ["audio", "video"] == sorted(text.split()[0] for text in texts)


def test_a_library_warns() -> None:
    """What a library does not take is named at its line, too."""
    pytest.importorskip("mcp")
    with Timeline() as prompt:
        User("Find it.")
        call = Assistant(ToolUse("find", {}, id="a"))
        ToolMessage("a", "There.")
    assert call.source is not None
    texts = [text for text, _, _ in warned(lambda: to_mcp(render(prompt)))]
    assert "a block of type 'tool_use' cannot be sent: MCP does not support it" == texts[0]
    assert not warned(lambda: to_mcp(render(History(render(prompt).messages))))


def test_a_tool() -> None:
    """A tool that is not sent is named at its line."""
    prompt = Timeline(Tool(find), User("Where is it?"))
    rendered = render(prompt, chat_template=TEMPLATE)
    assert ["tools/find"] == [loss.path for loss in rendered.losses]
    lines = {(loss.source.file, loss.source.line) for loss in rendered.losses if loss.source}
    assert lines == {(file, line) for _, file, line in warned(rendered.payload)}


SHOWN: dict[str, Callable[[Rendered], object]] = {
    "views": lambda rendered: [str(rendered), repr(rendered), rendered._repr_html_()],
    "reports": lambda rendered: [rendered.tokens.total, rendered.spans(), rendered.locations()],
    "record": lambda rendered: rendered.record().html(),
    "for_target": lambda rendered: rendered.for_target("anthropic").losses,
    "diff": lambda rendered: str(diff(rendered, rendered)),
    "otel": lambda rendered: rendered.to_otel(content=True),
}


@pytest.mark.parametrize("name", SHOWN)
def test_what_shows_does_not_warn(name: str) -> None:
    """Nothing that only shows a prompt warns."""
    assert not warned(lambda: SHOWN[name](render(PROMPT, model="gpt-5")))


def recorded() -> list[Message]:
    """Return the messages of a render, as an application keeps them."""
    return list(render(PROMPT).messages)


DATA: dict[str, Callable[[], Any]] = {
    "a history": lambda: Timeline(History(recorded())),
    "a history that is merged with a turn": lambda: Timeline(History(recorded()), User("And now?")),
    "blocks of a message": lambda: User(*recorded()[0].content),
    "a replaced character": lambda: Timeline(System("a\ud800"), User("b\ud800")),
    "a recorded payload": lambda: read_payload(
        {"tools": [SEARCH], "max_tokens": 9, "messages": [{"role": "user", "content": "Hi."}]},
        "anthropic",
    ),
}


@pytest.mark.parametrize("name", DATA)
def test_data_does_not_warn(name: str) -> None:
    """Content that came as data has losses and no warning, also where warnings are errors."""
    rendered = render(DATA[name](), model="gpt-5")
    assert ["content"] == list(dict.fromkeys(loss.kind for loss in rendered.losses))
    assert rendered.payload()


def test_threads_warn_once() -> None:
    """Of 1,000 calls in two threads, one warns."""
    rendered = render(User(Video.from_url(VIDEO)), model="gpt-5")

    def send() -> None:
        for _ in range(500):
            rendered.payload()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        threads = [threading.Thread(target=send) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [LostContentWarning] == [warning.category for warning in caught]


def test_a_warning_that_is_an_error() -> None:
    """With ``-W error`` the text is that of ``strict``."""
    with pytest.raises(LostContentWarning) as caught:
        render(PROMPT, model="gpt-5").payload()
    with pytest.raises(LossError) as refused:
        render(PROMPT, model="gpt-5", strict=True)
    assert refused.value.what == str(caught.value)


def test_the_text_of_a_line_stays() -> None:
    """A line that loses a video for another reason has the text of its first warning."""

    def ask(**target: Any) -> object:
        return render(User("Look.", Video.from_url(VIDEO)), **target).payload()

    first, second = warned(lambda: ask(model="gpt-5")), warned(lambda: ask(provider="bedrock"))
    assert ([TEXT], first) == ([text for text, _, _ in first], second)


@pytest.mark.parametrize(
    "filter_",
    [{"category": LostContentWarning}, {"module": __name__.replace(".", r"\.")}],
    ids=["category", "module"],
)
def test_silence(filter_: dict[str, Any]) -> None:
    """A filter for the category or for the author's module silences the warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", **filter_)
        render(PROMPT, model="gpt-5").payload()
    assert [] == caught
