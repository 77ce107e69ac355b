// What the headers of a 64-bit little-endian ELF file tell of its hardening.
// Guarantees: reads bytes alone, without readelf; a file that is no such ELF throws.

const [PT_LOAD, PT_DYNAMIC, PT_INTERP] = [1, 2, 3];
const [PT_GNU_STACK, PT_GNU_RELRO] = [0x6474e551, 0x6474e552];
const [DT_FLAGS, DT_FLAGS_1] = [30n, 0x6ffffffbn];
const [DF_BIND_NOW, DF_1_NOW, DF_1_PIE] = [8n, 1n, 0x08000000n];
const [WRITABLE, EXECUTABLE] = [2, 1];
const ET_DYN = 3;

interface Hardening {
  readonly positionIndependent: boolean;
  readonly pie: boolean;
  /** True of what is linked statically, and of a library. */
  readonly withoutLoader: boolean;
  /** Relocations become read-only, and all are made before the program starts. */
  readonly fullRelro: boolean;
  readonly executableStack: boolean;
  readonly writableCode: boolean;
}

export function readHardening(file: Buffer): Hardening {
  if (file.readUInt32BE(0) !== 0x7f454c46 || file[4] !== 2 || file[5] !== 1)
    throw new Error('not a 64-bit little-endian ELF file');
  const headers = programHeaders(file);
  const flags = dynamicFlags(file, headers);
  const loads = headers.filter(({ type }) => type === PT_LOAD);
  const stack = headers.find(({ type }) => type === PT_GNU_STACK);
  const now = (flags.flags & DF_BIND_NOW) !== 0n || (flags.flags1 & DF_1_NOW) !== 0n;
  return {
    positionIndependent: file.readUInt16LE(16) === ET_DYN,
    pie: (flags.flags1 & DF_1_PIE) !== 0n,
    withoutLoader: headers.every(({ type }) => type !== PT_INTERP),
    fullRelro: now && headers.some(({ type }) => type === PT_GNU_RELRO),
    executableStack: stack === undefined || (stack.flags & EXECUTABLE) !== 0,
    writableCode: loads.some(({ flags }) => (flags & WRITABLE) !== 0 && (flags & EXECUTABLE) !== 0),
  };
}

interface ProgramHeader {
  readonly type: number;
  readonly flags: number;
  readonly offset: number;
  readonly size: number;
}

function programHeaders(file: Buffer): ProgramHeader[] {
  const [start, size, count] = [
    Number(file.readBigUInt64LE(32)),
    file.readUInt16LE(54),
    file.readUInt16LE(56),
  ];
  return Array.from({ length: count }, (_, i) => {
    const at = start + i * size;
    return {
      type: file.readUInt32LE(at),
      flags: file.readUInt32LE(at + 4),
      offset: Number(file.readBigUInt64LE(at + 8)),
      size: Number(file.readBigUInt64LE(at + 32)),
    };
  });
}

function dynamicFlags(file: Buffer, headers: readonly ProgramHeader[]) {
  const found = { flags: 0n, flags1: 0n };
  for (const { offset, size } of headers.filter(({ type }) => type === PT_DYNAMIC))
    for (let at = offset; at < offset + size; at += 16) {
      const [tag, value] = [file.readBigUInt64LE(at), file.readBigUInt64LE(at + 8)];
      if (tag === DT_FLAGS) found.flags = value;
      if (tag === DT_FLAGS_1) found.flags1 = value;
    }
  return found;
}
