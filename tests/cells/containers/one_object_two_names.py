# A list under two names is one list while tracing and afterwards.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
a = b = [jnp.arange(3.0), "x"]

# %% cell
same = a is b
c, d = a, b
y = a[0] + b[0]

# %% change
a[0] = jnp.ones(3)
