import pytest

from jaxscope.analysis.cost import InstructionCost, program_cost
from jaxscope.analysis.cost.program import product_dtype
from jaxscope.analysis.hlo import parse_module
from tests.analysis.cost.xla_rules import xla_cost


def entry(*lines: str, before: str = "") -> str:
    body = "\n".join(f"  {line}" for line in lines)
    return f"HloModule m\n\n{before}\nENTRY %main () -> f32[] {{\n{body}\n}}\n"


def cost_of(name: str, *lines: str, before: str = "") -> InstructionCost:
    cost = program_cost(parse_module(entry(*lines, before=before)))
    return next(row for row in cost.by_instruction if row.name == name)


ADD = """\
%add_up (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %sum = f32[] add(%a, %b)
}
"""


@pytest.mark.parametrize(
    ("window", "inputs", "outputs", "pairs"),
    [
        # Counted by hand: which of the 3 kernel points fall on the 5 input points.
        ("size=3", 5, 3, 9),
        ("size=3 pad=1_1", 5, 5, 13),
        ("size=3 stride=2 pad=1_1", 5, 3, 7),
        ("size=3 pad=2_2 lhs_dilate=2", 5, 11, 15),
        ("size=3 pad=2_2 rhs_dilate=2", 5, 5, 11),
        ("size=3 pad=9_0", 5, 12, 12),
        ("size=3 pad=9_0 lhs_dilate=2", 5, 16, 13),
    ],
)
def test_a_convolution_counts_the_points_that_fall_on_its_input(
    window: str, inputs: int, outputs: int, pairs: int
) -> None:
    row = cost_of(
        "c",
        f"%x = f32[2,{inputs},4]{{2,1,0}} parameter(0)",
        "%w = f32[3,4,6]{2,1,0} parameter(1)",
        f"ROOT %c = f32[2,{outputs},6]{{2,1,0}} convolution(%x, %w), window={{{window}}}, "
        "dim_labels=b0f_0io->b0f",
    )
    assert row.flops == 2 * 2 * 4 * 6 * pairs
    assert row.bytes_accessed == 4 * (2 * inputs * 4 + 3 * 4 * 6 + 2 * outputs * 6)


def test_a_product_without_contraction_and_one_with_batches() -> None:
    operands = (
        "%x = bf16[3,5,7]{2,1,0} parameter(0)",
        "%w = bf16[3,9,7]{2,1,0} parameter(1)",
    )
    batched = "lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, "
    row = cost_of(
        "d",
        *operands,
        f"ROOT %d = f32[3,5,9]{{2,1,0}} dot(%x, %w), {batched}rhs_contracting_dims={{2}}",
    )
    assert row.flops == 2 * 3 * 5 * 9 * 7
    assert row.bytes_accessed == 2 * 3 * 7 * (5 + 9) + 4 * 3 * 5 * 9
    outer = cost_of("d", *operands, "ROOT %d = f32[3,5,7,3,9,7]{5,4,3,2,1,0} dot(%x, %w)")
    assert outer.flops == 2 * (3 * 5 * 7) * (3 * 9 * 7)


def test_a_reduction_applies_its_function_once_less_than_it_has_inputs() -> None:
    row = cost_of(
        "r",
        "%x = f32[10,20]{1,0} parameter(0)",
        "%zero = f32[] constant(0)",
        "ROOT %r = f32[10]{0} reduce(%x, %zero), dimensions={1}, to_apply=%add_up",
        before=ADD,
    )
    assert (row.flops, row.bytes_accessed) == (10 * 19, 4 * (200 + 1 + 10))


@pytest.mark.parametrize(
    ("window", "applied"),
    # A running sum over overlapping windows, and the same sum seen from every position.
    [("size=20 pad=19_0", 20 * 19), ("size=39 pad=19_19", 1 + 19)],
)
def test_a_windowed_reduction(window: str, applied: int) -> None:
    row = cost_of(
        "r",
        "%x = f32[20]{0} parameter(0)",
        "%zero = f32[] constant(0)",
        f"ROOT %r = f32[20]{{0}} reduce-window(%x, %zero), window={{{window}}}, to_apply=%add_up",
        before=ADD,
    )
    assert row.flops == applied


