import { ensureSyntaxTree } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { expect, test } from "vitest";
import { languageSupport } from "../../src/lab/languages";

const TEXTS = {
  hlo: "ENTRY %main (p: f32[4]) -> f32[4] {\n  ROOT %add.1 = f32[4]{0} add(%p, %p)\n}",
  mlir: 'func.func public @main(%arg0: tensor<4xf32>) {\n  %0 = stablehlo.add %arg0, %arg0 // "x"\n}',
  jaxpr: "{ lambda ; a:f32[4]. let b:f32[4] = sin a in (b,) }",
} as const;

test.each(["hlo", "mlir", "jaxpr"] as const)("JupyterLab's editor colors %s", (name) => {
  const state = EditorState.create({ doc: TEXTS[name], extensions: languageSupport(name) });
  const tree = ensureSyntaxTree(state, TEXTS[name].length, 5000);
  const kinds = new Set<string>();
  tree?.iterate({ enter: (node) => void kinds.add(node.name) });
  expect([...kinds]).toEqual(
    expect.arrayContaining(["keyword", "tagName", "variableName.standard"]),
  );
});
