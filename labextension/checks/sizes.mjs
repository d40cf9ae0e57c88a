/** The viewer's JavaScript stays small: it stands in every exported page. */

import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

export const LIMIT = 200_000;

export function sizes(files) {
  return files.map((file) => ({ file, bytes: gzipSync(readFileSync(file), { level: 9 }).length }));
}

/** A sentence for each file above the limit. */
export function tooLarge(files, limit = LIMIT) {
  return sizes(files)
    .filter(({ bytes }) => bytes > limit)
    .map(({ file, bytes }) => `${file} is ${bytes} bytes gzipped, more than ${limit}.`);
}
