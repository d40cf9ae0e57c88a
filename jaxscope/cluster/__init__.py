"""Many processes that run one JAX program: `%jaxcluster` for scripts.

`attach` finds a running ipyparallel cluster. A process that some other launcher started calls
`watch` after `jax.distributed.initialize`.
"""

from jaxscope.capture.cluster.process import ClusterError as ClusterError
from jaxscope.capture.cluster.process import watch as watch
from jaxscope.capture.options.divergence import Divergence as Divergence
from jaxscope.cluster.cluster import Cluster as Cluster
from jaxscope.cluster.engines import attach as attach

__all__ = ["Cluster", "ClusterError", "Divergence", "attach", "watch"]