def test_a_scatter_touches_its_updates() -> None:
    row = cost_of(
        "s",
        "%x = f32[1000]{0} parameter(0)",
        "%i = s32[3,1]{1,0} parameter(1)",
        "%u = f32[3]{0} parameter(2)",
        "ROOT %s = f32[1000]{0} scatter(%x, %i, %u), to_apply=%add_up",
        before=ADD,
    )
    assert (row.flops, row.bytes_accessed) == (3, 3 * 12 + 12)


@pytest.mark.parametrize(
    ("target", "shapes", "result", "flops"),
    [
        ("lapack_dpotrf_ffi", ("f64[5,30,30]",), "(f64[5,30,30], s32[5])", 5 * 9000),
        ("lapack_zpotrf_ffi", ("c128[30,30]",), "(c128[30,30], s32[])", 4 * 9000),
        ("cusolver_potrf_ffi", ("f32[30,30]",), "(f32[30,30], s32[])", 9000),
        ("lapack_sgetrf_ffi", ("f32[30,60]",), "(f32[30,60], s32[30], s32[])", 54000 - 9000),
        ("lapack_sgeqrf_ffi", ("f32[60,30]",), "(f32[60,30], f32[30])", 108000 - 18000),
        ("Qr", ("f32[60,30]",), "(f32[60,30], f32[30])", 108000 - 18000),
        ("lapack_sorgqr_ffi", ("f32[30,30]", "f32[30]"), "f32[30,30]", 27000 * 4 / 3),
        ("lapack_ssyevd_ffi", ("f32[10,10]",), "(f32[10,10], f32[10], s32[])", 9000),
        ("lapack_sgesdd_ffi", ("f32[10,10]",), "(f32[10,10], f32[10], s32[])", 26000),
        ("lapack_strsm_ffi", ("f32[10,10]", "f32[10,4]"), "f32[10,4]", 400),
        ("TopK", ("f32[50]",), "(f32[8], s32[8])", 150),
    ],
)
def test_library_calls_by_the_textbook(
    target: str, shapes: tuple[str, ...], result: str, flops: float
) -> None:
    parameters = [f"%p{n} = {shape} parameter({n})" for n, shape in enumerate(shapes)]
    operands = ", ".join(f"%p{n}" for n in range(len(shapes)))
    call = f'ROOT %c = {result} custom-call({operands}), custom_call_target="{target}"'
    row = cost_of("c", *parameters, call)
    assert row.flops == pytest.approx(flops)
    assert not row.known


@pytest.mark.parametrize(
    ("target", "config", "flops"),
    [
        ("lapack_sgesdd_ffi", "{mode = 78 : ui8}", 4 * 20 * 100 - 4000 / 3),
        ("lapack_sgesdd_ffi", "{mode = 83 : ui8}", 6 * 20 * 100 + 20000),
        ("cusolver_gesvdj_ffi", "{compute_uv = false}", 4 * 20 * 100 - 4000 / 3),
        ("lapack_sgeev_ffi", "{compute_left = 78 : ui8, compute_right = 86 : ui8}", 25000),
        ("lapack_sgeev_ffi", "{compute_left = 78 : ui8, compute_right = 78 : ui8}", 10000),
    ],
)
def test_a_decomposition_without_vectors_takes_less(target: str, config: str, flops: float) -> None:
    row = cost_of(
        "c",
        "%x = f32[10,20] parameter(0)",
        "ROOT %c = (f32[10,20], f32[10], s32[]) custom-call(%x), "
        f'custom_call_target="{target}", backend_config={config}',
    )
    assert row.flops == pytest.approx(flops)


