# Arrays in a deque that is only read.

# %% setup
from collections import deque
import jax.numpy as jnp
recent = deque([jnp.arange(3.0), jnp.ones(3)], maxlen=2)

# %% cell
y = recent[0] * 2 + recent[-1]

# %% change
recent.append(jnp.ones(3) * 7)
