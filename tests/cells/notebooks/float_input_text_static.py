# With `-s` a float is known, and its digits can be printed.
# may differ: lr float-becomes-array

# %% setup
import jax.numpy as jnp
x, lr = jnp.ones(2), 0.125

# %% cell -s lr
y = x * lr
print(f"lr = {lr:.2e}, {lr=}, %.3f" % lr)
lr = lr / 2

# %% after
half = x * lr
