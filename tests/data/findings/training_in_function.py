# The same in a jitted function.
# fires: training_loop line 6

# %% setup
import jax, jax.numpy as jnp
w = jnp.ones(3)
x = jnp.ones((5, 3))

# %% cell
def loss(w, x):
    return ((x @ w - 1.0) ** 2).mean()

def train(w, x):
    for step in range(10):
        value, g = jax.value_and_grad(loss)(w, x)
        w = w - 0.1 * g
    return w, value

w, value = train(w, x)
