"""What editors see without running code: names, members, signatures and docstrings."""

import re
import sys
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from inspect import isclass, isfunction
from pathlib import Path

import jedi
import pytest

import promptdsl
from tests.folding import failures
from tests.language_server import LanguageServer, language_server

ROOT = Path(__file__).resolve().parents[1]

ENVIRONMENT = jedi.create_environment(sys.executable, safe=False)
"""A process of its own: in this one pytest takes part in imports."""

RENDERED = "from promptdsl import User, render\nrendered = render(User('x'))\n"
"""The beginning of a file in which somebody reads a result."""

COMPLETED = {
    "import promptdsl\npromptdsl.Sec": ["Section", "SectionInfo"],
    "import promptdsl\npromptdsl.UNT": ["UNTRUSTED_NOTICE"],
    "import promptdsl as p\np.read_": ["read_payload", "read_response", "read_stream"],
    "from promptdsl import Sec": ["Section", "SectionInfo"],
    "from promptdsl import Timeline, ToolU": ["ToolUse", "ToolUseBlock"],
    "from promptdsl import *\nGroun": ["Grounding"],
    "from promptdsl.testing import assert_no_section": ["assert_no_section"],
    "from promptdsl.batch import write_batch": ["write_batch"],
    "from promptdsl.comparing import prompt_file": ["prompt_file"],
    "from promptdsl.tokens import counter": ["counter", "counters"],
    f"{RENDERED}rendered.loss": ["losses"],
    f"{RENDERED}rendered.to_open": ["to_openai", "to_openai_responses"],
    f"{RENDERED}rendered.to_anthropic": ["to_anthropic"],
    f"{RENDERED}rendered.messages[0].te": ["text"],
    f"{RENDERED}for message in rendered.messages:\n    message.ro": ["role"],
    f"{RENDERED}rendered.losses[0].sou": ["source"],
    f"{RENDERED}rendered.tokens.tot": ["total"],
    "from promptdsl import read_response\nread_response({}).cal": ["calls"],
    "from promptdsl import History\nHistory.from_open": ["from_openai", "from_openai_responses"],
    "from promptdsl import Section\nSection('rules', ti": ["title="],
    "from promptdsl import Limit\nLimit(100, 'x', ke": ["keep="],
    "from promptdsl import Table\nTable([], col": ["columns="],
}
"""What is written up to a position, and what an editor offers there."""

BY_TYPES = {
    "from promptdsl import User\nUser('x', na": ["name="],
    "from promptdsl import Section\nSection('rules', prio": ["priority="],
    "from promptdsl import History\nHistory([], max_": ["max_result_tokens="],
    "from promptdsl import render\nrender('x', mod": ["model="],
    "from promptdsl import arender\nasync def f():\n    (await arender('x')).loss": ["losses"],
}
"""Positions that jedi does not know: options as keys of a typed dictionary, and coroutines."""

PARAMETERS = {
    "User": ["content", "options"],
    "Event": ["content", "options"],
    "Section": ["id", "content", "title", "options"],
    "ToolResult": ["tool_use_id", "content", "is_error", "error_type", "unknown"],
    "render": ["tree", "surplus", "options"],
}
"""The parameters that an editor shows of a call."""

SENTENCES = {
    "import promptdsl\npromptdsl": "Prompts written with ``with`` blocks, rendered to messages,",
    "from promptdsl import User\nUser": "A turn of the user: text, attachments and tool results.",
    "from promptdsl import render\nrender": "Return the messages of a prompt and, for a target,",
    f"{RENDERED}rendered.messages": "The messages that are sent, in the same format for every",
    "import promptdsl\npromptdsl.register_model": "Register facts about the models of one name,",
}
"""The first words of the docstring that an editor shows of the name at the end."""


def script(code: str) -> jedi.Script:
    """Return what jedi knows of a file; it runs no code of the package."""
    return jedi.Script(code, environment=ENVIRONMENT, project=jedi.Project(ROOT))


def offered(code: str, names: Iterable[str]) -> list[str]:
    """Return, in order, the names that begin with the last word of the code, as it is written."""
    (word,) = re.findall(r"\w*\Z", code)[:1]
    return sorted(name for name in names if name.startswith(word))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LanguageServer]:
    """Yield the language server of pyright, where it is installed."""
    if find_spec("pyright") is None:
        pytest.skip("pyright is not installed")
    with language_server(tmp_path_factory.mktemp("editor"), ROOT) as server:
        yield server


def test_jedi_sees_every_public_name() -> None:
    """After ``promptdsl.`` jedi lists each public name."""
    names = {name.name for name in script("import promptdsl\npromptdsl.").complete()}
    assert [] == sorted({*promptdsl.__all__} - names)


@pytest.mark.slow
@pytest.mark.parametrize("code", COMPLETED)
def test_jedi_completes(code: str) -> None:
    """At the end of what is written jedi offers what fits there."""
    names = [name.name for name in script(code).complete()]
    assert COMPLETED[code] == offered(code, names)


@pytest.mark.slow
@pytest.mark.parametrize("name", PARAMETERS)
def test_jedi_shows_parameters(name: str) -> None:
    """Within a call jedi shows its parameters."""
    (signature,) = script(f"from promptdsl import {name}\n{name}(").get_signatures()
    assert PARAMETERS[name] == [parameter.name for parameter in signature.params]


@pytest.mark.slow
@pytest.mark.parametrize("code", SENTENCES)
def test_jedi_shows_docstrings(code: str) -> None:
    """For a name jedi shows its docstring."""
    (definition,) = script(code).help()
    assert SENTENCES[code] == definition.docstring(raw=True)[: len(SENTENCES[code])]


@pytest.mark.slow
def test_jedi_knows_each_class_and_function() -> None:
    """Of each public class and function jedi knows a signature and a docstring."""

    def wrong(name: str) -> bool:
        (known,) = script(f"from promptdsl import {name}\n{name}").infer()
        return not (known.get_signatures() and known.docstring(raw=True))

    public = {name: getattr(promptdsl, name) for name in promptdsl.__all__}
    calls = [name for name, value in public.items() if isclass(value) or isfunction(value)]
    assert [] == failures(calls, wrong)


@pytest.mark.slow
@pytest.mark.parametrize("code", [*COMPLETED, *BY_TYPES])
def test_a_language_server_completes(server: LanguageServer, code: str) -> None:
    """At the end of what is written pyright's language server offers what fits there."""
    assert {**COMPLETED, **BY_TYPES}[code] == offered(code, server.completed(code))


@pytest.mark.slow
@pytest.mark.parametrize("code", SENTENCES)
def test_a_language_server_shows_docstrings(server: LanguageServer, code: str) -> None:
    """For a name pyright's language server shows its docstring."""
    assert SENTENCES[code] == server.docstring(code)[: len(SENTENCES[code])]
