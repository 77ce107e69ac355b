// A static pod out of a manifest's text: checked, named for its node, with the defaults the API would give. Pure.
// Guarantees: a wrong manifest throws InvalidManifest with the field; names and uids are safe as parts of paths.
import { createHash } from 'node:crypto';
import { parseDocument } from 'yaml';
import type { V1Container, V1Pod, V1PodSpec } from '../../api/gen/types.js';
import { KubeletError } from '../error.js';
import { CONFIG_HASH, CONFIG_SEEN, CONFIG_SOURCE } from '../names.js';
import type { Pod } from '../ports.js';

export interface ManifestSource {
  readonly file: string;
  readonly nodeName: string;
  readonly now: number;
}

const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const MAX_BYTES = 1 << 20;

export function parseManifest(text: string, source: ManifestSource): Pod {
  const pod = checked(decode(text, source.file), source.file);
  const uid = createHash('md5')
    .update(JSON.stringify(pod))
    .update(`host:${source.nodeName}file:${source.file}`)
    .digest('hex');
  const { metadata } = pod;
  return {
    ...pod,
    metadata: {
      ...metadata,
      name: `${metadata.name}-${source.nodeName}`,
      namespace: metadata.namespace ?? 'default',
      uid,
      resourceVersion: '',
      creationTimestamp: new Date(source.now).toISOString().replace(/\.\d+Z$/, 'Z'),
      annotations: {
        ...metadata.annotations,
        [CONFIG_HASH]: uid,
        [CONFIG_SEEN]: new Date(source.now).toISOString(),
        [CONFIG_SOURCE]: 'file',
      },
    },
    spec: withDefaults(pod.spec, source.nodeName),
    status: { phase: 'Pending' },
  };
}

type Checked = V1Pod & {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: V1PodSpec;
};

function decode(text: string, file: string): unknown {
  if (text.length > MAX_BYTES) throw wrong(file, '', 'is larger than 1 MiB');
  // Few aliases are ever needed, and many are an attack on memory.
  const document = parseDocument(text, { prettyErrors: true });
  const [error] = document.errors;
  if (error !== undefined) throw wrong(file, '', error.message);
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (cause) {
    throw wrong(file, '', (cause as Error).message);
  }
}

function checked(value: unknown, file: string): Checked {
  const pod = value as Checked;
  const fail = (field: string, why: string) => wrong(file, field, why);
  if (!isTable(value)) throw fail('', 'is not an object');
  if (pod.apiVersion !== 'v1') throw fail('apiVersion', `must be v1, not ${shown(pod.apiVersion)}`);
  if (pod.kind !== 'Pod') throw fail('kind', `must be Pod, not ${shown(pod.kind)}`);
  if (!isTable(pod.metadata)) throw fail('metadata', 'is required');
  const { name, namespace } = pod.metadata;
  if (typeof name !== 'string' || name.length > 180 || !SUBDOMAIN.test(name))
    throw fail('metadata.name', `${shown(name)} is not a lower-case DNS name`);
  if (
    namespace !== undefined &&
    (typeof namespace !== 'string' || namespace.length > 63 || !LABEL.test(namespace))
  )
    throw fail('metadata.namespace', `${shown(namespace)} is not a lower-case DNS label`);
  if (!isTable(pod.spec)) throw fail('spec', 'is required');
  checkContainers(pod.spec, fail);
  for (const [index, volume] of (pod.spec.volumes ?? []).entries())
    if (typeof volume?.name !== 'string' || !LABEL.test(volume.name))
      throw fail(`spec.volumes[${index}].name`, `${shown(volume?.name)} is not a lower-case DNS label`);
  const sources = ['configMap', 'secret', 'persistentVolumeClaim'] as const;
  for (const [index, volume] of (pod.spec.volumes ?? []).entries())
    for (const kind of sources)
      if (volume[kind] !== undefined)
        throw fail(`spec.volumes[${index}].${kind}`, 'a static pod cannot refer to objects of the API');
  return pod;
}

function checkContainers(spec: V1PodSpec, fail: (field: string, why: string) => KubeletError): void {
  const seen = new Set<string>();
  for (const list of ['initContainers', 'containers'] as const) {
    const containers: unknown = spec[list] ?? [];
    if (!Array.isArray(containers)) throw fail(`spec.${list}`, 'is not a list');
    if (list === 'containers' && containers.length === 0) throw fail('spec.containers', 'is required');
    for (const [index, one] of (containers as V1Container[]).entries()) {
      const at = `spec.${list}[${index}]`;
      if (!isTable(one)) throw fail(at, 'is not an object');
      if (typeof one.name !== 'string' || one.name.length > 63 || !LABEL.test(one.name))
        throw fail(`${at}.name`, `${shown(one.name)} is not a lower-case DNS label`);
      if (seen.has(one.name)) throw fail(`${at}.name`, `${shown(one.name)} is used twice`);
      seen.add(one.name);
      if (typeof one.image !== 'string' || one.image.trim() === '') throw fail(`${at}.image`, 'is required');
      for (const words of ['command', 'args'] as const)
        if (one[words] !== undefined && !isTexts(one[words]))
          throw fail(`${at}.${words}`, 'is not a list of strings');
      for (const entries of ['env', 'ports', 'volumeMounts'] as const)
        if (one[entries] !== undefined && !Array.isArray(one[entries]))
          throw fail(`${at}.${entries}`, 'is not a list');
    }
  }
}

function withDefaults(spec: V1PodSpec, nodeName: string): V1PodSpec {
  const container = (one: V1Container): V1Container => ({
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    ...one,
  });
  return {
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
    dnsPolicy: 'ClusterFirst',
    enableServiceLinks: true,
    securityContext: {},
    schedulerName: 'default-scheduler',
    ...spec,
    nodeName,
    // Taints of the node do not concern a pod that its own kubelet was given.
    tolerations: [...(spec.tolerations ?? []), { operator: 'Exists', effect: 'NoExecute' }],
    containers: spec.containers.map(container),
    ...(spec.initContainers === undefined ? {} : { initContainers: spec.initContainers.map(container) }),
  };
}

const isTable = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isTexts = (value: unknown) => Array.isArray(value) && value.every((one) => typeof one === 'string');
const shown = (value: unknown) => JSON.stringify(value) ?? 'nothing';

function wrong(file: string, field: string, why: string): KubeletError {
  return new KubeletError('InvalidManifest', `${file}: ${field === '' ? '' : `${field}: `}${why}`);
}
