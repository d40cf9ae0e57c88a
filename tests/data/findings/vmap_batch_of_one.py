# A batch of one example has no loop.
# fires: callback line 4
# silent: cond_to_select
# silent: sequential_vmap

# %% setup
import jax, jax.numpy as jnp, numpy as np
x = jnp.ones((1,))

# %% cell
def f(v):
    shape = jax.ShapeDtypeStruct((), v.dtype)
    w = jax.pure_callback(np.sin, shape, v, vmap_method="sequential")
    return jax.lax.cond(v > 1, jnp.sin, jnp.cos, w)

y = jax.vmap(f)(x)
