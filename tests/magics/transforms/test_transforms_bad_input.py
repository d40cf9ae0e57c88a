"""Bad input to the transforms: a sentence with line and cure, and nothing is lost."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tests.magics.notebook import Notebook, open_notebook

SETUP = """
from jax.experimental.sparse import BCOO
import jax
import jax.experimental
import jax.numpy as jnp
import numpy as np
w = jnp.ones(3)
b = 0.5
x = jnp.arange(12.0).reshape(4, 3)
y = jnp.ones(5)
n = 3
whole = jnp.arange(3)
z = jnp.array([1 + 2j, 0.5j])
mode = "mean"
sizes = {"rows": 3}
params = {"w": w, "steps": whole}
sparse = BCOO.fromdense(jnp.eye(3))
def f(v, u):
    return v @ u
"""


@pytest.fixture(scope="module")
def notebook() -> Iterator[Notebook]:
    with open_notebook() as opened:
        opened.must(SETUP)
        yield opened


@dataclass(frozen=True)
class Bad:
    cell: str
    kind: str
    says: tuple[str, ...]


USAGE = "UsageError"
TWO = "def one(v):\n    return v.sum()\ndef two(v):\n    return v.sum()"
CASES = {
    "two roots": Bad(
        f"%%jaxgrad\n{TWO}",
        USAGE,
        (
            "Line 4: `jit | grad` transforms one function, but this cell calls 2",
            "`one` (line 2) and `two` (line 4). Choose one with `--only one`",
        ),
    ),
    "two roots under vmap": Bad(
        f"%%jaxvmap\n{TWO}", USAGE, ("Line 4: `jit | vmap` transforms one function",)
    ),
    "two roots under pmap": Bad(
        f"%%jaxpmap\n{TWO}", USAGE, ("Line 4: `pmap` transforms one function",)
    ),
    "two roots under a stack": Bad(
        f"%%jaxcompose vmap | grad\n{TWO}",
        USAGE,
        ("Line 4: `jit | vmap | grad` transforms one function",),
    ),
    "no root": Bad(
        "%%jaxgrad\nclass Model:\n    pass",
        USAGE,
        ("Line 1: `jit | grad` transforms one function, but this cell defines none", "--block"),
    ),
    "loss that is no scalar": Bad(
        "%%jaxgrad -w w\nerror = x @ w\nerror ** 2",
        "RefusedError",
        ("Line 3: the loss has shape (4,)", "Reduce it with `.mean()` or `.sum()`", "jacrev"),
    ),
    "loss in a tuple": Bad(
        "%%jaxgrad -w w\n(w.sum(), x)",
        "RefusedError",
        ("Line 2: the loss is a tuple of 2", "use --has-aux for `(loss, aux)`"),
    ),
    "loss that is an integer": Bad(
        "%%jaxgrad -w w\n(w > 0).sum()",
        "RefusedError",
        ("Line 2: the value to differentiate is int32", "Compute it in floats"),
    ),
    "no loss": Bad(
        "%%jaxgrad -w w\nloss = w.sum()\nfor i in range(2):\n    pass",
        "RefusedError",
        (
            "Line 3: the cell must end with an expression or a single assignment",
            "Add a last line with it.",
        ),
    ),
    "aux that is none": Bad(
        "%%jaxgrad -w w --has-aux\nw.sum()",
        "RefusedError",
        ("Line 2: --has-aux needs a value of two parts, `(loss, aux)`, but it is a scalar",),
    ),
    "gradient of a name that is bound nowhere": Bad(
        "%%jaxgrad\nn = 2\n(unknown ** n).sum()",
        "NameError",
        ("name 'unknown' is not defined", "jaxscope: No variable was changed."),
    ),
    "map of a name that is bound nowhere": Bad(
        "%%jaxvmap\nunknown + n",
        "NameError",
        ("name 'unknown' is not defined", "jaxscope: No variable was changed."),
    ),
    "parallel map of a name that is bound nowhere": Bad(
        "%%jaxpmap -i w=None\nunknown + w",
        "NameError",
        ("name 'unknown' is not defined", "jaxscope: No variable was changed."),
    ),
    "name that may never be read": Bad(
        "%%jaxgrad\nmode and 2.0 or unknown",
        USAGE,
        ("Line 1: this cell has no traced float input to differentiate by.",),
    ),
    "static integer": Bad(
        "%%jaxgrad -w n\nn * w.sum()",
        USAGE,
        ("Line 1: -w names `n`, which is not traced (int, so static)", "`n = float(n)`"),
    ),
    "integer array": Bad(
        "%%jaxgrad -w whole\n(whole * w).sum()",
        USAGE,
        ("Line 1: -w names `whole`, and `whole` is int32", "`whole.astype(float)`"),
    ),
    "integer leaf of a sparse array": Bad(
        "%%jaxgrad -w sparse\n(sparse @ x.T).sum()",
        USAGE,
        ("`sparse.indices` is int32", "name its float arrays in -w, and make `sparse` of"),
    ),
    "integer leaf": Bad(
        "%%jaxgrad -w params\nparams['w'].sum() * params['steps'].sum()",
        USAGE,
        ("Line 1: -w names `params`, and `params['steps']` is int32",),
    ),
    "container of integers": Bad(
        "%%jaxgrad -w sizes\nw.sum() * sizes['rows']",
        USAGE,
        ("Line 1: -w names `sizes`, of which no leaf is traced.", "make its numbers float arrays"),
    ),
    "text": Bad(
        "%%jaxgrad -w mode\ngetattr(w, mode)()",
        USAGE,
        ("Line 1: -w names `mode`, which is not traced (str, so static)",),
    ),
    "unknown name": Bad(
        "%%jaxgrad -w nowhere\n(x @ w).sum()",
        USAGE,
        ("Line 1: -w names `nowhere`, which is not defined.", "are `x` and `w`."),
    ),
    "name that the cell assigns": Bad(
        "%%jaxgrad -w loss\nloss = (x @ w).sum()",
        USAGE,
        ("Line 1: -w names `loss`, which this cell assigns itself, so it is not an input.",),
    ),
    "name that the cell does not read": Bad(
        "%%jaxgrad -w b\n(x @ w).sum()",
        USAGE,
        (
            "Line 1: -w names `b`, which is not an input of this cell.",
            "The traced inputs are `x` and",
        ),
    ),
    "part of a name": Bad(
        "%%jaxgrad -w params['w']\nparams['w'].sum()",
        USAGE,
        (
            "is not a name; give names separated by commas: params.",
            "For a part of it, bind the part to a name in an earlier cell.",
        ),
    ),
    "nothing to differentiate by": Bad(
        "%%jaxgrad\n(whole ** 2.0).sum()",
        USAGE,
        (
            "Line 1: this cell has no traced float input to differentiate by.",
            "Bind a float array or a Python float in an earlier cell.",
        ),
    ),
    "order of an array": Bad(
        "%%jaxgrad -w w --order 2\n(w ** 3).sum()",
        USAGE,
        ("Line 1: --order 2 needs one scalar in -w", "`w` has shape (3,)", "hessian"),
    ),
    "order of a hessian": Bad(
        "%%jaxgrad --mode hessian --order 2\n(w ** 3).sum()",
        USAGE,
        ("Line 1: --order 2 nests grad, jacfwd or jacrev, but not hessian.",),
    ),
    "complex loss of a real input": Bad(
        "%%jaxgrad -w w\n(w * 1j).sum()",
        "RefusedError",
        ("Line 2: the value is complex and `w` is real", "Take `.real`, `.imag` or `abs`"),
    ),
    "forward mode of a complex input": Bad(
        "%%jaxgrad -w z --mode jacfwd\njnp.abs(z).sum()",
        "RefusedError",
        ("Line 2: the value is real and `z` is complex", "Use `--mode grad` or `--mode jacrev`."),
    ),
    "tangents without jvp": Bad(
        "%%jaxgrad -w w --tangents w\n(w ** 2).sum()", USAGE, ("--tangents requires `--mode jvp`",)
    ),
    "tangents too few": Bad(
        "%%jaxgrad -w w,b --mode jvp --tangents w\n(w * b).sum()",
        USAGE,
        ("Line 1: --tangents names 1 and -w 2",),
    ),
    "tangent of another type": Bad(
        "%%jaxgrad -w w --mode jvp --tangents whole\n(w ** 2).sum()",
        USAGE,
        ("Line 1: --tangents pairs `whole`, int32[3], with `w`, float32[3].",),
    ),
    "tangent of another shape": Bad(
        "%%jaxgrad -w w --mode jvp --tangents y\n(w ** 2).sum()",
        USAGE,
        (
            "Line 1: --tangents pairs `y`, float32[5], with `w`, float32[3].",
            "needs the shape and dtype of its primal",
        ),
    ),
    "cotangent of another shape": Bad(
        "%%jaxgrad -w w --mode vjp --cotangent y\nw ** 2",
        USAGE,
        ("Line 1: --cotangent names `y`, which is float32[5], but the value is float32[3].",),
    ),
    "cotangent of another structure": Bad(
        "%%jaxgrad -w w --mode vjp --cotangent w\n{'a': w ** 2}",
        USAGE,
        (
            "Line 1: --cotangent names `w`, which is float32[3], but",
            "the value is a dict of float32[3].",
        ),
    ),
    "axis name that nobody gave": Bad(
        "%%jaxvmap -i x=0 --axis-name i\njax.lax.psum(x, 'j')",
        "NameError",
        ("Line 2", "No transform around this code has an axis `j`", "`--axis-name j`"),
    ),
    "no axis in function form": Bad(
        "%%jaxvmap -i v=None\ndef one(v):\n    return v.sum()\none(w)",
        "UsageError",
        ("`vmap` has no axis to map", "`v`", "`-i x=0`"),
    ),
    "no axis in function form of pmap": Bad(
        "%%jaxpmap -i v=None\ndef one(v):\n    return v.sum()\none(w)",
        "UsageError",
        ("`pmap` has no axis to map", "`v`", "`-i x=0`"),
    ),
    "cotangent unknown": Bad(
        "%%jaxgrad -w w --mode vjp --cotangent nowhere\nw ** 2",
        USAGE,
        ("Line 1: --cotangent names `nowhere`",),
    ),
    "axis of a scalar": Bad(
        "%%jaxvmap -i x=0,b=0\nx * b",
        USAGE,
        ("Line 1: -i maps axis 0 of `b`, but it is a scalar here", "`-i b=None`"),
    ),
    "axis that is not there": Bad(
        "%%jaxvmap -i x=2\nx * 2",
        USAGE,
        ("-i maps axis 2 of `x`, but its shape here is (4, 3)", "0 to 1"),
    ),
    "axis used up by a map outside": Bad(
        "%%jaxcompose jit | vmap -i w=0,x=1 | vmap -i w=0\nw * x.sum()",
        USAGE,
        ("Line 1: -i maps axis 0 of `w`, but it is a scalar here",),
    ),
    "batch sizes": Bad(
        "%%jaxvmap -i x=0,y=0\nx.sum() * y",
        USAGE,
        (
            "Line 1: the batch sizes differ: `x` has 4 along axis 0 and `y` has 5 along axis 0.",
            "leave an input whole with `-i name=None`",
        ),
    ),
    "unknown mapped name": Bad(
        "%%jaxvmap -i q=0\nx * 2",
        USAGE,
        ("Line 1: -i names `q`, which is not defined. The traced inputs are `x`.",),
    ),
    "static mapped name": Bad(
        "%%jaxvmap -i x=0,n=0\nx * n", USAGE, ("Line 1: -i names `n`, which is int, so static",)
    ),
    "nothing mapped": Bad(
        "%%jaxvmap -i x=None\nx * 2", USAGE, ("Line 1: `vmap` has no axis to map", "`-i x=0`")
    ),
    "axis without a sign": Bad(
        "%%jaxvmap -i x\nx * 2", USAGE, ("Line 1: -i takes a name and an axis, but got 'x'.",)
    ),
    "axis that is no number": Bad(
        "%%jaxvmap -i x=first\nx * 2", USAGE, ("-i needs an axis, a whole number or None",)
    ),
    "output axis": Bad(
        "%%jaxvmap -i x=0 --out-axes left\nx * 2", USAGE, ("--out-axes needs an axis",)
    ),
    "output that is batched": Bad(
        "%%jaxvmap -i x=0 --out-axes None\nx * 2",
        "ValueError",
        ("JAX cannot apply `jit | vmap -i x=0 --out-axes None`", "No variable was changed."),
    ),
    "two maps of one name": Bad(
        "%%jaxcompose vmap -i x=0 --axis-name i | vmap -i x=0 --axis-name i\nx * 2",
        USAGE,
        ("Line 1: two maps have the same --axis-name",),
    ),
    "more devices than there are": Bad(
        "%%jaxpmap --devices 64\nx * 2",
        USAGE,
        ("Line 1: --devices 64 needs 64 devices, but there is 1 device.", "%jaxdevices --cpu 64"),
    ),
    "leading axis longer than the devices": Bad(
        "%%jaxpmap\nx * 2",
        USAGE,
        ("Line 1: the mapped axis has length 4, but there is 1 device", "%jaxdevices --cpu 4"),
    ),
    "leading axis not the devices": Bad(
        "%%jaxpmap --devices 1\nx * 2",
        USAGE,
        ("the mapped axis has length 4, but --devices is 1: each device takes one slice.",),
    ),
    "one device for a pmap": Bad(
        "%%jaxpmap --device cpu:0\nx * 2", USAGE, ("Line 1: --device names one device, but pmap",)
    ),
    "devices simulated too late": Bad(
        "%jaxdevices --cpu 8", USAGE, ("JAX is already running with", "restart the kernel and run")
    ),
    "gradient over a map": Bad(
        "%%jaxcompose jit | grad -w w | vmap -i x=0\n(x @ w) ** 2",
        "RefusedError",
        (
            "Line 2: `grad` outside `vmap` differentiates a batch",
            "`vmap … | grad …`, or use `--mode jacrev`",
        ),
    ),
    "gradient over a gradient by several": Bad(
        "%%jaxcompose grad -w w | grad -w w,b\n(w * b).sum() ** 2",
        "RefusedError",
        ("Line 2: the outer `grad` needs a scalar", "`--mode jacrev` outside"),
    ),
    "pmap inside pmap": Bad(
        "%%jaxcompose pmap | pmap\nx * 2", USAGE, ("Line 1: JAX does not allow `pmap` inside",)
    ),
    "ordered effect under vmap": Bad(
        "%%jaxvmap -i x=0\nv = x * 2\n"
        "jax.experimental.io_callback(lambda v: None, None, v, ordered=True)",
        "ValueError",
        ("Line 3: JAX cannot apply `jit | vmap -i x=0` to this program: Cannot `vmap` ordered",),
    ),
    "callback without a derivative": Bad(
        "%%jaxgrad -w w\nv = jax.pure_callback(np.sin, w, w)\nv.sum()",
        "ValueError",
        ("Line 2: JAX cannot apply `jit | grad -w w`", "Pure callbacks do not support JVP."),
    ),
    "unknown transform": Bad(
        "%%jaxcompose jit | vmpa -i x=0\nx * 2",
        USAGE,
        ("Line 1: segment 2: `vmpa` is not a transform.", "jit, grad, vmap, pmap"),
    ),
    "no transform": Bad("%%jaxcompose\nx * 2", USAGE, ("segment 1: a transform is",)),
    "missing transform": Bad(
        "%%jaxcompose jit | | grad\nx * 2", USAGE, ("segment 2: a transform is",)
    ),
    "option of another transform": Bad(
        "%%jaxcompose jit | vmap -w w\nx * 2",
        USAGE,
        ("Line 1: segment 2, `vmap`, has no option -w.", "Its options are -i, --in-axes"),
    ),
    "shared option in a segment": Bad(
        "%%jaxcompose jit | grad -w w -n 3\n(w ** 2).sum()",
        USAGE,
        (
            "Line 1: segment 2, `grad`, has no option -n",
            "shared options go before the first transform.",
        ),
    ),
    "option of a jit": Bad(
        "%%jaxcompose jit -w w | grad\n(w ** 2).sum()",
        USAGE,
        ("Line 1: segment 1, `jit`, has no option -w. It has no options",),
    ),
    "option without its value": Bad(
        "%%jaxcompose jit | grad -w\n(w ** 2).sum()",
        USAGE,
        ("Line 1: segment 2, `grad`: -w/--wrt needs a value. Its options are -w, --wrt,",),
    ),
    "unknown mode": Bad(
        "%%jaxgrad --mode newton\n(w ** 2).sum()",
        USAGE,
        ("Line 1: --mode 'newton' does not exist; it is one of grad, jvp, vjp,",),
    ),
    "order zero": Bad(
        "%%jaxgrad --order 0\nb ** 2", USAGE, ("--order needs a whole number of 1 or more",)
    ),
    "rest of the line": Bad(
        "%%jaxgrad f(x)\n(w ** 2).sum()", USAGE, ("%%jaxgrad takes only options, but got 'f(x)'",)
    ),
    "names without their option": Bad(
        "%%jaxgrad w, b\n(w ** 2).sum() + b",
        USAGE,
        ("but got 'w, b'. To differentiate by these, write %%jaxgrad -w w,b",),
    ),
    "a name without an option": Bad(
        "%%jaxvmap w\n(w ** 2).sum()",
        USAGE,
        ("%%jaxvmap takes only options, but got 'w'. `%jaxvmap?` lists the options.",),
    ),
    "line without a call": Bad("%jaxgrad -w w", USAGE, ("%jaxgrad needs a call",)),
    "line that is no call": Bad(
        "%jaxvmap 2 + 1", USAGE, ("%jaxvmap needs a call such as f(x, y); `2 + 1` is not a call.",)
    ),
    "unknown parameter": Bad(
        "%jaxgrad -w q f(x, w)", USAGE, ("-w names `q`, which is not an input of this call.", "`v`")
    ),
    "line of a map that does not fit": Bad(
        "%jaxvmap -i v=0,u=0 f(x, w)", USAGE, ("The batch sizes differ: `v` has 4",)
    ),
    "parameter that is decorated": Bad(
        "%%jaxgrad --decorate -w q\ndef g(v):\n    return v.sum()\ng(w)",
        USAGE,
        (
            "Line 1: -w names `q`, which is not a positional parameter of `g`.",
            "Its parameters are: `v`.",
        ),
    ),
    "decorated by jvp": Bad(
        "%%jaxgrad --decorate --mode jvp\ndef g(v):\n    return v.sum()\ng(w)",
        USAGE,
        ("Line 1: JAX has no decorator for jvp.", "%jaxgrad --mode jvp"),
    ),
    "decorated loss that is no scalar": Bad(
        "%%jaxgrad --decorate\ndef g(v):\n    return v * 2\ng(w)",
        "TypeError",
        ("Line 4: A gradient needs one scalar",),
    ),
    "decorated integer": Bad(
        "%%jaxgrad --decorate\ndef g(v):\n    return v.sum()\ng(whole)",
        "TypeError",
        ("Line 4: JAX differentiates by floats: choose different parameters with `-w`",),
    ),
    "decorated map that does not fit": Bad(
        "%%jaxvmap --decorate\ndef g(v, u):\n    return v.sum() * u\ng(x, y)",
        "ValueError",
        ("Line 4: Mapped axes must have equal sizes",),
    ),
    "decorated axis that is not there": Bad(
        "%%jaxvmap --decorate -i v=3\ndef g(v):\n    return v.sum()\ng(x)",
        "ValueError",
        ("Line 4: An argument has no such axis",),
    ),
}


def state(notebook: Notebook) -> dict[str, tuple[Any, Any]]:
    """Every name of the user's with its object and its value."""
    names = {k: v for k, v in notebook.names.items() if not re.match(r"_|In$|Out$", k)}
    return {
        k: (v, np.asarray(v).tolist() if hasattr(v, "shape") else repr(v)) for k, v in names.items()
    }


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_told_in_a_sentence_and_loses_nothing(name: str, notebook: Notebook) -> None:
    case = CASES[name]
    before = state(notebook)
    ran = notebook.run(case.cell)
    assert ran.error is not None, ran.text
    assert type(ran.error).__name__ == case.kind, ran.message
    for part in case.says:
        assert part in ran.message
    assert ran.message.count("jaxscope: ") <= 1
    shown = None if ran.error.__suppress_context__ else ran.error.__context__
    assert not type(shown).__module__.startswith("jaxscope")
    if "\ndef " in case.cell:  # function form: its definitions stay, as in plain Python
        for key in state(notebook).keys() - before.keys():
            del notebook.names[key]
    after = state(notebook)
    assert before.keys() == after.keys()
    for key, (thing, value) in before.items():
        assert (
            after[key] == (thing, value) if not hasattr(thing, "shape") else after[key][0] is thing
        )
    good = notebook.must("%%jaxgrad -q -n 1 -w w\nloss = (w ** 2).sum()")
    np.testing.assert_allclose(good.value, 2 * np.ones(3))
    assert float(notebook.names.pop("loss")) == 3.0
