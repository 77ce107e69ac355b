// Where a custom kind keeps its replicas: the paths that its definition gives for the scale subresource. Pure.
// Guarantees: a path that leads nowhere can be written, and reads as 0 in the status; a number that is no count is a fault.
import { type Cause, invalidValue } from '../causes.js';
import type { V1CustomResourceDefinitionVersion } from '../gen/types.js';
import type { ScaleFields } from '../kind.js';
import type { KubeObject } from '../object.js';
import { getOwn, isMembers, type Members, setOwn } from '../ownKeys.js';
import { printed } from './jsonPath.js';

type Version = V1CustomResourceDefinitionVersion;

const MAX_INT32 = 2 ** 31 - 1;

export function scaleFaults({ subresources }: Version, object: KubeObject): Cause[] {
  const { specReplicasPath, statusReplicasPath } = subresources?.scale ?? {};
  return [specReplicasPath, statusReplicasPath].flatMap((path) => {
    const value = path === undefined ? undefined : valueAt(object, path);
    if (path === undefined || value === undefined) return [];
    if (typeof value !== 'number' || !Number.isInteger(value))
      return [invalidValue(path, 0, `${path} accessor error: ${printed(value)} is not an int64`)];
    if (value < 0) return [invalidValue(path, value, 'should be a non-negative integer')];
    if (value > MAX_INT32) return [invalidValue(path, value, `should be less than or equal to ${MAX_INT32}`)];
    return [];
  });
}

const namesOf = (path: string) => path.replace(/^\./, '').split('.');

function valueAt(object: unknown, path: string): unknown {
  return namesOf(path).reduce<unknown>(
    (value, name) => (isMembers(value) ? getOwn(value, name) : undefined),
    object,
  );
}

export function scaleOf({ subresources }: Version): ScaleFields<KubeObject> | undefined {
  const scale = subresources?.scale;
  if (scale === undefined) return undefined;
  const numberAt = (object: KubeObject, path: string) => {
    const value = valueAt(object, path);
    return typeof value === 'number' ? value : undefined;
  };
  return {
    replicas: (object) => numberAt(object, scale.specReplicasPath),
    replicasPath: scale.specReplicasPath,
    statusReplicas: (object) => numberAt(object, scale.statusReplicasPath) ?? 0,
    selector: (object) => {
      const path = scale.labelSelectorPath ?? '';
      const value = path === '' ? '' : valueAt(object, path);
      return typeof value === 'string' ? value : '';
    },
    setReplicas: (draft, replicas) => {
      const names = namesOf(scale.specReplicasPath);
      const last = names.pop() ?? '';
      let at = draft as Members;
      for (const name of names) {
        const next = getOwn(at, name);
        if (!isMembers(next)) setOwn(at, name, {});
        at = at[name] as Members;
      }
      setOwn(at, last, replicas);
    },
  };
}
