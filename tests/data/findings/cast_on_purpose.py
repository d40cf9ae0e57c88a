# A cast that the code asks for, and one that is taken back.
# silent: type_promotion

# %% setup
import jax, jax.numpy as jnp, numpy as np
h, w = jnp.ones((128, 128), jnp.bfloat16), jnp.ones((128, 128), jnp.bfloat16)

# %% cell
a = h.astype(jnp.float32) * 0.5 @ w.astype(jnp.float32)
b = (h * np.float32(0.5)).astype(jnp.bfloat16) @ w
p = jax.nn.softmax((h @ w) * np.float32(0.1))
