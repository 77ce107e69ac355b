// The modes a proxy can run in, by name, on this machine's kernel; and the choice between them.
// Guarantees: a mode that the kernel lacks is refused with the reason before anything is written.
import { writeFile } from 'node:fs/promises';
import { iptablesMode } from '../../proxy-modes/iptables/mode.js';
import { ipvsMode } from '../../proxy-modes/ipvs/mode.js';
import { nftablesMode } from '../../proxy-modes/nftables/mode.js';
import { userspaceMode } from '../../proxy-modes/userspace/mode.js';
import type { NetNs } from '../kernel/addon.js';
import { openIpset } from '../kernel/ipset/adapter.js';
import { openIptables } from '../kernel/iptables/adapter.js';
import type { IptablesBackend, IptablesPort } from '../kernel/iptables/port.js';
import { openIpvs } from '../kernel/ipvs/adapter.js';
import { openNft } from '../kernel/nftables/adapter.js';
import { openRoute } from '../kernel/route/adapter.js';
import { ProxyError } from './error.js';
import { MODE_NAMES, type ModeName } from './modeNames.js';
import type { IpFamily, PerFamily, ProxyMode, TrafficOptions } from './state.js';

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
    return iptablesMode({
      ports,
      traffic: options.traffic,
      ...(isNft ? { nft: await openNft(options.netns) } : {}),
    });
  },
  ipvs: async (options) => {
    const ipvs = await openIpvs(options.netns);
    return ipvsMode({
      ipvs,
      ipset: await openIpset(options.netns),
      route: await openRoute(options.netns),
      iptables: await iptablesPorts(options),
      traffic: options.traffic,
      ...options.ipvs,
      setSysctl: options.setSysctl ?? ((name, value) => writeFile(`/proc/sys/${name}`, value)),
    });
  },
  userspace: async (options) =>
    userspaceMode({ ports: await iptablesPorts(options), traffic: options.traffic }),
};

export async function openNftablesMode({ netns, table, families, traffic }: ModeOptions): Promise<ProxyMode> {
  const nft = await openNft(netns);
  try {
    await nft.generation();
  } catch (error) {
    nft.close();
    throw error;
  }
  return nftablesMode({ nft, table, families, traffic });
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
    const why = cause instanceof Error ? cause.message : String(cause);
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
