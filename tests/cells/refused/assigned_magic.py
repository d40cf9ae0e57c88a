# A magic whose result is assigned.
# expect: refused "%"
# line: 3

# %% setup
import jax.numpy as jnp
x = jnp.ones(3)

# %% cell
y = x * 2
where = %pwd

# %% after
w = x * 2
