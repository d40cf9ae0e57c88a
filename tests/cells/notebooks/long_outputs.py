# Thousands of printed lines and a list of forty arrays come out whole.

# %% setup
import jax.numpy as jnp
x = jnp.ones(2)

# %% cell
for i in range(2000):
    print("line", i, "." * 40)
many = [x * i for i in range(40)]
text = "".join(chr(97 + i % 26) for i in range(10_000))
many[-1]

# %% change
x = x * 3
