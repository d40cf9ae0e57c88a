# An evaluation compiles operation by operation in its first iteration, in a function of a cell before.
# fires: eager line 10

# %% setup
import jax, jax.numpy as jnp
def accuracy(w, x):
    h = jnp.tanh(x @ w)
    h = h - h.mean(axis=1, keepdims=True)
    return (jnp.exp(h).argmin(axis=1) == 0).std()

w, xs = jnp.ones((3, 13)), jnp.ones((5, 17, 3))

# %% cell
@jax.jit
def step(w, x):
    return w - 0.1 * jax.grad(lambda w: ((x @ w) ** 2).mean())(w)

for x in xs:
    w = step(w, x)
found = []
for x in xs:
    found.append(accuracy(w, x))