@pytest.mark.parametrize(
    ("epilogue", "flops", "known"),
    [("DEFAULT", 12000, True), ("BIAS", 12300, True), ("BIAS_GELU", 12000, False)],
)
def test_a_product_of_cublas_is_counted_and_its_workspace_is_not(
    epilogue: str, flops: int, known: bool
) -> None:
    row = cost_of(
        "c",
        "%x = f32[10,20] parameter(0)",
        "%y = f32[20,30] parameter(1)",
        "ROOT %c = (f32[10,30], s8[33554432]) custom-call(%x, %y), "
        'custom_call_target="__cublas$lt$matmul", backend_config={"dot_dimension_numbers":'
        f'{{"lhs_contracting_dimensions":["1"]}},"epilogue":"{epilogue}"}}',
    )
    assert (row.flops, row.known) == (flops, known)
    assert row.bytes_accessed == 4 * (10 * 20 + 20 * 30 + 10 * 30)


@pytest.mark.parametrize(
    ("config", "more", "known"),
    [
        ('"activation_mode":"kNone","side_input_scale":0', 1, True),
        ('"activation_mode":"kRelu","side_input_scale":0', 2, True),
        ('"activation_mode":"kRelu","side_input_scale":1', 0, False),
        ('"activation_mode":"kElu","side_input_scale":0', 0, False),
    ],
)
def test_a_convolution_with_a_bias_is_counted_with_it(config: str, more: int, known: bool) -> None:
    row = cost_of(
        "c",
        "%x = f32[4,28,28,16] parameter(0)",
        "%k = f32[3,3,16,32] parameter(1)",
        "%b = f32[32] parameter(2)",
        "ROOT %c = (f32[4,28,28,32], u8[4096]) custom-call(%x, %k, %b), "
        "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, "
        'custom_call_target="__cudnn$convBiasActivationForward", '
        f'backend_config={{"cudnn_conv_backend_config":{{{config}}}}}',
    )
    outputs = 4 * 28 * 28 * 32
    assert row.flops == 2 * 4 * 16 * 32 * (3 * 28 - 2) ** 2 + more * outputs
    assert row.known == known


@pytest.mark.parametrize(
    ("target", "operands", "result", "labels"),
    [
        ("Forward", ("f32[4,28,28,16]", "f32[3,3,16,32]"), "f32[4,28,28,32]", ""),
        ("BackwardInput", ("f32[4,28,28,32]", "f32[3,3,16,32]"), "f32[4,28,28,16]", ""),
        ("BackwardFilter", ("f32[4,28,28,16]", "f32[4,28,28,32]"), "f32[3,3,16,32]", ""),
    ],
)
def test_the_three_convolutions_of_cudnn_cost_the_same(
    target: str, operands: tuple[str, str], result: str, labels: str
) -> None:
    row = cost_of(
        "c",
        f"%x = {operands[0]} parameter(0)",
        f"%y = {operands[1]} parameter(1)",
        f"ROOT %c = ({result}, u8[0]) custom-call(%x, %y), window={{size=3x3 pad=1_1x1_1}}, "
        f'dim_labels=b01f_01io->b01f, custom_call_target="__cudnn$conv{target}"',
    )
    assert row.flops == 2 * 4 * 16 * 32 * (3 * 28 - 2) ** 2


@pytest.mark.parametrize(
    ("target", "mask", "flops"),
    [
        ("__cudnn$fmhaSoftmax", "NO_MASK", 4 * 8 * 10 * 20 * 64),
        ("__cudnn$fmhaSoftmax", "CAUSAL", 2 * 8 * 10 * 20 * 64),
        ("__cudnn$fmhaSoftmaxBackward", "NO_MASK", 10 * 8 * 10 * 20 * 64),
    ],
)
def test_attention_of_cudnn_is_two_products_and_five_in_the_backward_pass(
    target: str, mask: str, flops: int
) -> None:
    row = cost_of(
        "c",
        "%q = bf16[2,10,4,64] parameter(0)",
        "%k = bf16[2,20,4,64] parameter(1)",
        "ROOT %c = (bf16[2,10,4,64], u8[256]) custom-call(%q, %k, %k), "
        f'custom_call_target="{target}", backend_config={{"cudnn_fmha_backend_config":{{'
        '"intermediate_tensor_shape":{"dimensions":["2","4","10","20"]},'
        f'"mask_type":"{mask}"}}}}',
    )
    assert (row.flops, row.known) == (flops, False)


