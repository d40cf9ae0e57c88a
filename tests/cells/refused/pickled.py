# A pickle of a traced value: the result can be pickled.
# expect: refused "has no data to write: write the result, in a cell without the magic"
# line: 3

# %% setup
import pickle
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
y = x * 2
data = pickle.dumps(y)

# %% after
y = x * 2
z = pickle.loads(pickle.dumps(y))
