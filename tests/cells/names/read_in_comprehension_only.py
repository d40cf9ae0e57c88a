# An input read only inside a comprehension is traced like any other.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
xs = [jnp.arange(3.0), jnp.ones(3)]
w = jnp.asarray(2.0)

# %% cell
ys = [w * v for v in xs]

# %% change
w = jnp.asarray(5.0)
xs = [u + 1 for u in xs]
