// The modes a proxy can run in, by name, on this machine's kernel; and the choice between them.
// Guarantees: a mode that the kernel lacks is refused with the reason before anything is written; what an earlier start left in
// the other back end of iptables is removed once the rules are in place, and with a clean-up.
import { writeFile } from 'node:fs/promises';
import { iptablesMode } from '../../proxy-modes/iptables/mode.js';
import { OWNED as IPTABLES_OWNED } from '../../proxy-modes/iptables/plan/base.js';
import type { Ownership } from '../../proxy-modes/iptables/tables.js';
import { IpvsMode } from '../../proxy-modes/ipvs/mode.js';
import { OWNED as IPVS_OWNED } from '../../proxy-modes/ipvs/plan/base.js';
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
import { alsoCleaning } from './otherBackend.js';

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

/** What of the tables of iptables is whose. */
const OWNED: Readonly<Record<Exclude<ModeName, 'nftables'>, Ownership>> = {
  iptables: IPTABLES_OWNED,
  ipvs: IPVS_OWNED,
  userspace: USERSPACE_OWNED,
};

/** A mode, and what it writes its rules with. */
interface Opened {
  readonly mode: ProxyMode;
  readonly ports: PerFamily<IptablesPort>;
}

const OPENERS: Readonly<Record<keyof typeof OWNED, (options: ModeOptions) => Promise<Opened>>> = {
  iptables: async (options) => {
    const ports = await iptablesPorts(options);
    const { traffic, netns } = options;
    const isNft = Object.values(ports).some(({ backend }) => backend === 'nft');
    return { ports, mode: iptablesMode({ ports, traffic, ...(isNft ? { nft: await openNft(netns) } : {}) }) };
  },
  ipvs: async (options) => {
    const ipvs = await openIpvs(options.netns);
    const ports = await iptablesPorts(options);
    const mode = new IpvsMode({
      ipvs,
      ipset: await openIpset(options.netns),
      route: await openRoute(options.netns),
      iptables: ports,
      traffic: options.traffic,
      ...options.ipvs,
      setSysctl: options.setSysctl ?? ((name, value) => writeFile(`/proc/sys/${name}`, value)),
    });
    return { ports, mode };
  },
  userspace: async (options) => {
    const ports = await iptablesPorts(options);
    return { ports, mode: userspaceMode({ ports, traffic: options.traffic }) };
  },
};

async function open(name: ModeName, options: ModeOptions): Promise<ProxyMode> {
  if (name === 'nftables') return openNftablesMode(options);
  const { mode, ports } = await OPENERS[name](options);
  const openOther = ({ family, backend }: IptablesPort) =>
    openIptables({ family, backend: backend === 'nft' ? 'legacy' : 'nft', netns: options.netns });
  return alsoCleaning(mode, { owned: OWNED[name], ports, openOther });
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
    return await open(name, options);
  } catch (cause) {
    const why = messageOf(cause);
    throw new ProxyError('MODE_MISSING', `the ${name} mode cannot run on this machine: ${why}`, { cause });
  }
}

/** The first of the modes, in the order of preference, that this machine has; and why the ones before it are not. Each is tried with options of its own. */
export async function openBestMode(
  optionsFor: (name: ModeName) => ModeOptions | Promise<ModeOptions>,
): Promise<{ mode: ProxyMode; why: string }> {
  const refusals: string[] = [];
  for (const name of MODE_NAMES) {
    try {
      const mode = await openMode(name, await optionsFor(name));
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
