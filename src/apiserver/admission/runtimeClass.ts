// What a pod's RuntimeClass adds to it: the overhead of its sandbox, and the nodes that have the runtime.
// Guarantees: a class that does not exist is refused; nothing is added that the pod contradicts.
import type { V1Pod, V1RuntimeClass, V1Toleration } from '../../api/gen/types.js';
import type { Draft } from '../../api/kind.js';
import type { Stored } from '../../api/object.js';
import { compareQuantities } from '../../api/quantity.js';
import { PODS } from '../../api/resources.js';
import { type ApiError, forbidden } from '../../api/status.js';
import type { AdmissionPlugin } from '../admission.js';
import type { AdmissionLookups } from './lookups.js';
import { draftOf } from './requests.js';

type PodSpecDraft = NonNullable<Draft<V1Pod>['spec']>;
type Amounts = Readonly<Record<string, string | number>>;

export function makeRuntimeClass({ runtimeClass }: Pick<AdmissionLookups, 'runtimeClass'>): AdmissionPlugin {
  return {
    name: 'RuntimeClass',
    async mutate(request) {
      const spec = draftOf(request, PODS, 'create')?.spec;
      const name = spec?.runtimeClassName ?? '';
      if (spec === undefined) return;
      const refuse = (why: string): ApiError => forbidden(PODS, request.name, why);
      if (name === '') {
        if (Object.keys(spec.overhead ?? {}).length > 0)
          throw refuse('Pod Overhead set without corresponding RuntimeClass defined Overhead');
        return;
      }
      const found = await runtimeClass({ name });
      if (found === undefined) throw refuse(`pod rejected: RuntimeClass "${name}" not found`);
      setOverhead(spec, found, refuse);
      setScheduling(spec, found, refuse);
    },
  };
}

function setOverhead(
  spec: PodSpecDraft,
  { overhead }: Stored<V1RuntimeClass>,
  refuse: (why: string) => ApiError,
): void {
  const fixed = overhead?.podFixed;
  if (spec.overhead !== undefined && !sameAmounts(spec.overhead as Amounts, (fixed ?? {}) as Amounts))
    throw refuse("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead");
  if (fixed !== undefined) spec.overhead = { ...fixed };
}

function sameAmounts(a: Amounts, b: Amounts): boolean {
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => b[key] !== undefined && compareQuantities(a[key] ?? 0, b[key] ?? 0) === 0)
  );
}

function setScheduling(
  spec: PodSpecDraft,
  { metadata, scheduling }: Stored<V1RuntimeClass>,
  refuse: (why: string) => ApiError,
): void {
  if (scheduling === undefined) return;
  for (const [key, value] of Object.entries(scheduling.nodeSelector ?? {})) {
    const held = spec.nodeSelector?.[key];
    if (held !== undefined && held !== value)
      throw refuse(
        `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${value}; pod.spec.nodeSelector[${key}] = ${held}; RuntimeClass ${metadata.name}`,
      );
    spec.nodeSelector = { ...spec.nodeSelector, [key]: value };
  }
  const held = spec.tolerations ?? [];
  const missing = (scheduling.tolerations ?? []).filter(
    (wanted) => !held.some((one) => sameToleration(one, wanted)),
  );
  if (missing.length > 0) spec.tolerations = [...held, ...missing.map((one) => ({ ...one }))];
}

function sameToleration(a: V1Toleration, b: V1Toleration): boolean {
  const shape = ({
    key = '',
    operator = 'Equal',
    value = '',
    effect = '',
    tolerationSeconds,
  }: V1Toleration) => JSON.stringify([key, operator, value, effect, tolerationSeconds]);
  return shape(a) === shape(b);
}
