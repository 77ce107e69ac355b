// Every field of what claims to be immutable, one by one: its empty value comes and goes, and whoever can tell the
// difference in Kubernetes' own types is refused.
import { describe, expect, test } from 'vitest';
import type { Cause } from '../../../../src/api/causes.js';
import { schemas } from '../../../../src/api/gen/schemas.js';
import type { KindDefinition } from '../../../../src/api/kind.js';
import { KINDS } from '../../../../src/api/kinds/index.js';
import type { KubeObject } from '../../../../src/api/object.js';
import { copyJson } from '../../../../src/api/ownKeys.js';
import { qualifiedResource } from '../../../../src/api/status.js';
import { isPointer } from '../../../../src/api/zeroValues.js';
import { smallest } from './smallest.js';
import { create } from './support.js';

interface Immutable {
  readonly resource: string;
  /** The members on the way to what does not change; the last one is `field` of `model`. */
  readonly path: readonly string[];
  readonly model: string;
  /** Below the path: what may change after all, or is checked in another way. */
  readonly except?: RegExp;
  readonly also?: object;
}

const spec = (resource: string, model: string, fields: string, except?: RegExp): Immutable[] =>
  fields.split(' ').map((field) => ({ resource, path: ['spec', field], model, ...(except && { except }) }));
const own = (resource: string, model: string, fields: string, also?: object): Immutable[] =>
  fields.split(' ').map((field) => ({ resource, path: [field], model, ...(also && { also }) }));

const POD_FIELDS = Object.keys(schemas['V1PodSpec'] ?? {})
  .filter((field) => !['activeDeadlineSeconds', 'tolerations', 'schedulingGates'].includes(field))
  .join(' ');
const SOURCES = Object.entries(schemas['V1PersistentVolumeSpec'] ?? {})
  .filter(([, code]) => /VolumeSource$/.test(code))
  .map(([field]) => field)
  .join(' ');

const IMMUTABLE: readonly Immutable[] = [
  ...spec('pods', 'V1PodSpec', POD_FIELDS, /^spec\.(initC|c)ontainers\.image$/),
  ...spec('deployments.apps', 'V1DeploymentSpec', 'selector'),
  ...spec('daemonsets.apps', 'V1DaemonSetSpec', 'selector'),
  ...spec('replicasets.apps', 'V1ReplicaSetSpec', 'selector'),
  ...spec(
    'statefulsets.apps',
    'V1StatefulSetSpec',
    'selector serviceName podManagementPolicy volumeClaimTemplates',
  ),
  ...spec(
    'jobs.batch',
    'V1JobSpec',
    'selector template completionMode podFailurePolicy backoffLimitPerIndex',
  ),
  ...spec('jobs.batch', 'V1JobSpec', 'managedBy successPolicy'),
  ...own('configmaps', 'V1ConfigMap', 'data binaryData', { immutable: true }),
  ...own('secrets', 'V1Secret', 'data', { immutable: true }),
  ...spec(
    'persistentvolumeclaims',
    'V1PersistentVolumeClaimSpec',
    'accessModes selector resources volumeMode',
  ),
  ...spec('persistentvolumeclaims', 'V1PersistentVolumeClaimSpec', 'dataSource dataSourceRef'),
  ...spec('persistentvolumes', 'V1PersistentVolumeSpec', `volumeMode ${SOURCES}`),
  ...own('storageclasses.storage.k8s.io', 'V1StorageClass', 'parameters provisioner reclaimPolicy'),
  ...own('storageclasses.storage.k8s.io', 'V1StorageClass', 'volumeBindingMode'),
  ...own('rolebindings.rbac.authorization.k8s.io', 'V1RoleBinding', 'roleRef'),
  ...own('runtimeclasses.node.k8s.io', 'V1RuntimeClass', 'handler'),
  ...own('resourceclaims.resource.k8s.io', 'ResourceV1ResourceClaim', 'spec'),
  ...own('resourceclaimtemplates.resource.k8s.io', 'V1ResourceClaimTemplate', 'spec'),
  ...spec('resourceslices.resource.k8s.io', 'V1ResourceSliceSpec', 'driver nodeName'),
  ...spec('ipaddresses.networking.k8s.io', 'V1IPAddressSpec', 'parentRef'),
  ...spec('ingressclasses.networking.k8s.io', 'V1IngressClassSpec', 'controller'),
  ...spec('resourcequotas', 'V1ResourceQuotaSpec', 'scopes scopeSelector'),
  ...spec('csidrivers.storage.k8s.io', 'V1CSIDriverSpec', 'attachRequired volumeLifecycleModes'),
  ...own('csistoragecapacities.storage.k8s.io', 'V1CSIStorageCapacity', 'nodeTopology storageClassName'),
  ...own('volumeattributesclasses.storage.k8s.io', 'V1VolumeAttributesClass', 'driverName parameters'),
  ...own('volumeattachments.storage.k8s.io', 'V1VolumeAttachment', 'spec'),
];

