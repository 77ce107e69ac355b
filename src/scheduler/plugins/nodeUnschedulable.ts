// Cordoned nodes take no new pods, except those that tolerate it. Pure.
import { type Plugin, simpleFilter } from '../plugin.js';
import { tolerates } from '../tolerations.js';

const CORDONED = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };

export const nodeUnschedulable: Plugin = {
  name: 'NodeUnschedulable',
  wokenBy: ['node added', 'node schedulable'],
  filter({ spec }, { table: { unschedulable } }) {
    if (tolerates(spec.tolerations, CORDONED)) return undefined;
    return simpleFilter((slot) => unschedulable[slot] === 1, 'node(s) were unschedulable', { final: true });
  },
  helps: ({ node }) => node?.spec?.unschedulable !== true,
};
