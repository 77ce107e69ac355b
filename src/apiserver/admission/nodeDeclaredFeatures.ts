// NodeDeclaredFeatureValidator: a change of a pod that its node says it cannot carry out is refused.
// Guarantees: only pods that have a node are looked at, and only changes that need something of it.
import type { V1Pod } from '../../api/gen/types.js';
import { sameMeaning } from '../../api/meaning.js';
import { PODS } from '../../api/resources.js';
import { forbidden } from '../../api/status.js';
import type { AdmissionPlugin } from '../admission.js';
import type { AdmissionLookups } from './lookups.js';
import { isAbout } from './requests.js';

export function makeNodeDeclaredFeatures({ node }: Pick<AdmissionLookups, 'node'>): AdmissionPlugin {
  return {
    name: 'NodeDeclaredFeatureValidator',
    async validate(request) {
      const { operation, subresource } = request;
      if (!isAbout(request, PODS) || operation !== 'update') return;
      if (subresource !== '' && subresource !== 'resize') return;
      const pod = request.object as V1Pod;
      const name = pod.spec?.nodeName ?? '';
      const needed = name === '' ? [] : neededBy(pod, (request.old ?? {}) as V1Pod);
      if (needed.length === 0) return;
      const found = await node({ name });
      if (found === undefined) throw forbidden(PODS, request.name, `node "${name}" not found`);
      const declared = new Set(found.status?.declaredFeatures ?? []);
      const missing = needed.filter((feature) => !declared.has(feature));
      if (missing.length === 0) return;
      const why = `pod update requires features ${missing.join(', ')} which are not available on node "${name}"`;
      throw forbidden(PODS, request.name, why);
    },
  };
}

/** The features that a kubelet must have for the change, by Kubernetes' names. */
function neededBy({ spec }: V1Pod, { spec: old }: V1Pod): string[] {
  const same = (a: object | undefined, b: object | undefined) => sameMeaning('V1ResourceRequirements', a, b);
  const isInitResized = (old?.initContainers ?? []).some(
    ({ restartPolicy, resources }, at) =>
      restartPolicy !== 'Always' && !same(resources, spec?.initContainers?.[at]?.resources),
  );
  return [
    ...(same(spec?.resources, old?.resources) ? [] : ['InPlacePodLevelResourcesVerticalScaling']),
    ...(isInitResized ? ['InPlacePodVerticalScalingInitContainers'] : []),
  ];
}
