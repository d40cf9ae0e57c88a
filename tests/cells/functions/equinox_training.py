# Equinox: a module, filter_value_and_grad, Optax, in a loop.
# needs: equinox optax

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
import equinox as eqx
import optax
data = jnp.stack([x, x + 1])

# %% cell
class MLP(eqx.Module):
    first: eqx.nn.Linear
    second: eqx.nn.Linear
    act: object = eqx.field(static=True)

    def __init__(self, key):
        a, b = jax.random.split(key)
        self.first, self.second = eqx.nn.Linear(3, 4, key=a), eqx.nn.Linear(4, 1, key=b)
        self.act = jax.nn.relu

    def __call__(self, v): return self.second(self.act(self.first(v)))

def loss_fn(model, v): return (jax.vmap(model)(v) ** 2).mean()

def step(model, state, v):
    loss, grads = eqx.filter_value_and_grad(loss_fn)(model, v)
    updates, state = tx.update(grads, state, eqx.filter(model, eqx.is_array))
    return eqx.apply_updates(model, updates), state, loss

model = MLP(jax.random.key(0))
tx = optax.adam(0.1)
state = tx.init(eqx.filter(model, eqx.is_array))
losses = []
for _ in range(3):
    model, state, loss = step(model, state, data)
    losses.append(round(float(loss), 4))
weight = model.first.weight
del MLP, model, tx, state

# %% change
data = data + 1
