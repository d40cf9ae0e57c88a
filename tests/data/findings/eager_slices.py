# Slices of growing length compile one by one.
# fires: eager line 9

# %% setup
import jax, jax.numpy as jnp
x = jnp.arange(37.0)

# %% cell
def scale(x):
    return x * 2

x = scale(x)
sums = []

for i in range(1, 14):
    sums.append(x[:i].sum())
