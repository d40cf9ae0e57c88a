"""Small bugs put into the code one by one, and whether the tests notice: `make mutants`.

    python tools/mutants.py [--number 200] [--seed 0] [--seconds 20] [--out sample.json]

A sample over `model`, `analysis` and `capture`, tried in a copy of the checkout. A mutant stays in
the sample of a seed while the function around it keeps it, whatever changes elsewhere. It is killed
when a test fails that passes without it. Tests are those that reach its line, and the others of
their files: first those of `model` and `analysis`, then of `capture`, then each file of the rest.
The ones beside the module lead, and of each part what takes `--seconds` in all is tried. Tests that
need a browser, a notebook or a package are left out. A mutant that no test reaches is untested, and
counts like a survivor. A survivor that changes nothing that a caller could see is in
`equivalent.json` with the reason, and counts neither way.

The tests that reach a line are noted in `out/`, for each file of tests until it changes.
A run that is interrupted keeps what it found; the next tries only what is not killed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import shutil
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ["JAX_PLATFORMS"] = "cpu"

import IPython.core.interactiveshell  # noqa: E402, F401
import jax.profiler  # noqa: E402, F401
import pytest  # noqa: E402

from measurements.__main__ import environment  # noqa: E402
from tools.mutations import Mutant, mutants, parses, with_probes  # noqa: E402

LAYERS = ("model", "analysis", "capture")
LEFT_OUT = tuple(f"tests/{name}/" for name in ("tools", "frontend", "lab", "view/browser"))
MARKED = "not browser and not lab and not notebook and not package and not gpu"
FOLDER = ROOT / "docs" / "measured" / "mutants"
REACHED = ROOT / "out" / "mutants.json"
OURS = ("jaxscope", "tests", "tools", "measurements")
UNUSED = ("playwright", "hypothesispytest", "inline_snapshot", "xdist", "anyio", "jaxtyping")
"""Plug-ins that take longer to import than most tests take."""


def sample(number: int, seed: int) -> list[Mutant]:
    """Those whose names hash lowest with the seed."""
    every = [
        one
        for layer in LAYERS
        for path in sorted((ROOT / "jaxscope" / layer).rglob("*.py"))
        for one in mutants(path)
    ]
    every.sort(key=lambda one: hashlib.sha256(f"{seed} {one.name}".encode()).digest())
    drawn: list[Mutant] = []
    for one in every:
        if len(drawn) < number and parses(one.put_into((ROOT / one.module).read_bytes())):
            drawn.append(one)
    return drawn


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


@dataclass(frozen=True, slots=True)
class Reach:
    """A file's tests that pass, their seconds, and those that reach each mutant."""

    text: str
    """A hash of the file."""
    seconds: dict[str, float]
    reached: dict[str, list[str]]
    """By the mutant's name; one that had no probe is not in it."""


def test_files() -> list[str]:
    """Their paths in the checkout."""
    names = [each.relative_to(ROOT).as_posix() for each in (ROOT / "tests").rglob("test_*.py")]
    return sorted(name for name in names if not name.startswith(LEFT_OUT))


def part_of(file: str) -> int:
    """The first tests are pure and beside the code, then those beside it, then the rest."""
    beside = [file.startswith(f"tests/{layer}/") for layer in LAYERS]
    return 0 if any(beside[:2]) else 1 if any(beside) else 2


