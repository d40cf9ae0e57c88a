"""The only room of jaxscope that touches JAX's private names.

Each function says on which versions it was seen and what happens when the name is gone: less
detail, never an exception that a user would see.
"""

# Its imports are the list of its names.
# ruff: noqa: F401
# pyright: reportUnusedImport=false

from jaxscope.capture._jax.cache import CacheRequest, cache_request, metadata_in_cache_key
from jaxscope.capture._jax.call import (
    PMAPPED,
    JaxCall,
    PmappedCall,
    calling,
    jax_call,
    pmapped_call,
    splits_for_devices,
    staged_call,
    still_called,
)
from jaxscope.capture._jax.closures import closure
from jaxscope.capture._jax.context import (
    JaxSettings,
    is_tracing,
    is_uncached,
    named_settings,
    setting_values,
    settings_now,
    trace_context,
    with_settings,
)
from jaxscope.capture._jax.dumps import (
    PortableCompile,
    compile_apart,
    cpu_devices,
    portable_compile,
    serialized,
    unknown_option,
)
from jaxscope.capture._jax.equations import (
    FrameMark,
    as_function,
    given_name,
    name_scopes,
    placements,
    print_jaxpr,
    printed_name,
    push_scope,
    replay,
    short_aval,
    with_mark,
)
from jaxscope.capture._jax.frames import (
    Site,
    begins_trace,
    code_positions,
    event_error,
    hiding_frames,
    jax_calls,
    jax_directory,
    traceback_of,
)
from jaxscope.capture._jax.options import (
    bodies,
    body_functions,
    jit_options,
    sharding_text,
    spec_entries,
    spec_text,
    stage_options,
    transform_of,
)
from jaxscope.capture._jax.programs import (
    CompiledProgram,
    argument_names,
    compiled_program,
    constant_arguments,
    constant_bytes,
    constant_pairs,
    constants_in,
    donates,
    held_program,
    info_donates,
    is_numpy_constant,
    kept_arguments,
    live_modules,
    lowered_anew,
    lowered_name,
    lowering_jaxpr,
    module_text,
    primitive_names,
    renew_constants,
    traced_arguments,
    traced_jaxpr,
)
from jaxscope.capture._jax.rules import own_lines_of_rules
from jaxscope.capture._jax.runtime import (
    backends_started,
    monitored_by,
    monitors,
    platforms,
    profiler_session,
)
from jaxscope.capture._jax.slow import SlowReason, slow_call, slow_codes
from jaxscope.capture._jax.topologies import (
    foreign_platforms,
    free_shardings,
    given_shardings,
    lowered_for,
    module_bytes,
    partition_spec,
    partitions,
)
from jaxscope.capture._jax.traces import (
    EarlierTrace,
    TracedFunctions,
    earlier_traces,
    is_argument,
    trace_misses,
    traced_functions,
)
from jaxscope.capture._jax.transformed import TransformedFunction, outline
from jaxscope.capture._jax.vmaps import (
    VmapEntry,
    array_key,
    leading_vmaps,
    vmap_caller,
    vmap_sites,
    vmapped_code,
    watching_vmaps,
)
