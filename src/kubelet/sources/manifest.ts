// A static pod out of a manifest's text: checked and defaulted as the API would, and named for its node. No IO.
// Guarantees: a wrong manifest throws InvalidManifest with file and field; names and uids are safe as parts of paths.
import { createHash } from 'node:crypto';
import { parseDocument } from 'yaml';
import { decodeObject } from '../../api/decode.js';
import type { V1Pod } from '../../api/gen/types.js';
import type { Draft } from '../../api/kind.js';
import { podKind } from '../../api/kinds/pod.js';
import { validateObject } from '../../api/meta.js';
import { ApiError } from '../../api/status.js';
import { KubeletError } from '../error.js';
import { CONFIG_HASH, CONFIG_SEEN, CONFIG_SOURCE } from '../names.js';
import type { Pod } from '../ports.js';
import { apiTime } from '../status/time.js';

interface ManifestSource {
  readonly file: string;
  /** Where it came from, as the pod's annotation says: a file unless told. */
  readonly source?: 'file' | 'http';
  readonly nodeName: string;
  readonly now: number;
}

const MAX_BYTES = 1 << 20;

export function parseManifest(text: string, source: ManifestSource): Pod {
  const { file, nodeName, now } = source;
  const pod = decode(text, file);
  podKind.defaults?.(pod);
  // Taints of the node do not concern a pod that its own kubelet was given.
  if (pod.spec !== undefined) {
    pod.spec.nodeName = nodeName;
    pod.spec.tolerations = [...(pod.spec.tolerations ?? []), { operator: 'Exists', effect: 'NoExecute' }];
  }
  const { metadata = {}, spec = { containers: [] } } = pod as V1Pod;
  const named = {
    ...metadata,
    name: `${metadata.name ?? ''}-${nodeName}`,
    namespace: metadata.namespace ?? 'default',
  };
  // The given name is checked as well: `-node` alone would make a name of an empty one.
  check(file, { ...pod, metadata: { ...named, name: metadata.name ?? '' } } as V1Pod);
  check(file, { ...pod, metadata: named } as V1Pod);
  const { labels, annotations } = metadata;
  const uid = createHash('md5')
    .update(JSON.stringify(pod))
    .update(`host:${nodeName}file:${file}`)
    .digest('hex');
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: named.name,
      namespace: named.namespace,
      uid,
      resourceVersion: '',
      creationTimestamp: apiTime(now),
      ...(labels === undefined ? {} : { labels }),
      annotations: {
        ...annotations,
        [CONFIG_HASH]: uid,
        [CONFIG_SEEN]: new Date(now).toISOString(),
        [CONFIG_SOURCE]: source.source ?? 'file',
      },
    },
    spec,
    status: { phase: 'Pending' },
  };
}

/** The pods of a text that holds one or a list of them, each as a text of its own. */
export function splitManifest(text: string, file: string): readonly string[] {
  if (text.length > MAX_BYTES) throw wrong(file, '', 'is larger than 1 MiB');
  const document = parseDocument(text);
  const value = document.errors.length > 0 ? undefined : toPlain(document, file);
  const { kind, items } = (value ?? {}) as { kind?: unknown; items?: unknown };
  if (kind !== 'PodList' && kind !== 'List') return [text];
  if (!Array.isArray(items)) throw wrong(file, 'items', 'is not a list');
  return items.map((item: unknown) => JSON.stringify({ apiVersion: 'v1', kind: 'Pod', ...(item as object) }));
}

/** YAML or JSON, which is YAML too; unknown fields and wrong types are refused. */
function decode(text: string, file: string): Draft<V1Pod> {
  if (text.length > MAX_BYTES) throw wrong(file, '', 'is larger than 1 MiB');
  const document = parseDocument(text);
  const [error] = document.errors;
  if (error !== undefined) throw wrong(file, '', error.message.trim());
  const value = toPlain(document, file);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw wrong(file, '', 'is not an object');
  const { apiVersion, kind } = value as V1Pod;
  if (apiVersion !== 'v1') throw wrong(file, 'apiVersion', `must be v1, not ${shown(apiVersion)}`);
  if (kind !== 'Pod') throw wrong(file, 'kind', `must be Pod, not ${shown(kind)}`);
  try {
    const { object, unknownFields } = decodeObject(podKind, value);
    if (unknownFields[0] !== undefined) throw wrong(file, unknownFields[0], 'is not a field of a Pod');
    return object;
  } catch (cause) {
    if (cause instanceof ApiError) throw wrong(file, '', cause.message);
    throw cause;
  }
}

function toPlain(document: ReturnType<typeof parseDocument>, file: string): unknown {
  try {
    // Few aliases are ever needed, and many are an attack on memory.
    return document.toJS({ maxAliasCount: 100 });
  } catch (cause) {
    throw wrong(file, '', (cause as Error).message);
  }
}

/** What the API would refuse, and what only the API could give. */
function check(file: string, pod: V1Pod): void {
  const [cause] = validateObject(podKind, pod);
  if (cause !== undefined) throw wrong(file, cause.field ?? '', cause.message ?? '');
  const { volumes = [], serviceAccountName = '' } = pod.spec ?? {};
  const foreign = (field: string) => wrong(file, field, 'a static pod cannot refer to objects of the API');
  for (const [index, volume] of volumes.entries())
    for (const kind of ['configMap', 'secret', 'persistentVolumeClaim'] as const)
      if (volume[kind] !== undefined) throw foreign(`spec.volumes[${index}].${kind}`);
  if (serviceAccountName !== '') throw foreign('spec.serviceAccountName');
}

const shown = (value: unknown) => JSON.stringify(value) ?? 'nothing';

function wrong(file: string, field: string, why: string): KubeletError {
  return new KubeletError('InvalidManifest', `${file}: ${field === '' ? '' : `${field}: `}${why}`);
}
