// A body that comes in parts, as one.
// Guarantees: no more is kept than the bound.

interface Bound {
  readonly most: number;
  /** What is thrown for a body that is larger. */
  tooLarge(most: number): Error;
}

export async function collectBytes(
  parts: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  { most, tooLarge }: Bound,
): Promise<Buffer> {
  const taken: Uint8Array[] = [];
  let size = 0;
  for await (const part of parts) {
    size += part.byteLength;
    if (size > most) throw tooLarge(most);
    taken.push(part);
  }
  return Buffer.concat(taken);
}
