"""`--target` in a notebook: `cpu` needs no download; the others run where they are installed."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import jaxscope
from jaxscope.capture.targets import environment, process, workers
from tests.magics.notebook import Notebook, open_notebook

pytestmark = pytest.mark.jax
INSTALLED = [name for name in ("tpu", "gpu") if environment.environment(name).installed]


@pytest.fixture(scope="module")
def nb() -> Iterator[Notebook]:
    with open_notebook() as notebook:
        notebook.must("import jax, jax.numpy as jnp\nx = jnp.ones((64, 130))")
        yield notebook
    workers.end_all()


def test_a_cell_is_compiled_and_not_run(nb: Notebook) -> None:
    ran = nb.must("%%jaxjit --target cpu -o report\ny = jnp.tanh(x)\nz = y @ y.T")
    assert "jit(cell) · cpu · compiled, not run" in ran.text
    assert "no variable was changed" in ran.text
    assert "z" not in nb.names
    [program] = nb.names["report"].record.programs
    assert program.exact
    assert program.target.held
    assert not program.timings
    assert {one.place.line for one in program.target.held if one.place} <= {2, 3}
    # What was compiled for a target is not what runs here.
    assert "per call" in nb.must("%%jaxjit\ny = jnp.tanh(x)\nz = y @ y.T").text
    assert nb.names["z"].shape == (64, 64)


def test_shapes_are_inputs_of_a_cell_that_does_not_run(nb: Notebook) -> None:
    nb.must("big = jax.ShapeDtypeStruct((1 << 20, 1 << 12), jnp.float32)")
    ran = nb.must("%%jaxjit --target cpu\ntotal = (big @ big.T).sum()")
    assert "compiled, not run" in ran.text
    assert "total" not in nb.names


def test_calls_take_shapes_and_give_shapes(nb: Notebook) -> None:
    nb.must("small = jax.ShapeDtypeStruct((4, 4), jnp.float32)")
    ran = nb.must(
        "%%jaxjit --target cpu\ndef f(a):\n    return a * 2\n"
        "def g(a):\n    return a.sum()\ng(f(small))"
    )
    assert ran.value.shape == ()
    assert "2 calls compiled" in ran.text
    assert nb.must("%jaxjit --target cpu jnp.sort(x)").value is None


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("%%jaxjit --target tpu:v9\nx + 1", "There is no target `tpu:v9`"),
        ("%%jaxjit --target cpu -n 3\nx + 1", "is compiled and not run: leave out `-n`"),
        ("%%jaxjit --target cpu --profile\nx + 1", "leave out the profile"),
        ("%%jaxjit --target cpu --decorate\nx + 1", "leave it out with --target"),
        ("%%jaxpmap --target cpu\nx + 1", "pmap needs devices that are there"),
        ("%jaxtargets install", "needs a compiler: tpu or gpu"),
        ("%jaxtargets install npu", "%jaxtargets install takes tpu or gpu, but got 'npu'."),
        ("%jaxtargets frob", "%jaxtargets takes install or remove, but got 'frob'."),
    ],
)
def test_a_wrong_option_is_one_sentence(nb: Notebook, cell: str, said: str) -> None:
    ran = nb.run(cell)
    assert said in ran.printed + ran.message


@pytest.mark.parametrize("trial", ["%jaxtry", "%jaxtry --bf16", "%jaxflags"])
def test_a_program_that_did_not_run_has_no_fixes_to_time(nb: Notebook, trial: str) -> None:
    nb.must("%%jaxjit --target cpu:4\njnp.linalg.inv(x @ x.T) @ x")
    assert "a program for cpu:4, which was compiled and not run" in nb.run(trial).message


def test_a_callback_cannot_be_lowered_for_a_foreign_platform(nb: Notebook) -> None:
    ran = nb.run("%%jaxjit --target tpu:v5e\njax.debug.print('{}', x)\nx + 1")
    said = ran.printed + ran.message
    assert "Leave them out to compile for tpu:v5e" in said or "not installed" in said


def test_a_worker_that_crashes_is_a_sentence_and_the_kernel_lives(
    nb: Notebook, tmp_path: Path
) -> None:
    script = tmp_path / "worker.py"
    script.write_text("import os\ninput()\nos.abort()\n")
    with pytest.MonkeyPatch.context() as patch:
        command = ([sys.executable, "-I", str(script)], {}, "fake 1.0")
        patch.setattr(process, "_command", lambda target: command)
        ran = nb.run("%%jaxjit --target cpu\nz_of_crash = jnp.tanh(x)")
        assert "The compiler of cpu crashed (SIGABRT) on this program." in ran.message
        assert "The kernel is unharmed." in ran.message
    assert "z_of_crash" not in nb.names
    assert "compiled, not run" in nb.must("%%jaxjit --target cpu\njnp.tanh(x)").text


MESHED = "--mesh data=2,model=2 --spec x=data --spec w=None,model"


@pytest.mark.target
@pytest.mark.skipif(len(INSTALLED) < 2, reason="a compiler is not installed")
def test_a_mesh_of_gpus_is_compared_with_one_of_tpus(nb: Notebook) -> None:
    nb.must("w = jnp.ones((130, 32))")
    ran = nb.must(
        f"%%jaxjit --target gpu:h100,tpu:v5e {MESHED} -o meshed\n"
        "h = jnp.tanh(x @ w)\ntotal = h.sum()"
    )
    assert "2 targets compiled, none run · fits 2 of 2" in ran.text
    for row in nb.names["meshed"]:
        [program] = row.report.programs
        assert len(program.devices) == 4
        [reduced] = [c for c in program.sharding.collectives if str(c.kind) == "all-reduce"]
        assert reduced.sent == 2 * 3 / 4 * 4  # a ring of four, one float32
        assert row.report.source_lines("optimized_hlo", reduced.line).lines == (3,)
    text = nb.must("%jaxdiff gpu:h100:4 tpu:v5e:2x2").text
    assert text.startswith("jit(cell) · gpu:h100:4 → tpu:v5e:2x2 · not run")
    assert "StableHLO: the same" in text


@pytest.mark.target
@pytest.mark.skipif("tpu" not in INSTALLED, reason="the TPU compiler is not installed")
def test_a_real_topology_that_is_rejected_is_a_sentence(nb: Notebook) -> None:
    said = nb.run("%jaxjit --target tpu:v5e:3x3 jnp.sin(x)").message
    assert "The compiler of tpu:v5e:3x3 rejects this topology" in said


def test_the_compilers_are_listed(nb: Notebook) -> None:
    assert "tpu:v5e" in nb.must("%jaxtargets").printed


def test_importing_and_devices_are_the_same_with_compilers_installed() -> None:
    code = (
        "import sys, IPython, jaxscope; s = IPython.InteractiveShell.instance();"
        "s.run_line_magic('load_ext', 'jaxscope'); assert 'jax' not in sys.modules;"
        "import jax; print(jax.devices(), [m for m in sys.modules if 'tpu' in m.split('.')[0]])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip().splitlines()[-1] == "[CpuDevice(id=0)] []"


@pytest.mark.target
@pytest.mark.skipif("tpu" not in INSTALLED, reason="the TPU compiler is not installed")
def test_a_tpu_program_does_not_fit_by_the_compilers_own_words(nb: Notebook) -> None:
    nb.must("q = jax.ShapeDtypeStruct((8, 16, 16384, 64), jnp.bfloat16)")
    cell = (
        "%%jaxjit --target tpu:v5e -o r\n"
        "(jax.nn.softmax(jnp.einsum('bhid,bhjd->bhij', q, q)) @ q).sum()"
    )
    ran = nb.must(cell)
    assert "does not fit" in ran.text
    assert "Ran out of memory" in ran.text
    [program] = nb.names["r"].record.programs
    assert program.target.held[0].place.line == 2
    nb.must("p = jax.ShapeDtypeStruct((8, 16, 1024, 64), jnp.bfloat16)")
    assert "fits: needs" in nb.must(cell.replace("q)", "p)").replace(" q,", " p,")).text


@pytest.mark.target
@pytest.mark.skipif("gpu" not in INSTALLED, reason="the GPU compiler is not installed")
@pytest.mark.parametrize("target", ["gpu:a100", "gpu:h100"])
def test_a_gpu_program_is_compiled(nb: Notebook, target: str) -> None:
    ran = nb.must(f"%%jaxjit --target {target}\njnp.tanh(x).sum()")
    assert f"jit(cell) · {target} · compiled, not run, fits" in ran.text


def _leads_back(report: Any, kind: str, line: int) -> None:
    stage = report.stage(kind)
    assert stage.unavailable is None, stage.unavailable
    found = report.stage_lines(kind, line)
    assert found.lines
    assert found.exact
    assert line in report.source_lines(kind, found.lines[-1]).lines


@pytest.mark.target
@pytest.mark.skipif("gpu" not in INSTALLED, reason="the GPU compiler is not installed")
def test_the_stages_of_a_gpu_lead_to_their_line_and_back(nb: Notebook) -> None:
    nb.must("%%jaxjit --target gpu:h100 -q -o gpu\ny = jnp.tanh(x)\njnp.sort(y, axis=0)")
    report = nb.names["gpu"]
    for kind in ("thunks", "llvm", "llvm_optimized", "ptx", "sass"):
        _leads_back(report, kind, 3)
    assert "grid 130, threads 16" in report.stage("thunks").text
    assert " registers" in report.stage("sass").text
    assert report.stage("llo").unavailable.reason == "a program for gpu:h100 has none"


@pytest.mark.target
@pytest.mark.skipif("tpu" not in INSTALLED, reason="the TPU compiler is not installed")
def test_the_bundles_of_a_tpu_lead_to_their_line_and_back(nb: Notebook) -> None:
    nb.must("%%jaxjit --target tpu:v5e -q -o tpu\ny = jnp.tanh(x)\njnp.sort(y, axis=0)")
    report = nb.names["tpu"]
    _leads_back(report, "llo", 3)
    assert report.stage("llo").text.startswith("; the program · ")
    assert report.stage("sass").unavailable.reason == "a program for tpu:v5e has none"


MESH = "--target cpu --mesh data=2,model=2"


def test_inputs_are_placed_on_a_mesh_by_their_specs(nb: Notebook) -> None:
    nb.must("w = jnp.ones((130, 32))\nparams = {'w': w}")
    nb.must(
        f"%%jaxjit {MESH} --spec x=data,model --spec params=model -q -o placed\n"
        "y = jax.lax.with_sharding_constraint(x @ params['w'], jax.P('data'))\nz = y.sum()"
    )
    [program] = nb.names["placed"].programs
    assert [(one.name, one.sharding) for one in program.inputs] == [
        ("x", "P('data', 'model') on (data=2, model=2)"),
        ("params['w']", "P('model') on (data=2, model=2)"),
    ]
    assert len(program.devices) == 4
    kinds = [str(one.kind) for one in program.sharding.collectives]
    assert "all-reduce" in kinds
    assert all(one.sent for one in program.sharding.collectives)


def test_an_input_keeps_the_spec_that_it_has(nb: Notebook) -> None:
    nb.must(
        "mesh = jax.sharding.AbstractMesh((8,), ('data',))\n"
        "named = jax.sharding.NamedSharding(mesh, jax.P('data'))\n"
        "s = jax.ShapeDtypeStruct((64, 4), jnp.float32, sharding=named)"
    )
    nb.must(f"%jaxjit {MESH} -q -o kept jnp.sin(s)")
    assert nb.names["kept"].inputs[0].sharding.startswith("P('data'")
    said = nb.run("%jaxjit --target cpu --mesh batch=2 jnp.sin(s)").message
    assert "is sharded over `data`, but --mesh has batch. Give its spec: --spec x=batch." in said


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (f"{MESH} --spec foo=data", "--spec names `foo`, which is not an input"),
        ("--target cpu --mesh data=3 --spec x=data", "64 elements, which 3 shards of data do not"),
        (f"{MESH} --spec x=data,None,None", "The spec of `x` has 3 entries for 2 dimensions."),
        ("--target cpu:2 --mesh data=4 --spec x=data", "over 4 devices, but cpu:2 has 2"),
        ("--mesh data=2", "--mesh is over the devices of a target: name it, --target."),
        ("--target cpu --spec x=data", "--spec places inputs on a mesh: name it, --mesh"),
    ],
)
def test_a_mesh_that_does_not_fit_is_one_sentence(nb: Notebook, line: str, said: str) -> None:
    assert said in nb.run(f"%jaxjit {line} jnp.sin(x)").message


def test_several_targets_are_rows_of_one_table(nb: Notebook, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAXSCOPE_CACHE", str(tmp_path))
        ran = nb.must(
            "%%jaxjit --target cpu:2,tpu:v5e --target cpu:4 --mesh data=2 --spec x=data -o both\n"
            "h = x @ x.T\ntotal = h.sum()"
        )
    table = nb.names["both"]
    assert table.summary() == (
        "jit(cell) · mesh data=2 · 2 targets compiled, none run · 1 not compiled"
    )
    assert "tpu:v5e" in ran.text
    assert "%jaxtargets install tpu" in ran.text
    assert "total" not in nb.names
    assert table["cpu:4"].programs[0].target.target == "cpu:4"
    with pytest.raises(LookupError, match="There is no report for tpu:v5e"):
        table[1]
    with pytest.raises(LookupError, match="there are cpu:2 data=2"):
        table["gpu:h100"]
    assert "<table" in str(table.static_html())
    diff = nb.must("%jaxdiff cpu:2 cpu:4").text
    assert diff.startswith("jit(cell) · cpu:2 → cpu:4 · not run")
    assert "sent between devices" in diff
    assert "no report for the target cpu:9; there are" in nb.run("%jaxdiff cpu:2 cpu:9").message


def test_several_meshes_are_rows_too(nb: Notebook) -> None:
    ran = nb.must("%jaxjit --target cpu --mesh data=2 --mesh data=4 --spec a=data jnp.sort(x)")
    rows = [line.split()[:2] for line in ran.text.split("\n") if line.strip().startswith("cpu:")]
    assert rows == [["cpu:2", "data=2"], ["cpu:4", "data=4"]]


DEFINING = (
    "runs += 1\ndef f(u):\n    return jnp.tanh(u @ u.T)\n"
    "@jax.jit\ndef g(v):\n    return v.sum()\ng(f(x))"
)


@pytest.mark.parametrize("options", ["--target cpu,cpu:2", f"{MESH} --mesh data=4 --spec u=data"])
def test_a_cell_with_definitions_runs_once_for_all_targets(nb: Notebook, options: str) -> None:
    nb.must("runs = 0")
    ran = nb.must(f"%%jaxjit {options} -o table\n{DEFINING}")
    assert nb.names["runs"] == 1
    assert ran.value.shape == ()
    assert "2 targets compiled, none run" in ran.text
    for row in nb.names["table"]:
        assert {one.name for one in row.report.programs} == {"f", "g"}
        assert all(one.target is not None for one in row.report.programs)
        program = next(one for one in row.report.programs if one.name == "f")
        assert program.exact
        assert len(program.devices) == (int(row.target.partition(":")[2] or 1) if row.mesh else 1)
        assert row.report.stage_lines("optimized_hlo", 4).exact
    assert "which is not an input" not in ran.text
    nb.must(f"%%jaxjit --block {options.replace('--spec u', '--spec x')}\n{DEFINING}")
    assert nb.names["runs"] == 1


def test_a_spec_that_no_call_of_a_cell_has_is_named(nb: Notebook) -> None:
    ran = nb.must(f"%%jaxjit {MESH} --spec foo=data -o one\n{DEFINING}")
    assert "--spec names `foo`, which is not an input. Its inputs: `v` and `u`." in ran.text
    assert len(nb.names["one"].programs) == 2


def test_a_call_with_shapes_is_traced_on_the_mesh(nb: Notebook) -> None:
    cell = (
        f"%%jaxjit {MESH} -o placed\ndef f(u):\n"
        "    return jax.lax.with_sharding_constraint(u @ u.T, jax.P('data')).sum()\nf(small)"
    )
    nb.must("small = jax.ShapeDtypeStruct((4, 4), jnp.float32)")
    assert nb.must(cell).value.shape == ()
    [program] = nb.names["placed"].programs
    assert program.sharding.collectives


def test_a_compiler_that_is_missing_stops_a_cell_before_it_runs(
    nb: Notebook, tmp_path: Path
) -> None:
    nb.must("runs = 0")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAXSCOPE_CACHE", str(tmp_path))
        for targets in ("tpu:v5e", "tpu:v5e,gpu:h100"):
            said = nb.run(f"%%jaxjit --target {targets}\n{DEFINING}").message
            assert "The TPU compiler is not installed. `%jaxtargets install tpu`" in said
        assert nb.names["runs"] == 0
        ran = nb.must(f"%%jaxjit --target tpu:v5e,cpu -o table\n{DEFINING}")
    assert nb.names["runs"] == 1
    assert "tpu:v5e: The TPU compiler is not installed." in ran.text
    assert "2 targets compiled, none run" in ran.text
    assert [row.report is not None and len(row.report.programs) for row in nb.names["table"]] == [
        0, 2,
    ]  # fmt: skip


def test_a_target_that_is_given_twice_is_compiled_once(nb: Notebook) -> None:
    nb.must("%%jaxjit --target cpu,cpu:4,cpu:8 --mesh data=4 -o table\nx.sum()")
    assert [row.target for row in nb.names["table"]] == ["cpu:4", "cpu:8"]


def test_the_table_is_a_function_too(nb: Notebook) -> None:
    table = jaxscope.compare_targets(
        lambda x: (x @ x.T).sum(),
        nb.names["x"],
        targets=["cpu", "cpu:4"],
        meshes=["data=4", {"data": 2, "model": 2}],
    )
    assert [row.name for row in table] == ["cpu:4 data=4", "cpu:4 data=2,model=2"]
    with jaxscope.options(target="cpu", mesh={"data": 2}, specs={"x": ("data", None)}):
        report = jaxscope.inspect(lambda x: x.sum(), nb.names["x"])
    assert report.inputs[0].sharding == "P('data', None) on (data=2)"
