# A longer list is another structure.
# compiles: 1 1

# %% setup
import jax.numpy as jnp
layers = [jnp.ones((3, 3))]
x = jnp.arange(3.0)

# %% cell
y = x
for w in layers:
    y = jnp.tanh(y @ w)

# %% change
layers.append(jnp.eye(3))
