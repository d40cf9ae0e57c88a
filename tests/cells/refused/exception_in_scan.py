# An exception in the body of a scan.
# expect: raises TypeError "carry|scan"

# %% setup
import jax
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
c, ys = jax.lax.scan(lambda c, v: ((c, c), v), 0.0, x)

# %% after
z = x + 1
