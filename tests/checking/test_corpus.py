"""Good prompts have no findings; ``conftest.py`` holds the same of the documentation."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from promptdsl import Library, Section, System, Template, Timeline, Tool, User, render
from promptdsl.checking import Checker, CheckSettings
from tests.checking.corpus import findings_in

ROOT = Path(__file__).parents[2]
MODELS = (None, "gpt-5", "claude-opus-5-5", "gemini-2.5-pro")
EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("*.py"))
NO_PROMPT = ("edit_transcript", "first_bot")
SECTIONS = sorted(Library.load("starter").sections)
TOOLS = [
    Tool(name=name, description="It works.", input_schema={"type": "object"})
    for name in ("python_interpreter", "final_answer", "web_search", "visit_webpage", "bash")
]


@pytest.mark.parametrize("name", [it for it in EXAMPLES if it not in NO_PROMPT])
def test_examples(name: str) -> None:
    """The prompts of the examples have none, for any model."""
    prompt = import_module(f"examples.{name}").demo()
    assert [] == findings_in(render(prompt, model=model) for model in MODELS)


@pytest.mark.parametrize("name", SECTIONS)
def test_starter_library(name: str) -> None:
    """The sections of the starter library have none."""
    section = Library.load("starter")[name]
    assert [] == findings_in([render(Timeline(System(Section("rules", section())), User("Hi.")))])


@pytest.mark.parametrize(
    "folder",
    ["examples", "benchmarks", "templates", pytest.param("promptdsl", marks=pytest.mark.slow)],
)
def test_code(folder: str) -> None:
    """The code of the project and its templates have none."""
    checker = Checker()
    checker.paths([str(ROOT / folder)])
    assert () == checker.report().findings


def prompts_of(package: str) -> list[str]:
    """Return the texts of prompts in the YAML files of an installed package."""
    yaml = pytest.importorskip("yaml")
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        pytest.skip(f"{package} is not installed")
    waiting: list[Any] = [
        yaml.safe_load(it.read_text("utf-8")) for it in Path(spec.origin).parent.rglob("*.yaml")
    ]
    texts: list[str] = []
    while waiting:
        it = waiting.pop()
        waiting += it.values() if isinstance(it, dict) else it if isinstance(it, list) else []
        texts += [it] if isinstance(it, str) else []
    return texts


@pytest.mark.slow
@pytest.mark.parametrize("package", ["smolagents", "minisweagent", "aider"])
def test_agents(package: str) -> None:
    """The prompts of open agents have none, as templates and with tools."""
    texts = prompts_of(package)
    settings = CheckSettings(ignore=("PD205",))  # they are templates, and sent without variables
    checker = Checker(settings)
    for text in texts:
        checker.prompt(render(Timeline(*TOOLS, System(text or "."), User("Hi."))))
    assert () == checker.report().findings
    assert all(Template.from_string(text) for text in texts)
