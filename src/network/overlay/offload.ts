// Checksums between nodes: a VXLAN device leaves those of the packets that it carries to the hardware, and some hardware
// gets them wrong, so that everything but pings is lost. Found out by asking other nodes; where so, the device does without.
// Guarantees: the device is changed only when that was seen to help; nothing waits for an answer; a restart keeps the choice.
import type { Log } from '../../api/log.js';
import type { OffloadPort } from '../../kernel/offload.js';

interface Carrier {
  readonly device: string;
  /** The device's own address, and those of the other nodes' devices. */
  readonly from: string;
  readonly peers: readonly string[];
}

const TIMEOUT_MS = 500;
/** More of them say nothing new: the hardware that is asked about is ours. */
const MOST_PEERS = 3;
const RETRY_MS = { first: 1_000, most: 600_000 };

/** `unknown` when nobody answers either way: others may be on their way up, or keep silent. */
export async function checkOffload(
  offload: OffloadPort,
  carrier: Carrier,
): Promise<'good' | 'off' | 'unknown'> {
  const { device, from } = carrier;
  const arrives = async () => {
    for (const to of carrier.peers.slice(0, MOST_PEERS))
      if (await offload.arrives({ from, to, timeoutMs: TIMEOUT_MS })) return true;
    return false;
  };
  if (!(await offload.txChecksum(device))) return 'off';
  if (await arrives()) return 'good';
  await offload.setTxChecksum(device, false);
  let helped = false;
  try {
    helped = await arrives();
  } finally {
    if (!helped) await offload.setTxChecksum(device, true);
  }
  return helped ? 'off' : 'unknown';
}

interface Watched {
  carrier: Carrier;
  timer?: NodeJS.Timeout | undefined;
  retryMs: number;
}

/** Asks once for each device, and again as long as nobody answers. */
export class OffloadGuard {
  readonly #offload: OffloadPort;
  readonly #log: Log;

  readonly #watched = new Map<string, Watched>();
  readonly #settled = new Set<string>();
  #running: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(offload: OffloadPort, log: Log) {
    this.#offload = offload;
    this.#log = log;
  }

  /** What is there now. */
  look(carrier: Carrier): void {
    const { device, peers } = carrier;
    if (this.#stopped || this.#settled.has(device) || peers.length === 0) return;
    const before = this.#watched.get(device);
    if (before !== undefined && before.carrier.peers.join() === peers.join()) return;
    clearTimeout(before?.timer);
    this.#watched.set(device, { carrier, retryMs: RETRY_MS.first });
    this.#ask(device, 0);
  }

  /** A device that was made anew is as any other at first. */
  forget(device: string): void {
    this.#settled.delete(device);
    clearTimeout(this.#watched.get(device)?.timer);
    this.#watched.delete(device);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const { timer } of this.#watched.values()) clearTimeout(timer);
    await this.#running;
  }

  #ask(device: string, afterMs: number): void {
    const watched = this.#watched.get(device);
    if (watched === undefined) return;
    watched.timer = setTimeout(() => {
      this.#running = this.#running.then(() => this.#check(device, watched));
    }, afterMs);
  }

  async #check(device: string, watched: Watched): Promise<void> {
    const isNews = () => this.#watched.get(device) !== watched;
    if (this.#stopped || isNews()) return;
    const result = await checkOffload(this.#offload, watched.carrier).catch((error: unknown) => {
      this.#log.debug('the checksums between nodes could not be looked at', { device, error });
      return 'unknown' as const;
    });
    if (this.#stopped || isNews()) return;
    if (result === 'unknown') {
      this.#ask(device, watched.retryMs);
      watched.retryMs = Math.min(watched.retryMs * 2, RETRY_MS.most);
      return;
    }
    this.#settled.add(device);
    this.#watched.delete(device);
    if (result === 'off')
      this.#log.warn('checksums left to the hardware do not arrive; this device computes them itself', {
        device,
      });
  }
}
