# Keys that are tuples and enumerations.
# compiles: 1 0

# %% setup
import enum
import jax.numpy as jnp

class Part(enum.Enum):
    HEAD = 1
    TAIL = 2

d = {(0, 1): jnp.arange(3.0), (1, 0): jnp.ones(3)}
e = {Part.HEAD: jnp.ones(3)}

# %% cell
out = {k[::-1]: v * 2 for k, v in d.items()}
part = Part.HEAD
y = e[part] + 1

# %% change
d[0, 1] = jnp.zeros(3)
