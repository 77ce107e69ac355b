// The empty chains by which a kubelet tells other programs, in containers too, which iptables this machine uses, and whether its
// tables were flushed.
// Guarantees: made in the back end that holds the machine's rules, and again when somebody flushed them; rules of others stay;
// without iptables there are none.
import type { Log } from '../api/log.js';
import { openIptables } from '../kernel/iptables/adapter.js';
import type { IptablesBackend, IptablesFamily, IptablesPort, Ruleset } from '../kernel/iptables/port.js';

const CANARY = 'KUBE-KUBELET-CANARY';
const CHAINS = { mangle: ['KUBE-IPTABLES-HINT', CANARY], nat: [CANARY], filter: [CANARY] } as const;
type UtilTable = keyof typeof CHAINS;

export interface UtilChain {
  readonly table: UtilTable;
  readonly chain: string;
}

export type OpenIptables = (options: {
  readonly family: IptablesFamily;
  readonly backend?: IptablesBackend;
}) => Promise<IptablesPort>;

export const UTIL_FAMILIES = ['inet', 'inet6'] as const;
/** As Kubernetes' kubelet looks. */
const LOOK_EVERY_MS = 60_000;

/** Those that are not there. Pure. */
export const missingChains = (found: Ruleset): UtilChain[] =>
  (Object.keys(CHAINS) as UtilTable[]).flatMap((table) =>
    CHAINS[table]
      .filter((chain) => found.get(table)?.chains.has(chain) !== true)
      .map((chain) => ({ table, chain })),
  );

/** What makes or removes them, for one restore. Pure. */
export const chainLines = (chains: readonly UtilChain[], line: (chain: string) => string): string[] =>
  (Object.keys(CHAINS) as UtilTable[]).flatMap((table) => {
    const own = chains.filter((one) => one.table === table);
    return own.length === 0 ? [] : [`*${table}`, ...own.map(({ chain }) => line(chain)), 'COMMIT'];
  });

export const declaration = (chain: string) => `:${chain} - [0:0]`;

export async function makeUtilChains(open: OpenIptables = openIptables): Promise<void> {
  for (const family of UTIL_FAMILIES) {
    const port = await open({ family });
    try {
      const missing = missingChains(await port.save());
      if (missing.length > 0) await port.restore(chainLines(missing, declaration));
    } finally {
      port.close();
    }
  }
}

/** Resolves to the function that ends it, which leaves the chains. Never rejects: nothing of ours needs them. */
export async function keepChains(make: () => Promise<void>, log: Log): Promise<() => void> {
  const attempt = () =>
    make().catch((error: unknown) =>
      log.info('the chains that tell which iptables is used could not be made', { error }),
    );
  await attempt();
  const timer = setInterval(attempt, LOOK_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}
