# A cell that is refused first works once the input is repaired.
# expect: refused "TracerBool"
# expect 2: same

# %% setup
import jax.numpy as jnp
x = jnp.arange(4.0)
limit = jnp.asarray(2.0)

# %% cell
y = x * 2 if limit > 1 else x

# %% change
limit = 3

# %% after
z = y + 1
