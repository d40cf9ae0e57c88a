"""Ordinary sessions: badges and advice are about what the user can and should change."""

from __future__ import annotations

import re

import jax
import pytest

from jaxscope.model import CompileKind
from jaxscope.view.compiles.rows import rows
from tests.magics.notebook import Notebook, open_notebook

pytestmark = pytest.mark.jax

LINEN = """
import jax, jax.numpy as jnp, numpy as np, optax
import flax.linen as nn
from flax.training.train_state import TrainState
# %%
class Model(nn.Module):
    @nn.compact
    def __call__(self, x, train=False):
        x = nn.Dropout(0.1, deterministic=not train)(nn.relu(nn.Dense(4)(x)))
        return nn.Dense(3)(x)
# %%
rng = np.random.default_rng(0)
images = rng.normal(size=(32, 5)).astype(np.float32)
labels = rng.integers(0, 3, 32)
# %%
model = Model()
variables = model.init(jax.random.key(0), jnp.ones((1, 5)))
# %%
jax.tree.map(jnp.shape, variables)
# %%
state = TrainState.create(
    apply_fn=model.apply, params=variables["params"], tx=optax.sgd(1e-2, 0.9)
)
# %%
@jax.jit
def train_step(state, x, y, key):
    def loss_fn(params):
        logits = state.apply_fn({"params": params}, x, train=True, rngs={"dropout": key})
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()
    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    return state.apply_gradients(grads=grads), loss
# %%
key = jax.random.key(1)
state, loss = train_step(state, images, labels, key)
# %%
for start in range(0, 32, 16):
    key, sub = jax.random.split(key)
    state, loss = train_step(state, images[start:start + 16], labels[start:start + 16], sub)
# %%
@jax.jit
def accuracy(params, x, y):
    return (model.apply({"params": params}, x).argmax(-1) == y).mean()
# %%
accuracy(state.params, images, labels)
# %%
float(loss)
# %% advice: accuracy
for start in range(0, 32, 12):
    accuracy(state.params, images[start:start + 12], labels[start:start + 12])
# %%
logits = model.apply({"params": state.params}, images[:4])
# %%
nn.softmax(logits).argmax(1)
# %%
tuned = TrainState.create(apply_fn=model.apply, params=state.params, tx=optax.sgd(1e-2))
# %%
tuned, loss = train_step(tuned, images, labels, key)
# %%
sum(leaf.size for leaf in jax.tree.leaves(tuned.params))
# %%
best = jax.tree.map(jnp.copy, tuned.params)
# %%
accuracy(best, images, labels)
"""

EQUINOX = """
import jax, jax.numpy as jnp, jax.random as jr, numpy as np
import equinox as eqx, optax
# %%
model_key, data_key = jr.split(jr.key(0))
# %%
x = jr.normal(data_key, (24, 3))
y = jnp.sin(x).sum(axis=1)
# %%
model = eqx.nn.MLP(3, "scalar", 4, 1, key=model_key)
# %%
jax.vmap(model)(x).shape
# %%
optimizer = optax.sgd(1e-2, 0.9)
state = optimizer.init(eqx.filter(model, eqx.is_inexact_array))
# %%
@eqx.filter_value_and_grad
def loss_of(model, x, y):
    return jnp.mean((jax.vmap(model)(x) - y) ** 2)
# %%
@eqx.filter_jit
def make_step(model, state, x, y):
    loss, grads = loss_of(model, x, y)
    updates, state = optimizer.update(grads, state, model)
    return eqx.apply_updates(model, updates), state, loss
# %%
for _ in range(3):
    model, state, loss = make_step(model, state, x, y)
# %%
loss.item()
# %%
def batches(size):
    order = np.random.default_rng(0).permutation(len(x))
    for i in range(0, len(x), size):
        yield x[order[i:i + size]], y[order[i:i + size]]
# %%
for some, aim in batches(8):
    model, state, loss = make_step(model, state, some, aim)
# %% advice: make_step
for some, aim in batches(10):
    model, state, loss = make_step(model, state, some, aim)
# %%
evaluate = eqx.filter_jit(lambda m, x, y: jnp.abs(jax.vmap(m)(x) - y).mean())
# %%
evaluate(model, x, y)
# %%
evaluate(model, x[:6], y[:6])
# %%
optimizer = optax.sgd(1e-3)
state = optimizer.init(eqx.filter(model, eqx.is_inexact_array))
# %%
for _ in range(2):
    model, state, loss = make_step(model, state, x, y)
# %%
sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(model, eqx.is_array)))
# %%
(jax.vmap(model)(x) - y).std()
"""

