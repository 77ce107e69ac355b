// A pod stays five minutes on a node that is not ready or not reachable, unless it says otherwise. Pure.
import { PODS } from '../../api/resources.js';
import type { AdmissionPlugin } from '../admission.js';
import { draftOf } from './requests.js';

const KEYS = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'];
const TOLERATION_SECONDS = 300;

export const defaultTolerationSeconds: AdmissionPlugin = {
  name: 'DefaultTolerationSeconds',
  mutate(request) {
    const spec = draftOf(request, PODS, 'create', 'update')?.spec;
    if (spec === undefined) return;
    const held = spec.tolerations ?? [];
    // A toleration without a key or an effect means all of them.
    const missing = KEYS.filter(
      (wanted) =>
        !held.some(
          ({ key = '', effect = '' }) =>
            (key === wanted || key === '') && (effect === 'NoExecute' || effect === ''),
        ),
    );
    if (missing.length === 0) return;
    const added = missing.map((key) => ({
      key,
      operator: 'Exists',
      effect: 'NoExecute',
      tolerationSeconds: TOLERATION_SECONDS,
    }));
    spec.tolerations = [...held, ...added];
  },
};
