# A training loop over nested dictionaries with `jax.tree.map`, gradients and `value_and_grad`.

# %% setup
import jax, jax.numpy as jnp
params = {"enc": {"w": jnp.ones((2, 2)), "b": jnp.zeros(2)}, "dec": [jnp.ones((2, 1))]}
x, t, lr = jnp.ones((3, 2)), jnp.zeros((3, 1)), 0.1
def loss_fn(p, x, t):
    h = jnp.tanh(x @ p["enc"]["w"] + p["enc"]["b"])
    return jnp.mean((h @ p["dec"][0] - t) ** 2)

# %% cell
losses = []
for step in range(3):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, t)
    params = jax.tree.map(lambda p, g: p - lr * g, params, grads)
    losses.append(loss)
norms = {k: jnp.sqrt(sum((v**2).sum() for v in jax.tree.leaves(g))) for k, g in grads.items()}
losses[-1]

# %% change
x = x * 2
