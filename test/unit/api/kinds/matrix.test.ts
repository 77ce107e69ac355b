// Every kind against what the stock server's discovery says of it: a kind that lacks something fails here.
import { describe, expect, test } from 'vitest';
import { decodeObject } from '../../../../src/api/decode.js';
import { schemas } from '../../../../src/api/gen/schemas.js';
import type { Draft, KindDefinition } from '../../../../src/api/kind.js';
import { KINDS } from '../../../../src/api/kinds/index.js';
import type { KubeObject } from '../../../../src/api/object.js';
import { apiVersionOf } from '../../../../src/api/resources.js';
import { smallest } from './smallest.js';
import { create } from './support.js';

/** Resource, kind, group version, n(amespaced) or c(luster), short names, subresources; `all` when `kubectl get all` shows it. */
const EXPECTED = `
configmaps ConfigMap v1 n cm
endpoints Endpoints v1 n ep
events Event v1 n ev
limitranges LimitRange v1 n limits
namespaces Namespace v1 c ns status
nodes Node v1 c no status
persistentvolumeclaims PersistentVolumeClaim v1 n pvc status
persistentvolumes PersistentVolume v1 c pv status
pods Pod v1 n po status all
podtemplates PodTemplate v1 n -
replicationcontrollers ReplicationController v1 n rc scale,status all
resourcequotas ResourceQuota v1 n quota status
secrets Secret v1 n -
serviceaccounts ServiceAccount v1 n sa
services Service v1 n svc status all
controllerrevisions ControllerRevision apps/v1 n -
daemonsets DaemonSet apps/v1 n ds status all
deployments Deployment apps/v1 n deploy scale,status all
replicasets ReplicaSet apps/v1 n rs scale,status all
statefulsets StatefulSet apps/v1 n sts scale,status all
horizontalpodautoscalers HorizontalPodAutoscaler autoscaling/v2 n hpa status all
cronjobs CronJob batch/v1 n cj status all
jobs Job batch/v1 n - status all
certificatesigningrequests CertificateSigningRequest certificates.k8s.io/v1 c csr approval,status
leases Lease coordination.k8s.io/v1 n -
endpointslices EndpointSlice discovery.k8s.io/v1 n -
flowschemas FlowSchema flowcontrol.apiserver.k8s.io/v1 c - status
prioritylevelconfigurations PriorityLevelConfiguration flowcontrol.apiserver.k8s.io/v1 c - status
ingressclasses IngressClass networking.k8s.io/v1 c -
ingresses Ingress networking.k8s.io/v1 n ing status
ipaddresses IPAddress networking.k8s.io/v1 c ip
networkpolicies NetworkPolicy networking.k8s.io/v1 n netpol
servicecidrs ServiceCIDR networking.k8s.io/v1 c - status
runtimeclasses RuntimeClass node.k8s.io/v1 c -
poddisruptionbudgets PodDisruptionBudget policy/v1 n pdb status
clusterrolebindings ClusterRoleBinding rbac.authorization.k8s.io/v1 c -
clusterroles ClusterRole rbac.authorization.k8s.io/v1 c -
rolebindings RoleBinding rbac.authorization.k8s.io/v1 n -
roles Role rbac.authorization.k8s.io/v1 n -
deviceclasses DeviceClass resource.k8s.io/v1 c -
resourceclaims ResourceClaim resource.k8s.io/v1 n - status
resourceclaimtemplates ResourceClaimTemplate resource.k8s.io/v1 n -
resourceslices ResourceSlice resource.k8s.io/v1 c -
priorityclasses PriorityClass scheduling.k8s.io/v1 c pc
csidrivers CSIDriver storage.k8s.io/v1 c -
csinodes CSINode storage.k8s.io/v1 c -
csistoragecapacities CSIStorageCapacity storage.k8s.io/v1 n -
customresourcedefinitions CustomResourceDefinition apiextensions.k8s.io/v1 c crd,crds status api-extensions
storageclasses StorageClass storage.k8s.io/v1 c sc
volumeattachments VolumeAttachment storage.k8s.io/v1 c - status
volumeattributesclasses VolumeAttributesClass storage.k8s.io/v1 c vac
`
  .trim()
  .split('\n');

