# A function whose sizes depend on values runs as plain Python in each iteration of a loop.
# fires: eager line 7

# %% setup
import jax, jax.numpy as jnp
x = jnp.linspace(-1.0, 1.0, 47).reshape(47, 1)
k = 3

# %% cell
def means(x, labels, k):
    return jnp.stack([x[labels == j].mean(0) for j in range(k)])

c = x[:k]
for _ in range(4):
    c = means(x, jnp.abs(x - c.T).argmin(1), k)
