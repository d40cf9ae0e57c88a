/** Builds the viewer: `node build.mjs` everything, `node build.mjs web` or `lab` one half.
 *
 * web: page.js and widget.js with their style sheets, whole in themselves, into ../jaxscope/static
 * lab: the plugin of JupyterLab and Notebook 7, into dist/
 */

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";
import { bundled, TARGET } from "./bundled.mjs";
import { sizes, tooLarge } from "./checks/sizes.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
const STATIC = join(here, "../jaxscope/static");
const SHARED = { bundle: true, minify: true, charset: "utf8", target: TARGET, metafile: true };

async function buildWeb() {
  mkdirSync(STATIC, { recursive: true });
  const inputs = new Set();
  const entries = [
    { name: "page", format: "iife" },
    { name: "widget", format: "esm" },
  ];
  for (const { name, format } of entries) {
    const { metafile } = await esbuild.build({
      ...SHARED,
      absWorkingDir: here,
      entryPoints: [`src/entries/${name}.ts`],
      outdir: STATIC,
      format,
      legalComments: "none",
      logLevel: "warning",
      plugins: [bundled(inputs)],
    });
    for (const input of Object.keys(metafile.inputs)) inputs.add(input);
  }
  writeFileSync(join(STATIC, "licenses.txt"), licenses(inputs));
  const scripts = entries.map(({ name }) => join(STATIC, `${name}.js`));
  const large = tooLarge(scripts);
  if (large.length) throw new Error(large.join("\n"));
  for (const { file, bytes } of sizes(scripts)) console.log(`${file}: ${bytes} bytes gzipped`);
}

/** The licences of the packages that stand in the bundles. */
function licenses(inputs) {
  const packages = new Set();
  for (const input of inputs) {
    const found = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (found) packages.add(found[1]);
  }
  const parts = [...packages].sort().map((folder) => {
    const { name, version, license } = JSON.parse(
      readFileSync(join(here, folder, "package.json"), "utf8"),
    );
    const file = readdirSync(join(here, folder)).find((each) => /^licen[cs]e/i.test(each));
    const text = file ? readFileSync(join(here, folder, file), "utf8").trim() : license;
    return `${name} ${version} (${license})\n\n${text}\n`;
  });
  return parts.join(`\n${"-".repeat(80)}\n\n`);
}

async function buildLab() {
  // One bundle of our own modules, so that both entries share them; packages are left to JupyterLab.
  rmSync(join(here, "lib"), { recursive: true, force: true });
  await esbuild.build({
    ...SHARED,
    absWorkingDir: here,
    entryPoints: ["src/lab/index.ts", "src/lab/mime.ts"],
    outdir: "lib",
    format: "esm",
    splitting: true,
    packages: "external",
    minify: false,
    logLevel: "warning",
    plugins: [bundled()],
  });
  const require = createRequire(import.meta.url);
  const builder = require.resolve("@jupyter/builder/lib/build-labextension.js");
  const core = join(here, "node_modules/@jupyterlab/core-meta/core.package.json");
  if (!existsSync(core)) throw new Error(`${core} is missing; run npm ci.`);
  execFileSync(process.execPath, [builder, "--core-package-file", core, here], {
    cwd: here,
    stdio: ["ignore", "inherit", "inherit"],
  });
}

const halves = { web: buildWeb, lab: buildLab };
const asked = process.argv.slice(2);
for (const half of asked.length ? asked : Object.keys(halves)) {
  if (!(half in halves)) throw new Error(`There is no ${half} to build: say web or lab.`);
  await halves[half]();
}
