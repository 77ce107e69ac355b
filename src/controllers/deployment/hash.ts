// The pod-template-hash: a short stable name for a pod template. Pure.
// Guarantees: the same template and collision count give the same hash whatever the order of its members.
import type { V1PodTemplateSpec } from '../../api/gen/types.js';

export const TEMPLATE_HASH = 'pod-template-hash';

/** No vowels and no look-alikes, so that no word and no misreading comes out. */
export const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';

export function templateHash(template: V1PodTemplateSpec, collisionCount: number): string {
  const text = `${canonical(template)}#${collisionCount}`;
  return `${encode(fnv1a(text, 0x811c9dc5))}${encode(fnv1a(text, 0x01234567))}`;
}

function encode(hash: number): string {
  let text = '';
  for (let rest = hash; text.length < 5; rest = Math.floor(rest / ALPHABET.length))
    text += ALPHABET[rest % ALPHABET.length];
  return text;
}

function fnv1a(text: string, basis: number): number {
  let hash = basis;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    hash = Math.imul(hash ^ (unit & 0xff), 0x01000193);
    hash = Math.imul(hash ^ (unit >> 8), 0x01000193);
  }
  return hash >>> 0;
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`);
  return `{${members.join(',')}}`;
}
