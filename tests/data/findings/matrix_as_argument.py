# In block form a matrix that the text reads is an argument.
# silent: captured_constant

# %% setup
import jax.numpy as jnp
W = jnp.ones((200, 200))
x = jnp.arange(200.0)

# %% cell
y = W @ x
