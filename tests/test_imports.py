"""What importing promptdsl costs: nothing is loaded before it is used."""

import ast
import pkgutil
import subprocess
import sys
from collections.abc import Callable, Collection
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

import promptdsl
from tests.errors import raised
from tests.public_names import file_of, tables, with_imports

ROOT = Path(__file__).resolve().parents[1]

HEAVY = ("asyncio", "jinja2", "pydantic", "pytest", "rich", "ssl", "tiktoken", "urllib.request")
RARE = ("decimal", "difflib", "fractions", "hashlib", "pathlib", "tempfile", "uuid")
README_NAMES = (
    "Event, Grounding, History, Section, System, Text, Timeline, User, UserAction, render"
)
STAR = """
before = {*globals()}
from promptdsl import *
print(*sorted({*globals()} - before - {'before'}), sep=',')
"""
FIVE = "from promptdsl import Section, System, Timeline, User, render"
RENDERED = """
from promptdsl import System, Timeline, User, render

with Timeline() as timeline:
    System("Be brief.")
    User("Hello.")
render(timeline).messages
"""
SENT = f"""
{FIVE}

with Timeline() as timeline:
    with System():
        with Section("role"):
            "You are a guide."
    User("Hello.")
render(timeline, model="gpt-5").to_openai()
"""
LOADED_FOR_FIVE = [
    *("components", "config", "foundation", "messages", "rendering"),
    *("rendering.passes", "rendering.text", "tokens", "tree"),
]


@cache
def loaded(code: str) -> list[str]:
    """Return the modules that are loaded after code was run in an interpreter of its own."""
    code += "\nimport sys\nprint(*sys.modules, sep='\\n')"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.split()


def among(names: Collection[str], code: str) -> list[str]:
    """Return those of the names that are loaded after code was run."""
    return sorted({*names} & {*loaded(code)})


def ours(code: str) -> list[str]:
    """Return the modules of the package that code loads, named from its folder on."""
    names = [name for name in loaded(code) if name.startswith("promptdsl.")]
    return sorted(name.removeprefix("promptdsl.") for name in names)


def folders(code: str) -> list[str]:
    """Return the folders of the package from which code loads a module."""
    return sorted({name.rpartition(".")[0] for name in ours(code)} - {""})


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("import promptdsl", id="package", marks=pytest.mark.slow),
        pytest.param(
            f"from promptdsl import {README_NAMES}",
            id="names of the first example",
            marks=pytest.mark.slow,
        ),
        pytest.param(STAR, id="every public name", marks=pytest.mark.slow),
        pytest.param(RENDERED, id="a render without templates"),
    ],
)
def test_nothing_heavy_is_loaded(code: str) -> None:
    """Neither the import, nor any public name, nor a plain render loads what is heavy."""
    assert [] == among(HEAVY, code)


def test_the_door_loads_nothing() -> None:
    """Importing the package loads what loads its names, and none of them."""
    assert ["foundation", "foundation.lazy_names"] == ours("import promptdsl")
    assert [] == among(["attr", "typing", *HEAVY, *RARE], "import promptdsl")


def test_five_names_load_no_room_they_do_not_need() -> None:
    """Writing and rendering a prompt loads no budget, report, template, provider or counter."""
    assert folders(FIVE) == LOADED_FOR_FIVE


def test_of_tokens_only_the_protocol_is_loaded() -> None:
    """What a counter of a user's has to do is part of the annotations, and nothing that counts."""
    names = [name for name in ours(FIVE) if name.startswith("tokens")]
    assert names == ["tokens", "tokens.count"]


@pytest.mark.parametrize("function", [promptdsl.render, promptdsl.arender])
def test_annotations_are_found(function: Callable[..., object]) -> None:
    """Every annotation of what renders names something that is there."""
    (options,) = get_args(get_type_hints(function)["options"])
    assert "counter" in get_type_hints(options)


def test_a_first_render_loads_its_own_provider() -> None:
    """Rendering and sending a prompt loads the adapter of its provider alone."""
    added = ["providers", "providers.openai_chat", "providers.shared"]
    assert folders(SENT) == sorted([*LOADED_FOR_FIVE, *added])


def test_a_first_render_loads_nothing_rare() -> None:
    """No module of the standard library is loaded that only other prompts need."""
    assert [] == among(RARE, SENT)


def test_writing_does_not_load_what_reads() -> None:
    """Sending a prompt loads no module of a provider that reads what it wrote."""
    adapters = [name for name in ours(SENT) if name.startswith("providers.")]
    assert [] == [name for name in adapters if name.endswith((".read", ".read_response"))]


def test_the_front_door_is_complete() -> None:
    """Every name of ``__all__`` is there, once, constants first, in order."""
    found = sorted({*promptdsl.__all__} & {*dir(promptdsl)}, key=lambda n: (not n.isupper(), n))
    assert found == list(promptdsl.__all__)


@pytest.mark.parametrize("package", tables())
def test_the_imports_of_a_package_are_made_of_its_table(package: str) -> None:
    """The imports for tools that run no code are what the table of names comes to.

    ``python -m tests.public_names`` writes them anew.
    """
    text = file_of(package).read_text("utf-8")
    assert with_imports(text, package, tables()[package]) == text


@pytest.mark.slow
@pytest.mark.parametrize("package", tables())
def test_tools_read_what_is_loaded(package: str) -> None:
    """Each of these imports brings the object that the package gives for the name."""
    loading = import_module(package)
    names = " ".join(tables()[package].values()).split()
    given = {name: getattr(loading, name) for name in names}
    nodes = ast.walk(ast.parse(file_of(package).read_text("utf-8")))
    imported = {
        alias.asname: getattr(import_module(str(node.module)), alias.name)
        for node in nodes
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name
    }
    assert given == imported


def test_no_module_hides_a_public_name() -> None:
    """No folder or file beside the door is called like one of its names."""
    modules = [module.name for module in pkgutil.iter_modules(promptdsl.__path__)]
    assert [] == sorted({*modules} & {*promptdsl.__all__})


def test_a_name_is_looked_up_once() -> None:
    """A name that was asked for is a plain global from then on."""
    code = "import promptdsl\npromptdsl.Source\nprint('Source' in vars(promptdsl))"
    assert "True" == loaded(code)[0]


def test_a_star_gives_every_public_name() -> None:
    """``from promptdsl import *`` gives exactly the names of ``__all__``."""
    assert sorted(promptdsl.__all__) == loaded(STAR)[0].split(",")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Sectoin", "module 'promptdsl' has no attribute 'Sectoin': did you mean 'Section'?"),
        ("qqq", "module 'promptdsl' has no attribute 'qqq'"),
        ("__wrapped__", "module 'promptdsl' has no attribute '__wrapped__'"),
    ],
)
def test_a_name_that_is_not_there(name: str, said: str) -> None:
    """A name nobody knows is an AttributeError, with the nearest name where one is near."""
    assert said == str(raised(AttributeError, lambda: getattr(promptdsl, name)))


def test_a_name_that_cannot_be_imported() -> None:
    """A name nobody knows cannot be imported either."""
    error = raised(ImportError, lambda: exec("from promptdsl import Sectoin"))
    assert str(error).startswith("cannot import name 'Sectoin' from 'promptdsl'")
