# One call per row of an array.
# fires: sequential_map line 5

# %% setup
import jax, jax.numpy as jnp
w, xs = jnp.ones((64, 64)), jnp.ones((300, 64))

# %% cell
def layer(w, x):
    return jnp.tanh(w @ x)

ys = [layer(w, x) for x in xs]
