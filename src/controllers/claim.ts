// Which objects an owner holds, takes in and lets go, by controller reference and selector. Planning is pure.
// Guarantees: what another controller owns is never touched; a deleted owner takes in nothing.
import type { V1OwnerReference } from '../api/gen/types.js';
import { controllerOf, type KubeObject, type Stored } from '../api/object.js';
import { apiVersionOf, type ResourceType } from '../api/resources.js';
import { ApiError } from '../api/status.js';
import type { Client } from '../client/client.js';
import type { Informer } from '../client/informer.js';

type Labels = Readonly<Record<string, string>>;

interface ClaimRequest<T extends KubeObject> {
  readonly owner: Stored<KubeObject>;
  readonly candidates: readonly Stored<T>[];
  matches(labels: Labels): boolean;
}

interface Claims<T extends KubeObject> {
  readonly held: readonly Stored<T>[];
  readonly adopt: readonly Stored<T>[];
  readonly release: readonly Stored<T>[];
}

export function planClaims<T extends KubeObject>(request: ClaimRequest<T>): Claims<T> {
  const { owner, candidates, matches } = request;
  const ownerGoing = owner.metadata.deletionTimestamp !== undefined;
  const held: Stored<T>[] = [];
  const adopt: Stored<T>[] = [];
  const release: Stored<T>[] = [];
  for (const candidate of candidates) {
    const { labels = {}, deletionTimestamp } = candidate.metadata;
    const controller = controllerOf(candidate);
    if (controller !== undefined && controller.uid !== owner.metadata.uid) continue;
    const wanted = matches(labels);
    if (controller !== undefined) {
      if (wanted) held.push(candidate);
      else if (!ownerGoing) release.push(candidate);
    } else if (wanted && !ownerGoing && deletionTimestamp === undefined) adopt.push(candidate);
  }
  return { held, adopt, release };
}

export function controllerReference(type: ResourceType, { metadata }: Stored<KubeObject>): V1OwnerReference {
  return {
    apiVersion: apiVersionOf(type),
    kind: type.kind,
    name: metadata.name,
    uid: metadata.uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}

/** The uid in the patch is a precondition: another object of the same name is refused as a conflict. */
export function adoptionPatch(type: ResourceType, owner: Stored<KubeObject>, uid: string): unknown {
  return { metadata: { uid, ownerReferences: [controllerReference(type, owner)] } };
}

function releasePatch(ownerUid: string, uid: string): unknown {
  return { metadata: { uid, ownerReferences: [{ $patch: 'delete', uid: ownerUid }] } };
}

interface ClaimPorts<Owner extends KubeObject, T extends KubeObject> {
  readonly client: Client;
  readonly ownerType: ResourceType<Owner>;
  readonly type: ResourceType<T>;
}

/** Carries the claims out and returns what the owner now holds, adopted objects included. */
export async function carryOutClaims<Owner extends KubeObject, T extends KubeObject>(
  { client, ownerType, type }: ClaimPorts<Owner, T>,
  owner: Stored<Owner>,
  { held, adopt, release }: Claims<T>,
): Promise<readonly Stored<T>[]> {
  const objects = client.of(type);
  for (const { metadata } of release) {
    const patch = releasePatch(owner.metadata.uid, metadata.uid);
    await ignoring(['NotFound', 'Invalid', 'Conflict'], objects.patch(metadata, 'strategic', patch));
  }
  if (adopt.length === 0) return held;
  // A cache may still show an owner that is being deleted; only the server knows whether it may take in more.
  const fresh = await ignoring(['NotFound'], client.of(ownerType).get(owner.metadata));
  if (fresh?.metadata.uid !== owner.metadata.uid || fresh.metadata.deletionTimestamp !== undefined)
    return held;
  const adopted: Stored<T>[] = [];
  for (const { metadata } of adopt) {
    const patch = adoptionPatch(ownerType, owner, metadata.uid);
    const result = await ignoring(['NotFound'], objects.patch(metadata, 'strategic', patch));
    if (result !== undefined) adopted.push(result);
  }
  return [...held, ...adopted];
}

/** The value, or undefined when the server refused for one of these reasons. */
export async function ignoring<T>(
  reasons: Parameters<typeof ApiError.is>[1][],
  attempt: Promise<T>,
): Promise<T | undefined> {
  try {
    return await attempt;
  } catch (error) {
    if (ApiError.is(error, ...reasons)) return undefined;
    throw error;
  }
}

const BY_CONTROLLER = 'controller';

/** Finds objects by the uid of their controller, and those without one by namespace. */
export function indexByController<T extends KubeObject>(informer: Informer<T>): void {
  informer.index(BY_CONTROLLER, (object) => [
    controllerOf(object)?.uid ?? `none/${object.metadata.namespace ?? ''}`,
  ]);
}

/** What the owner holds and what it might take in, out of an informer indexed by controller. */
export function candidatesOf<T extends KubeObject>(
  informer: Informer<T>,
  { metadata }: Stored<KubeObject>,
): readonly Stored<T>[] {
  const orphans = informer.byIndex(BY_CONTROLLER, `none/${metadata.namespace ?? ''}`);
  return [...informer.byIndex(BY_CONTROLLER, metadata.uid), ...orphans];
}

export function heldBy<T extends KubeObject>(informer: Informer<T>, ownerUid: string): readonly Stored<T>[] {
  return informer.byIndex(BY_CONTROLLER, ownerUid);
}
