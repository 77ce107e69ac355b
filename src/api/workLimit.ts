// How long a check may run on the main thread; beyond that it is aborted and repeated on a second thread. Pure.
// Guarantees: outside of withinLimit nothing is ever given up; what is given up has changed nothing.

/** Ends a check from wherever it stands. It is no fault of what is checked. */
export class TooMuchWork extends Error {
  constructor() {
    super('the check takes more work than one thread for everybody can give it');
  }
}

interface WorkLimit {
  /** The largest single piece of work, in units of some 100 ns. */
  readonly units: number;
  /** For all of it, in milliseconds on a clock that never goes back. */
  readonly ms: number;
  now(): number;
}

/** Between two looks at the clock. */
const LOOK_AFTER = 5000;

interface Running {
  readonly most: number;
  readonly until: number;
  readonly now: () => number;
  left: number;
}

/** Of the check that runs now: checks are synchronous, so there is one at a time. */
let running: Running | undefined;

/** Runs the check; throws TooMuchWork once it has taken longer than the limit. */
export function withinLimit<T>({ units, ms, now }: WorkLimit, check: () => T): T {
  const before = running;
  running = { most: units, until: now() + ms, now, left: LOOK_AFTER };
  try {
    return check();
  } finally {
    running = before;
  }
}

/**
 * Told before the work. `atWorst` is what it may turn out to be; when that is more than the whole limit, the work is not
 * begun.
 */
export function spendWork(units: number, atWorst: number = units): void {
  if (running === undefined) return;
  if (atWorst > running.most) throw new TooMuchWork();
  running.left -= units;
  if (running.left > 0) return;
  running.left = LOOK_AFTER;
  if (running.now() >= running.until) throw new TooMuchWork();
}
