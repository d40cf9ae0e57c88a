# A NamedTuple as training state.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
from typing import NamedTuple

class State(NamedTuple):
    w: jax.Array
    step: jax.Array

def update(state, v): return State(state.w - 0.1 * v, state.step + 1)

state = State(x, jnp.array(0))
for _ in range(3):
    state = update(state, x)
w, step = state
del state, State

# %% change
x = x + 1
