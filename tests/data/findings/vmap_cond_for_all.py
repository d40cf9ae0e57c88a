# A predicate that is not batched runs one branch.
# silent: cond_to_select

# %% setup
import jax, jax.numpy as jnp
x = jnp.arange(4.0)
deep = jnp.asarray(True)

# %% cell
y = jax.vmap(lambda v, p: jax.lax.cond(p, jnp.sin, jnp.cos, v), (0, None))(x, deep)
