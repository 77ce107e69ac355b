// Flags of kube-proxy for which there is one way here.
// Guarantees: with those of src/cli/proxy.ts every flag of kube-proxy v1.36 is known.
import type { FixedFlags } from './fixedFlags.js';
import { CLIENT, none } from './sharedFlags.js';

export const PROXY: readonly FixedFlags[] = [
  {
    because: 'the configuration in force is told at /configz of the metrics port',
    flags: none('write-config-to'),
  },
  {
    because: 'everything is watched, and nothing asked for again by the clock',
    flags: { 'config-sync-period': ['15m'] },
  },
  {
    because: 'the machine is not looked at; its Node tells of it',
    flags: {
      'boot-id-file': ['/proc/sys/kernel/random/boot_id'],
      'machine-id-file': ['/etc/machine-id,/var/lib/dbus/machine-id'],
    },
  },
  {
    because: 'there is no profile to fetch over HTTP; start Node.js with --cpu-prof',
    flags: { profiling: ['false'] },
  },
  { because: 'every metric is shown', flags: none('show-hidden-metrics-for-version') },
  ...CLIENT,
];
