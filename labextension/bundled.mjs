/** `import code from "./layout.worker.ts?bundled"`: a worker's whole code as a string. */

import { dirname, join } from "node:path";
import * as esbuild from "esbuild";

export const TARGET = "es2022";
const MARK = /\?bundled$/;

/** Adds what went into the worker to `inputs`, for the list of licences. */
async function bundle(file, inputs) {
  const { metafile, outputFiles } = await esbuild.build({
    entryPoints: [file],
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: "iife",
    target: TARGET,
    legalComments: "none",
    logLevel: "warning",
  });
  for (const input of Object.keys(metafile.inputs)) inputs?.add(input);
  return outputFiles[0].text;
}

/** For esbuild. */
export function bundled(inputs) {
  return {
    name: "bundled",
    setup(build) {
      build.onResolve({ filter: MARK }, ({ path, resolveDir }) => ({
        path: join(resolveDir, path.replace(MARK, "")),
        namespace: "bundled",
      }));
      build.onLoad({ filter: /.*/, namespace: "bundled" }, async ({ path }) => ({
        contents: await bundle(path, inputs),
        loader: "text",
      }));
    },
  };
}

/** For vite, which runs the tests. */
export function bundledForTests() {
  return {
    name: "bundled",
    enforce: "pre",
    // vite asks again about what was resolved already.
    resolveId: (path, importer) =>
      MARK.test(path) && importer && !path.startsWith("\0")
        ? `\0${join(dirname(importer), path)}`
        : null,
    load: async (id) =>
      id.startsWith("\0") && MARK.test(id)
        ? `export default ${JSON.stringify(await bundle(id.slice(1).replace(MARK, "")))};`
        : null,
  };
}
