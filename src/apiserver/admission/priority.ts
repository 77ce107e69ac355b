// The number behind a pod's priority class, fixed when the pod is created.
// Guarantees: no user picks a number: it comes from a class, and an update keeps it.
import type { V1Pod } from '../../api/gen/types.js';
import type { Stored } from '../../api/object.js';
import { PODS } from '../../api/resources.js';
import { forbidden } from '../../api/status.js';
import type { AdmissionPlugin, AdmissionRequest } from '../admission.js';
import type { AdmissionLookups } from './lookups.js';
import { draftOf } from './requests.js';

interface PriorityOfClass {
  readonly value: number;
  readonly preemptionPolicy: string;
}

const PREEMPT = 'PreemptLowerPriority';
const BUILT_IN: ReadonlyMap<string, PriorityOfClass> = new Map([
  ['system-node-critical', { value: 2_000_001_000, preemptionPolicy: PREEMPT }],
  ['system-cluster-critical', { value: 2_000_000_000, preemptionPolicy: PREEMPT }],
]);

export function makePriority({ priorityClass }: Pick<AdmissionLookups, 'priorityClass'>): AdmissionPlugin {
  async function classOf(name: string, request: AdmissionRequest): Promise<PriorityOfClass> {
    const builtIn = BUILT_IN.get(name);
    if (builtIn !== undefined) return builtIn;
    const found = await priorityClass?.({ name });
    if (found === undefined)
      throw forbidden(PODS, request.name, `no PriorityClass with name ${name} was found`);
    return { value: found.value ?? 0, preemptionPolicy: found.preemptionPolicy ?? PREEMPT };
  }

  return {
    name: 'Priority',
    async mutate(request) {
      const spec = draftOf(request, PODS, 'create', 'update')?.spec;
      if (spec === undefined) return;
      if (request.operation === 'update') {
        const old = (request.old as Stored<V1Pod> | undefined)?.spec;
        if (old?.priority !== undefined) spec.priority ??= old.priority;
        if (old?.preemptionPolicy !== undefined) spec.preemptionPolicy ??= old.preemptionPolicy;
        return;
      }
      const name = spec.priorityClassName ?? '';
      const { value, preemptionPolicy } =
        name === '' ? { value: 0, preemptionPolicy: PREEMPT } : await classOf(name, request);
      if (spec.priority !== undefined && spec.priority !== value) {
        const why = `the integer value of priority (${spec.priority}) must not be provided in pod spec; priority admission controller computed ${value} from the given PriorityClass name`;
        throw forbidden(PODS, request.name, why);
      }
      if (spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== preemptionPolicy) {
        const why = `the string value of PreemptionPolicy (${spec.preemptionPolicy}) must not be provided in pod spec; priority admission controller computed ${preemptionPolicy} from the given PriorityClass name`;
        throw forbidden(PODS, request.name, why);
      }
      spec.priority = value;
      spec.preemptionPolicy = preemptionPolicy;
    },
  };
}
