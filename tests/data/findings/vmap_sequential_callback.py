# A callback that takes one example is called in a loop over the batch.
# fires: sequential_vmap line 4

# %% setup
import jax, jax.numpy as jnp, numpy as np
x = jnp.arange(4.0)

# %% cell
def f(x):
    shape = jax.ShapeDtypeStruct((), x.dtype)
    return jax.pure_callback(np.sin, shape, x, vmap_method="sequential")

y = jax.jit(jax.vmap(f))(x)