function lineOf({
  type,
  shortNames,
  categories,
  scale,
  hasStatus,
  statusParts = [],
}: KindDefinition): string {
  const parts = [
    ...(scale === undefined ? [] : ['scale']),
    ...(hasStatus ? ['status'] : []),
    ...statusParts,
  ].sort();
  return [
    type.resource,
    type.kind,
    apiVersionOf(type),
    type.namespaced ? 'n' : 'c',
    shortNames.join(',') || '-',
    parts.join(','),
    categories.join(','),
  ]
    .filter((word) => word !== '')
    .join(' ');
}

test('serves what the stock server serves, under the same names', () => {
  expect(KINDS.map(lineOf).sort()).toEqual([...EXPECTED].sort());
});

const namesOf = (is: (kind: KindDefinition) => boolean) =>
  KINDS.filter(is)
    .map(({ type }) => type.resource)
    .sort()
    .join(' ');

test('one request deletes all objects of every kind but those of which the stock server deletes only one', () => {
  expect(namesOf(({ deletedOneByOne }) => deletedOneByOne === true)).toBe('namespaces');
});

test('a PUT has to name the version it replaces for the kinds for which the stock server wants it', () => {
  expect(namesOf(({ needsResourceVersion }) => needsResourceVersion === true)).toBe(
    'csidrivers csinodes csistoragecapacities customresourcedefinitions leases poddisruptionbudgets runtimeclasses volumeattachments',
  );
});

test('a PUT makes an object of the kinds of which the stock server makes one', () => {
  expect(namesOf(({ createdByUpdate }) => createdByUpdate === true)).toBe(
    'clusterrolebindings clusterroles endpoints events leases limitranges rolebindings roles runtimeclasses services',
  );
});

test('a deletion without a policy leaves the dependents of the kinds of which the stock server leaves them', () => {
  expect(namesOf(({ orphansByDefault }) => orphansByDefault !== undefined)).toBe(
    'jobs replicationcontrollers',
  );
});

test('gives no short name twice', () => {
  const names = KINDS.flatMap(({ shortNames }) => shortNames);
  expect(new Set(names).size).toBe(names.length);
});

describe.each(KINDS.map((kind) => [kind.type.kind, kind] as const))('%s', (_, kind) => {
  test('has a singular name, a model, a rule for names and columns that tell something', () => {
    expect(kind.singular).toBe(kind.type.kind.toLowerCase());
    expect(schemas[kind.model]).toBeDefined();
    expect(kind.nameRule).toBeTypeOf('string');
    for (const { name, description, priority } of kind.columns) {
      expect(description, name).toMatch(/^.+\.$/);
      expect([0, 1]).toContain(priority);
    }
    expect(new Set(kind.columns.map(({ name }) => name)).size).toBe(kind.columns.length);
  });

  test('offers field selectors that have values', () => {
    const fields = kind.fields?.(create(kind, smallest(kind))) ?? {};
    for (const [name, value] of Object.entries(fields)) expect(value, name).toBeTypeOf('string');
  });
});

const FORMS = KINDS.flatMap((kind) =>
  (kind.versions ?? []).map((version) => [apiVersionOf(version.type), version, kind] as const),
);

describe.each(FORMS)('the form %s', (_, version, kind) => {
  const stored = { ...create(kind, smallest(kind)), ...smallest(kind) } as KubeObject;

  test('has a model that knows all its fields', () => {
    const shown = version.fromStored(create(kind, smallest(kind)) as KubeObject);
    expect(decodeObject(version, shown).unknownFields).toEqual([]);
  });

  test('loses nothing there and back', () => {
    const shown = JSON.parse(JSON.stringify(version.fromStored(stored))) as Draft<KubeObject>;
    const { object } = decodeObject(version, shown);
    expect(version.toStored(object)).toEqual(stored);
  });
});
