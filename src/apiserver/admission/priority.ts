// The number behind a pod's priority class, fixed when the pod is created.
// Guarantees: no user picks a number: it comes from a class, and an update keeps it.
import type { V1Pod } from '../../api/gen/types.js';
import type { Draft } from '../../api/kind.js';
import type { Stored } from '../../api/object.js';
import { PODS, PRIORITY_CLASSES } from '../../api/resources.js';
import { forbidden } from '../../api/status.js';
import type { AdmissionPlugin, AdmissionRequest } from '../admission.js';
import type { AdmissionLookups } from './lookups.js';
import { draftOf } from './requests.js';

type PodSpecDraft = NonNullable<Draft<V1Pod>['spec']>;

interface PriorityOfClass {
  readonly value: number;
  readonly preemptionPolicy: string;
}

const PREEMPT = 'PreemptLowerPriority';
const BUILT_IN: ReadonlyMap<string, PriorityOfClass> = new Map([
  ['system-node-critical', { value: 2_000_001_000, preemptionPolicy: PREEMPT }],
  ['system-cluster-critical', { value: 2_000_000_000, preemptionPolicy: PREEMPT }],
]);

export function makePriority({
  priorityClass,
  priorityClasses,
}: Pick<AdmissionLookups, 'priorityClass' | 'priorityClasses'>): AdmissionPlugin {
  /** Of several, the lowest: a mistake must not raise every pod. */
  const globalDefault = () =>
    priorityClasses()
      .filter((one) => one.globalDefault === true)
      .sort((a, b) => (a.value ?? 0) - (b.value ?? 0))[0];

  async function classOf(name: string, request: AdmissionRequest): Promise<PriorityOfClass> {
    const builtIn = BUILT_IN.get(name);
    if (builtIn !== undefined) return builtIn;
    const found = await priorityClass({ name });
    if (found === undefined)
      throw forbidden(PODS, request.name, `no PriorityClass with name ${name} was found`);
    return { value: found.value ?? 0, preemptionPolicy: found.preemptionPolicy ?? PREEMPT };
  }

  /** Without a name the global default is taken, name and all, if there is one. */
  async function priorityOf(spec: PodSpecDraft, request: AdmissionRequest): Promise<PriorityOfClass> {
    const named = spec.priorityClassName ?? '';
    if (named !== '') return classOf(named, request);
    const chosen = globalDefault();
    if (chosen === undefined) return { value: 0, preemptionPolicy: PREEMPT };
    spec.priorityClassName = chosen.metadata.name;
    return { value: chosen.value ?? 0, preemptionPolicy: chosen.preemptionPolicy ?? PREEMPT };
  }

  return {
    name: 'Priority',
    async mutate(request) {
      const spec = draftOf(request, PODS, 'create', 'update')?.spec;
      if (spec === undefined) return;
      if (request.operation === 'update')
        keepPriority(spec, (request.old as Stored<V1Pod> | undefined)?.spec);
      else fixPriority(spec, await priorityOf(spec, request), request.name);
    },
    validate(request) {
      const wanted = draftOf(request, PRIORITY_CLASSES, 'create', 'update');
      if (wanted?.globalDefault !== true) return;
      const held = globalDefault();
      if (held === undefined || held.metadata.name === request.name) return;
      const why = `PriorityClass ${held.metadata.name} is already marked as default. Only one default can exist`;
      throw forbidden(PRIORITY_CLASSES, request.name, why);
    },
  };
}

function keepPriority(spec: PodSpecDraft, old: Stored<V1Pod>['spec'] | undefined): void {
  if (old?.priority !== undefined) spec.priority ??= old.priority;
  if (old?.preemptionPolicy !== undefined) spec.preemptionPolicy ??= old.preemptionPolicy;
}

/** What a user wrote must be what the class says. */
function fixPriority(spec: PodSpecDraft, { value, preemptionPolicy }: PriorityOfClass, name: string): void {
  const computed = (what: string, given: unknown, wanted: unknown) =>
    forbidden(
      PODS,
      name,
      `${what} (${given}) must not be provided in pod spec; priority admission controller computed ${wanted} from the given PriorityClass name`,
    );
  if (spec.priority !== undefined && spec.priority !== value)
    throw computed('the integer value of priority', spec.priority, value);
  if (spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== preemptionPolicy)
    throw computed('the string value of PreemptionPolicy', spec.preemptionPolicy, preemptionPolicy);
  spec.priority = value;
  spec.preemptionPolicy = preemptionPolicy;
}
