/** Decompression of gzip, with an upper bound. */

/** Bytes from which a report is refused: a page that runs out of memory loses the notebook. */
export const LARGEST = 400_000_000;

/** Decodes base64. Throws an Error for anything else. */
export function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** Rejects with a RangeError beyond `largest` bytes, with a TypeError for an invalid or incomplete gzip. */
export async function gunzip(
  bytes: Uint8Array<ArrayBuffer>,
  largest = LARGEST,
): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const reader = stream.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > largest) {
      await reader.cancel();
      const limit = `${Math.floor(largest / 1e6)} MB`;
      throw new RangeError(`This report unpacks to more than ${limit}, too much for a page.`);
    }
    chunks.push(value);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

/** Gzipped JSON, the form of the kernel's answers. */
export async function gunzipJson(bytes: Uint8Array<ArrayBuffer>): Promise<unknown> {
  return JSON.parse(new TextDecoder().decode(await gunzip(bytes)));
}

/** The bytes of a message. Front ends pass a view of a larger, sometimes shared buffer. */
export function copied(buffer: ArrayBuffer | ArrayBufferView): Uint8Array<ArrayBuffer> {
  if (!ArrayBuffer.isView(buffer)) return new Uint8Array(buffer);
  return new Uint8Array(new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength));
}
