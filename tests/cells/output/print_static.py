# Prints of static values print the same text in the same order, once for every run.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
print("shape", x.shape)
for i in range(3):
    y = x * i
    print(i, end=",")
print()

# %% change
x = x + 1
