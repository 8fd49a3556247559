"""The house: nothing lower imports anything higher, docstrings name the arguments there are."""

import ast
import inspect
import re
from functools import cache
from graphlib import TopologicalSorter
from operator import attrgetter
from pathlib import Path

import pytest

import jaxrate as jr
from tests.mutation_list import MUTATIONS

PACKAGE = Path(jr.__file__).parent
FLOORS = [  # from the ground up; the members of a floor do not know each other
    {"array_types", "optional_imports", "text_format", "hashable_values", "memory_checks", "parallel_map"}
    | {"compiled_program_cache"},
    {"argument_checks"},
    {"events"},
    {"backend_dependent_operations", "hyperparameter_definitions", "rules"},
    {"data", "mean_reversion", "numerics"},
    {"pairwise_rules"},
    {"system"},
    {"systems"},
    {"replay", "metrics", "parts"},
    {"storage", "smoothing", "urns"},
    {"fitting"},
    {"history"},
    {"arena", "forecasts", "live"},
    {"views"},
    {"evaluation"},
    {"plots"},
    {"site"},
    {"docs", "extend", "federations", "testing"},
    {"cli"},
]
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
FILES = sorted(file.relative_to(PACKAGE).as_posix() for file in PACKAGE.rglob("*.py"))


@cache
def parse(file):
    return ast.parse((PACKAGE / file).read_text(encoding="utf-8"))


def room_of(parts):
    """The folder of a module, or in `core`, whose modules stand on several floors, its file."""
    return parts[1] if parts[0] == "core" else parts[0]


def imported_rooms(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in ("jaxrate", "jaxrate.core"):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("jaxrate."):
            yield room_of(node.module.split(".")[1:])


def test_nothing_lower_imports_anything_higher():
    wrong = []
    for file in (file for file in FILES if file not in ("__init__.py", "__main__.py", "core/__init__.py")):
        room = room_of(file.removesuffix(".py").split("/"))
        wrong += [(file, x) for x in imported_rooms(parse(file)) if x != room and FLOOR[x] >= FLOOR[room]]
    assert not wrong


def imported_files(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("jaxrate."):
            path = "/".join(node.module.split(".")[1:])
            yield from {f"{path}.py", *(f"{path}/{alias.name}.py" for alias in node.names)} & {*FILES}


def test_no_files_import_each_other():
    graph = {file: {*imported_files(parse(file))} for file in FILES if not file.endswith("__init__.py")}
    TopologicalSorter(graph).prepare()  # an error names the circle


def test_docstrings_name_the_arguments_there_are():
    wrong = []
    for file, node in ((name, node) for name in FILES for node in ast.walk(parse(name))):
        decorators = [getattr(x, "id", "") for x in getattr(node, "decorator_list", [])]
        if not isinstance(node, ast.FunctionDef) or "document_roles" in decorators:
            continue  # the roles of columns are filled in
        block = re.search(r"\nArgs:\n((?:  .*\n|\n)*)", inspect.cleandoc(ast.get_docstring(node) or "") + "\n\n")
        if block is None:
            continue
        about = node.args
        there = {x.arg for x in [*about.posonlyargs, *about.args, *about.kwonlyargs, about.vararg, about.kwarg] if x}
        for line in re.findall(r"^  (\w[\w, *]*):", block[1], re.MULTILINE):
            named = {name.strip(" *") for name in line.split(",")}
            if about.kwarg is None and not named <= there:
                wrong.append((file, node.name, sorted(named - there)))
    assert not wrong


def test_the_stub_lists_the_names_of_the_package():
    stub = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
    names = [line.names[0].asname for line in stub.body if isinstance(line, ast.ImportFrom)]
    assert sorted(names) == sorted(jr.__all__) and len(names) <= 51


@pytest.mark.parametrize("file", [file for file in FILES if file.endswith("__init__.py")])
def test_a_folder_lists_the_files_there_are(file):
    folder = (PACKAGE / file).parent
    listed = re.findall(r"^(\w+(?:\.py|/)) +\S", ast.get_docstring(parse(file)) or "", re.MULTILINE)
    there = [x.name for x in folder.glob("*.py")] + [f"{x.parent.name}/" for x in folder.glob("*/__init__.py")]
    assert not listed or sorted(listed) == sorted({*there} - {"__init__.py"})


def names_in(tree):
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.keyword(arg=name):
                yield name
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.Constant(value=str(name)):
                yield name
            case ast.alias(name=name, asname=other):
                yield other or name.rpartition(".")[2]


ELSEWHERE = re.compile(r"(?:jax|np|concurrent|ray)\.|experiments/|multiprocessing$|.+\.(?:gz|js|md|pyi|txt|xml)$")


def test_names_in_backquotes_are_in_the_code():
    known = {name for file in FILES for name in names_in(parse(file))}
    known |= {name for file in FILES for name in file.removesuffix(".py").split("/")}
    wrong = []
    for file in FILES:
        text = (PACKAGE / file).read_text(encoding="utf-8")
        paths = [x for x in re.findall(r"`(?:jaxrate/)?([\w/]+\.py)`", text) if not ELSEWHERE.match(x)]
        wrong += [(file, x) for x in paths if not any(f"/{one}".endswith(f"/{x}") for one in FILES)]
        words = [
            x for x in re.findall(r"`([A-Za-z_][\w.]*)`", text) if not x.endswith(".py") and not ELSEWHERE.match(x)
        ]
        wrong += [(file, x) for x in words if x.rpartition(".")[2] not in known]
    assert not wrong


def test_public_names_in_backquotes_are_there():
    pages = {*(PACKAGE / "guides").glob("*.md")} - {PACKAGE / "guides" / "changes.md"}  # which lists old names
    for file in [*pages, *map(PACKAGE.joinpath, FILES)]:
        for word in re.findall(r"`jr\.([a-z][\w.]*\w)[`(]", file.read_text(encoding="utf-8")):
            assert word.rpartition(".")[2].isupper() or attrgetter(word)(jr) is not None, (file.name, word)


def test_mutations_name_texts_that_stand_once_in_the_sources():
    sources = "\0".join((PACKAGE / file).read_text(encoding="utf-8") for file in FILES)
    assert len({one.name for one in MUTATIONS}) == len(MUTATIONS)
    assert not [one.name for one in MUTATIONS if sources.count(one.old) != 1 or one.old == one.new]


def test_mutations_name_tests_that_there_are():
    """Files, and words that stand in these files or in the properties of `jaxrate.testing`."""
    tests, wrong = Path(__file__).parent, []
    properties = "".join(file.read_text(encoding="utf-8") for file in (PACKAGE / "testing").glob("*.py"))
    for one in MUTATIONS:
        names, _, chosen = one.tests.partition(" -k ")
        paths = [tests.parent / name for name in names.split()]
        files = [file for path in paths for file in ([path] if path.is_file() else path.glob("*.py"))]
        text = "".join([properties, *(file.read_text(encoding="utf-8") for file in files)]).lower()
        words = {*re.findall(r"\w+", chosen.lower())} - {"and", "or", "not"}
        if not all(path.exists() for path in paths) or not all(word in text for word in words):
            wrong.append(one.name)
    assert not wrong
