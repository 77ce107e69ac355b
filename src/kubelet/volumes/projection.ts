// Collects what a configMap, secret, downwardAPI or projected volume shall hold.
// Guarantees: a missing object is named in Kubernetes' words, unless the pod said that it may be missing.
import type {
  V1ConfigMapVolumeSource,
  V1DownwardAPIVolumeFile,
  V1KeyToPath,
  V1ProjectedVolumeSource,
  V1SecretProjection,
  V1ServiceAccountTokenProjection,
  V1VolumeProjection,
} from '../../api/gen/types.js';
import { messageOf } from '../../base/errorMessage.js';
import { type Addresses, fieldValue } from '../environment/fields.js';
import { type Resources, resourceValue } from '../environment/resourceField.js';
import { KubeletError } from '../error.js';
import type { Pod } from '../ports.js';
import { configMapData, objectNotFound, type PodObjects, secretData } from './objects.js';
import { fsGroupOf, onlyUserOf } from './ownership.js';
import { checkedPath, type Payload, type PayloadFile, selectKeys } from './payload.js';
import type { TokenManager } from './tokens.js';

export interface ProjectionSources {
  readonly objects: PodObjects;
  readonly tokens: TokenManager;
  readonly addresses: (pod: Pod) => Addresses;
  readonly allocatable: () => Resources;
}

const DEFAULT_MODE = 0o644;

export async function configMapPayload(
  { objects }: Pick<ProjectionSources, 'objects'>,
  pod: Pod,
  source: Omit<V1ConfigMapVolumeSource, 'defaultMode'>,
  defaultMode = DEFAULT_MODE,
): Promise<Map<string, PayloadFile>> {
  const { name = '', items, optional = false } = source;
  const object = await objects.configMap(requestOf(pod, name));
  if (object === undefined && !optional) throw objectNotFound('FailedMount', 'configmap', name);
  return selectKeys({
    data: configMapData(object ?? {}),
    items,
    defaultMode,
    optional,
    missingKey: (key) => `configmap references non-existent config key: ${key}`,
  });
}

export async function secretPayload(
  { objects }: Pick<ProjectionSources, 'objects'>,
  pod: Pod,
  source: V1SecretProjection,
  defaultMode = DEFAULT_MODE,
): Promise<Map<string, PayloadFile>> {
  const { name = '', items, optional = false } = source;
  const object = await objects.secret(requestOf(pod, name));
  if (object === undefined && !optional) throw objectNotFound('FailedMount', 'secret', name);
  return selectKeys({
    data: secretData(object ?? {}),
    items: items as readonly V1KeyToPath[] | undefined,
    defaultMode,
    optional,
    missingKey: (key) => `references non-existent secret key: ${key}`,
  });
}

export function downwardPayload(
  { addresses, allocatable }: Pick<ProjectionSources, 'addresses' | 'allocatable'>,
  pod: Pod,
  items: readonly V1DownwardAPIVolumeFile[] = [],
  defaultMode = DEFAULT_MODE,
): Map<string, PayloadFile> {
  return new Map(
    items.map(({ path, mode = defaultMode, fieldRef, resourceFieldRef }) => {
      const text =
        fieldRef !== undefined
          ? fieldValue(pod, fieldRef.fieldPath, addresses(pod))
          : resourceFieldRef !== undefined
            ? resourceValue(pod, resourceFieldRef, allocatable())
            : '';
      return [checkedPath(path), { data: Buffer.from(text, 'utf8'), mode }];
    }),
  );
}

/** All failures are told at once, as a pod that lacks two objects should say both. */
export async function projectedPayload(
  sources: ProjectionSources,
  pod: Pod,
  { sources: projections = [], defaultMode = DEFAULT_MODE }: V1ProjectedVolumeSource,
): Promise<Payload> {
  const parts = await Promise.allSettled(
    projections.map((projection) => projectionPayload(sources, pod, projection, defaultMode)),
  );
  const failures = parts.filter((part) => part.status === 'rejected').map(({ reason }) => reason as unknown);
  if (failures.length > 0) throw combined(failures);
  const files = parts.flatMap((part) => (part.status === 'fulfilled' ? [...part.value] : []));
  return new Map(files);
}

async function projectionPayload(
  sources: ProjectionSources,
  pod: Pod,
  projection: V1VolumeProjection,
  defaultMode: number,
): Promise<Map<string, PayloadFile>> {
  const { configMap, secret, downwardAPI, serviceAccountToken } = projection;
  if (configMap) return configMapPayload(sources, pod, configMap, defaultMode);
  if (secret) return secretPayload(sources, pod, secret, defaultMode);
  if (downwardAPI) return downwardPayload(sources, pod, downwardAPI.items, defaultMode);
  if (serviceAccountToken) return tokenPayload(sources, pod, serviceAccountToken, defaultMode);
  const kind = Object.keys(projection)[0] ?? 'empty';
  throw new KubeletError('FailedMount', `projected source ${kind} is not supported by this kubelet`);
}

/** A pod with a user or group of its own gets a token that only they read; the group's bit comes with the ownership. */
async function tokenPayload(
  { tokens }: ProjectionSources,
  pod: Pod,
  { audience, expirationSeconds, path }: V1ServiceAccountTokenProjection,
  defaultMode: number,
): Promise<Map<string, PayloadFile>> {
  const token = await tokens.token(pod, {
    ...(audience ? { audience } : {}),
    ...(expirationSeconds === undefined ? {} : { expirationSeconds }),
  });
  const uid = onlyUserOf(pod);
  const mode = uid !== undefined || fsGroupOf(pod) !== undefined ? 0o600 : defaultMode;
  const file = { data: Buffer.from(token, 'utf8'), mode, ...(uid === undefined ? {} : { uid }) };
  return new Map([[checkedPath(path), file]]);
}

const requestOf = ({ metadata }: Pod, name: string) => ({
  podUid: metadata.uid,
  namespace: metadata.namespace ?? '',
  name,
});

function combined(failures: readonly unknown[]): unknown {
  if (failures.length === 1) return failures[0];
  const words = failures.map((failure) => messageOf(failure));
  return new KubeletError('FailedMount', `[${words.join(', ')}]`, { cause: failures[0] });
}
