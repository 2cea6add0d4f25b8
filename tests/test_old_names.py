"""Old names: each of the table works until its release, and warns at the line that uses it."""

import importlib
import warnings
from collections.abc import Callable, Iterator
from linecache import getline

import pytest

from promptdsl import Dropped, Section, System, Timeline, User, __version__, diff, render
from promptdsl.batch import TableRow
from promptdsl.integrations import Converted
from tests.errors import this_line
from tests.internals import OLD_NAMES

RENDERED = render(Timeline(System("Be kind."), User("Hi")), model="gpt-5")
CHANGED = diff(System(Section("a", "One")), System(Section("a", "Two")))
DROPPED = Dropped("tool call", "", 3, None, "it has no result", None, "look_up")
ROW = TableRow(1, "rows.csv:2", {})
INSTANCES = {
    "Rendered": RENDERED,
    "Dropped": DROPPED,
    "TokenReport": RENDERED.tokens,
    "Change": CHANGED.changes[0],
    "TableRow": ROW,
    "SharedPrefix": CHANGED.prefix,
}
STAGES = [old.split()[1] for old in OLD_NAMES if old.startswith("Stage.name ")]
COMPARISONS: list[Callable[[str, str], bool]] = [
    lambda name, old: name == old,
    lambda name, old: old == name,
    lambda name, old: (name != old) is False,
    lambda name, old: (old != name) is False,
    lambda name, old: old in [name],
]


def old_names(*, modules: bool) -> Iterator[tuple[str, str, str]]:
    """Yield the owner, the old and the new name of those in modules, or of attributes."""
    for old, renamed in OLD_NAMES.items():
        owner, _, name = old.rpartition(".")
        if " " not in old and owner.startswith("promptdsl") == modules:
            yield owner, name, renamed.new


@pytest.mark.parametrize(("owner", "old", "new"), [*old_names(modules=False)])
def test_an_old_attribute(owner: str, old: str, new: str) -> None:
    """It has the value of the new one, and its warning names both and the release."""
    with pytest.warns(DeprecationWarning, match=old) as warned:
        value, line = getattr(INSTANCES[owner], old), this_line()
    assert getattr(INSTANCES[owner], new) == value
    text = f"{owner}.{old} is now {new}; the old name goes in promptdsl 0.3.0"
    assert [(text, __file__, line)] == [(str(it.message), it.filename, it.lineno) for it in warned]


@pytest.mark.parametrize(("owner", "old", "new"), [*old_names(modules=True)])
def test_an_old_name_of_a_module(owner: str, old: str, new: str) -> None:
    """It is the object of the new name, with a warning at the line of the import."""
    module = importlib.import_module(owner)
    with pytest.warns(DeprecationWarning, match=f"{owner}.{old} is now {new};") as warned:
        value, line = getattr(module, old), this_line()
    assert getattr(module, new) is value
    assert [(__file__, line)] == [(it.filename, it.lineno) for it in warned]


def test_an_import_of_an_old_name() -> None:
    """An import warns at its line; an unknown name is the usual error."""
    with pytest.warns(DeprecationWarning, match="SentPlace") as warned:
        from promptdsl import SentPlace, SentLocation  # type: ignore[attr-defined] # isort: skip
    assert SentPlace is SentLocation
    assert {__file__} == {it.filename for it in warned}
    assert all("import SentPlace" in getline(__file__, it.lineno) for it in warned)
    for module in ("promptdsl", "promptdsl.integrations"):
        with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
            getattr(importlib.import_module(module), "Nothing")  # noqa: B009


def test_an_import_of_an_old_name_of_integrations() -> None:
    """An import from ``promptdsl.integrations`` warns at its line, too."""
    integrations = "promptdsl.integrations"
    program = compile(f"\nfrom {integrations} import Bridged", "user.py", "exec")
    names: dict[str, object] = {}
    with pytest.warns(DeprecationWarning, match="Bridged is now Converted;") as warned:
        exec(program, names)
    assert Converted is names["Bridged"]
    assert {("user.py", 2)} == {(it.filename, it.lineno) for it in warned}


def test_the_method_under_its_old_name() -> None:
    """``places()`` returns the locations."""
    with pytest.warns(DeprecationWarning, match="Rendered.places"):
        places = RENDERED.places()
    assert RENDERED.locations() == places


@pytest.mark.parametrize("old", STAGES)
def test_the_old_name_of_a_stage(old: str) -> None:
    """A stage has the new name, and is equal to the old one, with a warning."""
    names = [stage.name for stage in RENDERED.stages()]
    new = OLD_NAMES[f"Stage.name {old}"].new
    assert new in names
    with pytest.warns(DeprecationWarning, match=f"{old} is now {new};"):
        assert 1 == sum(name == old for name in names)


@pytest.mark.parametrize("compare", COMPARISONS)
@pytest.mark.parametrize("old", STAGES)
def test_a_comparison_with_an_old_name_warns_at_its_line(
    old: str, compare: Callable[[str, str], bool]
) -> None:
    """Each way to compare a stage's name warns at the line that compares."""
    new = OLD_NAMES[f"Stage.name {old}"].new
    name = next(stage.name for stage in RENDERED.stages() if stage.name == new)
    with pytest.warns(DeprecationWarning, match=f"{old} is now {new};") as warned:
        assert compare(name, old)
    line = compare.__code__.co_firstlineno
    assert [(__file__, line)] == [(it.filename, it.lineno) for it in warned]


def test_other_names_of_stages_do_not_warn() -> None:
    """A new name, another name or another object compares as a string does."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        by_name = {stage.name: stage.tree for stage in RENDERED.stages()}
        assert by_name["merge"] is RENDERED.stages()[-1].tree
        last = RENDERED.stages()[-1].name
        assert (True, True, False) == (last == "merge", last != "pair", last == 1)


def test_changes_as_json_have_both_names() -> None:
    """The JSON of a change has ``location``, and ``place`` until its release."""
    [change] = CHANGED.to_dict()["changes"]
    assert change["location"] == change["place"] == [*CHANGED.changes[0].location]


def test_no_old_name_is_overdue() -> None:
    """Each old name goes in a later release than this one."""
    this = [int(number) for number in __version__.split(".")]
    releases = [[*map(int, renamed.gone_in.split("."))] for renamed in OLD_NAMES.values()]
    assert [] == [release for release in releases if release <= this]


def test_every_attribute_has_an_instance() -> None:
    """No class of the table is left out here."""
    assert {owner for owner, *_ in old_names(modules=False)} == {*INSTANCES}
