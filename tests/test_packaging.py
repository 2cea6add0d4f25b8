"""What is installed: built, installed and run from another folder, without the network."""

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
from collections import Counter
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from sysconfig import get_path
from zipfile import ZipFile

import pytest

import promptdsl

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
TEMPLATE = "events/user_action.md.j2"

LOCATE = "import promptdsl; print(promptdsl.__file__)"
VERSIONS = """
from importlib.metadata import version
import promptdsl

print(version("promptdsl"), promptdsl.__version__)
"""
SAY = """
from promptdsl import Event, UserAction, render

print(render(Event(UserAction("left"))).messages[0].text)
"""
STARTER = """
from promptdsl import Library, Template, System, render

print(*Library.load("starter").sections)
print(render(System(Template("starter:citing"))).messages[0].text.partition(" ")[0])
"""
DESCRIBED = "The pages (`docs/`) and the examples (`examples/`) are in the source distribution."
SAID = '<event type="user_action">\nUser left\n</event>\n'
OPENED = f"""
import sys

opened = []
sys.addaudithook(lambda event, args: event == "open" and opened.append(str(args[0])))
{SAY}
print(*[name for name in opened if name.endswith(("templates", "starter", ".j2"))])
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a source distribution and of the wheel built from that."""
    folder = tmp_path_factory.mktemp("dist")
    _run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    """Return the wheel."""
    (found,) = built.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that holds nothing but the installed wheel."""
    target = tmp_path_factory.mktemp("target")
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index")
    _run(*pip, "--no-compile", "--target", target, wheel)
    return target


@pytest.fixture(scope="module")
def editable(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the interpreter of a fresh environment with an editable install of the project."""
    folder = tmp_path_factory.mktemp("editable")
    venv.create(folder, with_pip=False)
    paths = {"base": str(folder), "platbase": str(folder)}
    # What is installed here is seen there, without a network; the path of this project is not.
    Path(get_path("purelib", "venv", paths), "here.pth").write_text(get_path("purelib") + "\n")
    python = Path(get_path("scripts", "venv", paths), "python")
    pip = ("-m", "pip", "install", "--quiet", "--no-deps", "--no-index")
    _run(python, *pip, "--no-build-isolation", "--ignore-installed", "--editable", ROOT)
    return python


def test_an_installed_wheel_is_what_runs(installed: Path, tmp_path: Path) -> None:
    """With the wheel on the path, the package that is imported is the installed one."""
    found = _run(sys.executable, "-c", LOCATE, cwd=tmp_path, PYTHONPATH=str(installed))
    assert f"{installed / 'promptdsl' / '__init__.py'}\n" == found


def test_an_installed_wheel_says_its_version(installed: Path, tmp_path: Path) -> None:
    """``promptdsl.__version__`` of an installed wheel is the version in its metadata."""
    versions = _run(sys.executable, "-c", VERSIONS, cwd=tmp_path, PYTHONPATH=str(installed))
    assert f"{promptdsl.__version__} {promptdsl.__version__}\n" == versions


def test_an_installed_wheel_holds_the_templates(installed: Path, tmp_path: Path) -> None:
    """A template that an installed wheel reads is its own, as in the source tree to the byte."""
    folder = installed / "promptdsl" / "templates" / "starter"
    found = _run(sys.executable, "-c", OPENED, cwd=tmp_path, PYTHONPATH=str(installed))
    assert f"{SAID}{folder} user_action.md.j2\n" == found
    assert (ROOT / "templates" / TEMPLATE).read_bytes() == (folder / TEMPLATE).read_bytes()


def test_an_installed_wheel_holds_the_schema_of_a_record(installed: Path) -> None:
    """The JSON Schema of a record is in the wheel, as in the source tree to the byte."""
    file = Path("promptdsl") / "rendering" / "reports" / "record.schema.json"
    assert (ROOT / file).read_bytes() == (installed / file).read_bytes()


def test_an_installed_wheel_holds_the_page(installed: Path) -> None:
    """The modules, the style and the schema of the page are in the wheel."""
    folder = Path("promptdsl") / "page"
    names = [
        "page.css",
        "page.schema.json",
        *(f"js/{it.name}" for it in (ROOT / folder / "js").iterdir()),
    ]
    assert 14 == len(names)
    assert [] == [name for name in names if not (installed / folder / name).exists()]


