// The least object that each kind takes: what the matrix tests and the kubectl tests begin with.
// Guarantees: a kind without an entry fails every test that goes through this table.
import type { KindDefinition } from '../../../../src/api/kind.js';
import { qualifiedResource } from '../../../../src/api/status.js';

const creationTimestamp = '2026-01-01T00:00:00Z';
const pod = { containers: [{ name: 'c', image: 'i' }] };
const labels = { a: 'b' };
const selector = { matchLabels: labels };
const template = { metadata: { labels }, spec: pod };
const job = { template: { spec: { ...pod, restartPolicy: 'Never' } } };
const target = { kind: 'Deployment', name: 'web', apiVersion: 'apps/v1' };
/** A request for a certificate of CN=alice. */
const der =
  'MIHLMHICAQAwEDEOMAwGA1UEAwwFYWxpY2UwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAARGSewIxFiR' +
  '40T/hus3G7+r+l5JMNm/Pfd0Z9k3bopLLrt29bODi7l2lgjA4KHmI0GAYSFeoMXnMVV+txwb+15NoAAw' +
  'CgYIKoZIzj0EAwIDSQAwRgIhAOGj7rD6rdrS+9BOn+9ysBmN1U8ysDDH+n6UiHiMC3SyAiEAoqTLcxCZ' +
  'ephgaPYKmUckevy7whgP49sX9CK51OtAvqg=';
const request = btoa(`-----BEGIN CERTIFICATE REQUEST-----\n${der}\n-----END CERTIFICATE REQUEST-----\n`);

const BODIES: Readonly<Record<string, object>> = {
  configmaps: {},
  endpoints: {},
  events: { involvedObject: { namespace: 'default' } },
  limitranges: { spec: { limits: [{ type: 'Container', max: { cpu: '1' } }] } },
  namespaces: {},
  nodes: {},
  persistentvolumeclaims: {
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  },
  persistentvolumes: {
    spec: { accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' }, hostPath: { path: '/data' } },
  },
  pods: { spec: pod },
  podtemplates: { template },
  replicationcontrollers: { spec: { template } },
  resourcequotas: { spec: { hard: { pods: '2' } } },
  secrets: {},
  serviceaccounts: {},
  services: { spec: { ports: [{ port: 80 }] } },
  'controllerrevisions.apps': { data: { spec: {} }, revision: 1 },
  'daemonsets.apps': { spec: { selector, template } },
  'deployments.apps': { spec: { selector, template } },
  'replicasets.apps': { spec: { selector, template } },
  'statefulsets.apps': { spec: { selector, template, serviceName: 's' } },
  'horizontalpodautoscalers.autoscaling': { spec: { scaleTargetRef: target, maxReplicas: 3 } },
  'cronjobs.batch': { spec: { schedule: '*/5 * * * *', jobTemplate: { spec: job } } },
  'jobs.batch': { spec: job },
  'certificatesigningrequests.certificates.k8s.io': {
    spec: { request, signerName: 'example.com/signer', usages: ['client auth'] },
  },
  'leases.coordination.k8s.io': {},
  'endpointslices.discovery.k8s.io': { addressType: 'IPv4' },
  'flowschemas.flowcontrol.apiserver.k8s.io': { spec: { priorityLevelConfiguration: { name: 'p' } } },
  'prioritylevelconfigurations.flowcontrol.apiserver.k8s.io': {
    spec: { type: 'Limited', limited: { limitResponse: { type: 'Reject' } } },
  },
  'events.events.k8s.io': {
    eventTime: '2026-01-01T00:00:00.000000Z',
    reportingController: 'c',
    reportingInstance: 'i',
    action: 'Look',
    reason: 'Seen',
    type: 'Normal',
    regarding: { namespace: 'default' },
  },
  'ingressclasses.networking.k8s.io': { spec: { controller: 'example.com/ingress' } },
  'ingresses.networking.k8s.io': {
    spec: { defaultBackend: { service: { name: 's', port: { number: 80 } } } },
  },
  'ipaddresses.networking.k8s.io': {
    spec: { parentRef: { resource: 'services', namespace: 'default', name: 's' } },
  },
  'networkpolicies.networking.k8s.io': { spec: { podSelector: {} } },
  'servicecidrs.networking.k8s.io': { spec: { cidrs: ['10.8.0.0/16'] } },
  'runtimeclasses.node.k8s.io': { handler: 'runc' },
  'poddisruptionbudgets.policy': { spec: { minAvailable: 1, selector } },
  'clusterrolebindings.rbac.authorization.k8s.io': { roleRef: { kind: 'ClusterRole', name: 'r' } },
  'clusterroles.rbac.authorization.k8s.io': {},
  'rolebindings.rbac.authorization.k8s.io': { roleRef: { kind: 'Role', name: 'r' } },
  'roles.rbac.authorization.k8s.io': {},
  'deviceclasses.resource.k8s.io': { spec: {} },
  'resourceclaims.resource.k8s.io': { spec: {} },
  'resourceclaimtemplates.resource.k8s.io': { spec: { spec: {} } },
  'resourceslices.resource.k8s.io': {
    spec: {
      driver: 'example.com',
      pool: { name: 'p', generation: 1, resourceSliceCount: 1 },
      allNodes: true,
    },
  },
  'priorityclasses.scheduling.k8s.io': { value: 10 },
  'csidrivers.storage.k8s.io': {},
  'csinodes.storage.k8s.io': { spec: { drivers: [] } },
  'customresourcedefinitions.apiextensions.k8s.io': {
    metadata: { name: 'xs.example.com', creationTimestamp, uid: '3f1c2d9e-0000-4000-8000-000000000001' },
    spec: {
      group: 'example.com',
      names: { plural: 'xs', singular: 'x', kind: 'X', listKind: 'XList' },
      scope: 'Cluster',
      versions: [
        { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } },
      ],
    },
    status: { storedVersions: ['v1'] },
  },
  'csistoragecapacities.storage.k8s.io': { storageClassName: 'fast' },
  'storageclasses.storage.k8s.io': { provisioner: 'example.com/disk' },
  'volumeattachments.storage.k8s.io': {
    spec: { attacher: 'example.com', nodeName: 'n', source: { persistentVolumeName: 'v' } },
  },
  'volumeattributesclasses.storage.k8s.io': { driverName: 'example.com', parameters: { iops: '1' } },
};

interface Smallest {
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

export function smallest({ type }: Pick<KindDefinition, 'type'>): Smallest {
  const resource = qualifiedResource(type);
  const body = BODIES[resource];
  if (body === undefined) throw new Error(`there is no smallest ${resource}: add it to this table`);
  const name = resource === 'ipaddresses.networking.k8s.io' ? '10.8.0.1' : 'x';
  const metadata = { name, creationTimestamp, uid: '3f1c2d9e-0000-4000-8000-000000000001' };
  return { metadata: type.namespaced ? { ...metadata, namespace: 'default' } : metadata, ...body };
}
