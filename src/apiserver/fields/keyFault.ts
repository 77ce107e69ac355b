// What is wrong with the keys of a configuration's lists. Pure.
// Guarantees: when there is no fault, every item of a keyed list has a path of its own.
import type { KindDefinition } from '../../api/kind.js';
import { pathText } from './fieldSet.js';
import { hasMembers, partsOf, rootShape, type Shape } from './shape.js';

/** A sentence, or undefined. */
export function keyFault(
  kind: Pick<KindDefinition, 'model' | 'custom'>,
  config: unknown,
): string | undefined {
  return faultIn(rootShape(kind), config, []);
}

function faultIn(shape: Shape, value: unknown, path: readonly string[]): string | undefined {
  const parts = partsOf(shape, value) ?? [];
  const seen = new Set<string>();
  for (const [index, part] of parts.entries()) {
    if (part.element.startsWith('i:') && shape.kind === 'keyed') {
      const keys = shape.keys.map((key) => JSON.stringify(key)).join(', ');
      return `${pathText(path)}: element ${index}: associative list with keys has an element that omits key field ${keys} (and doesn't have default value)`;
    }
    if (!hasMembers(shape)) {
      if (seen.has(part.element))
        return `${pathText(path)}: duplicate entries for key ${pathText([part.element])}`;
      seen.add(part.element);
    }
    if (part.shape.kind === 'leaf') continue;
    const below = faultIn(part.shape, part.value, [...path, part.element]);
    if (below !== undefined) return below;
  }
  return undefined;
}
