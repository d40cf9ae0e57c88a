"""Runs cells of `%%jaxpmap` on eight simulated devices and prints what came out, as JSON.

Devices can be simulated only before JAX starts, so `test_pmap.py` runs this in one process of its
own, and looks at the answers.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

from tests.magics.notebook import Notebook, open_notebook

SETUP = """
import jax
import jax.monitoring
import jax.numpy as jnp
import numpy as np
import jaxscope
x = jnp.arange(24.0).reshape(8, 3)
auto = (jax.sharding.AxisType.Auto,)
pair = jax.make_mesh((2,), ("pair",), axis_types=auto, devices=jax.devices()[:2])
on_pair = jax.sharding.NamedSharding(pair, jax.P("pair"))
w = jnp.array([1.0, -2.0, 0.5])
y = jnp.ones(8)
grown = jnp.arange(96.0).reshape(8, 4, 3)
def f(v, u):
    return v @ u
count = []
def listen(event, duration, **kwargs):
    if event == "/jax/core/compile/backend_compile_duration":
        count.append(event)
jax.monitoring.register_event_duration_secs_listener(listen)
mapped = jax.pmap(f, in_axes=(0, None))
mapped(x, w);
"""

GRADIENT = "loss = jax.lax.pmean((x @ w - y) ** 2, 'i')"
CELLS = {
    "cell": "%%jaxpmap -q -n 1 -o r -i w=None --axis-name i\np = x @ w\nq = jax.lax.psum(p, 'i')",
    "again": "%%jaxpmap -q -n 1 -o r -i w=None --axis-name i\np = x @ w\nq = jax.lax.psum(p, 'i')",
    "unnamed": "%%jaxpmap -q -n 1 -o r\nx * 2",
    "four": "%%jaxpmap -q -n 1 -o r --devices 4\nfour * 2",
    "of a gradient": "%%jaxcompose -q -n 1 -o r pmap -i x=0,y=0 --axis-name i "
    f"| grad -w w --value\n{GRADIENT}",
    "of a map": "%%jaxcompose -q -n 1 -o r pmap -i grown=0 | vmap -i grown=0\ngrown @ w",
    "under a jit": "%%jaxcompose -q -n 1 -o r jit | pmap\nx * 2",
    "under a map": "%%jaxcompose -q -n 1 -o r vmap -i grown=1 | pmap -i grown=0\ngrown.sum() * 2",
    "jacobian": "%%jaxcompose -q -n 1 -o r grad -w w --mode jacrev | pmap -i x=0\n(x * w).sum()",
    "functions": "%%jaxpmap -q -n 1 -o r -i u=None\ndef h(v, u): return v @ u\nh(x, w)",
    "decorated": (
        "%%jaxpmap -q -n 1 -o r --decorate -i u=None\ndef g(v, u):\n    return v @ u\ng(x, w)"
    ),
    "line": "%jaxpmap -q -n 1 -o r -i u=None f(x, w)",
    "inspected": "r = jaxscope.inspect(jax.pmap(lambda v: v * 3), x)\nNone",
    "profiled": "%%jaxprof -o r\nfor _ in range(4):\n    spread = mapped(x, w)",
    "too many": "%%jaxpmap -q\nmany * 2",
    "more devices": "%%jaxpmap -q --devices 9\nx * 2",
    "wrong axis": "%%jaxpmap -q --devices 4\nx * 2",
    "uneven": "%%jaxpmap -q --devices 3\nx * 2",
    "too few": "%%jaxpmap -q --devices 8\nfour * 2",
    "one device": "%%jaxpmap -q --devices 1\nfour * 2",
    "decorated too many": "%%jaxpmap -q --decorate\ndef g(v):\n    return v\ng(many)",
    "too late": "%jaxdevices --cpu 4",
    "mesh": "jax.set_mesh(jax.make_mesh((8,), ('row',), axis_types=auto));",
    "other mesh": "%%jaxpmap -q\nx * 2",
    "other mesh decorated": "%%jaxpmap -q --decorate\ndef g(v):\n    return v * 2\ng(x)",
    "other mesh in a line": "%jaxpmap -q -i u=None f(x, w)",
    "other mesh written": "%%jaxjit -q\njax.shard_map(lambda v: v * 2, mesh=pair, "
    "in_specs=jax.P('pair'), out_specs=jax.P('pair'))(x)",
    "no mesh": "jax.set_mesh(jax.sharding.Mesh(np.empty((), object), ()));",
    "without mesh": "%%jaxpmap -q -n 1 -o r\nx * 2",
    "after all": "%%jaxjit -q -n 1\nx.sum()",
    "moved along an axis": "%%jaxjit -q -n 1\nmoved = jax.device_put(x[:2], on_pair)",
    "moved to a device": "%%jaxjit -q -n 1\nmoved = jax.device_put(x, jax.devices()[3])",
    "moved by a function": "%%jaxjit -q -n 1\ndef put(v):\n"
    "    return jax.device_put(v, on_pair)\nput(x[:2])",
    "moved to all": "%%jaxjit -q -n 1\n"
    "jax.device_put(x, jax.sharding.NamedSharding(pair, jax.P()))",
    "constrained": "%%jaxjit -q -n 1\njax.lax.with_sharding_constraint(x[:2], on_pair)",
}


def answer(notebook: Notebook, cell: str) -> dict[str, Any]:
    notebook.names.pop("r", None)
    notebook.names["count"].clear()
    ran = notebook.run(cell)
    found: dict[str, Any] = {"compiles": len(notebook.names["count"])}
    if ran.error is not None:
        return found | {"error": type(ran.error).__name__, "message": ran.message}
    if ran.value is not None:
        import jax
        import numpy as np

        leaves = jax.tree_util.tree_leaves(ran.value)
        found["value"] = [np.asarray(leaf).tolist() for leaf in leaves]
        found["sharding"] = [len(leaf.devices()) for leaf in leaves]
    if "r" in notebook.names:
        report = notebook.names["r"]
        program = report.programs[0]
        found["title"] = program.title
        found["devices"] = len(program.devices)
        found["inputs"] = [value.name for value in program.inputs]
        found["own compiles"] = len(program.compiles)
        found["exact"] = report.exact
        found["findings"] = [finding.kind for finding in report.findings]
    return found


def main() -> None:
    warnings.simplefilter("error")
    with open_notebook() as notebook:
        notebook.must("%jaxdevices --cpu 8 --no-measure")
        notebook.must(SETUP)
        notebook.must("four = x[:4]; many = jnp.arange(16.0)")
        answers = {name: answer(notebook, cell) for name, cell in CELLS.items()}
        answers["names"] = {n: notebook.names[n].tolist() for n in ("p", "q", "loss")}
        answers["bound"] = {"g is pmap's": "pmap" in repr(notebook.names["g"].lower)}
        count = notebook.names["listen"]
        notebook.names["jax"].monitoring.unregister_event_duration_listener(count)
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
