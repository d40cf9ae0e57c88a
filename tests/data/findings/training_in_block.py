# Training steps in a block are unrolled into one program.
# fires: training_loop line 4
# silent: unrolled_loop

# %% setup
import jax, jax.numpy as jnp
w = jnp.ones(3)
x = jnp.ones((5, 3))

# %% cell
loss = lambda w: ((x @ w - 1.0) ** 2).mean()

for step in range(20):
    w = w - 0.1 * jax.grad(loss)(w)
