// Waits for a client to take what was written to it.
// Guarantees: ends when the client is gone; no listener is left behind; one that takes nothing for too long is cut off.
import type { Writable } from 'node:stream';

/** Nothing of an answer could be sent for so long: the client is stuck, or never meant to read. */
const STALL_MS = 60_000;

/** Resolves when `done` is called or the client is gone. */
export function settled(outgoing: Writable, until: (done: () => void) => void): Promise<void> {
  return new Promise((resolve) => {
    const stalled = setTimeout(() => outgoing.destroy(), STALL_MS);
    const done = () => {
      clearTimeout(stalled);
      outgoing.off('close', done);
      resolve();
    };
    outgoing.once('close', done);
    until(done);
  });
}
