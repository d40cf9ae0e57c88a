# A mesh that is set while the cell is traced: it is set in an earlier cell.
# expect: refused "mesh that is set when it is traced: set it in an earlier cell"
# line: 3

# %% setup
import jax
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
mesh = jax.make_mesh((1,), ("a",))
with jax.set_mesh(mesh):
    y = x * 2

# %% after
with jax.set_mesh(jax.make_mesh((1,), ("a",))):
    get_ipython().run_cell_magic("jaxjit", "-q -n 1", "y = x * 2")
