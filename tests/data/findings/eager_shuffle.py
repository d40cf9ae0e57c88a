# A shuffle for each epoch around the batches of a compiled step.
# silent: eager

# %% setup
import jax, jax.numpy as jnp
w, xs, key = jnp.ones((3, 11)), jnp.ones((47, 3)), jax.random.key(3)

# %% cell
def step(w, x):
    return w - 0.1 * jax.grad(lambda w: ((x @ w) ** 2).mean())(w)

for epoch in range(2):
    key, sub = jax.random.split(key)
    x = xs[jax.random.permutation(sub, 47)] * 2 - jnp.tanh(xs).mean(axis=0) + 1
    y = jnp.sin(x) + jnp.cos(x) - jnp.sqrt(x + 3)
    for k in range(4):
        w = step(w, x)
