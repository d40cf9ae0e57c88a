# One step compiled, the loop outside: as it should be.
# silent: training_loop
# silent: unrolled_loop
# silent: eager

# %% setup
import jax, jax.numpy as jnp
w = jnp.ones(3)
x = jnp.ones((5, 3))

# %% cell
def step(w, x):
    loss = lambda w: ((x @ w - 1.0) ** 2).mean()
    return w - 0.1 * jax.grad(loss)(w)

for k in range(20):
    w = step(w, x)
