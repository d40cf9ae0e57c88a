# Annotated names are bound and recorded in `__annotations__`; a bare annotation binds nothing.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
y: float = x * 2
z: "not evaluated"
scale: int = 3

# %% change
x = x + 1
