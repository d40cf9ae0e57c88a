/** Decompression of gzip, with an upper bound. */

/** Bytes from which a report is refused: a page that runs out of memory loses the notebook. */
export const LARGEST = 400_000_000;

/** Bytes that are inflated in one piece, into at most a thousand times as many. */
const PIECE = 262_144;

interface Decoder {
  fromBase64?(text: string): Uint8Array<ArrayBuffer>;
}

/** Decodes base64. Throws an Error for anything else. */
export function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  // Browsers of 2025 and later decode it themselves, in a fifth of the time.
  const native = Uint8Array as Decoder;
  if (native.fromBase64) return native.fromBase64(base64);
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** Rejects with a RangeError beyond `largest` bytes, with a TypeError for an invalid or incomplete gzip. */
export async function gunzip(bytes: Uint8Array<ArrayBuffer>, largest = LARGEST): Promise<string> {
  const { readable, writable } = new DecompressionStream("gzip");
  // The reader rejects with the same error.
  write(writable.getWriter(), bytes).catch(() => undefined);
  const reader = readable.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    size += value.length;
    if (size > largest) {
      await reader.cancel();
      const limit = `${Math.floor(largest / 1e6)} MB`;
      throw new RangeError(`This report unpacks to more than ${limit}, too much for a page.`);
    }
    text += decoder.decode(value, { stream: true });
  }
}

async function write(
  writer: WritableStreamDefaultWriter<BufferSource>,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<void> {
  for (let at = 0; at < bytes.length; at += PIECE) {
    await writer.write(bytes.subarray(at, at + PIECE));
  }
  await writer.close();
}

/** Gzipped JSON, the form of the kernel's answers. */
export async function gunzipJson(bytes: Uint8Array<ArrayBuffer>): Promise<unknown> {
  return JSON.parse(await gunzip(bytes));
}

/** The bytes of a message. Front ends pass a view of a larger, sometimes shared buffer. */
export function copied(buffer: ArrayBuffer | ArrayBufferView): Uint8Array<ArrayBuffer> {
  if (!ArrayBuffer.isView(buffer)) return new Uint8Array(buffer);
  return new Uint8Array(new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength));
}
