# A softmax without the maximum.
# fires: exp_overflow line 3

# %% setup
import jax.numpy as jnp
x, w = jnp.ones((4, 8)), jnp.ones((8, 8))

# %% cell
e = jnp.exp(x @ w)
p = e / e.sum(axis=-1, keepdims=True)
