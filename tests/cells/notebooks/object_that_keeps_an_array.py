# A new object of a class that is no pytree may keep no traced array; the sentence names it.
# expect: refused "`local` would keep an array inside a SimpleNamespace"
# line: 2

# %% setup
import types
import jax.numpy as jnp
x = jnp.ones(2)

# %% cell
local = types.SimpleNamespace(depth=1, scaled=x * 2)
