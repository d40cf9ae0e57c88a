# Enums as static inputs, compared and used as keys.

# %% setup
import enum
import jax.numpy as jnp
class Mode(enum.Enum):
    FAST = "fast"
    SLOW = "slow"
mode, x = Mode.FAST, jnp.ones(2)
table = {Mode.FAST: 1, Mode.SLOW: 10}

# %% cell
y = x * table[mode]
chosen = mode.name if mode is Mode.FAST else mode.value
all_modes = [*Mode]

# %% change
mode = Mode.SLOW
