# A mask made with NumPy inside the cell is captured as a constant.
# fires: captured_constant line 3

# %% setup
import jax.numpy as jnp
import numpy as np
x = jnp.arange(200.0)

# %% cell
mask = np.tril(np.full((200, 200), 0.5, np.float32))
y = jnp.asarray(mask) @ x
