# Every part of a `try` runs as in Python, and the handler's name is gone after it.

# %% setup
import jax.numpy as jnp
x, table, log = jnp.ones(3), {"a": 1}, None

# %% cell
trail = []
try:
    value = table["b"]
except (KeyError, TypeError) as error:
    value = len(str(error))
    trail.append(type(error).__name__)
else:
    trail.append("else")
finally:
    trail.append("finally")
try:
    y = x.reshape(2, 2)
except TypeError as problem:
    y = x.reshape(3, 1)
    trail.append("reshaped")
try:
    raise ValueError("once") from None
except ValueError:
    pass
y = y * value

# %% change
table = {"b": 7}
