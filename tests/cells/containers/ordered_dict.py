# An OrderedDict keeps its order and its type.
# compiles: 1 0

# %% setup
from collections import OrderedDict
import jax.numpy as jnp
d = OrderedDict(b=jnp.arange(3.0), a=jnp.ones(3))

# %% cell
out = OrderedDict((k, v * 2) for k, v in d.items())
out.move_to_end("b")
names = list(d)

# %% change
d["a"] = jnp.zeros(3)
