# Prints to stdout and stderr, with separators and flush, come in their order.

# %% setup
import sys
import jax.numpy as jnp
x = jnp.ones((2, 2))

# %% cell
print("start", end=" ", flush=True)
y = x @ x
print(y.shape, y.dtype, sep="|")
sys.stdout.write("written\n")
print(*range(5), sep=",")
print()
for row in range(y.shape[0]):
    print(f"row {row}")
y.shape

# %% change
x = jnp.ones((3, 3))
