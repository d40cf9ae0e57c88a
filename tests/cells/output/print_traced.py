# A print of a traced value shows the tracer; that is documented.
# differs: stdout print-shows-tracer
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
y = x * 2
print("y is", y)

# %% change
x = x + 1