def reach(tree: Path, file: str, drawn: list[Mutant], known: Reach | None) -> Reach:
    """Run a file's tests in a copy with probes, unless they are known."""
    text = hashlib.sha256((ROOT / file).read_bytes()).hexdigest()
    if known is not None and known.text == text:
        return known
    log = tree / "log.jsonl"
    log.unlink(missing_ok=True)
    run_pytest(tree, log, "-m", MARKED, file)
    seconds: dict[str, float] = defaultdict(float)
    reached: dict[str, set[str]] = {one.name: set() for one in drawn}
    failed: set[str] = set()
    for line in lines_of(log):
        if "ran" in line:
            seconds[line["ran"]] += line["seconds"]
            failed |= {line["ran"]} if line["failed"] else set()
        else:
            reached[drawn[line["reached"]].name].add(line["test"])
    passed = {test: took for test, took in seconds.items() if test not in failed}
    kept = {name: sorted(tests & passed.keys()) for name, tests in reached.items()}
    print(f"{file}: {len(passed)} tests, {len(failed)} failed", flush=True)
    return Reach(text, passed, kept)


def chosen(mutant: Mutant, known: Iterable[Reach], budget_s: float) -> dict[str, float]:
    """Tests to try a mutant with, and their seconds: the cheapest of each file first."""
    mirror = mirroring(mutant.module)
    found: list[tuple[tuple[bool, bool, int, float], str]] = []
    for each in known:
        reached = set(each.reached.get(mutant.name, ()))
        files = {test.partition("::")[0] for test in reached}
        if mutant.name not in each.reached:  # drawn after these tests were counted
            files = set(mirror)
        ranks: Counter[tuple[str, bool]] = Counter()
        for test, seconds in sorted(each.seconds.items(), key=lambda item: item[1]):
            file = test.partition("::")[0]
            if file in files:
                ranks[file, test in reached] += 1
                rank = ranks[file, test in reached]
                found.append(((test not in reached, file not in mirror, rank, seconds), test))
    tests: dict[str, float] = {}
    for (*_, seconds), test in sorted(found):
        if sum(tests.values()) + seconds <= budget_s:
            tests[test] = seconds
    return tests


def run_pytest(tree: Path, log: Path, *arguments: str, cpu_s: int = -1) -> int:
    """Its exit status in a copy of the checkout; negative where it took more CPU time.

    In a fork of this process, which has JAX loaded already: most tests take less than to load it.
    """
    if child := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    status = 3
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s))
        for number in range(3):
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
        for name in [name for name in sys.modules if name.partition(".")[0] in OURS]:
            del sys.modules[name]
        os.chdir(tree)
        sys.path.insert(0, str(tree))
        os.environ |= {"PYTHONPATH": str(tree), "JAXSCOPE_MUTANTS": str(log)}
        # A mutant and its original may have one size and one second.
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        sys.dont_write_bytecode = True
        unused = [f"-pno:{name}" for name in UNUSED]
        sys.argv = ["-q", "-pno:cacheprovider", *unused, "-ptools.mutant_probe", *arguments]
        status = int(pytest.main(sys.argv))
    finally:
        os._exit(status)


def lines_of(log: Path) -> list[dict[str, Any]]:
    return (
        [json.loads(line) for line in log.read_text("utf-8").splitlines()] if log.exists() else []
    )


def killer(tree: Path, mutant: Mutant, tests: dict[str, float]) -> str | None:
    """The test that fails with the bug in a copy of the checkout; None where all pass."""
    file, log, asked = tree / mutant.module, tree / "log.jsonl", tree / "asked.txt"
    before = file.read_bytes()
    file.write_bytes(mutant.put_into(before))
    try:
        for names in (tests, dict.fromkeys(test.partition("::")[0] for test in tests)):
            log.unlink(missing_ok=True)
            asked.write_text("\n".join(names), "utf-8")
            cpu_s = int(60 + 3 * sum(tests.values()))
            status = run_pytest(tree, log, "-x", f"@{asked}", cpu_s=cpu_s)
            failed = [line["ran"] for line in lines_of(log) if line.get("failed")]
            if failed:
                return failed[0]
            if status < 0:
                return "out of time"
            if status != 4:  # 4: a test is not there; it may be another parameter's, or an import
                return None if status in (0, 5) else "none can be collected"
        return "none can be collected"
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


