// The kubelet's chains in a machine's iptables, as long as a cluster of the machine is there.
// Guarantees: only those that were not there are removed, by the last cluster of the machine's network that goes.
import type { Log } from '../api/log.js';
import { KernelError } from '../kernel/error.js';
import { openIptables } from '../kernel/iptables/adapter.js';
import type { IptablesBackend, IptablesFamily } from '../kernel/iptables/port.js';
import {
  chainLines,
  declaration,
  keepChains,
  missingChains,
  type OpenIptables,
  UTIL_FAMILIES,
  type UtilChain,
} from '../kubelet/utilChains.js';
import type { Layout } from './layout.js';
import { type NetworkNote, notesOf, ownNetns, readNote, writeNote } from './networkNotes.js';

type RunDir = Pick<Layout, 'runDir'>;

interface Made extends UtilChain {
  readonly family: IptablesFamily;
  readonly backend: IptablesBackend;
}

interface Note extends NetworkNote {
  readonly made: readonly Made[];
}

const NOTE = 'kubelet-chains.json';

/** Resolves to the function that ends it, which leaves the chains. Never rejects. */
export const keepKubeletChains = (layout: RunDir, { log }: { readonly log: Log }) =>
  keepChains(() => makeKubeletChains(layout), log);

export async function makeKubeletChains(layout: RunDir, open: OpenIptables = openIptables): Promise<void> {
  for (const family of UTIL_FAMILIES) {
    const port = await open({ family });
    try {
      const missing = missingChains(await port.save());
      if (missing.length === 0 && (await hasNote(layout))) continue;
      await note(
        layout,
        missing.map((one) => ({ ...one, family, backend: port.backend })),
      );
      if (missing.length > 0) await port.restore(chainLines(missing, declaration));
    } finally {
      port.close();
    }
  }
}

/** Success also when there are none. */
export async function removeKubeletChains(layout: RunDir, open: OpenIptables = openIptables): Promise<void> {
  const own = await readNote<Note>(layout.runDir, NOTE);
  if (own === undefined || own.netns !== (await ownNetns())) return;
  if ((await notesOf(layout, NOTE, { netns: own.netns, except: layout.runDir })).length > 0) return;
  for (const { family, backend, table, chain } of own.made) {
    const port = await open({ family, backend }).catch((error: unknown) => {
      // The tools were removed meanwhile.
      if (!(error instanceof KernelError)) throw error;
    });
    if (port === undefined) continue;
    const chains = (await port.save(table)).get(table)?.chains;
    const rules = [...(chains?.values() ?? [])].flatMap((one) => one.rules);
    // With rules of its own or with jumps to it, it has become somebody's.
    const isUsed = rules.some((rule) => rule.split(' ').includes(chain));
    if (chains?.has(chain) === true && !isUsed) await port.restore([`*${table}`, `-X ${chain}`, 'COMMIT']);
    port.close();
  }
}

const hasNote = async ({ runDir }: RunDir) => (await readNote<Note>(runDir, NOTE)) !== undefined;

/** Before they are made. What another cluster made is ours to remove if it goes first. */
async function note(layout: RunDir, made: readonly Made[]): Promise<void> {
  const netns = await ownNetns();
  const before = (await notesOf<Note>(layout, NOTE, { netns })).flatMap((one) => one.made);
  const all = new Map([...before, ...made].map((one) => [JSON.stringify(one), one]));
  const now: Note = { netns, made: [...all.values()] };
  await writeNote(layout, NOTE, now);
}
