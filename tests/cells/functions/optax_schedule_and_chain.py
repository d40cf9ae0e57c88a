# Optax: a schedule, clipping and a chain.
# needs: optax

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
import optax

# %% cell
schedule = optax.cosine_decay_schedule(0.5, 10)
tx = optax.chain(optax.clip_by_global_norm(1.0), optax.scale_by_adam(), optax.scale_by_schedule(schedule))

def loss(p): return ((p["w"] - 1) ** 2).sum()

def step(p, state):
    g = jax.grad(loss)(p)
    updates, state = tx.update(g, state, p)
    return optax.apply_updates(p, jax.tree.map(jnp.negative, updates)), state

p = {"w": x}
state = tx.init(p)
for i in range(4):
    p, state = step(p, state)
rate = float(schedule(3))
del tx, schedule, state

# %% change
x = x + 1
