# A callback that takes the whole batch runs once.
# fires: callback line 4
# silent: sequential_vmap

# %% setup
import jax, jax.numpy as jnp, numpy as np
x = jnp.arange(4.0)

# %% cell
def f(x):
    shape = jax.ShapeDtypeStruct((4,), x.dtype)
    one = lambda v: jax.pure_callback(np.sin, shape.update(shape=()), v, vmap_method="expand_dims")
    return jax.vmap(one)(x)

y = f(x)
