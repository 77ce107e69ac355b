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
  const { specReplicasPath, statusReplicasPath, labelSelectorPath = '' } = subresources?.scale ?? {};
  const counts = [specReplicasPath, statusReplicasPath].flatMap((path) => {
    if (path === undefined) return [];
    const value = valueAt(object, path);
    if (typeof value !== 'number' || !Number.isInteger(value)) return typeFaults(object, path, INT64);
    if (value < 0) return [invalidValue(path, value, 'should be a non-negative integer')];
    if (value > MAX_INT32) return [invalidValue(path, value, `should be less than or equal to ${MAX_INT32}`)];
    return [];
  });
  return labelSelectorPath === '' ? counts : [...counts, ...typeFaults(object, labelSelectorPath, STRING)];
}

interface Wanted {
  readonly type: string;
  readonly zero: unknown;
  is(value: unknown): boolean;
}

const INT64: Wanted = { type: 'int64', zero: 0, is: Number.isInteger };
const STRING: Wanted = { type: 'string', zero: '', is: (value) => typeof value === 'string' };
const MAP = 'map[string]interface{}';

/** What is there and of another type: the value, or one above it. */
function typeFaults(object: KubeObject, path: string, wanted: Wanted): Cause[] {
  const names = namesOf(path);
  let value: unknown = object;
  for (const [index, name] of names.entries()) {
    if (!isMembers(value))
      return [typeFault(value, { path, at: names.slice(0, index + 1), wanted, expected: MAP })];
    value = getOwn(value, name);
    if (value === undefined || (value === null && index < names.length - 1)) return [];
  }
  return wanted.is(value) ? [] : [typeFault(value, { path, at: names, wanted, expected: wanted.type })];
}

interface TypeFault {
  readonly path: string;
  readonly at: readonly string[];
  readonly wanted: Wanted;
  readonly expected: string;
}

function typeFault(value: unknown, { path, at, wanted, expected }: TypeFault): Cause {
  const found = `${value === null ? '<nil>' : printed(value)} is of the type ${goType(value)}`;
  return invalidValue(path, wanted.zero, `.${at.join('.')} accessor error: ${found}, expected ${expected}`);
}

/** As Go names what JSON is read into. */
function goType(value: unknown): string {
  if (value === null) return '<nil>';
  if (Array.isArray(value)) return '[]interface {}';
  if (typeof value === 'object') return 'map[string]interface {}';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64';
  return 'string';
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
