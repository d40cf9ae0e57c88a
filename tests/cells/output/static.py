# A last expression that does not depend on the trace.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
y = x * 2
f"{y.shape} of {y.dtype}"

# %% change
x = x + 1
