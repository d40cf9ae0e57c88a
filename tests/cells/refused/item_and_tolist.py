# `.item()` and `.tolist()` of traced arrays.
# expect: refused "Concretization|trac"
# line: 2

# %% setup
import jax.numpy as jnp
x = jnp.arange(6.0)

# %% cell
y = x.sum().item()

# %% after
z = x.tolist()
