"""``promptdsl render``: formats, options, and the texts of errors."""

import base64
import json
from pathlib import Path

import pytest

from promptdsl import Assistant, System, Timeline, ToolMessage, ToolUse, User, render
from tests.cli.conftest import LINES, Command
from tests.commands import Done
from tests.renders import ruled

GREETING = Timeline(System("Be brief."), User("Hello."))
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="
)
MESSAGES = """\
0 system
  text
    Be brief.

1 user
  text
    Hello.
"""
TEXT = ruled("[system]\nBe brief.\n\n[user]\nHello.\n")
OPENAI = {
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello."},
    ]
}
ANTHROPIC = {
    "system": [{"type": "text", "text": "Be brief."}],
    "messages": [{"role": "user", "content": [{"type": "text", "text": "Hello."}]}],
}
NEUTRAL = {
    "messages": [
        {"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
        {"role": "user", "content": [{"type": "text", "text": "Hello."}]},
    ],
    "losses": [],
    "hints": [],
}


@pytest.mark.parametrize(
    ("options", "data"),
    [
        ([], TEXT),
        (["--for", "text"], TEXT),
        (["--for", "messages"], MESSAGES),
        (["--for", "text", "--model", "claude-opus-5-5"], TEXT),
    ],
)
def test_a_prompt_is_shown_to_people(cli: Command, options: list[str], data: str) -> None:
    """Without a target a prompt is text; its messages are shown block by block."""
    assert Done(0, data, "") == cli("render", "support.py:GREETING", *options)


@pytest.mark.parametrize(
    ("options", "data"),
    [
        (["--for", "openai"], OPENAI),
        (["--for", "openai", "--json"], OPENAI),
        (["--for", "openai_compatible"], OPENAI),
        (["--for", "anthropic"], ANTHROPIC),
        (["--for", "anthropic", "--model", "claude-opus-5-5"], ANTHROPIC),
        (["--model", "claude-opus-5-5"], ANTHROPIC),
        (["--model", "gpt-4o", "--json"], OPENAI),
        (["--for", "messages", "--json"], NEUTRAL),
        (["--for", "text", "--json"], TEXT.rstrip("\n")),
    ],
)
def test_a_prompt_is_given_to_programs(cli: Command, options: list[str], data: object) -> None:
    """A provider gets its payload as JSON, and everything else has a form in JSON."""
    run = cli("render", "support.py:GREETING", *options)
    assert (0, data, "") == (run.code, json.loads(run.out), run.err)


def test_a_payload_is_the_one_the_library_gives(cli: Command) -> None:
    """The payload is that of ``render()``, the keys in their order."""
    run = cli("render", "support.py:GREETING", "--model", "claude-opus-5-5")
    payload = render(GREETING, model="claude-opus-5-5").payload()
    assert json.dumps(payload, indent=2) + "\n" == run.out


@pytest.mark.parametrize("target", ["support.py:RULES", "support.py:loud"])
def test_any_part_can_be_named(cli: Command, target: str) -> None:
    """TARGET may be a part of a prompt, or a function without parameters."""
    assert 0 == cli("render", target).code


def test_a_section_alone_is_system_content(cli: Command) -> None:
    """A section alone is shown as the system message it becomes."""
    assert Done(0, ruled("[system]\n## Rules\nBe kind.\n"), "") == cli("render", "support.py:RULES")


def test_losses_are_notes(cli: Command) -> None:
    """What a target cannot say is on standard error, a line each, with its place."""
    run = cli("render", "support.py:corrected", "--for", "anthropic")
    note = (
        "role: developer message (developer[0]): this model takes no instructions here, "
        f"so the text is sent in a user message: support.py:{LINES['corrected']}\n"
    )
    assert (0, note) == (run.code, run.err)


def test_an_event_in_the_turn_of_a_user_is_no_note(cli: Command) -> None:
    """An event in the only place that a target has for it is no note: the explanation has it."""
    run = cli("render", "support.py:clicked", "--for", "anthropic")
    assert (0, "") == (run.code, run.err)
    run = cli("render", "support.py:clicked", "--explain", "--model", "claude-opus-4-5")
    assert "sent.event[0] user target anthropic" == " ".join(run.out.split("\n")[-2].split())


def test_losses_are_data_for_programs(cli: Command) -> None:
    """The JSON has the messages and the losses, each with its file and line."""
    options = ("--for", "messages", "--model", "claude-opus-4-5", "--json")
    run = cli("render", "support.py:corrected", *options)
    loss = {
        "kind": "role",
        "what": "developer message",
        "why": "this model takes no instructions here, so the text is sent in a user message",
        "path": "developer[0]",
        "at": [1],
        "name": "",
        "also": [],
        "file": "support.py",
        "line": LINES["corrected"],
    }
    assert [loss] == json.loads(run.out)["losses"]


WAY = "name its provider with --for; open models and most servers are openai_compatible"


def test_an_unknown_model_is_noted(cli: Command) -> None:
    """A model whose provider is not known is said, because its payload cannot be."""
    note = f"warning: model 'marvin-1' is not known: {WAY}\n"
    assert Done(0, TEXT, note) == cli("render", "support.py:GREETING", "--model", "marvin-1")


def test_careful_defaults_are_noted(cli: Command) -> None:
    """A model of which nothing is known gets its provider's careful defaults, and it is said."""
    options = ("--for", "anthropic", "--model", "claude-99")
    run = cli("render", "support.py:GREETING", *options)
    note = "warning: careful defaults of anthropic (model 'claude-99' is not known)"
    assert f"{note}; register_model() adds its facts\n" == run.err


def test_a_misspelt_model_is_noted_once(cli: Command) -> None:
    """The note on a model whose provider is not known has the name that may be meant."""
    note = f"warning: model 'gpt5' is not known: {WAY}; did you mean 'gpt-5'?\n"
    assert Done(0, TEXT, note) == cli("render", "support.py:GREETING", "--model", "gpt5")


def test_bytes_are_base64(cli: Command, prompts: Path) -> None:
    """Bedrock takes bytes, which JSON shows as base64."""
    (prompts / "shown.png").write_bytes(PNG)
    run = cli("render", "support.py:pictured", "--for", "bedrock", "--media-root", str(prompts))
    (image,) = json.loads(run.out)["messages"][0]["content"]
    assert {
        "image": {"format": "png", "source": {"bytes": base64.b64encode(PNG).decode()}}
    } == image


def test_tools_are_data_for_programs(cli: Command) -> None:
    """The JSON has the messages, the tools and the output schema."""
    run = cli("render", "support.py:equipped", "--for", "messages", "--json")
    said = json.loads(run.out)
    schema = {"type": "object"}
    tool = {"name": "find", "description": None, "input_schema": schema}
    output = {"name": "output", "description": None, "schema": schema, "strict": True}
    assert ([tool], output) == (said["tools"], said["output"])


@pytest.mark.parametrize(
    ("options", "key", "value"),
    [
        (
            ("--tool-choice", "find"),
            "tool_choice",
            {"type": "function", "function": {"name": "find"}},
        ),
        (("--tool-choice", "none"), "tool_choice", "none"),
    ],
)
def test_the_choice_of_tools(
    cli: Command, options: tuple[str, ...], key: str, value: object
) -> None:
    """``--tool-choice`` says which tool has to be called."""
    run = cli("render", "support.py:equipped", "--for", "openai", *options)
    assert value == json.loads(run.out)[key]


def test_marks_are_placed(cli: Command) -> None:
    """``--cache auto`` places cache marks."""
    run = cli("render", "support.py:GREETING", "--model", "claude-opus-5", "--cache", "auto")
    assert 2 == run.out.count("cache_control")


def test_a_chat_template(cli: Command, tmp_path: Path) -> None:
    """``--chat-template`` is a file; the payload holds the text it comes to."""
    template = tmp_path / "chat.jinja"
    template.write_text("{% for m in messages %}<|{{ m.role }}|>{{ m.content }}\n{% endfor %}")
    run = cli("render", "support.py:GREETING", "--chat-template", str(template))
    assert json.loads(run.out)["prompt"].startswith("<|system|>Be brief.")


def test_a_chat_template_that_is_not_there(cli: Command) -> None:
    """A file that cannot be read is a wrong call."""
    run = cli("render", "support.py:GREETING", "--chat-template", "nowhere.jinja")
    assert (2, True) == (run.code, "cannot read the chat template nowhere.jinja" in run.err)


def test_strict_fails_for_what_cannot_be_said(cli: Command) -> None:
    """With ``--strict`` a loss of text or of its voice is an error."""
    run = cli("render", "support.py:corrected", "--for", "anthropic", "--strict")
    problem = "developer message can only be sent in another role"
    assert (1, "", f"support.py:{LINES['corrected']}: {problem}") == (
        run.code,
        run.out,
        run.err.split(": this")[0],
    )


def test_strict_is_silent_where_nothing_is_lost(cli: Command) -> None:
    """With ``--strict`` a prompt the target can say is rendered."""
    assert 0 == cli("render", "support.py:corrected", "--for", "openai", "--strict").code


@pytest.mark.parametrize(
    ("options", "code"),
    [
        pytest.param([], 1, id="no folder"),
        pytest.param(["--media-root", "elsewhere"], 1, id="another folder"),
        pytest.param(["--media-root", "."], 0, id="its folder"),
        pytest.param(["--media-root", "elsewhere", "--media-root", "."], 0, id="several"),
        pytest.param(["--media-root", "nowhere"], 2, id="no such folder"),
    ],
)
def test_paths_in_data_are_read_in_named_folders_only(
    cli: Command, prompts: Path, options: list[str], code: int
) -> None:
    """A picture that data points to is read only under a folder that was named."""
    (prompts / "shown.png").write_bytes(PNG)
    (prompts / "elsewhere").mkdir()
    assert code == cli("render", "support.py:pictured", *options).code


def test_calls_without_results_are_no_payload(cli: Command) -> None:
    """A prompt that waits for its tools can be looked at, and is no payload yet."""
    assert (0, 1) == (
        cli("render", "support.py:waiting").code,
        cli("render", "support.py:waiting", "--for", "openai").code,
    )


def test_what_has_to_be_awaited_is(cli: Command, prompts: Path) -> None:
    """A part of the prompt may be asynchronous; it gets the model."""
    (prompts / "computed.py").write_text(
        "from promptdsl import Lazy, Timeline, User\n"
        "async def now(context): return f'for {context.model}'\n"
        "prompt = Timeline(User(Lazy(now)))\n"
    )
    run = cli("render", "computed.py:prompt", "--for", "text", "--model", "gpt-5")
    assert Done(0, ruled("[user]\nfor gpt-5\n"), "") == run


def test_the_outline_names_the_file_as_it_was_named(cli: Command) -> None:
    """``--outline`` shows parts, sizes, first words and lines, the file as it was named."""
    run = cli("render", "support.py:RULES", "--outline")
    assert [
        ["system", "support.py:7"],
        ["section", "rules", "'Rules'", "support.py:7"],
        ["8", "characters", '"Be', 'kind."'],
    ] == [line.split() for line in run.out.strip().split("\n")]


def test_the_configuration_is_explained(cli: Command) -> None:
    """``--explain`` shows every value of the configuration and what set it."""
    run = cli("render", "support.py:GREETING", "--explain", "--model", "claude-opus-5-5")
    assert [
        ["role_mapping.event", "developer", "provider", "anthropic"],
        ["role_mapping.ephemeral", "developer", "provider", "anthropic"],
        ["delimiters.event.user_action", "<event>", "...", "</event>", "library"],
    ] == [line.split() for line in run.out.split("\n")[:3]]
    separator = [line.split() for line in run.out.split("\n") if "merge_separator" in line]
    assert [["merge_separator", "\\n\\n", "library"]] == separator


@pytest.mark.parametrize(
    "options", [["--json", "--outline"], ["--json", "--explain"], ["--outline", "--explain"]]
)
def test_one_thing_is_printed(cli: Command, options: list[str]) -> None:
    """Asking for two things at once is an error of the call."""
    assert 2 == cli("render", "support.py:demo", *options).code


@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param(
            "misplaced",
            f"support.py:{LINES['misplaced']}: a User cannot be in a User\n"
            f"  see also support.py:{LINES['misplaced']}\n"
            "  a turn cannot be in a turn: write it next to the turn, directly in the Timeline\n",
            id="a misplaced part",
        ),
        pytest.param(
            "failing", f"support.py:{LINES['failing']}: KeyError: 'plan'\n", id="an exception"
        ),
        pytest.param("leaving", f"support.py:{LINES['leaving']}: SystemExit: 0\n", id="a way out"),
        pytest.param(
            "nothing",
            "support.py:nothing: a prompt must be a Timeline, a turn, a Section or a Fragment, "
            "not None\n  write `return prompt` in the function that builds it\n",
            id="nothing returned",
        ),
        pytest.param(
            "LIMIT",
            "support.py:LIMIT: a prompt must be a Timeline, a turn, a Section or a Fragment, "
            "not int\n  pass the prompt, for example a Timeline\n",
            id="no prompt",
        ),
    ],
)
def test_faults_are_told_with_their_line(cli: Command, name: str, message: str) -> None:
    """What is wrong with a prompt is one message, with its line and what to do."""
    assert Done(1, "", message) == cli("render", f"support.py:{name}")


