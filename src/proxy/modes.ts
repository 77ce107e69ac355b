// The modes a proxy can run in, by name, on this machine's kernel; and the choice between them.
// Guarantees: a mode that the kernel lacks is refused with the reason before anything is written; what an earlier start left in
// the other back end of iptables is removed once the rules are in place, and with a clean-up.
import { writeFile } from 'node:fs/promises';
import { iptablesMode } from '../../proxy-modes/iptables/mode.js';
import { OWNED as IPTABLES_OWNED } from '../../proxy-modes/iptables/plan/base.js';
import { type Ownership, removal } from '../../proxy-modes/iptables/tables.js';
import { IpvsMode } from '../../proxy-modes/ipvs/mode.js';
import type { IpFamily, PerFamily, ProxyMode, TrafficOptions } from '../../proxy-modes/mode.js';
import { NftablesMode } from '../../proxy-modes/nftables/mode.js';
import { userspaceMode } from '../../proxy-modes/userspace/mode.js';
import { OWNED as USERSPACE_OWNED } from '../../proxy-modes/userspace/plan/base.js';
import { messageOf } from '../base/errorMessage.js';
import type { NetNs } from '../kernel/addon.js';
import { openIpset } from '../kernel/ipset/adapter.js';
import { openIptables } from '../kernel/iptables/adapter.js';
import type { IptablesBackend, IptablesPort } from '../kernel/iptables/port.js';
import { openIpvs } from '../kernel/ipvs/adapter.js';
import type { IpvsTimeouts } from '../kernel/ipvs/port.js';
import { openNft } from '../kernel/nftables/adapter.js';
import { openRoute } from '../kernel/route/adapter.js';
import { ProxyError } from './error.js';
import { MODE_NAMES, type ModeName } from './modeNames.js';

/** The nft back end of iptables needs minutes to write ten thousand services at once. */
const RESTORE_TIMEOUT_MS = 900_000;

export interface ModeOptions {
  /** Name of the nftables mode's table. */
  readonly table: string;
  readonly families: readonly IpFamily[];
  readonly traffic: PerFamily<TrafficOptions>;
  readonly ipvs?: {
    readonly scheduler?: string;
    readonly excludeCidrs?: readonly string[];
    readonly strictArp?: boolean;
    readonly timeouts?: Partial<IpvsTimeouts>;
  };
  /** The back end of iptables; the one that holds the machine's rules when left out. */
  readonly backend?: IptablesBackend;
  /** Another namespace than our own, for tests and benchmarks. */
  readonly netns?: NetNs;
  /** Sets a kernel setting; in our own namespace when left out. */
  setSysctl?(name: string, value: string): Promise<void>;
}

const OPENERS: Readonly<Record<ModeName, (options: ModeOptions) => Promise<ProxyMode>>> = {
  nftables: openNftablesMode,
  iptables: async (options) => {
    const ports = await iptablesPorts(options);
    const isNft = Object.values(ports).some(({ backend }) => backend === 'nft');
    const mode = iptablesMode({
      ports,
      traffic: options.traffic,
      ...(isNft ? { nft: await openNft(options.netns) } : {}),
    });
    return alsoCleaning(mode, () => cleanOtherBackend(ports, options, IPTABLES_OWNED));
  },
  ipvs: async (options) => {
    const ipvs = await openIpvs(options.netns);
    return new IpvsMode({
      ipvs,
      ipset: await openIpset(options.netns),
      route: await openRoute(options.netns),
      iptables: await iptablesPorts(options),
      traffic: options.traffic,
      ...options.ipvs,
      setSysctl: options.setSysctl ?? ((name, value) => writeFile(`/proc/sys/${name}`, value)),
    });
  },
  userspace: async (options) => {
    const ports = await iptablesPorts(options);
    const mode = userspaceMode({ ports, traffic: options.traffic });
    return alsoCleaning(mode, () => cleanOtherBackend(ports, options, USERSPACE_OWNED));
  },
};

