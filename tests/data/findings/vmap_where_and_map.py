# jnp.where is not a conditional, and a loop that the code requests is not a fallback.
# silent: cond_to_select
# silent: sequential_vmap

# %% setup
import jax, jax.numpy as jnp
x = jnp.ones((4, 4))

# %% cell
y = jax.vmap(lambda v: jax.lax.map(lambda a: jnp.where(a > 0, jnp.sin(a), a), v))(x)
