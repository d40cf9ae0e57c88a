# A cell may delete one of its inputs; the next run needs it bound again.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
y = x + 1
del x

# %% change
x = jnp.asarray([5.0, 6.0, 7.0])

# %% after
gone = "x" not in globals()
