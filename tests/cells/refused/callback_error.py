# An exception in a host callback, after tracing and compiling went well.
# expect: raises "from the host"

# %% setup
import jax
import jax.numpy as jnp
x = jnp.ones(3)
y = "old"

def host(v):
    raise ValueError("from the host")

# %% cell
y = jax.pure_callback(host, jax.ShapeDtypeStruct((3,), jnp.float32), x)
z = jax.block_until_ready(y + 1)

# %% after
w = x * 2
