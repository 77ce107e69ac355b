// The kernel's settings that a proxy is asked to make: connection tracking, and node ports on loopback.
// Guarantees: a limit is raised, never lowered; a time of 0 leaves the kernel's own; loopback is opened only after the
// rules that keep the network out of it.
import { readFile, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import type { ProxyConfig } from './config.js';

export interface KernelSetting {
  /** Below /proc/sys. */
  readonly name: string;
  readonly value: number;
  /** Left alone where the kernel has as much already. */
  readonly isMinimum?: boolean;
  /** Safe only once the mode's rules are in place. */
  readonly afterRules?: boolean;
}

const seconds = (ms: number) => Math.ceil(ms / 1000);

/** Pure: what the configuration asks for on a machine of that many cores. */
export function kernelSettings(config: ProxyConfig, cores: number, mode: string): KernelSetting[] {
  const limit = Math.max(config.conntrackMaxPerCore * cores, config.conntrackMin);
  const conntrack = (name: string, value: number): KernelSetting[] =>
    value === 0 ? [] : [{ name: `net/netfilter/nf_conntrack_${name}`, value }];
  return [
    ...(config.conntrackMaxPerCore === 0
      ? []
      : [{ name: 'net/netfilter/nf_conntrack_max', value: limit, isMinimum: true }]),
    ...conntrack('tcp_timeout_established', seconds(config.conntrackTcpEstablishedMs)),
    ...conntrack('tcp_timeout_close_wait', seconds(config.conntrackTcpCloseWaitMs)),
    ...conntrack('udp_timeout', seconds(config.conntrackUdpMs)),
    ...conntrack('udp_timeout_stream', seconds(config.conntrackUdpStreamMs)),
    ...conntrack('tcp_be_liberal', config.conntrackTcpBeLiberal ? 1 : 0),
    ...(config.localhostNodePorts && mode === 'iptables'
      ? [{ name: 'net/ipv4/conf/all/route_localnet', value: 1, afterRules: true }]
      : []),
  ];
}

const SYSCTLS = '/proc/sys';

export type Moment = 'before-rules' | 'after-rules';

/** Those of the moment, by their names below `sysctls`, but for limits of which the kernel has more already. */
export async function settingsToMake(
  config: ProxyConfig,
  mode: string,
  when: Moment,
  sysctls = SYSCTLS,
): Promise<Map<string, number>> {
  const wanted = new Map<string, number>();
  const all = kernelSettings(config, availableParallelism(), mode);
  for (const { name, value, isMinimum = false, afterRules = false } of all) {
    if (afterRules !== (when === 'after-rules')) continue;
    if (!isMinimum || !((await readNumber(`${sysctls}/${name}`)) > value)) wanted.set(name, value);
  }
  return wanted;
}

/** Makes those of the moment; answers which could not be made, and why. */
export async function applyKernelSettings(
  config: ProxyConfig,
  mode: string,
  when: Moment,
): Promise<Map<string, unknown>> {
  const failed = new Map<string, unknown>();
  for (const [name, value] of await settingsToMake(config, mode, when)) {
    const file = `${SYSCTLS}/${name}`;
    if ((await readNumber(file)) === value) continue;
    await writeFile(file, String(value)).catch((error: unknown) => failed.set(name, error));
  }
  return failed;
}

const readNumber = async (file: string) => Number(await readFile(file, 'utf8').catch(() => Number.NaN));
