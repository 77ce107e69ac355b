// Bodies that fill one list or map of a kind up to the largest size that the server takes. Pure.
// Guarantees: every list and map that the schema of a kind reaches within DEPTH steps has one.

import { MAX_VALUES } from '../../src/api/bodyBounds.js';
import { schemas } from '../../src/api/gen/schemas.js';
import type { KindDefinition } from '../../src/api/kind.js';
import { apiVersionOf } from '../../src/api/resources.js';

const DEPTH = 7;
/** Below the 3 MiB of the server, so that it is the contents that are judged. */
const BYTES = 3_000_000;
/** As the server bounds them, a little less; objects in a list count twice. */
const MEMBERS = MAX_VALUES - 1000;

interface WideBody {
  /** `pods spec.containers`. */
  readonly name: string;
  /** Made when it is asked for: all of them together would be gigabytes. */
  body(): Buffer;
}

/** `members` is how many each list or map has at most. */
export function wideBodies(kind: Pick<KindDefinition, 'type' | 'model'>, members = MEMBERS): WideBody[] {
  const head = `"apiVersion":"${apiVersionOf(kind.type)}","kind":"${kind.type.kind}"`;
  return collections(kind.model, DEPTH).map(({ path, code }) => {
    const { open, close } = wrap(path, head);
    return {
      name: `${kind.type.resource} ${path.join('.')}`,
      body: () =>
        Buffer.from(open + filled(code, { room: BYTES - open.length - close.length, members }) + close),
    };
  });
}

interface Collection {
  readonly path: readonly string[];
  readonly code: string;
}

function collections(model: string, depth: number, above: readonly string[] = []): Collection[] {
  if (depth === 0) return [];
  return Object.entries(schemas[model] ?? {}).flatMap(([field, raw]) => {
    if (above.length === 0 && field === 'status') return [];
    const code = raw.replace(/^!/, '');
    const path = [...above, field];
    if (code.startsWith('[]')) {
      const inner = collections(code.slice(2), depth - 1, [...path, '[]']);
      return [{ path, code }, ...inner];
    }
    if (code.startsWith('{}')) return [{ path, code }];
    return above.includes(field) ? [] : collections(code, depth - 1, path);
  });
}

/** The text before and after the value at the path; every object has a name, which most of them want. */
function wrap(path: readonly string[], head: string): { open: string; close: string } {
  let open = `{${head},`;
  let close = '}';
  if (path[0] !== 'metadata') open += '"metadata":{"name":"hostile"},';
  for (const [index, step] of path.entries()) {
    const isLast = index === path.length - 1;
    if (step === '[]') {
      open += '[{"name":"a",';
      close = `}]${close}`;
    } else if (isLast || path[index + 1] === '[]') open += `"${step}":`;
    else {
      open += `"${step}":{`;
      close = `}${close}`;
      if (step === 'metadata') open += '"name":"hostile",';
    }
  }
  return { open, close };
}

const isObjects = (code: string) => element(code.slice(2), 0).startsWith('{');

function filled(code: string, { room, members }: { room: number; members: number }): string {
  const [begin, end] = code.startsWith('[]') ? '[]' : '{}';
  const parts: string[] = [];
  let size = 2;
  for (let index = 0; parts.length < (isObjects(code) ? members / 2 : members); index++) {
    const part = code.startsWith('[]')
      ? element(code.slice(2), index)
      : `"k${index}":${value(code.slice(2))}`;
    size += part.length + 1;
    if (size > room) break;
    parts.push(part);
  }
  return begin + parts.join(',') + end;
}

const value = (code: string): string => VALUES[code] ?? (code.startsWith('[]') ? '[]' : '{}');
const VALUES: Readonly<Record<string, string>> = {
  s: '"v"',
  i: '1',
  n: '1',
  b: 'true',
  y: '""',
  x: '1',
  any: '1',
  t: '"2024-01-01T00:00:00Z"',
  u: '"2024-01-01T00:00:00Z"',
};

function element(code: string, index: number): string {
  if (code === 's') return `"v${index}"`;
  if (VALUES[code] !== undefined || code.startsWith('[]') || code.startsWith('{}')) return value(code);
  const keyed = KEYS.find((key) => schemas[code]?.[key]?.replace(/^!/, '') === 's');
  return keyed === undefined ? '{}' : `{"${keyed}":"v${index}"}`;
}

/** What the items of keyed lists are told apart by. */
const KEYS = ['name', 'type', 'ip', 'mountPath', 'key', 'uid', 'manager', 'host', 'topologyKey'];
