// The PersistentVolume binder: joins claims and volumes, provisions local ones, reclaims what was released.
// Guarantees: a volume is reserved before its claim is told, so two claims never get one volume.
import type {
  V1Node,
  V1PersistentVolume,
  V1PersistentVolumeClaim,
  V1Pod,
  V1StorageClass,
} from '../../api/gen/types.js';
import { keyOf } from '../../api/object.js';
import { sameJson } from '../../api/ownKeys.js';
import {
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  PODS,
  STORAGE_CLASSES,
} from '../../api/resources.js';
import { volumeDirOf } from '../../api/volumeDir.js';
import { classOf, isFor } from '../../api/volumeMatch.js';
import type { Informer } from '../../client/informer.js';
import { ignoring } from '../claim.js';
import { type Controller, type ControllerContext, newQueue, runLoop } from '../controller.js';
import { isFinished, type Pod } from '../pods.js';
import {
  defaultStorageClass,
  LOCAL_PATH_CLASS,
  LOCAL_PATH_PROVISIONER,
  type LocalPathOptions,
  localVolume,
} from './localPath.js';
import { BIND_COMPLETED, BOUND_BY_CONTROLLER, type Claim, type Volume } from './match.js';
import { type ClaimAction, isReclaimed, planClaim, planVolume } from './plan.js';
import { Removals } from './removal.js';

const NAME = 'persistentvolume-binder-controller';
const PROVISIONER = 'volume.kubernetes.io/storage-provisioner';
const BY_CLAIM = 'claim';
/** A claim that waits is looked at again, should an event have been missed. */
const AGAIN_MS = 15_000;

interface Parts {
  readonly context: ControllerContext;
  readonly volumes: Informer<V1PersistentVolume>;
  readonly claims: Informer<V1PersistentVolumeClaim>;
  readonly classes: Informer<V1StorageClass>;
  readonly pods: Informer<V1Pod>;
  readonly nodes: Pick<Informer<V1Node>, 'get'>;
  readonly localPath: LocalPathOptions | undefined;
  readonly removals: Removals | undefined;
}

export function volumeBinder(localPath?: LocalPathOptions): Controller {
  return {
    name: NAME,
    needs: [PERSISTENT_VOLUMES, PERSISTENT_VOLUME_CLAIMS, STORAGE_CLASSES],
    async run(context) {
      const { informers, client } = context;
      const helpers = informers.of(PODS);
      const parts: Parts = {
        context,
        localPath,
        removals: localPath === undefined ? undefined : new Removals(context, helpers, localPath),
        volumes: informers.of(PERSISTENT_VOLUMES),
        claims: informers.of(PERSISTENT_VOLUME_CLAIMS),
        classes: informers.of(STORAGE_CLASSES),
        pods: helpers,
        nodes: informers.of(NODES),
      };
      parts.pods.index(BY_CLAIM, claimKeysOf);
      const claimQueue = newQueue(context);
      const volumeQueue = newQueue(context);
      watch(
        parts,
        (key) => claimQueue.add(key),
        (key) => volumeQueue.add(key),
      );
      const classQueue = newQueue(context);
      if (localPath !== undefined) classQueue.add(LOCAL_PATH_CLASS);
      await Promise.all([
        runLoop(context, NAME, {
          queue: classQueue,
          workers: 1,
          reconcile: async () => {
            await ignoring(['AlreadyExists'], client.of(STORAGE_CLASSES).create(defaultStorageClass()));
            return undefined;
          },
        }),
        // One worker: two claims must not look for a volume at the same time.
        runLoop(context, NAME, {
          queue: claimQueue,
          workers: 1,
          reconcile: (key) => reconcileClaim(parts, key),
        }),
        runLoop(context, NAME, {
          queue: volumeQueue,
          workers: 1,
          reconcile: (key) => reconcileVolume(parts, key),
        }),
      ]);
    },
  };
}

export function claimKeysOf({
  metadata,
  spec,
}: {
  metadata: { namespace?: string | undefined; name: string };
  spec: V1Pod['spec'];
}): string[] {
  const { namespace } = metadata;
  return (spec?.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }) => {
    if (persistentVolumeClaim !== undefined)
      return [keyOf({ name: persistentVolumeClaim.claimName, namespace })];
    return ephemeral === undefined ? [] : [keyOf({ name: `${metadata.name}-${name}`, namespace })];
  });
}