def test_faults_of_a_configuration_name_the_prompt_that_was_rendered(cli: Command) -> None:
    """An error of a ``render()`` in the code of a prompt is at a line of that code."""
    run = cli("render", "support.py:unknown")
    assert (1, "support.py:") == (run.code, run.err[:11])


def test_a_traceback_shows_the_code_of_the_prompt_alone(cli: Command, prompts: Path) -> None:
    """``--traceback`` shows the frames of the prompt's own code, and no others."""
    (prompts / "deeper.py").write_text(
        "import json\n\n\ndef read():\n    return json.loads('{')\n\n\n"
        "def demo():\n    return read()\n",
        "utf-8",
    )
    run = cli("render", "deeper.py:demo", "--traceback")
    places = [line for line in run.err.split("\n") if line.startswith("  File")]
    assert (
        ['  File "deeper.py", line 9, in demo', '  File "deeper.py", line 5, in read'],
        "deeper.py:5: json.decoder.JSONDecodeError: Expecting property name",
    ) == (places, run.err.split("\n")[-2].split(" enclosed")[0])


def test_a_traceback_comes_before_an_error_of_the_prompt(cli: Command) -> None:
    """``--traceback`` shows the way to an error of the prompt as well."""
    run = cli("render", "support.py:misplaced", "--traceback")
    assert [
        "Traceback (most recent call last):",
        f'  File "support.py", line {LINES["misplaced"]}, in misplaced',
    ] == (run.err.split("\n")[:2])


