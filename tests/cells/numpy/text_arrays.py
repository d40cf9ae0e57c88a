# Arrays of strings, objects and dates are static, with the values of this run.
# compiles: 1 1

# %% setup
import jax.numpy as jnp
import numpy as np
names = np.array(["a", "b", "a"])
objects = np.array([1, None, "x"], dtype=object)
days = np.array(["2026-01-01", "2026-01-03"], "datetime64[D]")
x = jnp.arange(3.0)

# %% cell
where = names == "a"
y = jnp.where(where, x, 0) + len(objects)
span = int((days[1] - days[0]).astype(int))
z = x * span
same = names

# %% change
names[1] = "a"
days[1] = np.datetime64("2026-01-05")
