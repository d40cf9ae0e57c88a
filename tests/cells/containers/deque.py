# A deque with a limit; it is no pytree.
# expect: same or refused "trac"

# %% setup
from collections import deque
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
recent = deque(maxlen=2)
for i in range(3):
    recent.append(x * i)
y = sum(recent)

# %% change
x = x + 1

# %% after
recent.append("third") if "recent" in globals() else None
