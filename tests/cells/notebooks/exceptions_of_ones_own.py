# Custom exceptions with notes and causes are raised by a helper and caught in the cell.

# %% setup
import jax.numpy as jnp
x = jnp.ones(3)
class ShapeError(ValueError):
    def __init__(self, shape):
        super().__init__(f"bad shape {shape}")
        self.shape = shape
def check(v):
    if v.shape != (2,):
        raise ShapeError(v.shape)
    return v

# %% cell
cause = notes = None
try:
    try:
        y = check(x)
    except ShapeError as error:
        error.add_note("from the cell")
        raise KeyError(error.shape) from error
except KeyError as outer:
    cause = type(outer.__cause__).__name__
    notes = outer.__cause__.__notes__
    y = x[: outer.args[0][0] - 1]
try:
    raise ExceptionGroup("two", [ValueError(1), OSError(2)])
except* ValueError as group:
    caught = len(group.exceptions)
except* OSError:
    y = y * 2

# %% change
x = jnp.ones(2)
