# Two inner steps, as in meta-learning.
# silent: training_loop

# %% setup
import jax, jax.numpy as jnp
w = jnp.ones(3)
x = jnp.ones((5, 3))

# %% cell
def loss(w, x):
    return ((x @ w - 1.0) ** 2).mean()

def adapted(w, x):
    for step in range(2):
        w = w - 0.1 * jax.grad(loss)(w, x)
    return loss(w, x)

g = jax.jit(jax.grad(adapted))(w, x)
y = adapted(w, x)
