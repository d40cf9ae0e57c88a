# An unregistered dataclass that holds a traced value.
# expect: same or refused "trac"

# %% setup
import dataclasses
import jax.numpy as jnp

@dataclasses.dataclass
class Result:
    value: object
    name: str

x = jnp.ones(3)

# %% cell
result = Result(x * 2, "double")

# %% change
x = x + 1

# %% after
z = x + 1
