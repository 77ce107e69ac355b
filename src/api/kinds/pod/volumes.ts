// Checks of a pod's volumes. Pure.
// Guarantees: each has a name of its own and exactly one source, whose paths stay inside the volume.
import {
  type Cause,
  checkOneOf,
  checkRequiredName,
  duplicate,
  forbiddenField,
  invalidValue,
  required,
} from '../../causes.js';
import type { V1KeyToPath, V1Volume, V1VolumeProjection } from '../../gen/types.js';
import { dnsLabel } from '../../names.js';
import { tryParseQuantity } from '../../quantity.js';

const HOST_PATH_TYPES = [
  '',
  'DirectoryOrCreate',
  'Directory',
  'FileOrCreate',
  'File',
  'Socket',
  'CharDevice',
  'BlockDevice',
];
const MAX_MODE = 0o777;
export const PULL_POLICIES = ['Always', 'IfNotPresent', 'Never'];

export function validateVolumes(volumes: readonly V1Volume[], at: string): Cause[] {
  const seen = new Set<string>();
  return volumes.flatMap((volume, index) => {
    const here = `${at}[${index}]`;
    const causes = checkRequiredName(`${here}.name`, volume.name, dnsLabel);
    if (causes.length === 0 && seen.has(volume.name)) causes.push(duplicate(`${here}.name`, volume.name));
    seen.add(volume.name);
    return [...causes, ...validateSource(volume, here)];
  });
}

function validateSource(volume: V1Volume, at: string): Cause[] {
  const sources = Object.keys(volume).filter(
    (key) => key !== 'name' && volume[key as keyof V1Volume] !== undefined,
  );
  if (sources.length === 0) return [required(at, 'must specify a volume type')];
  const { configMap, secret, hostPath, emptyDir, downwardAPI, projected, persistentVolumeClaim, image } =
    volume;
  const causes: Cause[] = sources
    .slice(1)
    .map((source) => forbiddenField(`${at}.${source}`, 'may not specify more than 1 volume type'));
  if (configMap !== undefined) {
    if (!configMap.name) causes.push(required(`${at}.configMap.name`));
  }
  if (secret !== undefined) {
    if (!secret.secretName) causes.push(required(`${at}.secret.secretName`));
  }
  if (hostPath !== undefined) {
    if (!hostPath.path) causes.push(required(`${at}.hostPath.path`));
    else if (hasBacksteps(hostPath.path))
      causes.push(invalidValue(`${at}.hostPath.path`, hostPath.path, "must not contain '..'"));
    causes.push(...checkOneOf(`${at}.hostPath.type`, hostPath.type, HOST_PATH_TYPES));
  }
  if (emptyDir?.sizeLimit !== undefined && (tryParseQuantity(emptyDir.sizeLimit)?.nanos ?? -1n) < 0n)
    causes.push(
      forbiddenField(`${at}.emptyDir.sizeLimit`, 'SizeLimit field must be a valid resource quantity'),
    );
  if (downwardAPI !== undefined)
    causes.push(...validateMode(downwardAPI.defaultMode, `${at}.downwardAPI.defaultMode`));
  if (projected !== undefined) {
    causes.push(...validateMode(projected.defaultMode, `${at}.projected.defaultMode`));
    for (const [index, source] of (projected.sources ?? []).entries())
      causes.push(...validateProjection(source, `${at}.projected.sources[${index}]`));
  }
  if (image !== undefined) {
    if (!image.reference) causes.push(required(`${at}.image.reference`));
    causes.push(...checkOneOf(`${at}.image.pullPolicy`, image.pullPolicy, PULL_POLICIES));
  }
  if (persistentVolumeClaim !== undefined && !persistentVolumeClaim.claimName)
    causes.push(required(`${at}.persistentVolumeClaim.claimName`));
  return [
    ...causes,
    ...validateFiles(configMap ?? {}, `${at}.configMap`),
    ...validateFiles(secret ?? {}, `${at}.secret`),
  ];
}

function validateProjection(
  { configMap, secret, serviceAccountToken }: V1VolumeProjection,
  at: string,
): Cause[] {
  const causes: Cause[] = [];
  if (configMap !== undefined && !configMap.name) causes.push(required(`${at}.configMap.name`));
  if (secret !== undefined && !secret.name) causes.push(required(`${at}.secret.name`));
  if (serviceAccountToken !== undefined) {
    const { expirationSeconds = 3600, path } = serviceAccountToken;
    const here = `${at}.serviceAccountToken`;
    if (expirationSeconds < 600)
      causes.push(
        invalidValue(
          `${here}.expirationSeconds`,
          expirationSeconds,
          'may not specify a duration less than 10 minutes',
        ),
      );
    if (!path) causes.push(required(`${here}.path`));
    else causes.push(...validateInside(path, `${here}.path`));
  }
  return causes;
}

interface Files {
  readonly defaultMode?: number | undefined;
  readonly items?: readonly V1KeyToPath[] | undefined;
}

function validateFiles({ defaultMode, items = [] }: Files, at: string): Cause[] {
  return [
    ...validateMode(defaultMode, `${at}.defaultMode`),
    ...items.flatMap(({ key, path, mode }, index) => {
      const here = `${at}.items[${index}]`;
      const causes: Cause[] = key ? [] : [required(`${here}.key`)];
      if (!path) causes.push(required(`${here}.path`));
      else causes.push(...validateInside(path, `${here}.path`));
      return [...causes, ...validateMode(mode, `${here}.mode`)];
    }),
  ];
}

function validateMode(mode: number | undefined, at: string): Cause[] {
  if (mode === undefined || (mode >= 0 && mode <= MAX_MODE)) return [];
  return [invalidValue(at, mode, 'must be a number between 0 and 0777 (octal), both inclusive')];
}

/** Relative, and never out by `..`. */
export function validateInside(path: string, at: string): Cause[] {
  if (path.startsWith('/')) return [invalidValue(at, path, 'must be a relative path')];
  return hasBacksteps(path) ? [invalidValue(at, path, "must not contain '..'")] : [];
}

export const hasBacksteps = (path: string): boolean => path.split('/').includes('..');
