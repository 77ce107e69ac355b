// Random changes to services, and the check that a mode which followed them one by one ends where a fresh one begins.
// Guarantees: the same seed makes the same changes; every sync is told only the keys that changed, as the proxy does.
import type { IpFamily, Protocol, ProxyMode, ProxyState, ServicePort } from '../../../proxy-modes/mode.js';
import { Places, random, randomPort, servicePort } from './port.js';

const PROTOCOLS: readonly Protocol[] = ['tcp', 'udp', 'sctp'];
const SERVICES = 40;
const PLACES = 45;

interface ModelRun {
  readonly changes: number;
  readonly seed: number;
  readonly families: readonly IpFamily[];
  readonly protocols?: readonly Protocol[];
  /** Called now and then, and at the end, with the state that the kernel should hold. */
  compare(state: ProxyState): Promise<void>;
  readonly compareEvery: number;
}

/** Makes, changes and removes services, one to five of them a sync, each change with other addresses that may have been another’s. */
export async function followChanges(mode: ProxyMode, run: ModelRun): Promise<void> {
  const next = random(run.seed);
  const { protocols = PROTOCOLS } = run;
  const below = (limit: number) => Math.floor(next() * limit);
  const state = new Map<string, ServicePort>();
  const places = new Places(next, PLACES);
  let compared = 0;
  for (let done = 0; done < run.changes; ) {
    const changed = new Set<string>();
    for (let count = 1 + below(5); count > 0 && done < run.changes; count--, done++) {
      const n = below(SERVICES);
      const family = run.families[below(run.families.length)] ?? 'ip';
      const kind = { family, protocol: protocols[n % protocols.length] ?? 'tcp' } as const;
      const { key } = servicePort(n + 1, kind);
      if (state.has(key) && next() < 0.25) {
        state.delete(key);
        places.leave(key);
      } else state.set(key, randomPort(next, n, { ...kind, place: places.move(key, family) }));
      changed.add(key);
    }
    await mode.sync(state, changed);
    if (done - compared < run.compareEvery) continue;
    compared = done;
    await run.compare(state);
  }
  await run.compare(state);
}

/** `TRELLIS_PROOF=long` makes ten thousand of the usual number. */
export const modelChanges = (usual: number): number =>
  process.env['TRELLIS_PROOF'] === 'long' ? 10_000 : usual;
