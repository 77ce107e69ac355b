// Node: a machine that runs pods. Pure.
// Guarantees: pod ranges and the provider's name for the machine are set once; a node may be created with its status,
// which is checked then and whenever it changes.
import { type Cause, checkName, checkOneOf, duplicate, forbiddenField, required } from '../causes.js';
import { ageColumn, column, nameColumn } from '../columns.js';
import type { V1Node, V1Taint } from '../gen/types.js';
import type { KindDefinition } from '../kind.js';
import { sameMeaning } from '../meaning.js';
import { labelValue, qualifiedName } from '../names.js';
import { NODES } from '../resources.js';
import { validateFirstStatus, validateNextStatus } from './nodeStatus.js';
import { isNewStatus } from './statusChecks.js';

const ROLE = 'node-role.kubernetes.io/';

export const nodeKind: KindDefinition<V1Node> = {
  type: NODES,
  singular: 'node',
  shortNames: ['no'],
  categories: [],
  model: 'V1Node',
  hasStatus: true,
  hasGeneration: false,
  nameRule: 'dnsSubdomain',
  defaults(draft) {
    draft.spec ??= {};
    const { status, spec } = draft;
    if (status?.capacity !== undefined) status.allocatable ??= { ...status.capacity };
    if (spec.podCIDR && spec.podCIDRs === undefined) spec.podCIDRs = [spec.podCIDR];
    else if (!spec.podCIDR && spec.podCIDRs?.[0] !== undefined) spec.podCIDR = spec.podCIDRs[0];
  },
  validate(node, old) {
    const { spec = {}, status = {} } = node;
    const causes = validateTaints(spec.taints ?? []);
    if (old === undefined) causes.push(...validateFirstStatus(status));
    else if (isNewStatus(node, old)) causes.push(...validateNextStatus(status));
    const before = old?.spec ?? {};
    if ((before.podCIDRs ?? []).length > 0 && !sameMeaning('[]s', before.podCIDRs, spec.podCIDRs))
      causes.push(
        forbiddenField('spec.podCIDRs', 'node updates may not change podCIDR except from "" to valid'),
      );
    if (before.providerID && before.providerID !== spec.providerID)
      causes.push(
        forbiddenField('spec.providerID', 'node updates may not change providerID except from "" to valid'),
      );
    return causes;
  },
  columns: [
    nameColumn,
    column('Status', statusCell, { description: 'Whether it is ready, and whether new pods may come.' }),
    column('Roles', rolesCell, { description: 'What it is for.' }),
    ageColumn,
    column('Version', ({ status }) => status?.nodeInfo?.kubeletVersion ?? '', {
      description: 'The version of its kubelet.',
    }),
    column('Internal-IP', (node) => addressOf(node, 'InternalIP'), {
      description: 'Its address inside the cluster.',
      wide: true,
    }),
    column('External-IP', (node) => addressOf(node, 'ExternalIP'), {
      description: 'Its address from outside.',
      wide: true,
    }),
    column('OS-Image', ({ status }) => orUnknown(status?.nodeInfo?.osImage), {
      description: 'Its operating system.',
      wide: true,
    }),
    column('Kernel-Version', kernelCell, {
      description: 'Its kernel.',
      wide: true,
    }),
    column('Container-Runtime', ({ status }) => orUnknown(status?.nodeInfo?.containerRuntimeVersion), {
      description: 'What runs its containers.',
      wide: true,
    }),
  ],
  fields: ({ spec }) => ({ 'spec.unschedulable': String(spec?.unschedulable ?? false) }),
};

function kernelCell({ status }: V1Node): string {
  const { kernelVersion, architecture } = status?.nodeInfo ?? {};
  return `${orUnknown(kernelVersion)}${architecture ? ` (${architecture})` : ''}`;
}

const orUnknown = (text: string | undefined) => text || '<unknown>';

function statusCell({ spec, status }: V1Node): string {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  const word = ready === undefined ? 'Unknown' : ready.status === 'True' ? 'Ready' : 'NotReady';
  return spec?.unschedulable === true ? `${word},SchedulingDisabled` : word;
}

function rolesCell({ metadata }: V1Node): string {
  const roles = Object.entries(metadata?.labels ?? {}).flatMap(([key, value]) => {
    if (key.startsWith(ROLE) && key.length > ROLE.length) return [key.slice(ROLE.length)];
    return key === 'kubernetes.io/role' && value !== '' ? [value] : [];
  });
  return [...new Set(roles)].sort().join(',') || '<none>';
}

function addressOf({ status }: V1Node, type: string): string {
  return status?.addresses?.find((address) => address.type === type)?.address ?? '<none>';
}

function validateTaints(taints: readonly V1Taint[]): Cause[] {
  const seen = new Set<string>();
  return taints.flatMap(({ key, value, effect }, index) => {
    const at = `spec.taints[${index}]`;
    const causes = checkName(`${at}.key`, key ?? '', qualifiedName);
    if (value) causes.push(...checkName(`${at}.value`, value, labelValue));
    if (!effect) causes.push(required(`${at}.effect`));
    else causes.push(...checkOneOf(`${at}.effect`, effect, ['NoSchedule', 'PreferNoSchedule', 'NoExecute']));
    const identity = `${key}:${effect}`;
    if (seen.has(identity)) causes.push(duplicate(at, { key, value, effect }));
    seen.add(identity);
    return causes;
  });
}
