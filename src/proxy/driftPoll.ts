// Checks what a mode has written, often and cheaply, where the kernel sends no events: IPVS, legacy iptables.
// Guarantees: our own syncs are never taken for somebody else's change; looking takes a fiftieth of the time at most.
import type { ProxyMode } from '../../proxy-modes/mode.js';

interface DriftPollOptions {
  readonly mode: Pick<ProxyMode, 'check' | 'stamp'>;
  readonly periodMs: number;
  /** How many syncs there have been; undefined while one runs. */
  syncs(): number | undefined;
  onDrift(): void;
}

const CHECK_SHARE = 1 / 50;

/** Compares the mode's stamp with the one after the last sync; where it differs, a real check decides. */
export function pollDrift({ mode, periodMs, syncs, onDrift }: DriftPollOptions): { stop(): void } {
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  let known: { readonly stamp: string; readonly at: number } | undefined;
  const compare = async () => {
    const at = syncs();
    const stamp = at === undefined || at === 0 ? undefined : await mode.stamp?.();
    if (stamp === undefined || at === undefined || syncs() !== at) return;
    const isSame = known?.at !== at || known.stamp === stamp;
    known = { stamp, at };
    if (isSame || (await mode.check?.()) !== false || syncs() !== at) return;
    known = undefined;
    onDrift();
  };
  const next = (delayMs: number) => {
    if (isStopped) return;
    timer = setTimeout(async () => {
      const began = performance.now();
      // What cannot be looked at now may be later; the check at its interval tells the trouble.
      await compare().catch(() => undefined);
      next(Math.max(periodMs, (performance.now() - began) / CHECK_SHARE));
    }, delayMs);
    timer.unref();
  };
  if (mode.stamp !== undefined) next(periodMs);
  return {
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
