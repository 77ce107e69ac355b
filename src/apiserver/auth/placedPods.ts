// What the Node authorizer needs of every pod: its identity, its node, and the objects that the node may read for it.
// Guarantees: a pod takes a few hundred bytes here, however large it is; its place and references are of one version.
import type { V1Pod } from '../../api/gen/types.js';
import type { KubeObject, Stored } from '../../api/object.js';
import { PODS } from '../../api/resources.js';
import type { Informer, Informers } from '../../client/informer.js';
import { referencesOf } from './podReferences.js';

interface PlacedPod extends KubeObject {
  readonly nodeName?: string;
  /** `secrets/name`; empty until the pod has a node. */
  readonly references: readonly string[];
}

export function placedPods(informers: Informers): Informer<PlacedPod> {
  return informers.of(PODS, { keep: placeOf });
}

function placeOf(pod: Stored<V1Pod>): Stored<PlacedPod> {
  const { metadata, spec } = pod;
  const { name, namespace = '', uid, resourceVersion, creationTimestamp, deletionTimestamp } = metadata;
  const identity = {
    name,
    namespace,
    uid,
    resourceVersion,
    creationTimestamp,
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
  };
  const { nodeName = '' } = spec;
  if (nodeName === '') return { metadata: identity, references: NONE };
  const references = new Set(referencesOf(pod).map((one) => `${one.resource}/${one.name}`));
  return { metadata: identity, nodeName, references: shared([...references]) };
}

const NONE: readonly string[] = Object.freeze([]);
const MOST_SHARED = 1_000;
const lists = new Map<string, readonly string[]>();

/** The pods of one template name the same things: they have one list. */
function shared(references: readonly string[]): readonly string[] {
  const text = references.join(' ');
  const known = lists.get(text);
  if (known !== undefined) return known;
  if (lists.size >= MOST_SHARED) lists.clear();
  lists.set(text, Object.freeze(references));
  return references;
}
