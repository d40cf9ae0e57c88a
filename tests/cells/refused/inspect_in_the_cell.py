# A call of `jaxscope.inspect` in a cell that is traced.
# expect: refused "being traced.*Call `jaxscope.inspect` in a cell without the magic"

# %% setup
import jax.numpy as jnp
import jaxscope
x = jnp.arange(3.0)

# %% cell
report = jaxscope.inspect(jnp.sin, x)

# %% after
flops = jaxscope.inspect(jnp.sin, x).programs[0].name
