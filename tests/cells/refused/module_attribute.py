# A traced value put on a module.
# expect: refused "in place|trac"

# %% setup
import types
import jax.numpy as jnp
store = types.ModuleType("store")
store.v = None
x = jnp.arange(3.0)

# %% cell
store.v = x * 2

# %% after
z = store.v