def put_probes(tree: Path, drawn: list[Mutant]) -> None:
    """Into the modules of a copy. Code that runs at import counts where its module's code does."""
    by_module: dict[str, list[tuple[Mutant, int]]] = defaultdict(list)
    for number, one in enumerate(drawn):
        inside = [one]
        if "()" not in one.scope:
            inside = [other for other in mutants(ROOT / one.module, ROOT) if "()" in other.scope]
        by_module[one.module] += [(other, number) for other in inside]
    for module, places in by_module.items():
        (tree / module).write_bytes(with_probes((tree / module).read_bytes(), places))


def write(path: Path, seed: int, drawn: list[Mutant], found: dict[str, tuple[str, str]]) -> None:
    """The outcomes so far, and the rate of those that could be killed."""
    count = Counter(found[one.name][0] for one in drawn if one.name in found)
    could = len(drawn) - count["equivalent"]
    result = {
        "environment": environment(),
        "seed": seed,
        "sampled": len(drawn),
        **{name: count[name] for name in ("killed", "survived", "untested", "equivalent")},
        "untried": len(drawn) - count.total(),
        "rate": count["killed"] / could if could else None,
        "mutants": [
            {
                "place": f"{one.module}:{one.line}",
                "scope": one.scope,
                "before": one.before,
                "after": one.after,
                "name": one.name,
                "outcome": found[one.name][0],
                "by": found[one.name][1],
            }
            for one in drawn
            if one.name in found
        ],
    }
    path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", "utf-8")


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--number", type=int, default=200)
    asked.add_argument("--seed", type=int, default=0)
    asked.add_argument("--seconds", type=float, default=20.0)
    asked.add_argument("--out", type=Path, default=FOLDER / "sample.json")
    given = asked.parse_args()
    drawn = sample(given.number, given.seed)
    equivalent: dict[str, str] = json.loads((FOLDER / "equivalent.json").read_text("utf-8"))
    found: dict[str, tuple[str, str]] = {}
    if given.out.exists():
        rows = json.loads(given.out.read_text("utf-8"))["mutants"]
        found = {row["name"]: ("killed", row["by"]) for row in rows if row["outcome"] == "killed"}
    known: dict[str, Reach] = {}
    if REACHED.exists():
        kept = json.loads(REACHED.read_text("utf-8"))
        known = {file: Reach(**row) for file, row in kept.items()}
    killed = set(found)
    with tempfile.TemporaryDirectory(prefix="jaxscope-mutants-") as temporary:
        tree, probed = copied(Path(temporary) / "tree"), copied(Path(temporary) / "probed")
        put_probes(probed, drawn)
        parts = [[each for each in test_files() if part_of(each) == part] for part in range(2)]
        # File by file, so that a survivor is not tried with all of them.
        parts += [[each] for each in reversed(test_files()) if part_of(each) == 2]
        for part, now in enumerate(parts):
            for file in now:
                known[file] = reach(probed, file, drawn, known.get(file))
                REACHED.parent.mkdir(exist_ok=True)
                REACHED.write_text(json.dumps({f: asdict(row) for f, row in known.items()}))
            for one in drawn:
                beside = part_of(one.module.replace("jaxscope", "tests", 1))
                if one.name in killed or part < beside:
                    continue
                where = [*parts[0], *now] if part == beside == 1 else now
                tests = chosen(one, [known[file] for file in where], given.seconds)
                by = killer(tree, one, tests) if tests else None
                if by is not None:
                    killed.add(one.name)
                    found[one.name] = ("killed", by)
                elif one.name in equivalent:
                    found[one.name] = ("equivalent", equivalent[one.name])
                elif tests or one.name not in found:
                    found[one.name] = ("survived" if tests else "untested", "")
                print(*found[one.name], f"{one.module}:{one.line} {one.before} -> {one.after}")
                sys.stdout.flush()
                write(given.out, given.seed, drawn, found)  # an interrupted run has what it found
    return 0


if __name__ == "__main__":
    sys.exit(main())
