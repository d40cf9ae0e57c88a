/** Imports that are not modules, and their types after `build.mjs`. */

declare module "*.css";

/** The bundled code of a worker, for a worker created from a `Blob`. */
declare module "*?bundled" {
  const code: string;
  export default code;
}
