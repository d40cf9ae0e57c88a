# A static attribute of a new Flax NNX object would keep a tracer.
# expect: refused "would keep an array in a static field of a Foo|to static attribute"
# needs: flax

# %% setup
import jax.numpy as jnp
from flax import nnx
x = jnp.arange(3.0)

class Foo(nnx.Pytree):
    def __init__(self, name):
        self.name = nnx.static(name)

# %% cell
foo = Foo("name")
foo.name = jnp.array(123)

# %% after
z = Foo("other").name
