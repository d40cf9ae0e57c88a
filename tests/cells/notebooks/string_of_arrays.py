# Arrays that do not depend on inputs can be printed and put into strings.

# %% setup
import numpy as np, jax.numpy as jnp
x, table = jnp.ones(3), np.array([[1, 2], [3, 4]])

# %% cell
text = np.array2string(np.eye(2), precision=2)
print(text)
lines = [f"{i}: {row}" for i, row in enumerate([[1, 2], [3, 4]])]
described = repr(x.shape) + str(x.dtype) + format(len(lines), "03d")
y = x + len(described)

# %% change
x = jnp.ones(4)
