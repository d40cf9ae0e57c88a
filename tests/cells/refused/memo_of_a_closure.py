# A memo in a closure that the cell would fill: it is called once in an earlier cell.
# expect: refused "changes `kept` in place.*if the code caches a value, call it once in an earlier"

# %% setup
import jax.numpy as jnp
def memo():
    kept = {}
    def table(n):
        if n not in kept:
            kept[n] = jnp.arange(n) * 2.0
        return kept[n]
    return table

table, x = memo(), jnp.arange(3.0)

# %% cell
y = table(3) + x

# %% after
table(3)
get_ipython().run_cell_magic("jaxjit", "-q -n 1", "y = table(3) + x")
