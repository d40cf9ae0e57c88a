# A helper's counter goes up once for every run of the cell: the cell is traced every time.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
count = 0

def counted(v):
    global count
    count += 1
    return v * 2

# %% cell
y = counted(counted(x))

# %% change
x = x + 1