/** A value that comes where nothing was. */
interface Step {
  readonly path: readonly (string | number)[];
  readonly value: unknown;
  readonly counts: boolean;
}

const EMPTY: Readonly<Record<string, unknown>> = { s: '', i: 0, b: false, n: 0, y: '' };
const MOST_DEEP = 9;

function* stepsOf(model: string, field: string, path: readonly (string | number)[]): Generator<Step> {
  const code = schemas[model]?.[field]?.replace(/^!/, '') ?? '';
  if (path.length > MOST_DEEP) return;
  if (code.startsWith('{}')) {
    yield { path, value: {}, counts: false };
    yield { path, value: { k: EMPTY[code.slice(2)] ?? {} }, counts: true };
  } else if (code.startsWith('[]')) {
    yield { path, value: [], counts: false };
    yield { path, value: [EMPTY[code.slice(2)] ?? {}], counts: true };
    yield* stepsIn(code.slice(2), [...path, 0]);
  } else if (EMPTY[code] !== undefined) {
    yield { path, value: EMPTY[code], counts: isPointer(model, field) };
  } else if (schemas[code] !== undefined) {
    yield { path, value: {}, counts: isPointer(model, field) };
    yield* stepsIn(code, path);
  }
}

function* stepsIn(model: string, path: readonly (string | number)[]): Generator<Step> {
  for (const field of Object.keys(schemas[model] ?? {})) yield* stepsOf(model, field, [...path, field]);
}

/** The object with everything on the way there, and the value at its end; without one nothing is there. */
function withAt(object: KubeObject, path: readonly (string | number)[], value: unknown): KubeObject {
  const copy = copyJson(object);
  let at = copy as unknown as Record<string | number, unknown>;
  path.slice(0, -1).forEach((key, index) => {
    at[key] ??= typeof path[index + 1] === 'number' ? [] : {};
    at = at[key] as Record<string | number, unknown>;
  });
  const last = path.at(-1) ?? '';
  delete at[last];
  if (value !== undefined) at[last] = value;
  return copy;
}

const kinds = new Map(KINDS.map((kind) => [qualifiedResource(kind.type), kind as KindDefinition]));

/** What is wrong with the change itself. */
function refusals(kind: KindDefinition, next: KubeObject, old: KubeObject): number {
  const texts = (causes: readonly Cause[]) => causes.map(({ field, message }) => `${field}: ${message}`);
  const known = new Set(texts(kind.validate?.(next) ?? []));
  return texts(kind.validate?.(next, old) ?? []).filter((text) => !known.has(text)).length;
}

describe.each(IMMUTABLE)('$resource $path', ({ resource, path, model, except, also }) => {
  const kind = kinds.get(resource) as KindDefinition;
  const base = create(kind, { ...smallest(kind), ...also }) as KubeObject;
  const steps = [...stepsOf(model, path.at(-1) ?? '', path)].filter(
    // Every stored object has its spec.
    (step) =>
      step.path.join('.') !== 'spec' &&
      !except?.test(step.path.filter((key) => typeof key === 'string').join('.')),
  );

  test('refuses what comes or goes, and nothing else', () => {
    expect(steps.length).toBeGreaterThan(0);
    const wrong = steps.flatMap((step) => {
      const absent = withAt(base, step.path, undefined);
      const present = withAt(base, step.path, step.value);
      const isRefused = [refusals(kind, present, absent) > 0, refusals(kind, absent, present) > 0];
      return isRefused.every((refused) => refused === step.counts)
        ? []
        : [`${step.path.join('.')} = ${JSON.stringify(step.value)}: ${isRefused} for ${step.counts}`];
    });
    expect(wrong).toEqual([]);
  });
});
