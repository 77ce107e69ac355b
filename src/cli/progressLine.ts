// How far something is, for a person who waits.
// Guarantees: nothing for what takes less than a second; one line drawn over on a terminal, now and then a line elsewhere.
import type { Terminal } from './terminal.js';

const QUIET_MS = 1_000;
const LIVE_EVERY_MS = 100;
const EVERY_MS = 5_000;

export function progressLine(
  terminal: Pick<Terminal, 'live' | 'writeError'>,
  unit: string,
  now: () => number = Date.now,
): (done: number, total: number) => void {
  const every = terminal.live ? LIVE_EVERY_MS : EVERY_MS;
  let next = now() + QUIET_MS;
  let isShown = false;
  return (done, total) => {
    if (isShown && done >= total && terminal.live) terminal.writeError('\r\u001b[K');
    if (now() < next || done >= total) return;
    next = now() + every;
    isShown = true;
    const text = `${done} of ${total} ${unit} (${Math.floor((done / total) * 100)}%)`;
    terminal.writeError(terminal.live ? `\r\u001b[K${text}` : `${text}\n`);
  };
}
