"""jaxscope: what JAX does with your code, inside the notebook."""

__version__ = "0.1.0"
