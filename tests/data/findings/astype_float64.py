# A cast of a JAX array to NumPy's float64.
# fires: float64_disabled line 4

# %% setup
import jax, jax.numpy as jnp, numpy as np
x = jnp.arange(8.0)

# %% cell --decorate
@jax.jit
def f(x):
    return jnp.sin(x).astype(np.float64)

y = f(x)
