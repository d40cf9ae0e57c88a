# The gradient of a network of eighteen layers has a loop in it, and is not a training loop.
# fires: unrolled_loop line 3
# silent: training_loop

# %% setup
import jax, jax.numpy as jnp
w = jnp.ones((18, 4, 4)) * 0.1
x = jnp.ones(4)

# %% cell
def forward(w, x):
    for k in range(18):
        x = jnp.tanh(x @ w[k])
    return x.sum()

def gradient(w, x):
    return jax.grad(forward)(w, x)

g = gradient(w, x)
