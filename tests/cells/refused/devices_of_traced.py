# A method of arrays that tracers do not have: no `-s` is proposed, the result has it.
# expect: refused "Line 3: A traced value has no `devices`: ask the result for it, in a cell without the magic.$"

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
y = x * 2
places = y.devices()

# %% after
y = x * 2
places = [str(place) for place in y.devices()]