/** The mode, with a clean-up elsewhere after its first sync and with its own. */
function alsoCleaning(mode: ProxyMode, clean: () => Promise<void>): ProxyMode {
  let isDue = true;
  return {
    ...mode,
    sync: async (state, changed) => {
      const report = await mode.sync(state, changed);
      // What cannot be removed now is tried again after the next sync; the rules are in place all the same.
      if (isDue)
        await clean().then(
          () => {
            isDue = false;
          },
          () => undefined,
        );
      return report;
    },
    cleanUp: async () => {
      await mode.cleanUp();
      await clean();
    },
  };
}

/** Rules of ours in the back end that is not used: they would go on winning. */
async function cleanOtherBackend(
  ports: PerFamily<IptablesPort>,
  { netns }: ModeOptions,
  owned: Ownership,
): Promise<void> {
  for (const { family, backend } of Object.values(ports)) {
    const unused = backend === 'nft' ? 'legacy' : 'nft';
    // A back end that this machine has not, or cannot be read, holds nothing of ours.
    const other = await openIptables({ family, backend: unused, netns }).catch(() => undefined);
    const found = await other?.save().catch(() => undefined);
    const lines = found === undefined ? [] : removal(owned, found);
    if (lines.length > 0) await other?.restore(lines);
    other?.close();
  }
}

export async function openNftablesMode({ netns, table, families, traffic }: ModeOptions): Promise<ProxyMode> {
  const nft = await openNft(netns);
  try {
    await nft.generation();
  } catch (error) {
    nft.close();
    throw error;
  }
  return new NftablesMode({ nft, table, families, traffic });
}

async function iptablesPorts({ families, netns, backend }: ModeOptions): Promise<PerFamily<IptablesPort>> {
  const opened = await Promise.all(
    families.map(async (family) => {
      const port = await openIptables({
        family: family === 'ip' ? 'inet' : 'inet6',
        netns,
        timeoutMs: RESTORE_TIMEOUT_MS,
        ...(backend === undefined ? {} : { backend }),
      });
      return [family, port] as const;
    }),
  );
  return Object.fromEntries(opened);
}

export async function openMode(name: ModeName, options: ModeOptions): Promise<ProxyMode> {
  try {
    return await OPENERS[name](options);
  } catch (cause) {
    const why = messageOf(cause);
    throw new ProxyError('MODE_MISSING', `the ${name} mode cannot run on this machine: ${why}`, { cause });
  }
}

/** The first of the modes, in the order of preference, that this machine has; and why the ones before it are not. */
export async function openBestMode(options: ModeOptions): Promise<{ mode: ProxyMode; why: string }> {
  const refusals: string[] = [];
  for (const name of MODE_NAMES) {
    try {
      const mode = await openMode(name, options);
      return { mode, why: refusals.length === 0 ? 'the kernel has nf_tables' : refusals.join('; ') };
    } catch (error) {
      if (!(error instanceof ProxyError)) throw error;
      refusals.push(error.message);
    }
  }
  throw new ProxyError('MODE_MISSING', `no mode can run on this machine: ${refusals.join('; ')}`);
}

/** Removes what the other modes have left. Connections that conntrack knows live on. */
export async function cleanUpModes(
  names: readonly ModeName[],
  options: ModeOptions,
): Promise<Map<ModeName, unknown>> {
  const failed = new Map<ModeName, unknown>();
  for (const name of names) {
    const mode = await openMode(name, options).catch(() => undefined);
    // A mode that cannot run here has left nothing here.
    if (mode === undefined) continue;
    await mode.cleanUp().catch((error: unknown) => failed.set(name, error));
    mode.close();
  }
  return failed;
}

/** Modes whose chains have the same names as this one's: they must be gone before it begins. */
export const sharesChains = (a: ModeName, b: ModeName) => a !== b && a !== 'nftables' && b !== 'nftables';
