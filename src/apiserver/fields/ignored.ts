// The fields that nobody owns, because the server alone writes them. Pure data.
import type { FieldSet } from './fieldSet.js';

const leaf: FieldSet = { member: true, children: new Map() };
const node = (children: Readonly<Record<string, FieldSet>>): FieldSet => ({
  member: false,
  children: new Map(Object.entries(children).map(([name, child]) => [`f:${name}`, child])),
});
const SERVER_METADATA = [
  'creationTimestamp',
  'deletionGracePeriodSeconds',
  'deletionTimestamp',
  'generation',
  'managedFields',
  'name',
  'namespace',
  'resourceVersion',
  'selfLink',
  'uid',
];

export const IGNORED: FieldSet = node({
  apiVersion: leaf,
  kind: leaf,
  metadata: node(Object.fromEntries(SERVER_METADATA.map((name) => [name, leaf]))),
});
