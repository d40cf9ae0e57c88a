"""Values of all processes, brought together in the key-value store by the last one to arrive.

No process waits: each stores its value and counts, and the one that completes the count reads
all of them. So the notebook gets one answer from a thousand engines instead of a thousand.
"""

from __future__ import annotations

import base64
import pickle
import zlib
from typing import Any

from jaxscope.capture._jax import distributed
from jaxscope.capture.cluster.exchange import Store
from jaxscope.capture.cluster.store import JaxStore


def gathered(store: Store, folder: str, process: int, processes: int, mine: Any) -> list[Any]:
    """The values of all processes on the last one, in no order; nothing on the others."""
    # Pickled, as ipyparallel and Dask do with every result; the service is the cluster's own.
    packed = base64.b85encode(zlib.compress(pickle.dumps(mine))).decode("ascii")
    store.put(f"{folder}/values/{process}", packed)
    if store.count(f"{folder}/count", 1) < processes:
        return []
    values = store.folder(f"{folder}/values/")
    store.remove(folder)
    return [pickle.loads(zlib.decompress(base64.b85decode(value))) for value in values]


def gathered_here(name: str, mine: Any) -> list[Any] | None:
    """`gathered` over JAX's own processes; None where they are not connected."""
    service = distributed.coordination_service()
    if service is None:
        return None
    store = JaxStore(service.client)
    return gathered(store, f"jaxscope/all/{name}", service.process, service.processes, mine)
