// What extenders answer, read with suspicion. Pure.
// Guarantees: names of fields count in any case, as in Go; an answer that is none is an error, never an empty one.
import type { Candidates, FilterVerdict, Node } from './extender.js';

type Fields = ReadonlyMap<string, unknown>;

export function filterAnswer(answer: unknown, nodes: readonly Node[]): FilterVerdict {
  const fields = fieldsOf(answer);
  const error = textIn(fields, 'error');
  if (error !== undefined && error !== '') throw new Error(error);
  const asked = new Set(nodes.map(({ metadata }) => metadata.name));
  const passed = new Set(passedIn(fields).filter((name) => asked.has(name)));
  return {
    passed,
    failed: reasonsIn(fields, 'failednodes'),
    failedForGood: reasonsIn(fields, 'failedandunresolvablenodes'),
  };
}

function passedIn(fields: Fields): readonly string[] {
  const names = fields.get('nodenames');
  if (Array.isArray(names)) return names.filter((name) => typeof name === 'string');
  const nodes = fields.get('nodes');
  if (nodes === undefined || nodes === null) return [];
  const items = fieldsOf(nodes).get('items');
  return (Array.isArray(items) ? items : []).map(
    (item) => textAt(fieldsOf(item).get('metadata'), 'name') ?? '',
  );
}

function reasonsIn(fields: Fields, name: string): ReadonlyMap<string, string> {
  const reasons = fields.get(name);
  if (typeof reasons !== 'object' || reasons === null) return new Map();
  return new Map(Object.entries(reasons).map(([node, reason]) => [node, String(reason)]));
}

export function ratings(answer: unknown): ReadonlyMap<string, number> {
  if (!Array.isArray(answer)) throw new Error('the ratings are no list');
  return new Map(
    answer.map((item) => {
      const fields = fieldsOf(item);
      const score = Number(fields.get('score') ?? 0);
      if (!Number.isFinite(score)) throw new Error('a rating is no number');
      return [textIn(fields, 'host') ?? '', score];
    }),
  );
}

export function preemptionAnswer(answer: unknown, candidates: Candidates): Candidates {
  const byNode = fieldsOf(answer).get('nodenametometavictims');
  if (typeof byNode !== 'object' || byNode === null) return new Map();
  return new Map(
    Object.entries(byNode).map(([node, victims]) => {
      const offered = candidates.get(node);
      if (offered === undefined) throw new Error(`it chose victims on ${node}, which was not offered`);
      const fields = fieldsOf(victims);
      const listed = fields.get('pods');
      const uids = new Set((Array.isArray(listed) ? listed : []).map((pod) => textAt(pod, 'uid')));
      const pods = offered.pods.filter(({ pod }) => uids.has(pod.metadata.uid));
      if (pods.length !== uids.size) throw new Error(`it chose victims on ${node} that were not offered`);
      return [node, { pods, violations: Number(fields.get('numpdbviolations') ?? 0) }];
    }),
  );
}

export function textAt(value: unknown, name: string): string | undefined {
  return textIn(fieldsOf(value), name);
}

function textIn(fields: Fields, name: string): string | undefined {
  const value = fields.get(name);
  return typeof value === 'string' ? value : undefined;
}

/** By names in lower case. */
function fieldsOf(value: unknown): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error('the answer is no object');
  return new Map(Object.entries(value).map(([name, field]) => [name.toLowerCase(), field]));
}
