// Traffic of pods where iptables drops what it does not know: Docker gives the chain FORWARD the policy DROP, and no other
// table can overrule that. Then a chain of ours in that very table accepts it.
// Guarantees: in each back end and family only while the policy is DROP, also when it becomes so later; what others remove
// comes back with the next look; rules of others stay, and those before ours win; a back end that is not installed is none.
import type { Log } from '../api/log.js';
import { messageOf } from '../base/errorMessage.js';
import { KernelError } from '../kernel/error.js';
import { openIptables } from '../kernel/iptables/adapter.js';
import type { IptablesPort, Table } from '../kernel/iptables/port.js';

interface AcceptedForwardOptions {
  readonly iptables: readonly IptablesPort[];
  /** Of this cluster alone. */
  readonly chain: string;
  readonly log: Log;
  readonly lookEveryMs?: number;
}

const LOOK_EVERY_MS = 30_000;
const COMMENT = '-m comment --comment "trellis: traffic of pods"';

export class AcceptedForward {
  readonly #options: AcceptedForwardOptions;

  readonly #interval: NodeJS.Timeout;
  /** Our part of each table as it was printed after it had been written. */
  readonly #written = new Map<IptablesPort, string>();
  readonly #troubles = new Map<IptablesPort, string>();
  #ranges: readonly string[] = [];
  #turn: Promise<void> = Promise.resolve();

  constructor(options: AcceptedForwardOptions) {
    this.#options = options;

    this.#interval = setInterval(() => void this.look(), options.lookEveryMs ?? LOOK_EVERY_MS);
    this.#interval.unref();
  }

  /** What comes from and goes to these ranges. Never rejects: a failure is told, and tried again. */
  set(ranges: readonly string[]): Promise<void> {
    this.#ranges = ranges;
    this.#written.clear();
    return this.look();
  }

  look(): Promise<void> {
    this.#turn = this.#turn.then(async () => {
      for (const port of this.#options.iptables) await this.#lookAt(port);
    });
    return this.#turn;
  }

  /** Leaves the rules as they are. */
  async stop(): Promise<void> {
    clearInterval(this.#interval);
    await this.#turn;
    for (const port of this.#options.iptables) port.close();
  }

  async #lookAt(port: IptablesPort): Promise<void> {
    const { chain, log } = this.#options;
    try {
      const table = await filterOf(port);
      const ranges = this.#ranges.filter((range) => range.includes(':') === (port.family === 'inet6'));
      if (table?.chains.get('FORWARD')?.policy !== 'DROP' || ranges.length === 0)
        await removeFrom(port, table, chain);
      else if (this.#written.get(port) !== ours(table, chain)) {
        await port.restore(acceptance(table, chain, ranges));
        this.#written.set(port, ours(await filterOf(port), chain));
        log.info('the chain FORWARD drops by policy; traffic of pods is accepted there', where(port));
      }
      this.#troubles.delete(port);
    } catch (error) {
      const trouble = messageOf(error);
      if (this.#troubles.get(port) !== trouble)
        log.warn('it could not be seen to that FORWARD accepts traffic of pods', { ...where(port), error });
      this.#troubles.set(port, trouble);
    }
  }
}

/** Takes the chain away from each of them; success also when it is not there. */
export async function removeAcceptedForward(iptables: readonly IptablesPort[], chain: string): Promise<void> {
  for (const port of iptables) {
    const table = await filterOf(port).catch((error: unknown) => {
      // A kernel without this back end has nothing of ours in it.
      if (!(error instanceof KernelError)) throw error;
      return undefined;
    });
    await removeFrom(port, table, chain);
  }
}

/** Each back end and family whose tools are installed. */
export async function openEachIptables(netns?: string): Promise<IptablesPort[]> {
  const opened: IptablesPort[] = [];
  for (const backend of ['nft', 'legacy'] as const)
    for (const family of ['inet', 'inet6'] as const)
      try {
        opened.push(await openIptables({ family, backend, ...(netns === undefined ? {} : { netns }) }));
      } catch (error) {
        if (!(error instanceof KernelError) || error.code !== 'ENOENT') throw error;
      }
  return opened;
}

const where = ({ backend, family }: IptablesPort) => ({ backend, family });

const filterOf = async (port: IptablesPort): Promise<Table | undefined> =>
  (await port.save('filter')).get('filter');

const jumpsTo = (table: Table, chain: string): readonly string[] =>
  (table.chains.get('FORWARD')?.rules ?? []).filter((rule) => rule.endsWith(` -j ${chain}`));

const ours = (table: Table | undefined, chain: string): string =>
  table === undefined ? '' : JSON.stringify([jumpsTo(table, chain), table.chains.get(chain)?.rules]);

/** The jump goes last: whatever an administrator or Docker refuses by a rule stays refused. */
function acceptance(table: Table, chain: string, ranges: readonly string[]): string[] {
  const jump = jumpsTo(table, chain).length > 0 ? [] : [`-A FORWARD ${COMMENT} -j ${chain}`];
  const rules = ranges.flatMap((range) => ['-s', '-d'].map((way) => `-A ${chain} ${way} ${range} -j ACCEPT`));
  return ['*filter', `:${chain} - [0:0]`, ...rules, ...jump, 'COMMIT'];
}

async function removeFrom(port: IptablesPort, table: Table | undefined, chain: string): Promise<void> {
  if (table?.chains.has(chain) !== true) return;
  const jumps = jumpsTo(table, chain).map((rule) => rule.replace(/^-A/, '-D'));
  await port.restore(['*filter', `:${chain} - [0:0]`, ...jumps, `-X ${chain}`, 'COMMIT']);
}
