"""One of two processes that run one program together: `one_of_two.py NUMBER PORT FACTOR REPORT`."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

import jaxscope


def main(number: int, port: str, factor: float, path: str) -> None:
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(f"127.0.0.1:{port}", 2, number)
    mesh = jax.make_mesh((jax.device_count(),), ("i",), axis_types=(AxisType.Auto,))
    whole = np.arange(32, dtype=np.float32).reshape(8, 4)
    cut = NamedSharding(mesh, P("i", None))
    x = jax.make_array_from_callback(whole.shape, cut, lambda index: whole[index])

    def total(x):
        return jnp.sum(x * factor)

    report = jaxscope.inspect(total, x)
    report.save(path)
    print(float(jax.jit(total)(x)))
    jax.distributed.shutdown()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], float(sys.argv[3]), sys.argv[4])
