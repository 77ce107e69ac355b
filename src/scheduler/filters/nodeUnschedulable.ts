// Cordoned nodes take no new pods, except those that tolerate it. Pure.
import { type FilterPlugin, fits, rejects } from '../plugin.js';
import { tolerates } from '../tolerations.js';

const CORDONED = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };

export const nodeUnschedulable: FilterPlugin = {
  name: 'NodeUnschedulable',
  wokenBy: ['node schedulable'],
  filter: (pod, { node }) =>
    node?.spec?.unschedulable !== true || tolerates(pod.spec.tolerations, CORDONED)
      ? fits
      : rejects('node(s) were unschedulable'),
};
