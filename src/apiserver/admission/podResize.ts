// PodResizeValidator: a resize that the pod's node could never grant is refused at once.
// Guarantees: only the resize of a pod that has a node is looked at, and only when it changes something.
import type { V1Pod } from '../../api/gen/types.js';
import { compareQuantities, integerValue, milliValue } from '../../api/quantity.js';
import { podAmounts } from '../../api/quota/usage.js';
import { PODS } from '../../api/resources.js';
import { type ApiError, forbidden, statusError } from '../../api/status.js';
import type { AdmissionPlugin, AdmissionRequest } from '../admission.js';
import type { AdmissionLookups } from './lookups.js';
import { isAbout } from './requests.js';

const OS_LABEL = 'kubernetes.io/os';

export function makePodResizeValidator({ node }: Pick<AdmissionLookups, 'node'>): AdmissionPlugin {
  return {
    name: 'PodResizeValidator',
    async validate(request) {
      if (!isAbout(request, PODS) || request.subresource !== 'resize' || request.operation !== 'update')
        return;
      const pod = request.object as V1Pod | undefined;
      const old = request.old as V1Pod | undefined;
      const name = pod?.spec?.nodeName ?? '';
      if (pod?.spec === undefined || name === '') return;
      const wanted = podAmounts(pod.spec, 'requests');
      const held = old?.spec === undefined ? {} : podAmounts(old.spec, 'requests');
      if (['cpu', 'memory'].every((one) => wanted[one] === held[one])) return;
      const found = await node({ name });
      if (found === undefined) throw forbidden(PODS, request.name, `node "${name}" not found`);
      const os = found.metadata.labels?.[OS_LABEL] ?? 'linux';
      if (os !== 'linux')
        throw refusal(
          request,
          'UnsupportedPlatform',
          `pod resize is only supported on linux nodes, node "${name}" is "${os}"`,
        );
      const lacking = lackingOf(wanted, found.status?.allocatable ?? {});
      if (lacking.length > 0)
        throw refusal(
          request,
          'NodeCapacity',
          `node didn't have enough allocatable resources: ${lacking.join('; ')}`,
        );
    },
  };
}

type Amounts = Readonly<Record<string, string>>;

function lackingOf(wanted: Amounts, allocatable: Amounts): string[] {
  return ['cpu', 'memory'].flatMap((name) => {
    const asked = wanted[name] ?? '0';
    const there = allocatable[name] ?? '0';
    if (compareQuantities(asked, there) <= 0) return [];
    return [`${name}, requested: ${wholeOf(name, asked)}, allocatable: ${wholeOf(name, there)}`];
  });
}

const wholeOf = (name: string, amount: string): number =>
  name === 'cpu' ? milliValue(amount) : integerValue(amount);

/** The cause tells kubelets' clients from other refusals. */
function refusal({ name }: AdmissionRequest, cause: string, why: string): ApiError {
  const details = { name, kind: PODS.resource, causes: [{ reason: cause }] };
  return statusError('Forbidden', `pods "${name}" is forbidden: ${why}`, details);
}
