# A batched lambda with axes.
# compiles: 1 0

# %% setup
import jax
import jax.numpy as jnp
m = jnp.arange(6.0).reshape(2, 3)
v = jnp.ones(3)

# %% cell
y = jax.vmap(lambda a, b: a @ b, in_axes=(0, None))(m, v)
z = jax.vmap(jnp.sum, in_axes=1, out_axes=0)(m)

# %% change
v = v * 2
