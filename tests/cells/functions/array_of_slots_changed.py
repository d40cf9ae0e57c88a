# A NumPy array of an object with slots that is changed between two calls.

# %% setup
import dataclasses
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

class State:
    __slots__ = ("rates",)

    def __init__(self):
        self.rates = np.ones(3, np.float32)

@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    rates: np.ndarray

state, frozen = State(), Frozen(np.ones(3, np.float32))

# %% cell
def scaled(v):
    return v * state.rates + frozen.rates

a = scaled(x)
state.rates[1] = 9
b = scaled(x)
frozen.rates[2] = 7
c = scaled(x)
state.rates[1] = frozen.rates[2] = 1
