# A result's weak type is that of this run, whichever program computed it.

# %% setup
import jax.numpy as jnp
x = jnp.asarray(2.0)

# %% cell
y = x * x
z = [y + 1]

# %% change
x = jnp.asarray(2.0, dtype=jnp.float32)

# %% after
wide = jnp.ones(2, jnp.bfloat16) * y
