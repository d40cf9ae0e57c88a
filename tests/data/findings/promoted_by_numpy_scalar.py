# A scalar of NumPy makes a product float32.
# fires: type_promotion line 2

# %% setup
import jax.numpy as jnp, numpy as np
h, w = jnp.ones((128, 128), jnp.bfloat16), jnp.ones((128, 128), jnp.bfloat16)

# %% cell
a = h * np.float32(0.5)
y = jnp.tanh(a) @ w