def test_an_installed_wheel_renders(installed: Path, tmp_path: Path) -> None:
    """A template is rendered from an installed wheel."""
    said = _run(sys.executable, "-c", SAY, cwd=tmp_path, PYTHONPATH=str(installed))
    assert SAID == said


def test_an_installed_wheel_brings_the_starter_library(installed: Path, tmp_path: Path) -> None:
    """The starter library is found by its entry point, and its templates are in the wheel."""
    said = _run(sys.executable, "-c", STARTER, cwd=tmp_path, PYTHONPATH=str(installed))
    assert "citing handover output tools untrusted\nAnswer\n" == said


def test_an_editable_install_uses_the_source_tree(editable: Path, tmp_path: Path) -> None:
    """An editable install imports the package from the source tree."""
    found = _run(editable, "-c", LOCATE, cwd=tmp_path)
    assert f"{ROOT / 'promptdsl' / '__init__.py'}\n" == found


def test_an_editable_install_finds_the_templates(editable: Path, tmp_path: Path) -> None:
    """An editable install reads the templates of the source tree, not a copy of them."""
    found = _run(editable, "-c", OPENED, cwd=tmp_path)
    assert f"{SAID}{ROOT / 'templates'} user_action.md.j2\n" == found


def test_an_editable_install_renders(editable: Path, tmp_path: Path) -> None:
    """A template is rendered from an editable install."""
    assert SAID == _run(editable, "-c", SAY, cwd=tmp_path)


def test_a_wheel_holds_the_package_alone(wheel: Path) -> None:
    """A wheel holds the package and its metadata: no tests, no benchmarks, no examples."""
    tops = {name.partition("/")[0] for name in ZipFile(wheel).namelist()}
    assert {"promptdsl", f"{wheel.name.removesuffix('-py3-none-any.whl')}.dist-info"} == tops


def test_a_wheel_holds_every_file_of_the_package_once(wheel: Path) -> None:
    """A wheel holds every source, data and template file, each of them once."""
    package = [path.relative_to(ROOT) for path in _files(ROOT / "promptdsl")]
    shipped, starter = ROOT / "templates", Path("promptdsl/templates/starter")
    templates = [starter / path.relative_to(shipped) for path in _files(shipped)]
    names = [name for name in ZipFile(wheel).namelist() if name.startswith("promptdsl/")]
    assert Counter(path.as_posix() for path in (*package, *templates)) == Counter(names)


@pytest.mark.parametrize("path", ["LICENSE", "README.md", f"templates/{TEMPLATE}"])
def test_a_source_distribution_can_be_built_from(built: Path, path: str) -> None:
    """A source distribution holds what a wheel is built from."""
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        kept = [name for name in files.getnames() if name.partition("/")[2] == path]
    assert [f"{archive.name.removesuffix('.tar.gz')}/{path}"] == kept


def test_a_release_publishes_no_group_of_the_project(wheel: Path) -> None:
    """The extras of a release are features: what its tests need is a group of dependencies."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    features = sorted(project["project"]["optional-dependencies"])
    assert features == sorted(_metadata(wheel).get_all("Provides-Extra", ()))
    assert set() == {*features} & {"test", "dev", "engines", "benchmarks"}


def test_a_release_is_described_without_dead_links(wheel: Path) -> None:
    """The description is README.md with the words of its links to files, which no index has."""
    description = _metadata(wheel).get_payload()
    link = r"\]\((?!https://)[^)]*\)"
    assert (True, []) == ("| Guide | compose" in description, re.findall(link, description))
    assert DESCRIBED == description.splitlines()[-1]


def _metadata(wheel: Path) -> Message:
    with ZipFile(wheel) as files:
        (name,) = [name for name in files.namelist() if name.endswith(".dist-info/METADATA")]
        return message_from_bytes(files.read(name))


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"]


def _run(*command: str | Path, cwd: Path = ROOT, **variables: str) -> str:
    """Return what a command prints; it knows no path but those it is given."""
    known = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=known | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert 0 == done.returncode, done.stdout + done.stderr
    return done.stdout