function watch(parts: Parts, wakeClaim: (key: string) => void, wakeVolume: (key: string) => void): void {
  const { volumes, claims, classes, pods } = parts;
  const waiting = () => {
    for (const claim of claims.list()) if (claim.status?.phase !== 'Bound') wakeClaim(keyOf(claim.metadata));
  };
  const onClaim = (claim: Claim) => {
    wakeClaim(keyOf(claim.metadata));
    if (claim.spec.volumeName) wakeVolume(claim.spec.volumeName);
  };
  claims.on({
    added: onClaim,
    updated: onClaim,
    deleted: ({ metadata }) => {
      for (const { spec, metadata: of } of volumes.list())
        if (spec.claimRef?.uid === metadata.uid) wakeVolume(of.name);
    },
  });
  const onVolume = ({ metadata, spec }: Volume) => {
    wakeVolume(metadata.name);
    const { name, namespace } = spec.claimRef ?? {};
    if (name !== undefined) wakeClaim(keyOf({ name, namespace }));
    else waiting();
  };
  volumes.on({ added: onVolume, updated: onVolume, deleted: onVolume });
  const wakeRemoved = (pod: Pod) => {
    const volume = parts.removals?.volumeOf(pod);
    if (volume !== undefined) wakeVolume(volume);
  };
  classes.on({ added: waiting, updated: waiting });
  pods.on({
    added: (pod) => claimKeysOf(pod).forEach(wakeClaim),
    updated: (pod) => {
      if (isFinished(pod)) wakeRemoved(pod);
    },
    deleted: wakeRemoved,
  });
}

async function reconcileClaim(parts: Parts, key: string): Promise<number | undefined> {
  const { volumes, claims, classes, pods } = parts;
  const claim = claims.get(key);
  if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) return undefined;
  const named = claim.spec.volumeName ? volumes.get(claim.spec.volumeName) : undefined;
  const action = planClaim({
    claim,
    named,
    volumes: volumes.list(),
    storageClass: classes.get(classOf(claim)),
    hasConsumer: pods.byIndex(BY_CLAIM, key).length > 0,
  });
  return carryOut(parts, claim, action);
}

async function carryOut(parts: Parts, claim: Claim, action: ClaimAction): Promise<number | undefined> {
  const { client, record } = parts.context;
  switch (action.do) {
    case 'bind':
      await bind(parts, claim, action.volume);
      return undefined;
    case 'provision':
      return provision(parts, claim, action);
    case 'setPhase': {
      const { phase, event } = action;
      if (event !== undefined && claim.status?.phase !== phase)
        record(PERSISTENT_VOLUME_CLAIMS, claim, event);
      else if (event?.type === 'Warning') record(PERSISTENT_VOLUME_CLAIMS, claim, event);
      if (claim.status?.phase !== phase)
        await client
          .of(PERSISTENT_VOLUME_CLAIMS)
          .update({ ...claim, status: { ...claim.status, phase } }, { subresource: 'status' });
      return phase === 'Pending' ? AGAIN_MS : undefined;
    }
  }
}

/** Volume first, then claim, then both phases: whoever stops in between goes on from what is written. */
async function bind({ context }: Parts, claim: Claim, volume: Volume): Promise<void> {
  const volumes = context.client.of(PERSISTENT_VOLUMES);
  const claims = context.client.of(PERSISTENT_VOLUME_CLAIMS);
  const { name, namespace, uid, resourceVersion } = claim.metadata;
  let reserved = volume;
  if (volume.spec.claimRef?.uid !== uid) {
    const claimRef = {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      namespace,
      name,
      uid,
      resourceVersion,
    };
    const metadata = isFor(volume, claim) ? volume.metadata : annotated(volume, BOUND_BY_CONTROLLER);
    reserved = await volumes.update({ ...volume, metadata, spec: { ...volume.spec, claimRef } });
  }
  if (reserved.status?.phase !== 'Bound')
    await volumes.update(
      { ...reserved, status: { ...reserved.status, phase: 'Bound' } },
      { subresource: 'status' },
    );
  let told = claim;
  const annotations = claim.metadata.annotations ?? {};
  if (claim.spec.volumeName !== volume.metadata.name || annotations[BIND_COMPLETED] === undefined) {
    const completed = annotated(claim, BIND_COMPLETED);
    const metadata = claim.spec.volumeName
      ? completed
      : annotated({ ...claim, metadata: completed }, BOUND_BY_CONTROLLER);
    told = await claims.update({
      ...claim,
      metadata,
      spec: { ...claim.spec, volumeName: volume.metadata.name },
    });
  }
  const status = {
    ...told.status,
    phase: 'Bound',
    accessModes: volume.spec.accessModes ?? [],
    capacity: volume.spec.capacity ?? {},
  };
  if (!sameJson(told.status ?? {}, status))
    await claims.update({ ...told, status }, { subresource: 'status' });
}

