# A loop that prints its losses.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def loss(w): return ((w - 1.0) ** 2).mean()

w = x
for i in range(3):
    value, g = jax.value_and_grad(loss)(w)
    w = w - 0.5 * g
    print(f"step {i}: {value:.4f}")
print(f"final {loss(w):.4f}")

# %% change
x = x + 1
