"""Small bugs put into the code one by one, and whether the tests beside it notice: `make mutants`.

    python tools/mutants.py [--number 40] [--seed 0] [--out docs/measured/mutants/sample.json]

A seeded sample over `model`, `analysis` and `capture`, in a copy of the checkout. A mutant is
killed when the tests that mirror its module fail. Where there are none, or they fail without any
bug, it is untested. Each takes as long as the tests do.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from measurements.__main__ import environment  # noqa: E402

LAYERS = ("model", "analysis", "capture")
LIMIT_S = 240.0
_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One bug: the module, the line, the code there before and after."""

    module: str
    line: int
    before: str
    after: str
    start: int
    """Of the replaced code, in characters of the file."""
    end: int


def mutants(path: Path) -> Iterator[Mutant]:
    """All bugs that could be put into a module."""
    text = path.read_text("utf-8")
    starts = [0]
    for line in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    raw = text.encode()
    for node in ast.walk(ast.parse(text)):
        changed = _changed(node)
        if changed is None or not isinstance(node, ast.expr):
            continue
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        before = raw[start:end].decode()
        yield Mutant(
            path.relative_to(ROOT).as_posix(), node.lineno, before, f"({changed})", start, end
        )


def _changed(node: ast.AST) -> str | None:
    match node:
        case ast.Compare(left, [operator], [right]) if type(operator) in _COMPARED:
            return ast.unparse(ast.Compare(left, [_COMPARED[type(operator)]()], [right]))
        case ast.BinOp(left, operator, right) if type(operator) in _COMPUTED and not _is_text(node):
            return ast.unparse(ast.BinOp(left, _COMPUTED[type(operator)](), right))
        case ast.BoolOp(operator, values):
            other = ast.And() if isinstance(operator, ast.Or) else ast.Or()
            return ast.unparse(ast.BoolOp(other, values))
        case ast.UnaryOp(ast.Not(), operand):
            return ast.unparse(operand)
        case ast.IfExp(test, body, orelse):
            return ast.unparse(ast.IfExp(test, orelse, body))
        case ast.Constant(bool() as value):
            return str(not value)
        case ast.Constant(int() as value):
            return str(value + 1)
        case _:
            return None


def _is_text(node: ast.AST) -> bool:
    return any(
        isinstance(part, ast.JoinedStr) or isinstance(getattr(part, "value", None), str)
        for part in ast.walk(node)
    )


def mirroring(module: str) -> list[str]:
    """The tests beside a module, by their paths; those of its folder where it has none."""
    path = Path(module)
    folder = Path("tests").joinpath(*path.parts[1:-1])
    names = [path.stem, path.parent.name]
    for name in names:
        here = [folder, folder.parent] if name == path.parent.name else [folder]
        found = [
            test.relative_to(ROOT).as_posix()
            for where in here
            for test in sorted((ROOT / where).glob("test_*.py"))
            if test.stem == f"test_{name}" or test.stem.startswith(f"test_{name}_")
        ]
        if found:
            return found
    return [test.relative_to(ROOT).as_posix() for test in sorted((ROOT / folder).glob("test_*.py"))]


def sample(number: int, seed: int) -> list[Mutant]:
    """A module by its size first, then a bug of it: the same ones for the same seed."""
    every = [
        one
        for layer in LAYERS
        for path in sorted((ROOT / "jaxscope" / layer).rglob("*.py"))
        for one in sorted(mutants(path), key=lambda one: (one.start, one.end, one.after))
    ]
    return random.Random(seed).sample(every, min(number, len(every)))


def passes(tree: Path, tests: list[str]) -> bool:
    """Whether these tests pass in a copy of the checkout; False where they take too long."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    try:
        done = subprocess.run(command, cwd=tree, capture_output=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode in (0, 5)  # 5: every one was skipped


def outcome(tree: Path, mutant: Mutant, whole: dict[tuple[str, ...], bool]) -> str:
    """`killed`, `survived`, or `untested` where the tests fail without the bug or do not exist."""
    tests = mirroring(mutant.module)
    key = tuple(tests)
    if key not in whole:
        whole[key] = bool(tests) and passes(tree, tests)
    if not whole[key]:
        return "untested"
    file = tree / mutant.module
    before = file.read_bytes()
    file.write_bytes(before[: mutant.start] + mutant.after.encode() + before[mutant.end :])
    try:
        return "survived" if passes(tree, tests) else "killed"
    finally:
        file.write_bytes(before)


def copied(into: Path) -> Path:
    """Copy everything that the tests need into a folder that may be broken."""
    for name in ("jaxscope", "tests", "docs", "demos", "tools", "measurements", "labextension"):
        ignored = shutil.ignore_patterns("node_modules", "__pycache__")
        shutil.copytree(ROOT / name, into / name, ignore=ignored, symlinks=True)
    for path in ROOT.glob("*"):
        if path.is_file():
            shutil.copy2(path, into / path.name)
    return into


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--number", type=int, default=40)
    asked.add_argument("--seed", type=int, default=0)
    asked.add_argument(
        "--out", type=Path, default=ROOT / "docs" / "measured" / "mutants" / "sample.json"
    )
    given = asked.parse_args()
    rows: list[dict[str, object]] = []
    whole: dict[tuple[str, ...], bool] = {}
    with tempfile.TemporaryDirectory(prefix="jaxscope-mutants-") as folder:
        tree = copied(Path(folder))
        for mutant in sample(given.number, given.seed):
            found = outcome(tree, mutant, whole)
            place = f"{mutant.module}:{mutant.line}"
            rows.append(
                {"place": place, "before": mutant.before, "after": mutant.after, "outcome": found}
            )
            print(f"{found:9} {place}  {mutant.before} -> {mutant.after}", flush=True)
            write(given.out, given.seed, rows)  # a run that is interrupted has what it found
    return 0


def write(path: Path, seed: int, rows: list[dict[str, object]]) -> None:
    """The outcomes so far, and the rate of those that some test tried."""
    killed = sum(row["outcome"] == "killed" for row in rows)
    tried = sum(row["outcome"] != "untested" for row in rows)
    result = {
        "environment": environment(),
        "seed": seed,
        "sampled": len(rows),
        "tried": tried,
        "killed": killed,
        "rate": killed / tried if tried else None,
        "mutants": rows,
    }
    path.write_text(json.dumps(result, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