OPTAX = """
import jax, jax.numpy as jnp, numpy as np, optax
# %%
rng = np.random.default_rng(0)
a = rng.normal(size=(20, 3)).astype(np.float32)
b = a @ np.arange(3, dtype=np.float32)
# %%
def loss(w):
    return ((a @ w - b) ** 2).mean()
# %%
optimizer = optax.sgd(0.1, 0.9)
w = jnp.zeros(3)
state = optimizer.init(w)
# %%
def update(w, state):
    updates, state = optimizer.update(jax.grad(loss)(w), state, w)
    return optax.apply_updates(w, updates), state
# %%
for _ in range(4):
    w, state = update(w, state)
# %%
fast = jax.jit(update)
# %%
for _ in range(10):
    w, state = fast(w, state)
# %%
loss(w)
# %%
def fit(rate):
    @jax.jit
    def step(w):
        return w - rate * jax.grad(loss)(w)
    w = jnp.zeros(3)
    for _ in range(5):
        w = step(w)
    return float(loss(w))
# %% advice: step
results = {rate: fit(rate) for rate in (0.01, 0.03, 0.1)}
# %%
min(results, key=results.get)
# %%
schedule = optax.warmup_cosine_decay_schedule(0.0, 1e-2, 10, 100)
# %%
[float(schedule(i)) for i in (0, 5, 10)]
# %%
solver = optax.lbfgs()
memory = solver.init(w)
# %% advice: eager operations
gradient = optax.value_and_grad_from_state(loss)
for _ in range(2):
    value, grad = gradient(w, state=memory)
    changes, memory = solver.update(
        grad, memory, w, value=value, grad=grad, value_fn=loss
    )
    w = optax.apply_updates(w, changes)
# %%
starts = jax.vmap(lambda k: jax.random.normal(k, (3,)))(jax.random.split(jax.random.key(0), 4))
# %%
jax.jit(jax.vmap(loss))(starts)
# %%
track = jax.lax.scan(lambda w, _: (w - 0.1 * jax.grad(loss)(w), loss(w)), w, None, length=5)[1]
# %%
track[-1] < track[0]
"""

SESSIONS = {"flax": LINEN, "equinox": EQUINOX, "optax": OPTAX}
MOST_EXCEPTIONS = 1
LEAST_CELLS = 20


@pytest.mark.parametrize("name", SESSIONS)
def test_every_badge_and_every_advice_is_about_what_the_user_can_change(name: str) -> None:
    pytest.importorskip("optax" if name == "optax" else name)
    jax.clear_caches()
    first, *parts = re.split(r"^# %%(.*)\n", SESSIONS[name], flags=re.M)
    cells = [("", first), *zip(parts[::2], parts[1::2], strict=True)]
    assert len(cells) >= LEAST_CELLS
    with open_notebook() as notebook:
        notebook.must("%jaxwatch on --over 100000")
        under = [(mark.strip(), notebook.must(cell).text) for mark, cell in cells]
        found = found_in(notebook)
    advised = [mark.removeprefix("advice: ") for mark, _ in under if mark]
    # What was advised under a cell, and nothing under the others.
    exceptions = [text for mark, text in under if bool(mark) != bool(text)]
    exceptions += [what for what in found if what not in advised]
    assert len(exceptions) <= MOST_EXCEPTIONS, exceptions
    for mark, text in under:
        assert not mark or mark.removeprefix("advice: ") in text


def found_in(notebook: Notebook) -> list[str]:
    """Functions with advice or a badge of recompilation, and functions that are not the user's."""
    notebook.must("%jaxlog -q -o log")
    log = notebook.names["log"].log
    shown = [row.what for row in rows(log).rows if row.again or row.fix]
    foreign = [
        compile.fun_name
        for compile in log.compiles
        if compile.kind is not CompileKind.EAGER and compile.defined is None
    ]
    return [*shown, *foreign]
