/** jaxpr, MLIR and HLO as languages of JupyterLab's editors, with their files. */

import { LanguageSupport, StreamLanguage } from "@codemirror/language";
import type { IEditorLanguageRegistry } from "@jupyterlab/codemirror";
import type { DocumentRegistry } from "@jupyterlab/docregistry";
import { type Language, type Mark, marks, type TokenClass } from "../text/tokens";

const LANGUAGES = [
  { name: "jaxpr", title: "jaxpr" },
  { name: "mlir", title: "MLIR" },
  { name: "hlo", title: "HLO" },
] as const;

/** Names to which the themes of JupyterLab give colors. */
const TAGS: Record<TokenClass, string | null> = {
  k: "keyword",
  s: "string",
  c: "comment",
  m: "variableName.special",
  y: "tagName",
  n: "number",
  o: "variableName.standard",
  a: "attributeName",
  "": null,
};

/** A language cannot be unregistered: switching it off takes effect after a reload. */
export function addLanguages(registry: IEditorLanguageRegistry, documents: DocumentRegistry): void {
  for (const { name, title } of LANGUAGES) {
    const mime = `text/x-${name}`;
    // A different extension may have registered it.
    if (registry.findByName(name)) continue;
    registry.addLanguage({
      name,
      displayName: title,
      mime,
      extensions: [name],
      support: languageSupport(name),
    });
    if (documents.getFileType(name)) continue;
    documents.addFileType({
      name,
      displayName: `${title} file`,
      mimeTypes: [mime],
      extensions: [`.${name}`],
      contentType: "file",
      fileFormat: "text",
    });
  }
}

interface State {
  line: string;
  marks: readonly Mark[];
}

/** The viewer's tokens as a CodeMirror language, read line by line. */
export function languageSupport(name: Language): LanguageSupport {
  const language = StreamLanguage.define<State>({
    name,
    startState: () => ({ line: "", marks: [] }),
    copyState: (state) => ({ ...state }),
    token(stream, state) {
      if (stream.sol() || state.line !== stream.string) {
        state.line = stream.string;
        state.marks = marks(stream.string, name);
      }
      const next = state.marks.find(([, to]) => to > stream.pos);
      if (!next) {
        stream.skipToEnd();
        return null;
      }
      const [from, to, css] = next;
      if (from > stream.pos) {
        stream.pos = from;
        return null;
      }
      stream.pos = to;
      return TAGS[css];
    },
  });
  return new LanguageSupport(language);
}
