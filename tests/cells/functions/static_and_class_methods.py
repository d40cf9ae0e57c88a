# Static methods, class methods, properties and inheritance.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
class Base:
    scale = 2.0
    @staticmethod
    def double(v): return v * 2
    @classmethod
    def scaled(cls, v): return v * cls.scale
    @property
    def one(self): return 1.0
    def forward(self, v): return self.scaled(v) + self.one

class Child(Base):
    scale = 3.0
    def forward(self, v): return super().forward(v) * 2

def run(v): return Child().forward(v)

rows = [Base.double(x), Child.scaled(x), Base().forward(x), run(x)]
del Base, Child

# %% change
x = x + 1
