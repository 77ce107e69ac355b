// What may change of a pod that exists. Pure.
// Guarantees: images, the deadline, added tolerations, and the placement of a gated pod; anything else in the spec is refused,
// with what differs.
import { type Cause, forbiddenField, invalidValue } from '../../causes.js';
import type { V1Container, V1PodSpec, V1Toleration } from '../../gen/types.js';
import { internalDiff } from '../../internalForm.js';
import { sameMeaning } from '../../meaning.js';
import { gatedPlacement } from './gated.js';

const MUTABLE =
  'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';

/** Both specs with their defaults. Binding a pod to a node is no update and must not come here. */
export function validatePodUpdate(spec: V1PodSpec, old: V1PodSpec): Cause[] {
  const causes: Cause[] = [];
  const { activeDeadlineSeconds: deadline } = spec;
  if (old.activeDeadlineSeconds !== undefined) {
    if (deadline === undefined)
      causes.push(
        invalidValue(
          'spec.activeDeadlineSeconds',
          null,
          'must not update from a positive integer to nil value',
        ),
      );
    else if (deadline > old.activeDeadlineSeconds)
      causes.push(
        invalidValue('spec.activeDeadlineSeconds', deadline, 'must be less than or equal to previous value'),
      );
  }
  const { tolerations = [] } = spec;
  if (!(old.tolerations ?? []).every((some) => includesToleration(tolerations, some)))
    causes.push(
      forbiddenField(
        'spec.tolerations',
        'existing toleration can not be modified except its tolerationSeconds',
      ),
    );
  const isGated = (old.schedulingGates ?? []).length > 0;
  const { causes: places, rest } = isGated ? gatedPlacement(spec, old) : { causes: [], rest: spec };
  causes.push(...places);
  const [held, wanted] = [frozenPart(old, old), frozenPart(rest, old)];
  if (!sameMeaning('V1PodSpec', wanted, held))
    causes.push(forbiddenField('spec', `${MUTABLE}\n${internalDiff('V1PodSpec', held, wanted)}`));
  return causes;
}

/** The spec as if what may change had not; schedulingGates may only go, which is a change of its own. */
function frozenPart(spec: V1PodSpec, old: V1PodSpec): V1PodSpec {
  const gates = new Set((old.schedulingGates ?? []).map(({ name }) => name));
  const onlyRemovesGates = (spec.schedulingGates ?? []).every(({ name }) => gates.has(name));
  return {
    ...spec,
    containers: withImages(spec.containers ?? [], old.containers ?? []),
    initContainers: withImages(spec.initContainers ?? [], old.initContainers ?? []),
    activeDeadlineSeconds: old.activeDeadlineSeconds,
    tolerations: old.tolerations,
    schedulingGates: onlyRemovesGates ? old.schedulingGates : spec.schedulingGates,
  };
}

function withImages(containers: readonly V1Container[], old: readonly V1Container[]): V1Container[] {
  return containers.map((container, index) => ({ ...container, image: old[index]?.image }));
}

function includesToleration(tolerations: readonly V1Toleration[], wanted: V1Toleration): boolean {
  const { tolerationSeconds: _, ...rest } = wanted;
  return tolerations.some(({ tolerationSeconds: __, ...other }) => sameMeaning('V1Toleration', other, rest));
}
