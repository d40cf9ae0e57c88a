# A traced value put on a registered dataclass.
# expect: refused "in place"
# line: 2

# %% setup
import dataclasses
import jax
import jax.numpy as jnp

@jax.tree_util.register_dataclass
@dataclasses.dataclass
class State:
    w: jax.Array

state = State(jnp.arange(3.0))
alias = state

# %% cell
state.w = state.w * 2

# %% after
z = alias.w + 1
