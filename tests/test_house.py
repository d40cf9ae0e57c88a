"""Where files are, and what their names may be: the rules that keep a newcomer's way short."""

from __future__ import annotations

import ast
import functools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tests.paths import ROOT

PACKAGE = ROOT / "jaxscope"
MOST = 20
"""Python files in one folder."""


def module_of(path: Path, root: Path = ROOT) -> str:
    return ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


@functools.cache
def trees(package: Path = PACKAGE) -> dict[str, ast.Module]:
    """The package's modules, parsed."""
    return {
        module_of(path, package.parent): ast.parse(path.read_text("utf-8"))
        for path in sorted(package.rglob("*.py"))
    }


def run_time_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node but those under `if TYPE_CHECKING:`."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        yield node
        yield from run_time_nodes(node)


def imports(tree: ast.Module, modules: Iterable[str]) -> set[str]:
    """Modules of the package that a file imports when it runs, at the top or inside a function."""
    known = set(modules)
    found: set[str] = set()
    for node in run_time_nodes(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                found.add(name if name in known else node.module)
    return found & known


def circles(graph: Mapping[str, set[str]]) -> list[set[str]]:
    """Strongly connected components of two or more modules."""
    reach: dict[str, set[str]] = {}
    for start in graph:
        seen: set[str] = set()
        waiting = list(graph[start])
        while waiting:
            module = waiting.pop()
            if module not in seen:
                seen.add(module)
                waiting.extend(graph[module])
        reach[start] = seen
    found: list[set[str]] = []
    for module in graph:
        together = {other for other in reach[module] if module in reach[other]}
        if len(together) > 1 and together not in found:
            found.append(together)
    return found


def public_types(all_trees: Mapping[str, ast.Module]) -> dict[str, list[str]]:
    """Modules by the name of each public class or type alias that they define."""
    found: dict[str, list[str]] = defaultdict(list)
    for module, tree in all_trees.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(module)
    return dict(found)


def crowded(package: Path = PACKAGE) -> dict[str, int]:
    files = Counter(path.parent for path in package.rglob("*.py"))
    return {str(f.relative_to(package.parent)): n for f, n in files.items() if n > MOST}


def nearly_empty(package: Path = PACKAGE) -> list[str]:
    """Folders with fewer than two modules beside `__init__.py` and without folders below."""
    files = Counter(path.parent for path in package.rglob("*.py"))
    return [
        str(folder.relative_to(package.parent))
        for folder, count in files.items()
        if count < 3 and not any(other.parent == folder for other in files)
    ]


def test_no_file_imports_itself_in_a_circle() -> None:
    found = trees()
    assert circles({name: imports(tree, found) for name, tree in found.items()}) == []


def test_a_circle_is_noticed() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [{"a", "b", "c"}]


def test_no_folder_is_crowded() -> None:
    assert crowded() == {}


def test_a_crowded_folder_is_noticed(tmp_path: Path) -> None:
    folder = tmp_path / "jaxscope"
    folder.mkdir()
    for number in range(MOST + 1):
        (folder / f"m{number}.py").touch()
    assert crowded(folder) == {"jaxscope": MOST + 1}


def test_no_folder_is_made_for_one_file() -> None:
    assert nearly_empty() == []


def test_a_folder_for_one_file_is_noticed(tmp_path: Path) -> None:
    folder = tmp_path / "jaxscope" / "alone"
    folder.mkdir(parents=True)
    for name in ("__init__.py", "one.py"):
        (folder / name).touch()
    assert nearly_empty(tmp_path / "jaxscope") == ["jaxscope/alone"]


def test_a_public_type_name_occurs_once() -> None:
    found = public_types(trees())
    assert {name: modules for name, modules in found.items() if len(modules) > 1} == {}


def test_a_type_name_that_occurs_twice_is_noticed() -> None:
    same = ast.parse("class Row: ...")
    assert public_types({"a": same, "b": same}) == {"Row": ["a", "b"]}


# Names of files say what is inside: a participle says what happened to it.
PARTICIPLES = frozenset(
    "called carried collected decorated gathered kept profiled reopened timed vanished".split()  # noqa: SIM905
)


def named_by_participles(modules: Iterable[str]) -> list[str]:
    return [name for name in modules if name.rpartition(".")[2] in PARTICIPLES]


def test_modules_are_named_by_nouns() -> None:
    assert named_by_participles(trees()) == []


def test_a_participle_is_noticed() -> None:
    assert named_by_participles(["a.kept", "a.keeper"]) == ["a.kept"]


LAYERS = "model analysis capture view frontend results bench testing magics".split()  # noqa: SIM905
WHOLE = {"tests/magics/cells", "tests/view/browser"}
"""Folders of tests that try a whole, not a module."""


def astray(tests: Iterable[Path]) -> list[str]:
    """Tests that do not sit beside what they test: `tests/<folder>/test_<module>*.py`."""
    found: list[str] = []
    for path in tests:
        folder = path.relative_to(ROOT / "tests").parent
        if folder.parts[:1] == () or folder.parts[0] not in LAYERS:
            continue
        if (Path("tests") / folder).as_posix() in WHOLE:
            continue
        here = ROOT / "jaxscope" / folder
        names = {file.stem for file in here.glob("*.py")} | {here.name}
        name = path.stem.removeprefix("test_")
        if not any(name == known or name.startswith(f"{known}_") for known in names):
            found.append(path.relative_to(ROOT).as_posix())
    return found


def test_tests_sit_beside_what_they_test() -> None:
    assert astray(sorted((ROOT / "tests").rglob("test_*.py"))) == []


def test_a_test_that_has_gone_astray_is_noticed() -> None:
    nowhere = ROOT / "tests" / "model" / "test_nothing.py"
    assert astray([nowhere]) == ["tests/model/test_nothing.py"]
