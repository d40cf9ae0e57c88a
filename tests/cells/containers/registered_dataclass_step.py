# A registered dataclass with a static field that counts.
# compiles: 1 0

# %% setup
import dataclasses
import jax
import jax.numpy as jnp

@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class State:
    w: jax.Array
    step: int = dataclasses.field(default=0, metadata={"static": True})

state = State(jnp.arange(3.0), 0)

# %% cell
state = dataclasses.replace(state, w=state.w * 2, step=state.step + 1)
