// A node does not give itself a range of pod addresses: the others would send it their packets. Pure.
// Guarantees: always on; whoever else may write Nodes, such as the controller that gives the ranges, is not concerned.
import type { V1Node } from '../../api/gen/types.js';
import { sameMeaning } from '../../api/meaning.js';
import { NODES } from '../../api/resources.js';
import { forbidden } from '../../api/status.js';
import type { AdmissionPlugin } from '../admission.js';
import { isAbout } from './requests.js';

const NODES_GROUP = 'system:nodes';

export const nodePodCidr: AdmissionPlugin = {
  name: 'NodePodCIDR',
  validate(request) {
    const { operation, user } = request;
    if (!isAbout(request, NODES) || !user.groups.includes(NODES_GROUP)) return;
    if (operation !== 'create' && operation !== 'update') return;
    const before = rangesOf(request.old as V1Node | undefined);
    if (sameMeaning('[]s', before, rangesOf(request.object as V1Node | undefined))) return;
    throw forbidden(NODES, request.name, `node "${request.name}" cannot set its own podCIDRs`);
  },
};

function rangesOf(node: V1Node | undefined): readonly string[] {
  const { podCIDR, podCIDRs } = node?.spec ?? {};
  return podCIDRs ?? (podCIDR ? [podCIDR] : []);
}