def test_a_triangular_solve_of_cublas_costs_what_that_of_xla_does() -> None:
    lines = ["%a = f32[8,8] parameter(0)", "%b = f32[8,3] parameter(1)"]
    target = 'custom_call_target="__cublas$triangularSolve"'
    by_library = cost_of(
        "c", *lines, f"ROOT %c = (f32[8,3], s8[1024]) custom-call(%a, %b), {target}"
    )
    by_xla = cost_of("c", *lines, "ROOT %c = f32[8,3] triangular-solve(%a, %b)")
    assert by_library.flops == by_xla.flops == 2 * 8 * 8 * 3
    assert by_library.known


def test_a_callback_without_result_has_no_cost() -> None:
    text = entry(
        "%x = f32[10]{0} parameter(0)",
        '%print = () custom-call(%x), custom_call_target="xla_ffi_python_cpu_callback"',
        "ROOT %y = f32[10]{0} negate(%x)",
    )
    cost = program_cost(parse_module(text))
    assert [row.name for row in cost.by_instruction] == ["y"]
    assert len(cost.unknown) == 1
    assert cost.partial


def test_an_opaque_call_is_unknown_and_a_note_to_the_compiler_is_nothing() -> None:
    text = entry(
        "%x = f32[10]{0} parameter(0)",
        '%mine = f32[10]{0} custom-call(%x), custom_call_target="my_kernel"',
        'ROOT %note = f32[10]{0} custom-call(%mine), custom_call_target="Sharding"',
    )
    cost = program_cost(parse_module(text))
    assert cost.by_instruction == (InstructionCost("mine", None, None, None, 1.0, known=False),)
    assert (cost.flops, cost.bytes_accessed) == (0, 0)
    assert cost.unknown == ("mine calls my_kernel, whose cost is unknown; it is not counted.",)
    assert xla_cost(parse_module(text)).flops == -2


def test_what_holds_for_many_calls_is_said_once() -> None:
    calls = [
        f'%mine.{i} = f32[10]{{0}} custom-call(%x), custom_call_target="my_kernel"'
        for i in range(3)
    ]
    text = entry(
        "%x = f32[10]{0} parameter(0)",
        *calls,
        'ROOT %other = f32[10]{0} custom-call(%x), custom_call_target="other"',
    )
    assert program_cost(parse_module(text)).unknown == (
        "mine.0 and 2 more: each calls my_kernel, whose cost is unknown; it is not counted.",
        "other calls other, whose cost is unknown; it is not counted.",
    )


def test_transforms_cost_five_n_log_n() -> None:
    x = "%x = f32[4,1024]{1,0} parameter(0)"
    row = cost_of("f", x, "ROOT %f = c64[4,513]{1,0} fft(%x), fft_type=RFFT, fft_length={1024}")
    assert row.flops == 5 * 4 * 1024 * 10 / 2
    both = "ROOT %f = c64[32,32]{1,0} fft(%z), fft_type=FFT, fft_length={32,32}"
    assert cost_of("f", "%z = c64[32,32]{1,0} parameter(0)", both).flops == 5 * 1024 * 10


