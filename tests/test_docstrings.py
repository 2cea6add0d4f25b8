"""Docstrings: every public name has an example that runs, and every class a name of its own."""

import ast
import doctest
import inspect
from collections import defaultdict
from pathlib import Path

import pytest

import promptdsl
from promptdsl import testing

PACKAGE = Path(promptdsl.__file__).parent
PUBLIC = {
    name: getattr(module, name)
    for module in (promptdsl, testing)
    for name in sorted(module.__all__)
    if inspect.isclass(getattr(module, name)) or inspect.isfunction(getattr(module, name))
}


@pytest.mark.parametrize("name", PUBLIC)
def test_the_example_of_a_public_name_runs(name: str) -> None:
    """Every public class and function has an example in its docstring, with the true output."""
    public = PUBLIC[name]
    examples = doctest.DocTestFinder(recurse=False).find(public, name, globs={})
    assert any(test.examples for test in examples), f"{name} has no example"
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for test in examples:
        runner.run(test, out=report.append)
    assert not report, "".join(report)


@pytest.mark.slow
def test_every_class_has_a_name_of_its_own() -> None:
    """No two classes of the package share a name, whatever their rooms."""
    files: dict[str, list[str]] = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                files[node.name].append(path.relative_to(PACKAGE).as_posix())
    assert {} == {name: paths for name, paths in files.items() if len(paths) > 1}
