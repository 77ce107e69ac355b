// Cuts requests that hold very long lists into shorter ones, and tells failures by the caller's own requests.
// Guarantees: order is kept; a request that failed in several of its pieces is told once.
import { type Failure, KernelError } from './error.js';

interface Piece {
  readonly request: object;
  /** Of the caller's request; undefined for one that the caller did not make. */
  readonly index: number | undefined;
  /** Of the piece's first entry in the caller's list. */
  readonly offset: number;
}

/** Requests whose `list` is short enough to be turned into bytes between two turns of the event loop. */
export function splitRequests(requests: readonly object[], list: string, size: number): Piece[] {
  return requests.flatMap((request, index): Piece[] => {
    const entries = (request as Record<string, unknown>)[list];
    if (!Array.isArray(entries) || entries.length <= size) return [{ request, index, offset: 0 }];
    const pieces: Piece[] = [];
    for (let offset = 0; offset < entries.length; offset += size)
      pieces.push({ request: { ...request, [list]: entries.slice(offset, offset + size) }, index, offset });
    return pieces;
  });
}

/** Failures of pieces as failures of the requests they were cut from. */
export function joinFailures(pieces: readonly Piece[], failures: readonly Failure[]): Failure[] {
  const told = new Set<number>();
  return failures.flatMap(({ index: at, ...failure }) => {
    const piece = at === undefined ? undefined : pieces[at];
    if (piece?.index === undefined) return [failure];
    const { index, offset } = piece;
    if (failure.entry !== undefined) return [{ ...failure, index, entry: failure.entry + offset }];
    if (told.has(index)) return [];
    told.add(index);
    return [{ ...failure, index }];
  });
}

/** Runs `apply` on the pieces' requests; what it rejects with speaks of the caller's requests. */
export async function applySplit(
  pieces: readonly Piece[],
  apply: (requests: readonly object[]) => Promise<void>,
): Promise<void> {
  try {
    await apply(pieces.map(({ request }) => request));
  } catch (error) {
    if (!(error instanceof KernelError)) throw error;
    const [first, ...rest] = joinFailures(pieces, error.failures);
    throw first === undefined ? error : new KernelError([first, ...rest], { cause: error });
  }
}
