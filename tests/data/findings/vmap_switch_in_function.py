# A switch by a batched index runs all its branches, in a jitted function too.
# fires: cond_to_select line 3

# %% setup
import jax, jax.numpy as jnp
x, kinds = jnp.arange(4.0), jnp.arange(4)

# %% cell
def f(kind, v):
    return jax.lax.switch(kind, [jnp.sin, jnp.cos, jnp.tanh], v)

@jax.jit
def batch(kinds, x):
    return jax.vmap(f)(kinds, x)

y = batch(kinds, x)
