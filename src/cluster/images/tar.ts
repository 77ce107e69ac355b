// Writes tar archives in the ustar format. Pure.
// Guarantees: the same entries give the same bytes: no times, owners or order but those that are given.

export type TarEntry =
  | { readonly kind: 'directory'; readonly path: string; readonly mode?: number }
  | { readonly kind: 'file'; readonly path: string; readonly mode?: number; readonly content: Uint8Array }
  | { readonly kind: 'symlink'; readonly path: string; readonly target: string };

const BLOCK = 512;
const NAME_SIZE = 100;
const TYPE = { file: '0', symlink: '2', directory: '5' } as const;
const DEFAULT_MODE = { file: 0o644, symlink: 0o777, directory: 0o755 } as const;

/** Paths are relative and in the order they shall be unpacked, directories before what is in them. */
export function writeTar(entries: readonly TarEntry[]): Buffer {
  const parts = entries.flatMap((entry) => {
    const content = entry.kind === 'file' ? entry.content : new Uint8Array();
    return [headerOf(entry, content.length), content, Buffer.alloc(paddingOf(content.length))];
  });
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]);
}

const paddingOf = (size: number): number => (BLOCK - (size % BLOCK)) % BLOCK;

function headerOf(entry: TarEntry, size: number): Buffer {
  const header = Buffer.alloc(BLOCK);
  const text = (value: string, offset: number, limit: number) => {
    if (Buffer.byteLength(value) > limit) throw new RangeError(`${value} is too long for a tar header`);
    header.write(value, offset);
  };
  const octal = (value: number, offset: number, width: number) =>
    text(`${value.toString(8).padStart(width - 1, '0')}\0`, offset, width);
  text(entry.kind === 'directory' ? `${entry.path}/` : entry.path, 0, NAME_SIZE);
  octal((entry.kind === 'symlink' ? undefined : entry.mode) ?? DEFAULT_MODE[entry.kind], 100, 8);
  octal(0, 108, 8); // owner
  octal(0, 116, 8); // group
  octal(size, 124, 12);
  octal(0, 136, 12); // time
  text(TYPE[entry.kind], 156, 1);
  text(entry.kind === 'symlink' ? entry.target : '', 157, NAME_SIZE);
  text('ustar\x0000', 257, 8);
  // The sum is taken with its own field as blanks.
  header.fill(' ', 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  text(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 8);
  return header;
}
