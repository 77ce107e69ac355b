// A container's variables from all their sources, in the order in which one may refer to another.
// Guarantees: env wins over envFrom, both over services; a source that must be there and is not is named.
import type { V1Container, V1EnvFromSource, V1EnvVarSource, V1FileKeySelector } from '../../api/gen/types.js';
import { KubeletError } from '../error.js';
import type { Pod } from '../ports.js';
import { configMapData, objectNotFound, type PodObjects, secretData } from '../volumes/objects.js';
import { envFileValue } from './envFile.js';
import { expand, lookupIn } from './expansion.js';
import { type Addresses, fieldValue } from './fields.js';
import { containerResource, type Resources, resourceValue } from './resourceField.js';

interface VariableSources {
  readonly objects: PodObjects;
  readonly services: ReadonlyMap<string, string>;
  readonly addresses: Addresses;
  readonly allocatable: Resources;
  /** The text of a file in one of the pod's volumes; undefined when it is not there. */
  readonly volumeFile: (volume: string, path: string) => Promise<string | undefined>;
  /** Told of keys of envFrom that cannot name a variable. */
  readonly skipped?: (message: string) => void;
}

/** Any printable character but the equals sign, as Kubernetes has it since it relaxed the rule. */
const NAME = /^[ -<>-~]+$/;

export async function containerVariables(
  pod: Pod,
  container: V1Container,
  sources: VariableSources,
): Promise<ReadonlyMap<string, string>> {
  const variables = new Map<string, string>();
  for (const source of container.envFrom ?? []) {
    for (const [name, value] of await variablesFrom(pod, source, sources)) variables.set(name, value);
  }
  const lookup = lookupIn(variables, sources.services);
  for (const { name, value, valueFrom } of container.env ?? []) {
    const found =
      value || valueFrom == null
        ? expand(value ?? '', lookup)
        : await referredValue(pod, container, valueFrom, sources);
    if (found !== undefined) variables.set(name, found);
  }
  for (const [name, value] of sources.services) if (!variables.has(name)) variables.set(name, value);
  return variables;
}

async function variablesFrom(
  pod: Pod,
  { prefix = '', configMapRef, secretRef }: V1EnvFromSource,
  { objects, skipped }: VariableSources,
): Promise<[string, string][]> {
  const ref = configMapRef ?? secretRef;
  if (ref === undefined) return [];
  const kind = configMapRef === undefined ? 'secret' : 'configmap';
  const name = ref.name ?? '';
  const request = requestOf(pod, name);
  const data =
    kind === 'configmap'
      ? textData(await objects.configMap(request))
      : bytesData(await objects.secret(request));
  if (data === undefined && ref.optional !== true)
    throw objectNotFound('CreateContainerConfigError', kind, name);
  const all = [...(data ?? [])].map(([key, value]): [string, string] => [prefix + key, value]);
  const invalid = all.filter(([key]) => !NAME.test(key)).map(([key]) => key);
  if (invalid.length > 0) {
    const source = `${kind === 'secret' ? 'secret' : 'configMap'} ${pod.metadata.namespace ?? ''}/${name}`;
    skipped?.(
      `Keys [${invalid.sort().join(', ')}] from the EnvFrom ${source} were skipped since they are considered invalid environment variable names.`,
    );
  }
  return all.filter(([key]) => NAME.test(key));
}

/** Undefined when the source may be missing and is: the variable is then not set at all. */
async function referredValue(
  pod: Pod,
  container: V1Container,
  source: V1EnvVarSource,
  { objects, addresses, allocatable, volumeFile }: VariableSources,
): Promise<string | undefined> {
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef } = source;
  if (fieldRef) return fieldValue(pod, fieldRef.fieldPath, addresses);
  if (resourceFieldRef) {
    return resourceFieldRef.containerName
      ? resourceValue(pod, resourceFieldRef, allocatable)
      : containerResource(pod, container, resourceFieldRef, allocatable);
  }
  if (fileKeyRef) return fileValue(fileKeyRef, volumeFile);
  const ref = configMapKeyRef ?? secretKeyRef;
  if (!ref)
    throw new KubeletError('CreateContainerConfigError', 'unsupported source of an environment variable');
  const { key, name = '', optional = false } = ref;
  const data = configMapKeyRef
    ? textData(await objects.configMap(requestOf(pod, name)))
    : bytesData(await objects.secret(requestOf(pod, name)));
  const value = data?.get(key);
  if (value !== undefined || optional) return value;
  if (data === undefined)
    throw objectNotFound('CreateContainerConfigError', configMapKeyRef ? 'configmap' : 'secret', name);
  const kind = configMapKeyRef ? 'ConfigMap' : 'Secret';
  const message = `couldn't find key ${key} in ${kind} ${pod.metadata.namespace ?? ''}/${name}`;
  throw new KubeletError('CreateContainerConfigError', message);
}

async function fileValue(
  { volumeName, path, key, optional = false }: V1FileKeySelector,
  volumeFile: VariableSources['volumeFile'],
): Promise<string | undefined> {
  const text = await volumeFile(volumeName, path);
  const value = text === undefined ? undefined : envFileValue(text, key);
  if (value !== undefined || optional) return value;
  const message = `environment variable key "${key}" not found in file "${path}" of volume "${volumeName}"`;
  throw new KubeletError('CreateContainerConfigError', message);
}

/** Binary data of a ConfigMap is for files only. */
const textData = (object: Parameters<typeof configMapData>[0] | undefined) =>
  object === undefined ? undefined : asText(configMapData({ data: object.data }));
const bytesData = (object: Parameters<typeof secretData>[0] | undefined) =>
  object === undefined ? undefined : asText(secretData(object));
const asText = (data: ReadonlyMap<string, Uint8Array>) =>
  new Map([...data].map(([key, bytes]) => [key, Buffer.from(bytes).toString('utf8')]));

const requestOf = ({ metadata }: Pod, name: string) => ({
  podUid: metadata.uid,
  namespace: metadata.namespace ?? '',
  name,
});
