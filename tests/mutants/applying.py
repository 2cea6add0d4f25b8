"""Make a mistake in the package as it is loaded: replace code of functions, or constants."""

import ast
import gc
import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from functools import _lru_cache_wrapper, cache
from itertools import count
from pathlib import Path
from types import CodeType, FunctionType, ModuleType, NoneType

from tests.mutants.module import Mutant, constants

Location = tuple[str, str]


class NoModule(Exception):
    """A module with this mistake could not be imported."""


def loaded(files: Iterable[str]) -> dict[Location, list[FunctionType]]:
    """Return the functions of files by file and qualified name; several hold one code at times."""
    wanted = frozenset(files)
    # What is frozen is not among the objects: it was, by what runs the tests.
    gc.unfreeze()
    found: dict[Location, list[FunctionType]] = defaultdict(list)
    for thing in gc.get_objects():
        if type(thing) is FunctionType and thing.__code__.co_filename in wanted:
            found[thing.__code__.co_filename, thing.__code__.co_qualname].append(thing)
    # A search for garbage would copy what a fork shares with this process.
    gc.freeze()
    return found


def apply(mutant: Mutant, functions: dict[Location, list[FunctionType]]) -> None:
    """Make a mistake; raise :class:`NoModule` where the module could not be imported with it."""
    if mutant.is_function:
        try:
            code = mutant.code()
        except SyntaxError as error:
            raise NoModule from error
        _replace_code(mutant, code, functions)
    else:
        _replace_constants(mutant)
    clear_caches({file for file, _ in functions})


def clear_caches(files: Collection[str]) -> None:
    """Forget what the cached functions of files have returned."""
    for function in cached_functions(files):
        function.cache_clear()


def cached_functions(files: Collection[str]) -> list["_lru_cache_wrapper[object]"]:
    """Return the functions of files that keep what they have returned."""
    modules = [each for each in sys.modules.values() if getattr(each, "__file__", None) in files]
    things = [thing for module in modules for thing in vars(module).values()]
    return [thing for thing in things if isinstance(thing, _lru_cache_wrapper)]


def _replace_code(
    mutant: Mutant, module: CodeType, functions: dict[Location, list[FunctionType]]
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


def replace_code(
    file: str,
    before: str,
    after: CodeType,
    functions: dict[Location, list[FunctionType]],
    *,
    names: Collection[str] | None = None,
) -> None:
    """Give the loaded functions of a file the code that they have in another module.

    With ``names``, only these functions and those that are made in them. Raise
    :class:`ValueError` where one that was made before has other free variables.
    """
    others = _numbered(after)
    for place, code in _numbered(compile(before, file, "exec", dont_inherit=True)).items():
        name = code.co_qualname
        if place in others and (names is None or name.partition(".<locals>.")[0] in names):
            for function in functions.get((file, name), ()):
                if function.__code__.co_firstlineno == code.co_firstlineno:
                    function.__code__ = others[place]


def _numbered(module: CodeType) -> dict[tuple[str, int], CodeType]:
    """Return code by qualified name and a number: a property and its setter have one name."""
    numbers: dict[str, Iterator[int]] = defaultdict(count)
    return {(code.co_qualname, next(numbers[code.co_qualname])): code for code in _codes(module)}


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _replace_constants(mutant: Mutant) -> None:
    undo = mutant.put()
    try:
        run_again(sys.modules[mutant.module], mutant.tree, frozenset({mutant.name}))
    finally:
        undo()


def run_again(module: ModuleType, tree: ast.Module, names: frozenset[str]) -> None:
    """Run the statements of constants again that have these names, or are made of them.

    So it is done in every module of the package that has imported one of these by its name.
    """
    before = dict(vars(module))
    changed: set[str] = set()
    for name, statement in constants(tree):
        if name in names or (changed | names) & names_in(statement):
            changed.add(name)
            again = ast.fix_missing_locations(ast.Module([statement], []))
            try:
                exec(compile(again, str(module.__file__), "exec"), vars(module))
            except Exception as error:
                raise NoModule from error
            _give_by_default(module, before.get(name), vars(module)[name])
    for title, other in [*sys.modules.items()]:
        held = {name for name in changed if vars(other).get(name, module) is before[name]}
        if not held or other is module or not title.startswith(("promptdsl", "tests.")):
            continue
        own = _parsed(str(other.__file__))
        imported = held.difference(name for name, _ in constants(own))
        for name in imported:
            setattr(other, name, vars(module)[name])
        if imported and title.startswith("promptdsl"):
            run_again(other, own, frozenset(imported))


def _give_by_default(module: ModuleType, before: object, now: object) -> None:
    """Put a constant in the place of another one that functions of its module are given else."""
    for function in filter(lambda each: type(each) is FunctionType, vars(module).values()):
        for name, value in (function.__kwdefaults__ or {}).items():
            if value is before and type(value) not in {bool, int, str, NoneType}:
                function.__kwdefaults__[name] = now


@cache
def _parsed(file: str) -> ast.Module:
    return ast.parse(Path(file).read_text("utf-8"))


def names_in(node: ast.AST) -> set[str]:
    """Return the names that are used in a statement."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
