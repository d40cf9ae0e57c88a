# Another text of a debug print, with the same program otherwise.

# %% setup
import jax
import jax.numpy as jnp
x = jnp.arange(3.0)
label = "first"

# %% cell
jax.debug.print(label + " {s}", s=x.sum())
y = x * 2

# %% change
label = "second"
