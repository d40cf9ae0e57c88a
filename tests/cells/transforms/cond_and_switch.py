# Branches of lax on traced values.
# compiles: 1 0

# %% setup
import jax
import jax.numpy as jnp
x = jnp.arange(3.0)
index = jnp.asarray(0)

# %% cell
y = jax.lax.cond(index > 0, lambda v: v * 2, lambda v: v + 2, x)
z = jax.lax.switch(index, [jnp.sin, jnp.cos, jnp.tanh], x)

# %% change
index = jnp.asarray(2)
