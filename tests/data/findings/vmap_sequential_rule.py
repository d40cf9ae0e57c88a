# A function with a sequential batching rule is a loop under vmap.
# fires: sequential_vmap line 2

# %% setup
import jax, jax.numpy as jnp
x = jnp.arange(4.0)
one = jax.custom_batching.sequential_vmap(lambda v: jnp.sin(v))

# %% cell
y = jax.vmap(lambda v: one(v) + 1)(x)