def test_control_characters_are_shown_not_sent(cli: Command, prompts: Path) -> None:
    """What would steer a terminal is shown as an escape, in data and in notes."""
    (prompts / "steering.py").write_text(
        "from promptdsl import User\nSAID = User('a\\x1b[2Jb\\rc')\n\n\n"
        "def wrong():\n    raise ValueError('a\\x1b[2J')\n",
        "utf-8",
    )
    assert (
        Done(0, ruled("[user]\na\\x1b[2Jb\\rc\n"), ""),
        "steering.py:6: ValueError: a\\x1b[2J\n",
    ) == (
        cli("render", "steering.py:SAID"),
        cli("render", "steering.py:wrong").err,
    )


def test_the_same_command_gives_the_same_bytes(cli: Command, process: Command) -> None:
    """Neither the hash seed nor the time zone changes a byte."""
    options = ("render", "support.py:clicked", "--for", "messages", "--json")
    assert cli(*options) == process(*options, PYTHONHASHSEED="1", TZ="Asia/Tokyo")


def test_a_recorded_session_is_rendered(cli: Command, prompts: Path, data_folder: Path) -> None:
    """A long recorded session is a payload, whatever its tools wrote."""
    recorded = data_folder / "coding-session.json"
    (prompts / "session.py").write_text(
        "import json\nfrom pathlib import Path\nfrom promptdsl import History, Timeline\n\n\n"
        "def demo(path):\n    recorded = json.loads(Path(path).read_text('utf-8'))\n"
        "    return Timeline(History.from_openai(recorded))\n",
        "utf-8",
    )
    run = cli("render", "session.py:demo", "-p", f"path={recorded}", "--for", "openai")
    given = json.loads(recorded.read_text("utf-8"))["messages"]
    sent = json.loads(run.out)["messages"]
    assert (0, [said["role"] for said in given]) == (run.code, [said["role"] for said in sent])


def test_turns_that_wait_are_a_prompt_when_they_are_answered() -> None:
    """The same calls with their results are a payload."""
    call = Assistant(ToolUse("look", {"at": "it"}, id="call_1"))
    tree = Timeline(User("Look."), call, ToolMessage("call_1", "seen"))
    assert 3 == len(render(tree, provider="openai").payload()["messages"])