function annotated<M extends Claim['metadata']>({ metadata }: { readonly metadata: M }, name: string): M {
  return { ...metadata, annotations: { ...metadata.annotations, [name]: 'yes' } };
}

async function provision(
  { context, nodes, localPath }: Parts,
  claim: Claim,
  { storageClass, node }: Extract<ClaimAction, { do: 'provision' }>,
): Promise<number | undefined> {
  const { client, record } = context;
  const { provisioner } = storageClass;
  if (provisioner !== LOCAL_PATH_PROVISIONER || localPath === undefined) {
    if (claim.metadata.annotations?.[PROVISIONER] === provisioner) return AGAIN_MS;
    const message = `Waiting for a volume to be created either by the external provisioner '${provisioner}' or manually by the system administrator.`;
    record(PERSISTENT_VOLUME_CLAIMS, claim, { type: 'Normal', reason: 'ExternalProvisioning', message });
    const annotations = {
      ...claim.metadata.annotations,
      [PROVISIONER]: provisioner,
      [`${PROVISIONER.replace('volume.', 'volume.beta.')}`]: provisioner,
    };
    const update = { ...claim, metadata: { ...claim.metadata, annotations } };
    await client.of(PERSISTENT_VOLUME_CLAIMS).update(update);
    return AGAIN_MS;
  }
  const chosen = node === undefined ? undefined : nodes.get(node);
  if (node === undefined || chosen === undefined) return AGAIN_MS;
  const directory = volumeDirOf(chosen) ?? localPath.directory;
  const wanted = localVolume({ claim, storageClass, node, options: { ...localPath, directory } });
  await ignoring(['AlreadyExists'], client.of(PERSISTENT_VOLUMES).create(wanted));
  const message = `Successfully provisioned volume ${wanted.metadata?.name ?? ''}`;
  record(PERSISTENT_VOLUME_CLAIMS, claim, { type: 'Normal', reason: 'ProvisioningSucceeded', message });
  return undefined;
}

async function reconcileVolume(parts: Parts, name: string): Promise<number | undefined> {
  const { context, volumes, localPath, removals } = parts;
  const volume = volumes.get(name);
  if (volume === undefined) return removals?.tidy(name);
  const { claimRef } = volume.spec;
  const claim =
    claimRef?.name === undefined
      ? undefined
      : await claimOf(parts, claimRef.namespace, claimRef.name, claimRef.uid);
  const ownProvisioner = localPath === undefined ? undefined : LOCAL_PATH_PROVISIONER;
  const action = planVolume({ volume, claim, ownProvisioner });
  const client = context.client.of(PERSISTENT_VOLUMES);
  if (action.do === 'setPhase') {
    const { phase, message, event } = action;
    // Once it is called released nothing holds a volume that is being deleted: who clears it up must be there already.
    if (phase === 'Released' && isReclaimed(volume, ownProvisioner) && isGoing(volume))
      await removals?.start(volume);
    const status = { ...volume.status, phase, ...(message === undefined ? {} : { message }) };
    await client.update({ ...volume, status }, { subresource: 'status' });
    if (event !== undefined) context.record(PERSISTENT_VOLUMES, volume, event);
  }
  return action.do === 'delete' ? removals?.remove(volume) : undefined;
}

const isGoing = ({ metadata }: Volume): boolean => metadata.deletionTimestamp !== undefined;

/** A volume is only called released when the server, too, does not know its claim. */
async function claimOf(
  { context, claims }: Parts,
  namespace: string | undefined,
  name: string,
  uid: string | undefined,
): Promise<Claim | undefined> {
  const cached = claims.get(keyOf({ name, namespace }));
  if (cached?.metadata.uid === uid) return cached;
  return ignoring(['NotFound'], context.client.of(PERSISTENT_VOLUME_CLAIMS).get({ name, namespace }));
}
