# A cell that defines a class and uses it at once.

# %% setup
from typing import NamedTuple
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
class State(NamedTuple):
    w: object
    n: int = 0

state = State(x * 2)
state = state._replace(n=state.n + 1)

# %% change
x = x + 1
