# Batches, a vmap, and work without a product.
# silent: sequential_map

# %% setup
import jax, jax.numpy as jnp
w, xs = jnp.ones((64, 64)), jnp.ones((300, 64))

# %% cell
a = jax.lax.map(lambda x: w @ x, xs, batch_size=50)
b = jax.vmap(lambda x: w @ x)(xs)
c = jax.lax.map(jnp.sum, xs)
