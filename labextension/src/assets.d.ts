/** What `build.mjs` makes of imports that are no modules. */

declare module "*.css";

/** A worker's whole code, bundled, for a worker made of a `Blob`. */
declare module "*?bundled" {
  const code: string;
  export default code;
}
