# A named tuple in, a named tuple out.
# compiles: 1 0

# %% setup
from typing import NamedTuple
import jax.numpy as jnp

class State(NamedTuple):
    w: object
    step: int
    name: str = "s"

state = State(jnp.arange(3.0), 0)

# %% cell
state = state._replace(w=state.w * 2, step=state.step + 1)
other = State(w=state.w + 1, step=-1, name="other")
state.w
