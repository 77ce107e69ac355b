// Flags of kube-proxy of which only one behaviour is supported here.
// Guarantees: with those of src/cli/proxy.ts every flag of kube-proxy v1.36 is known.
import type { FixedFlags } from './fixedFlags.js';
import { CLIENT, none } from './sharedFlags.js';

export const PROXY: readonly FixedFlags[] = [
  {
    because: 'read the configuration in use from /configz of the metrics port',
    flags: none('write-config-to'),
  },
  {
    because: 'objects are watched; there is no periodic resync',
    flags: { 'config-sync-period': ['15m'] },
  },
  {
    because: 'the proxy does not read the machine or boot id; they are in the status of the Node',
    flags: {
      'boot-id-file': ['/proc/sys/kernel/random/boot_id'],
      'machine-id-file': ['/etc/machine-id,/var/lib/dbus/machine-id'],
    },
  },
  {
    because: 'profiles are not served over HTTP; start Node.js with --cpu-prof',
    flags: { profiling: ['false'] },
  },
  { because: 'all metrics are shown', flags: none('show-hidden-metrics-for-version') },
  ...CLIENT,
];
