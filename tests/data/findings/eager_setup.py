# A few operations of set-up, each once.
# silent: eager

# %% setup
import jax, jax.numpy as jnp

# %% cell
def f(x, w):
    return x @ w

key = jax.random.key(7)
x = jax.random.normal(key, (5, 9))
w = jnp.linspace(0.0, 1.0, 9)
y = f(x, w)
z = jnp.tanh(y).mean() + jnp.sin(y).max()
