"""The installed libraries: listed without an import, loaded alone, and one error for each fault."""

import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from promptdsl import Library, LibraryError, Template
from tests.errors import raised
from tests.libraries.packages import SUPPORT, package

pytestmark = pytest.mark.usefixtures("site")

HOUSE = "from promptdsl import Library\nlibrary = Library({!r})\n"


def _ours() -> set[str]:
    return {module for module in sys.modules if module.startswith("acme_")}


def test_the_list(site: Path) -> None:
    """The list names library, version, package and entry point, in the order of the names."""
    package(site, "house", HOUSE.format("house"), version="0.3")
    ours = [it for it in Library.installed() if it.package.startswith("acme")]
    assert [
        ("house", "0.3", "acme-house", "acme_house:library", ""),
        ("surgery", "1.2.0", "acme-surgery", "acme_surgery:library", ""),
    ] == [(it.name, it.version, it.package, it.target, it.problem) for it in ours]


@pytest.mark.parametrize("count", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_two_hundred_libraries(site: Path, count: int) -> None:
    """Listing two hundred libraries imports none; loading one imports exactly that one."""
    for number in range(count):
        package(site, f"lib{number}", HOUSE.format(f"lib{number}"))
    ours = [it for it in Library.installed() if it.package.startswith("acme")]
    assert (count + 1, set()) == (len(ours), _ours())
    assert "lib17" == Library.load("lib17").name
    assert {"acme_lib17"} == _ours()


def test_the_version() -> None:
    """A library knows the version of its package; one that is made in code has none."""
    assert "1.2.0" == Library.load("surgery").version
    assert None is Library("surgery").version


def test_a_name_that_is_no_text() -> None:
    """A library is named by a text: another value is an error that says so."""
    error = raised(LibraryError, lambda: Library.load(None))  # type: ignore[arg-type]
    assert "the name of a library must be a string, not NoneType" == error.what


@pytest.mark.parametrize(
    ("limit", "names"),
    [("surgery", ["surgery"]), (" house , surgery", ["house", "surgery"]), ("", []), ("x", [])],
)
def test_the_limit(
    site: Path, monkeypatch: pytest.MonkeyPatch, limit: str, names: list[str]
) -> None:
    """PROMPTDSL_LIBRARIES names the libraries that may be used; empty, there are none."""
    package(site, "house", HOUSE.format("house"))
    monkeypatch.setenv("PROMPTDSL_LIBRARIES", limit)
    assert names == [it.name for it in Library.installed()]


def test_a_library_that_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A library that is left out is not used by name, loaded before or not."""
    Library.load("surgery")
    monkeypatch.setenv("PROMPTDSL_LIBRARIES", "starter")
    error = raised(LibraryError, lambda: Template("surgery:refunds", region="EU"))
    assert "the library 'surgery' is not allowed: PROMPTDSL_LIBRARIES is 'starter'" == error.what


def test_two_packages_of_one_name(site: Path) -> None:
    """Two packages with one library: the list shows both, and an error names both."""
    package(site, "other", SUPPORT, points="surgery = acme_other:library")
    problem = "acme-other 1.0 and acme-surgery 1.2.0 both declare it"
    listed = [it for it in Library.installed() if it.name == "surgery"]
    assert [("acme-other", problem), ("acme-surgery", problem)] == [
        (it.package, it.problem) for it in listed
    ]
    error = raised(LibraryError, lambda: Library.load("surgery"))
    assert f"the library 'surgery' cannot be used: {problem}" == error.what
    assert set() == _ours()


BROKEN = {
    "raising": ("1 / 0", "ZeroDivisionError: division by zero"),
    "leaving": ("raise SystemExit(3)", "SystemExit: 3"),
    "importing": ("import acme_nowhere", "ModuleNotFoundError: No module named 'acme_nowhere'"),
    "wrong": ("x = ((", "SyntaxError: '(' was never closed (__init__.py, line 1)"),
    "empty": ("", "AttributeError: module 'acme_empty' has no attribute 'library'"),
    "text": ("library = 'text'", "acme_text:library is not a Library but str"),
    "named": (HOUSE.format("other"), "acme_named:library is the library 'other'"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_library(site: Path, name: str) -> None:
    """A broken library is one error with its package and the reason; others keep working."""
    code, reason = BROKEN[name]
    package(site, name, code)
    error = raised(LibraryError, lambda: Library.load(name))
    assert f"the library {name} 1.0 of acme-{name} cannot be loaded: {reason}" == error.what
    other = f"install another version of acme-{name}, or report it to its authors"
    rename = 'write other = "acme_named:library" in its pyproject.toml, and install it again'
    assert {"named": rename}.get(name, other) == error.fix
    assert "surgery" == Library.load("surgery").name


def test_the_cause_of_a_broken_library(site: Path) -> None:
    """The exception of a library is the cause of the error."""
    package(site, "raising", "1 / 0")
    error = raised(LibraryError, lambda: Library.load("raising"))
    assert ZeroDivisionError is type(error.__cause__)


def test_a_library_for_another_version(site: Path) -> None:
    """A library that requires another version of promptdsl says so when it is loaded."""
    code = 'from promptdsl import Library\nlibrary = Library("late", requires="promptdsl>=99")\n'
    package(site, "late", code)
    what = raised(LibraryError, lambda: Library.load("late")).what
    assert "the library 'late' requires promptdsl>=99, and promptdsl " in what


@pytest.mark.parametrize(
    ("points", "name", "problem"),
    [
        ("my house = acme_odd:library", "my house", "'my house' cannot be the name of a library"),
        ("odd = acme_odd", "odd", "its entry point 'acme_odd' is not module:name"),
        (
            "odd = acme_odd:a\nodd = acme_odd:b",
            "odd",
            "acme-odd 1.0 declares it twice",
        ),
    ],
)
def test_metadata_that_is_wrong(site: Path, points: str, name: str, problem: str) -> None:
    """What a package declares wrongly is listed with the problem, and cannot be used."""
    package(site, "odd", HOUSE.format("odd"), points=points)
    assert {problem} == {it.problem for it in Library.installed() if it.package == "acme-odd"}
    error = raised(LibraryError, lambda: Library.load(name))
    assert f"the library {name!r} cannot be used: {problem}" == error.what


def test_metadata_that_cannot_be_read(site: Path) -> None:
    """A package whose metadata cannot be read stops no other library."""
    package(site, "odd", "", points="no line of entry points")
    package(site, "bare", HOUSE.format("bare"))
    (site / "acme_bare-1.0.dist-info" / "METADATA").unlink()
    assert "surgery" == Library.load("surgery").name
    assert "bare" == Library.load("bare").name


def test_a_package_that_is_installed_meanwhile(site: Path) -> None:
    """A miss looks again: a package may have been installed since."""
    error = raised(LibraryError, lambda: Library.load("house"))
    assert (
        "there is no library 'house'",
        "known: starter, surgery; install its package, or install it again if its entry point is "
        "new",
    ) == (error.what, error.fix)
    package(site, "house", HOUSE.format("house"))
    assert "house" == Library.load("house").name


def test_a_name_that_is_nearly_right() -> None:
    """An unknown library suggests the nearest one."""
    assert "did you mean 'surgery'?" == raised(LibraryError, lambda: Library.load("surgry")).fix


def test_threads_that_load_at_once() -> None:
    """Threads that load a library at once get one object, and its sections are one."""
    with ThreadPoolExecutor(8) as threads:
        loaded = [*threads.map(lambda _: Library.load("surgery"), range(8))]
        made = [*threads.map(lambda it: it.refunds, loaded)]
    assert (1, 1) == (len({*map(id, loaded)}), len({*map(id, made)}))


def test_an_exception_without_a_text(site: Path) -> None:
    """An exception that cannot be shown, or is very long, is reported by its type and beginning."""
    silent = (
        "class Silent(Exception):\n    def __str__(self):\n        return 1 // 0\nraise Silent\n"
    )
    package(site, "silent", silent)
    package(site, "loud", "raise ValueError(100_000 * 'x')\n")
    silence = raised(LibraryError, lambda: Library.load("silent")).what
    assert "the library silent 1.0 of acme-silent cannot be loaded: Silent" == silence
    assert 2_500 > len(raised(LibraryError, lambda: Library.load("loud")).what)


def test_a_package_that_is_gone(site: Path) -> None:
    """Where the files of a library are gone, its templates are unknown to it."""
    library = Library.load("surgery")
    shutil.rmtree(site / "acme_surgery")
    assert (
        "the library 'surgery' has no section 'refunds'"
        == raised(LibraryError, lambda: library.refunds).what
    )
