// Every check of doctor, in the order in which it is shown.
// Guarantees: ids are unique (a test reads the whole table).
import type { Check, KernelProbe } from '../check.js';
import { cgroupBpf, cgroups } from './cgroups.js';
import { devices } from './devices.js';
import { machine, privileges } from './host.js';
import { isolation, systemCalls } from './isolation.js';
import { limits, settings } from './limits.js';
import { connections, forwardPolicies, ipsets, iptables, nfTables } from './netfilter.js';
import { tools } from './tools.js';

/** What is asked of the kernel in a throw-away namespace; tests name these as their needs. */
export const kernelFeatures: readonly Check<KernelProbe>[] = [
  ...isolation,
  ...devices,
  ...nfTables,
  ...iptables,
  ...ipsets,
  ...connections,
  ...cgroupBpf,
];

export const allChecks: readonly Check[] = [
  ...machine,
  ...privileges,
  ...isolation,
  ...systemCalls,
  ...devices,
  ...nfTables,
  ...iptables,
  ...forwardPolicies,
  ...ipsets,
  ...connections,
  ...cgroups,
  ...cgroupBpf,
  ...limits,
  ...settings,
  ...tools,
];
