# A batched predicate runs both branches.
# fires: cond_to_select line 2

# %% setup
import jax, jax.numpy as jnp
x = jnp.arange(4.0)

# %% cell
y = jax.vmap(lambda v: jax.lax.cond(v > 1, jnp.sin, jnp.cos, v))(x)
