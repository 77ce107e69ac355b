// iptables of either back end and family, in any namespace: natively where that is known, else by its own tools.
// Guarantees: rules cross in slices, so that the loop keeps turning; the xtables lock is waited for a bounded time;
// whatever the native way does not know or is refused, the tool does.
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { NetNs, RunResult } from '../addon.js';
import { Channel } from '../channel.js';
import { KernelError } from '../error.js';
import { openNft } from '../nftables/adapter.js';
import { run } from '../process.js';
import { chooseBackend, type Evidence, evidenceIn, parseVersion, type ToolVersion } from './backend.js';
import { brokenLine, lockHeld, restoreError, toolError } from './failure.js';
import { nativeSteps } from './native/batch.js';
import { tableChanges } from './native/replacement.js';
import { atMost, NotUnderstood } from './native/sections.js';
import { SaveParser } from './parse.js';
import type {
  IptablesBackend,
  IptablesFamily,
  IptablesPort,
  RestoreOptions,
  Ruleset,
  TableName,
} from './port.js';

interface IptablesOptions {
  readonly family: IptablesFamily;
  /** Chosen by what the machine holds if left out; see detectBackend. */
  readonly backend?: IptablesBackend;
  readonly netns?: NetNs;
  /** How long a restore may wait for the xtables lock. */
  readonly lockWaitSeconds?: number;
  readonly timeoutMs?: number;
  /** For the tools, over our own environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** False leaves everything to the tools. */
  readonly native?: boolean;
}

const LOCK_WAIT_SECONDS = 5;
const LOCK_RETRY_MS = 50;
/** Where the tools lock, unless their environment says another. */
const LOCK_FILE = '/run/xtables.lock';
/** The tool puts more lines than these into a legacy table in less memory of ours, and about as quickly. */
const MOST_LEGACY_LINES = 4_000;
const TIMEOUT_MS = 120_000;
/** Lines joined, or bytes split, between two turns of the event loop. */
const SLICE_LINES = 500;
const SLICE_BYTES = 32 * 1024;

type Tool = 'restore' | 'save';
const toolName = (family: IptablesFamily, backend: IptablesBackend, tool: Tool) =>
  `${family === 'inet' ? 'iptables' : 'ip6tables'}-${backend}-${tool}`;

async function toInput(lines: Iterable<string>): Promise<Uint8Array[]> {
  const chunks: Uint8Array[] = [];
  let [at, slice]: [number, string[]] = [0, []];
  const push = () => {
    const broken = brokenLine(slice, at);
    if (broken !== undefined) throw broken;
    chunks.push(Buffer.from(`${slice.join('\n')}\n`));
    at += slice.length;
    slice = [];
  };
  for (const line of lines) {
    slice.push(line);
    if (slice.length < SLICE_LINES) continue;
    push();
    await nextTurn();
  }
  if (slice.length > 0) push();
  return chunks;
}

async function fromOutput(stdout: Buffer, table: TableName | undefined): Promise<Ruleset> {
  const parser = new SaveParser();
  for (let at = 0; at < stdout.length; ) {
    if (at > 0) await nextTurn();
    const end = stdout.indexOf('\n', Math.min(at + SLICE_BYTES, stdout.length - 1));
    const next = end === -1 ? stdout.length : end;
    for (const line of stdout.toString('utf8', at, next).split('\n')) parser.push(line);
    at = next + 1;
  }
  const ruleset = parser.ruleset();
  return table === undefined ? ruleset : new Map([...ruleset].filter(([name]) => name === table));
}

class IptablesTools implements IptablesPort {
  readonly #options: IptablesOptions;
  readonly #version: ToolVersion;

  readonly family: IptablesFamily;
  readonly backend: IptablesBackend;
  /** Remembers the legacy tables it has written, so that they need not be read before the next change. */
  #legacy: Promise<Channel> | undefined;

  constructor(options: IptablesOptions, backend: IptablesBackend, version: ToolVersion) {
    this.#options = options;
    this.#version = version;

    this.family = options.family;
    this.backend = backend;
  }

