import type { CompileEventJson } from "../../src/schema/compiles";

export function event(serial: number, more: Partial<CompileEventJson> = {}): CompileEventJson {
  return {
    serial,
    fun_name: "step",
    kind: "jit",
    cell: 3,
    cell_id: "abc",
    place: "In [3]:4",
    line: 4,
    text: "step(x)",
    trace_s: 0.25,
    lower_s: 0.25,
    compile_s: 0.5,
    recompile: false,
    avoidable: false,
    cause: "",
    fix: "",
    persistent: "off",
    error: "",
    ...more,
  };
}
