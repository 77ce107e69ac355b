// A new node takes no pods until its controller has seen it ready. Pure.
import { NODES } from '../../api/resources.js';
import type { AdmissionPlugin } from '../admission.js';
import { draftOf } from './requests.js';

const NOT_READY = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };

export const taintNodesByCondition: AdmissionPlugin = {
  name: 'TaintNodesByCondition',
  mutate(request) {
    const node = draftOf(request, NODES, 'create');
    if (node === undefined) return;
    const taints = node.spec?.taints ?? [];
    if (taints.some(({ key, effect }) => key === NOT_READY.key && effect === NOT_READY.effect)) return;
    node.spec = { ...node.spec, taints: [...taints, { ...NOT_READY }] };
  },
};