  async restore(lines: Iterable<string>, { counters = false }: RestoreOptions = {}): Promise<void> {
    if (!counters && this.#options.native !== false)
      if (await (this.backend === 'nft' ? this.#commit(lines) : this.#replace(lines))) return;
    const tool = toolName(this.family, this.backend, 'restore');
    const wait = this.#options.lockWaitSeconds ?? LOCK_WAIT_SECONDS;
    const args = [
      '--noflush',
      ...(counters ? ['--counters'] : []),
      ...(this.#version.hasWait ? [`--wait=${wait}`] : []),
    ];
    const result = await this.#run([tool, ...args], await toInput(lines));
    if (result.status !== 0) throw restoreError(describe(tool, result), [...lines]);
  }

  /**
   * The tool reads the whole ruleset back before it writes; the kernel needs only what changes. False when it was not
   * done, for whatever reason: the tool then does it, or says what is wrong.
   */
  async #commit(lines: Iterable<string>): Promise<boolean> {
    const channel = await Channel.open('nftables', this.#options.netns);
    try {
      for (const step of nativeSteps(this.family === 'inet' ? 'ip' : 'ip6', lines)) {
        await channel.apply(step);
        await nextTurn();
      }
      return true;
    } catch (error) {
      if (error instanceof KernelError || error instanceof NotUnderstood) return false;
      throw error;
    } finally {
      channel.close();
    }
  }

  /** The same for the legacy back end, where the tool would make an object of every rule of the table. */
  async #replace(given: Iterable<string>): Promise<boolean> {
    const lines = atMost(given, MOST_LEGACY_LINES);
    if (lines === undefined) return false;
    const { lockWaitSeconds = LOCK_WAIT_SECONDS, env } = this.#options;
    const lock = env?.['XTABLES_LOCKFILE'] ?? process.env['XTABLES_LOCKFILE'] ?? LOCK_FILE;
    const changes = understood(() => tableChanges(this.family === 'inet' ? 'ip' : 'ip6', lines, lock));
    if (changes === undefined) return false;
    const channel = await this.#openLegacy();
    const deadline = performance.now() + 1000 * lockWaitSeconds;
    for (;;) {
      const refusal = await channel.apply(changes).then(
        () => undefined,
        (error: unknown) => error,
      );
      if (refusal === undefined) return true;
      if (!(refusal instanceof KernelError)) throw refusal;
      // Tables before the refused one are changed: the tool must not do those again.
      if ((refusal.index ?? 0) > 0 && refusal.code !== 'INVALID') throw refusal;
      if (refusal.code !== 'EAGAIN') return false;
      if (performance.now() >= deadline) throw lockHeld('iptables');
      await sleep(LOCK_RETRY_MS);
    }
  }

  #openLegacy(): Promise<Channel> {
    if (this.#legacy !== undefined) return this.#legacy;
    const opened = Channel.open('xtables', this.#options.netns);
    this.#legacy = opened;
    opened.catch(() => {
      if (this.#legacy === opened) this.#legacy = undefined;
    });
    return opened;
  }

  close(): void {
    void this.#legacy?.then(
      (channel) => channel.close(),
      () => undefined,
    );
    this.#legacy = undefined;
  }

  async save(table?: TableName): Promise<Ruleset> {
    const tool = toolName(this.family, this.backend, 'save');
    // Asked for one table, the legacy tool would make the kernel create it; so it tells all and we pick.
    const args = table !== undefined && this.backend === 'nft' ? ['-t', table] : [];
    const result = await this.#run([tool, ...args]);
    if (result.status !== 0) throw toolError(describe(tool, result));
    return fromOutput(result.stdout, table);
  }

  async stamp(tables: readonly TableName[]): Promise<string> {
    const { netns } = this.#options;
    if (this.backend === 'nft') {
      const nft = await openNft(netns);
      return String(await nft.generation().finally(() => nft.close()));
    }
    const channel = await Channel.open('xtables', netns);
    try {
      const family = this.family === 'inet' ? 'ip' : 'ip6';
      const sizes = tables.map((name) => channel.query<object>({ kind: 'table', family, name }));
      return JSON.stringify(await Promise.all(sizes));
    } finally {
      channel.close();
    }
  }

  #run(argv: readonly string[], input: readonly Uint8Array[] = []): Promise<RunResult> {
    const { netns, timeoutMs = TIMEOUT_MS, env = {} } = this.#options;
    return run(argv, { netns, input, timeoutMs, env: { LC_ALL: 'C', ...env } });
  }
}

function understood<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof NotUnderstood) return undefined;
    throw error;
  }
}

const describe = (tool: string, { stderr, status, signal }: RunResult) => ({
  tool,
  stderr: stderr.toString(),
  status,
  signal,
});

/** What a back end holds in the namespace; undefined when its tools are not installed. */
async function evidenceOf(
  backend: IptablesBackend,
  args: readonly string[],
  netns: NetNs,
): Promise<Evidence | undefined> {
  const families: readonly IptablesFamily[] = ['inet', 'inet6'];
  try {
    const saved = await Promise.all(
      families.map((family) => run([toolName(family, backend, 'save'), ...args], { netns })),
    );
    // A kernel without that back end has no rules in it.
    return evidenceIn(saved.map(({ status, stdout }) => (status === 0 ? stdout.toString() : '')));
  } catch (error) {
    if (error instanceof KernelError && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Whether the kernel takes what the nft tools write, which they do not ask it: tried in a namespace that goes at once. */
async function kernelHasNft(): Promise<boolean> {
  const rule = ['-t', 'nat', '-A', 'OUTPUT', '-m', 'addrtype', '--dst-type', 'LOCAL', '-j', 'RETURN'];
  const { status } = await run(['unshare', '--net', 'iptables-nft', ...rule]);
  return status === 0;
}

/** The back end that holds the machine's rules: see chooseBackend. Where neither does nft, if the kernel has it. */
export async function detectBackend(netns?: NetNs): Promise<IptablesBackend> {
  // The kubelet's mark is in mangle, and looking there spares listing every rule.
  const mark = await evidenceOf('nft', ['-t', 'mangle'], netns);
  if (mark !== undefined && mark.hints > 0) return 'nft';
  const legacy = await evidenceOf('legacy', [], netns);
  const nft = mark === undefined || legacy === undefined ? mark : await evidenceOf('nft', [], netns);
  const isOpen = nft !== undefined && legacy !== undefined && nft.rules + nft.hints === 0;
  return chooseBackend({ nft: isOpen && !(await kernelHasNft()) ? undefined : nft, legacy });
}

/** The version and abilities of the installed tools; ENOENT when they are not installed. */
export async function toolVersion(family: IptablesFamily, backend: IptablesBackend): Promise<ToolVersion> {
  const tool = toolName(family, backend, 'restore');
  const result = await run([tool, '--version']);
  const version = parseVersion(result.stdout.toString());
  if (result.status !== 0 || version === undefined) throw toolError(describe(tool, result));
  return version;
}

/** Opens iptables of one family. */
export async function openIptables(options: IptablesOptions): Promise<IptablesPort> {
  const backend = options.backend ?? (await detectBackend(options.netns));
  return new IptablesTools(options, backend, await toolVersion(options.family, backend));
}
