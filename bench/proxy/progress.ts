// How far a long comparison is, on standard error.
// Guarantees: one line that is drawn anew on a terminal; a line each where nobody can see it move.
const BAR = 20;

export function showProgress(done: number, all: number, what: string): void {
  const full = Math.round((BAR * done) / all);
  const bar = `  [${'#'.repeat(full)}${'.'.repeat(BAR - full)}] ${done} of ${all}: ${what}`;
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${bar}${done === all ? '\n' : ''}`);
  else process.stderr.write(`${bar}\n`);
}