def test_an_asynchronous_operation_counts_where_it_starts() -> None:
    text = entry(
        "%x = f32[8]{0} parameter(0)",
        "%s = (f32[8]{0}, f32[32]{0}) all-gather-start(%x), dimensions={0}",
        "%d = f32[32]{0} all-gather-done(%s)",
        "%cs = (f32[8]{0:S(1)}, f32[8]{0}, u32[]) copy-start(%x)",
        "%cd = f32[8]{0:S(1)} copy-done(%cs)",
        "%e = ((f32[8]{0}), f32[8]{0}, u32[]) exponential-start(%x)",
        "ROOT %ed = f32[8]{0} exponential-done(%e)",
    )
    rows = program_cost(parse_module(text)).by_instruction
    assert [(row.name, row.bytes_accessed, row.transcendentals) for row in rows] == [
        ("s", 4 * (8 + 32), 0),
        ("cs", 4 * 16, 0),
        ("e", 4 * 16, 8),
    ]


FUSED = """\
%inside (p: f32[1000,64], q: s32[8,1], r: f32[64]) -> f32[8,64] {
  %p = f32[1000,64]{1,0} parameter(0)
  %q = s32[8,1]{1,0} parameter(1)
  %r = f32[64]{0} parameter(2)
  %rows = f32[8,64]{1,0} gather(%p, %q), offset_dims={1}
  %wide = f32[8,64]{1,0} broadcast(%r), dimensions={1}
  ROOT %out = f32[8,64]{1,0} multiply(%rows, %wide)
}
"""

IN_PLACE = """\
%inside (p: f32[1000,64], u: f32[64], i: s32[]) -> f32[64000] {
  %p = f32[1000,64]{1,0} parameter(0)
  %u = f32[64]{0} parameter(1)
  %i = s32[] parameter(2)
  %row = f32[1,64]{1,0} bitcast(%u)
  %zero = s32[] constant(0)
  %new = f32[1000,64]{1,0} dynamic-update-slice(%p, %row, %i, %zero)
  ROOT %flat = f32[64000]{0} bitcast(%new)
}
"""


def test_a_fusion_reads_the_rows_it_gathers() -> None:
    lines = (
        "%t = f32[1000,64]{1,0} parameter(0)",
        "%i = s32[8,1]{1,0} parameter(1)",
        "%s = f32[64]{0} parameter(2)",
        "ROOT %f = f32[8,64]{1,0} fusion(%t, %i, %s), kind=kLoop, calls=%inside",
    )
    rows, table = 4 * 8 * 64, 4 * 1000 * 64
    row = cost_of("f", *lines, before=FUSED)
    assert (row.flops, row.bytes_accessed) == (8 * 64, rows + 4 * 8 + 4 * 64 + rows)
    whole = xla_cost(parse_module(entry(*lines, before=FUSED)))
    assert whole.bytes_accessed == table + 4 * 8 + 4 * 64 + rows


def test_a_library_fusion_with_a_gather_keeps_its_other_work() -> None:
    lines = (
        "%t = f32[1000,64]{1,0} parameter(0)",
        "%i = s32[8,1]{1,0} parameter(1)",
        "%s = f32[64]{0} parameter(2)",
        "ROOT %f = f32[8,64]{1,0} fusion(%t, %i, %s), kind=kCustom, calls=%inside",
    )
    assert cost_of("f", *lines, before=FUSED).flops == 8 * 64
    assert xla_cost(parse_module(entry(*lines, before=FUSED))).flops == 0


def test_an_update_in_place_moves_only_the_update() -> None:
    lines = (
        "%t = f32[1000,64]{1,0} parameter(0)",
        "%u = f32[64]{0} parameter(1)",
        "%i = s32[] parameter(2)",
        "ROOT %f = f32[64000]{0} fusion(%t, %u, %i), kind=kLoop, calls=%inside",
    )
    assert cost_of("f", *lines, before=IN_PLACE).bytes_accessed == 2 * 4 * 64 + 4
    # XLA looks at the root alone, which is a view here, and counts all of it.
    whole = xla_cost(parse_module(entry(*lines, before=IN_PLACE)))
    assert whole.bytes_accessed == 4 * 64000 + 4 * 64 + 4


