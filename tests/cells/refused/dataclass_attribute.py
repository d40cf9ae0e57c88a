# A traced value put on an unregistered dataclass.
# expect: refused "in place"
# line: 2

# %% setup
import dataclasses
import jax.numpy as jnp

@dataclasses.dataclass
class State:
    w: object

state = State(jnp.arange(3.0))

# %% cell
state.w = state.w * 2

# %% after
z = state.w + 1
