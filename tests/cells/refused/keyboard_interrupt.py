# An interrupt while the cell is traced.
# expect: raises KeyboardInterrupt

# %% setup
import jax.numpy as jnp
x = jnp.ones(3)
y = "old"

# %% cell
y = x * 2
raise KeyboardInterrupt

# %% after
z = x * 2
