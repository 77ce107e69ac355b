// The empty chains by which a kubelet tells other programs, in containers too, which iptables this machine uses.
// Guarantees: made in the back end that holds the machine's rules, and again when somebody flushed them; only those that were not
// there are removed, by the last cluster of the machine's network that goes; without iptables there are none.
import type { Log } from '../api/log.js';
import { KernelError } from '../kernel/error.js';
import { openIptables } from '../kernel/iptables/adapter.js';
import type { IptablesBackend, IptablesFamily, IptablesPort } from '../kernel/iptables/port.js';
import type { Layout } from './layout.js';
import { type NetworkNote, notesOf, ownNetns, readNote, writeNote } from './networkNotes.js';

type Place = Pick<Layout, 'runDir'>;
type Open = (options: {
  readonly family: IptablesFamily;
  readonly backend?: IptablesBackend;
}) => Promise<IptablesPort>;

interface Made {
  readonly family: IptablesFamily;
  readonly backend: IptablesBackend;
  readonly chain: string;
}

interface Note extends NetworkNote {
  readonly made: readonly Made[];
}

const NOTE = 'kubelet-chains.json';
const TABLE = 'mangle';
const CHAINS = ['KUBE-IPTABLES-HINT', 'KUBE-KUBELET-CANARY'];
const FAMILIES = ['inet', 'inet6'] as const;
/** As the kubelet looks. */
const LOOK_EVERY_MS = 60_000;

/** Resolves to the function that ends it, which leaves the chains. Never rejects: nothing of ours needs them. */
export async function keepKubeletChains(
  layout: Place,
  { log, open = openIptables }: { readonly log: Log; readonly open?: Open },
): Promise<() => void> {
  const make = () =>
    makeKubeletChains(layout, open).catch((error: unknown) =>
      log.info('the chains that tell which iptables is used could not be made', { error }),
    );
  await make();
  const timer = setInterval(make, LOOK_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}

export async function makeKubeletChains(layout: Place, open: Open = openIptables): Promise<void> {
  for (const family of FAMILIES) {
    const port = await open({ family });
    try {
      const there = (await port.save(TABLE)).get(TABLE)?.chains;
      const missing = CHAINS.filter((chain) => there?.has(chain) !== true);
      if (missing.length === 0 && (await hasNote(layout))) continue;
      await note(
        layout,
        missing.map((chain) => ({ family, backend: port.backend, chain })),
      );
      if (missing.length > 0)
        await port.restore([`*${TABLE}`, ...missing.map((chain) => `:${chain} - [0:0]`), 'COMMIT']);
    } finally {
      port.close();
    }
  }
}

/** Success also when there are none. */
export async function removeKubeletChains(layout: Place, open: Open = openIptables): Promise<void> {
  const own = await readNote<Note>(layout.runDir, NOTE);
  if (own === undefined || own.netns !== (await ownNetns())) return;
  if ((await notesOf(layout, NOTE, { netns: own.netns, except: layout.runDir })).length > 0) return;
  for (const { family, backend, chain } of own.made) {
    const port = await open({ family, backend }).catch((error: unknown) => {
      // The tools were removed meanwhile.
      if (!(error instanceof KernelError)) throw error;
    });
    if (port === undefined) continue;
    const chains = (await port.save(TABLE)).get(TABLE)?.chains;
    const rules = [...(chains?.values() ?? [])].flatMap((one) => one.rules);
    // With rules of its own or with jumps to it, it has become somebody's.
    const isUsed = rules.some((rule) => rule.split(' ').includes(chain));
    if (chains?.has(chain) === true && !isUsed) await port.restore([`*${TABLE}`, `-X ${chain}`, 'COMMIT']);
    port.close();
  }
}

const hasNote = async ({ runDir }: Place) => (await readNote<Note>(runDir, NOTE)) !== undefined;

/** Before they are made. What another cluster made is ours to remove if it goes first. */
async function note(layout: Place, made: readonly Made[]): Promise<void> {
  const netns = await ownNetns();
  const before = (await notesOf<Note>(layout, NOTE, { netns })).flatMap((one) => one.made);
  const all = new Map([...before, ...made].map((one) => [JSON.stringify(one), one]));
  const now: Note = { netns, made: [...all.values()] };
  await writeNote(layout, NOTE, now);
}