def test_a_parameter_is_read_at_most_once() -> None:
    inside = """\
%inside (p: f32[100]) -> f32[100] {
  %p = f32[100]{0} parameter(0)
  %head = f32[90]{0} slice(%p), slice={[0:90]}
  %tail = f32[90]{0} slice(%p), slice={[10:100]}
  %a = f32[90]{0} add(%head, %tail)
  %zero = f32[] constant(0)
  ROOT %out = f32[100]{0} pad(%a, %zero), padding=0_10
}
"""
    lines = (
        "%x = f32[100]{0} parameter(0)",
        "ROOT %f = f32[100]{0} fusion(%x), kind=kLoop, calls=%inside",
    )
    assert cost_of("f", *lines, before=inside).bytes_accessed == 4 * (100 + 100)
    whole = xla_cost(parse_module(entry(*lines, before=inside)))
    assert whole.bytes_accessed == 4 * (90 + 90 + 100)


def test_a_branch_that_is_not_the_dearest_counts_for_nothing() -> None:
    branches = """\
%cheap (a: f32[8]) -> f32[8] {
  %a = f32[8]{0} parameter(0)
  ROOT %b = f32[8]{0} negate(%a)
}

%dear (c: f32[8]) -> f32[8] {
  %c = f32[8]{0} parameter(0)
  %d = f32[8]{0} negate(%c)
  ROOT %e = f32[8]{0} sine(%d)
}
"""
    text = entry(
        "%x = f32[8]{0} parameter(0)",
        "%i = s32[] parameter(1)",
        "ROOT %choice = f32[8]{0} conditional(%i, %x, %x), branch_computations={%cheap, %dear}",
        before=branches,
    )
    cost = program_cost(parse_module(text))
    assert (cost.flops, cost.transcendentals) == (8, 8)
    assert {row.name: (row.times, row.known) for row in cost.by_instruction} == {
        "b": (0.0, False),
        "d": (1.0, False),
        "e": (1.0, False),
    }
    assert cost.unknown == (
        "choice takes one of 2 branches; the most expensive, dear, is counted.",
    )


def test_a_program_that_computes_nothing_costs_nothing() -> None:
    cost = program_cost(parse_module(entry("ROOT %x = f32[8]{0} parameter(0)")))
    assert (cost.flops, cost.bytes_accessed, cost.by_instruction) == (0, 0, ())


def test_a_fusion_reads_its_large_constants_and_no_small_ones() -> None:
    fused = """\
%fused (p: f32[{n}]) -> f32[{n}] {{
  %p = f32[{n}]{{0}} parameter(0)
  %c = f32[{n}]{{0}} constant({{...}})
  ROOT %s = f32[{n}]{{0}} add(%p, %c)
}}
"""

    def moved(n: int) -> float:
        lines = (
            f"%x = f32[{n}]{{0}} parameter(0)",
            f"ROOT %f = f32[{n}]{{0}} fusion(%x), kind=kLoop, calls=%fused",
        )
        return cost_of("f", *lines, before=fused.format(n=n)).bytes_accessed

    assert moved(64) == 4 * 64 * 3
    assert moved(1) == 4 * 1 * 2


@pytest.mark.parametrize(("wide", "expected"), [(8, "bfloat16"), (64, "float32")])
def test_products_have_the_dtype_of_most_of_their_flops(wide: int, expected: str) -> None:
    text = entry(
        "%h = bf16[32,32]{1,0} parameter(0)",
        f"%w = f32[{wide},{wide}]{{1,0}} parameter(1)",
        "%small = bf16[32,32]{1,0} dot(%h, %h), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        f"%large = f32[{wide},{wide}]{{1,0}} dot(%w, %w), lhs_contracting_dims={{1}}, "
        "rhs_contracting_dims={0}",
        f"ROOT %t = (bf16[32,32]{{1,0}}, f32[{wide},{wide}]{{1,0}}) tuple(%small, %large)",
    )
    module = parse_module(text)
    assert product_dtype(module, program_cost(module)) == expected
