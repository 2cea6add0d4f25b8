"""Make a mistake in the package as it is loaded: replace code of functions, or constants."""

import ast
import gc
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType

from tests.mutants.module import Mutant, constants

Place = tuple[str, str]


def loaded(files: Iterable[str]) -> dict[Place, list[FunctionType]]:
    """Return the functions of files by file and qualified name; several hold one code at times."""
    wanted = frozenset(files)
    found: dict[Place, list[FunctionType]] = defaultdict(list)
    for thing in gc.get_objects():
        if type(thing) is FunctionType and thing.__code__.co_filename in wanted:
            found[thing.__code__.co_filename, thing.__code__.co_qualname].append(thing)
    return found


def apply(mutant: Mutant, functions: dict[Place, list[FunctionType]]) -> None:
    """Make a mistake; raise whatever error the module would raise while it is imported."""
    code = mutant.code()
    if mutant.is_function:
        _replace_code(mutant, code, functions)
    else:
        _replace_constants(mutant)


def _replace_code(
    mutant: Mutant, module: CodeType, functions: dict[Place, list[FunctionType]]
) -> None:
    file = str(sys.modules[mutant.module].__file__)
    places = {function.__code__.co_firstlineno for function in functions[file, mutant.name]}
    [new] = [
        code
        for code in _codes(module)
        if code.co_qualname == mutant.name and code.co_firstlineno in places
    ]
    new = new.replace(co_filename=file)
    for function in functions[file, mutant.name]:
        function.__code__ = new


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _replace_constants(mutant: Mutant) -> None:
    """Run the statement of a constant again, and those of the constants made of it."""
    module = sys.modules[mutant.module]
    before = dict(vars(module))
    changed = {mutant.name}
    undo = mutant.put()
    try:
        for name, statement in constants(mutant.tree):
            if name in changed or changed & names_in(statement):
                changed.add(name)
                tree = ast.fix_missing_locations(ast.Module([statement], []))
                exec(compile(tree, str(module.__file__), "exec"), vars(module))
    finally:
        undo()
    others = [
        each for name, each in sys.modules.items() if name.startswith(("promptdsl", "tests."))
    ]
    for name in changed:
        for other in others:
            if vars(other).get(name) is before[name]:
                setattr(other, name, vars(module)[name])


def names_in(node: ast.AST) -> set[str]:
    """Return the names that are used in a statement."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
