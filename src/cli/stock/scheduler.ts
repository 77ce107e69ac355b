// Flags of kube-scheduler of which only one behaviour is supported here.
// Guarantees: with those of src/cli/scheduler.ts every flag of kube-scheduler v1.36 is known.
import type { FixedFlags, ToldFlags } from './fixedFlags.js';
import { CONTROL_LOOP, none, REQUEST_HEADERS } from './sharedFlags.js';

export const SCHEDULER: readonly FixedFlags[] = [
  {
    because: 'the scheduler does not write its configuration to a file',
    flags: none('write-config-to'),
  },
  {
    because: 'a pod that no event has made schedulable is retried after five minutes',
    flags: { 'pod-max-in-unschedulable-pods-duration': ['5m'] },
  },
  { because: 'the lock is a Lease', flags: { 'leader-elect-resource-lock': ['leases'] } },
  ...CONTROL_LOOP,
];

export const SCHEDULER_TOLD: readonly ToldFlags[] = [REQUEST_HEADERS];
