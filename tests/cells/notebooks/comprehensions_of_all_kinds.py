# List, set, dictionary and generator comprehensions, nested and with conditions.

# %% setup
import jax.numpy as jnp
x = jnp.arange(6.0).reshape(2, 3)
names = ["a", "b", "c"]

# %% cell
columns = {name: x[:, i] for i, name in enumerate(names) if name != "b"}
shapes = {v.shape for v in columns.values()}
pairs = [(i, j, x[i, j]) for i in range(2) for j in range(3) if (i + j) % 2]
total = sum(v.sum() for v in columns.values())
flat = [v for row in [[x[i] * k for k in range(2)] for i in range(2)] for v in row]
largest = max((len(n), n) for n in names)

# %% change
names = ["b", "dd"]
