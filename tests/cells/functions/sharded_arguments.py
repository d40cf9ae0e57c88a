# Arrays that are committed to a device or sharded.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
device = jax.devices()[0]
def f(v): return v * 2

a = f(jax.device_put(x, device))
mesh = jax.make_mesh((1,), ("i",))
sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("i"))
b = f(jax.device_put(x, sharding))
same = b.sharding == sharding
del device, mesh, sharding

# %% change
x = x + 1
