# NumPy's floating scalars are traced, its integers and bools are static.
# differs: y numpy-becomes-array
# compiles: 1 0

# %% setup
import jax.numpy as jnp
import numpy as np
x = jnp.arange(6.0)
f = np.float32(0.5)
n = np.int64(3)
flag = np.bool_(True)

# %% cell
y = f * 2
z = x[:n] if flag else x
m = n * 2
for i in range(n):
    z = z + f

# %% change
f = np.float32(2.5)
