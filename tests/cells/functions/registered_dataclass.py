# A dataclass registered as a pytree, as argument and result.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
import dataclasses

@jax.tree_util.register_dataclass
@dataclasses.dataclass
class State:
    mean: jax.Array
    count: int = dataclasses.field(metadata={"static": True}, default=0)

def update(state, v):
    return State((state.mean * state.count + v) / (state.count + 1), state.count + 1)

state = State(jnp.zeros(3))
for _ in range(3):
    state = update(state, x)
mean, count = state.mean, state.count
del state, State

# %% change
x = x + 1
