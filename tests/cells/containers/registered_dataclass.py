# A dataclass registered with JAX goes in and out like a dictionary.
# compiles: 1 0

# %% setup
import dataclasses
import jax
import jax.numpy as jnp

@jax.tree_util.register_dataclass
@dataclasses.dataclass
class State:
    w: jax.Array
    step: int = dataclasses.field(default=0, metadata={"static": True})

state = State(jnp.arange(3.0), 0)
keep = state

# %% cell
y = state.w + 1
out = State(w=state.w * 2, step=state.step)
same = state

# %% change
state.w = jnp.ones(3)
