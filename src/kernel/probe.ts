// Sends the first packet of a connection from inside a network namespace, and tells what came back.
// Guarantees: nothing of the connection is left; what cannot be sent is an error with its code.
import { addon, type NetNs } from './addon.js';
import { KernelError } from './error.js';

export interface Probe {
  readonly protocol: 'tcp' | 'udp' | 'sctp';
  readonly from: string;
  readonly fromPort: number;
  readonly to: string;
  readonly toPort: number;
}

/** "refused": the other side, or somebody on the way, said no; "silent": nothing came back in time. */
export type ProbeOutcome = 'answered' | 'refused' | 'silent';

/** EADDRINUSE when the port that it comes from is taken. */
export const sendProbe = (netns: NetNs, probe: Probe, timeoutMs: number): Promise<ProbeOutcome> =>
  addon()
    .sendProbe(netns, probe, timeoutMs)
    .catch((error: unknown) => {
      throw KernelError.from(error);
    });
