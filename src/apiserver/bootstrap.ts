// What a cluster has from the first moment: its own namespaces, priority classes and flow schemas, and the Service by which pods reach the apiserver.
// Guarantees: may run at every start; it creates what is missing and corrects only the addresses of the `kubernetes` Service.
import { endpointIpFaults } from '../api/endpointIp.js';
import { SERVICE_NAME_LABEL } from '../api/endpointSlice.js';
import type { V1EndpointSlice, V1Endpoints, V1Service } from '../api/gen/types.js';
import { SYSTEM_PRIORITY_CLASSES } from '../api/kinds/priorityClass.js';
import type { KubeObject } from '../api/object.js';
import {
  CONFIG_MAPS,
  ENDPOINT_SLICES,
  ENDPOINTS,
  NAMESPACES,
  PRIORITY_CLASSES,
  type ResourceType,
  SERVICE_CIDRS,
  SERVICES,
} from '../api/resources.js';
import { ApiError } from '../api/status.js';
import type { Client } from '../client/client.js';
import { ensureFlowControl } from './flowControl/reconcile.js';
import { kubernetesAddress } from './services/addressRange.js';

interface BootstrapOptions {
  /** Where nodes reach this apiserver. */
  readonly address: string;
  readonly port: number;
  /** The service networks; the `kubernetes` Service has the first address of the first. */
  readonly serviceCidrs: readonly string[];
  /** The authority of client certificates: servers beside this one authenticate by it too. */
  readonly clientCa?: string;
  /** Of today: `2026-01-31`. */
  readonly today?: string;
}

const SYSTEM_NAMESPACES = ['default', 'kube-system', 'kube-public', 'kube-node-lease'];
const META = { name: 'kubernetes', namespace: 'default' };
const SERVICE_PORT = 443;

export async function bootstrap(client: Client, options: BootstrapOptions): Promise<void> {
  await Promise.all(
    SYSTEM_NAMESPACES.map((name) => createMissing(client, NAMESPACES, { metadata: { name } })),
  );
  await ensureServiceCidr(client, options.serviceCidrs);
  await Promise.all(SYSTEM_PRIORITY_CLASSES.map((some) => createMissing(client, PRIORITY_CLASSES, some)));
  await ensureFlowControl(client);
  await createMissing(client, SERVICES, kubernetesService(options));
  await ensureConfigMaps(client, options);
  // A server on loopback serves its own machine: no pod could reach it there.
  if (endpointIpFaults(options.address).length > 0) return;
  await createOrCorrect(client, ENDPOINTS, kubernetesEndpoints(options), ({ subsets }) => subsets);
  await createOrCorrect(client, ENDPOINT_SLICES, kubernetesSlice(options), ({ endpoints, ports }) => [
    endpoints,
    ports,
  ]);
}

/** What others read of the server's authentication, and since when tokens in Secrets are watched for their use. */
async function ensureConfigMaps(client: Client, { clientCa, today }: BootstrapOptions): Promise<void> {
  const namespace = 'kube-system';
  if (clientCa !== undefined) {
    const metadata = { namespace, name: 'extension-apiserver-authentication' };
    const data = { 'client-ca-file': clientCa };
    await createMissing(client, CONFIG_MAPS, { metadata, data });
    const held = await client.of(CONFIG_MAPS).get(metadata);
    if (held.data?.['client-ca-file'] !== clientCa)
      await client.of(CONFIG_MAPS).patch(metadata, 'merge', { data });
  }
  const name = 'kube-apiserver-legacy-service-account-token-tracking';
  const since = today ?? new Date().toISOString().slice(0, 'yyyy-mm-dd'.length);
  await createMissing(client, CONFIG_MAPS, { metadata: { namespace, name }, data: { since } });
}

/**
 * The networks of the flags as the object that Kubernetes has for them. Said to be ready at once: the addresses of its
 * networks are given out in any case, whoever looks after the conditions of others.
 */
async function ensureServiceCidr(client: Client, cidrs: readonly string[]): Promise<void> {
  const networks = client.of(SERVICE_CIDRS);
  const { name } = META;
  await createMissing(client, SERVICE_CIDRS, { metadata: { name }, spec: { cidrs } });
  const { metadata, status } = await networks.get({ name });
  if ((status?.conditions ?? []).some(({ type }) => type === 'Ready')) return;
  const ready = {
    type: 'Ready',
    status: 'True',
    reason: '',
    message: 'Kubernetes default Service CIDR is ready',
    lastTransitionTime: metadata.creationTimestamp,
  };
  await networks.patch({ name }, 'merge', { status: { conditions: [ready] } }, { subresource: 'status' });
}

function kubernetesService({ port, serviceCidrs }: BootstrapOptions): V1Service {
  const serviceIp = kubernetesAddress(serviceCidrs[0] ?? '');
  return {
    metadata: { ...META, labels: { component: 'apiserver', provider: 'kubernetes' } },
    spec: {
      type: 'ClusterIP',
      clusterIP: serviceIp,
      clusterIPs: [serviceIp],
      sessionAffinity: 'None',
      ports: [{ name: 'https', protocol: 'TCP', port: SERVICE_PORT, targetPort: port }],
    },
  };
}

// The label keeps the slice controllers from mirroring what is written here by hand.
const UNMIRRORED = { 'endpointslice.kubernetes.io/skip-mirror': 'true' };

function kubernetesEndpoints({ address, port }: BootstrapOptions): V1Endpoints {
  return {
    metadata: { ...META, labels: UNMIRRORED },
    subsets: [{ addresses: [{ ip: address }], ports: [{ name: 'https', port, protocol: 'TCP' }] }],
  };
}

function kubernetesSlice({ address, port }: BootstrapOptions): V1EndpointSlice {
  return {
    metadata: { ...META, labels: { [SERVICE_NAME_LABEL]: META.name } },
    addressType: address.includes(':') ? 'IPv6' : 'IPv4',
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
    ports: [{ name: 'https', port, protocol: 'TCP' }],
  };
}

async function createMissing<T extends KubeObject>(
  client: Client,
  type: ResourceType<T>,
  object: T,
): Promise<void> {
  try {
    await client.of(type).create(object);
  } catch (error) {
    if (!ApiError.is(error, 'AlreadyExists')) throw error;
  }
}

async function createOrCorrect<T extends KubeObject>(
  client: Client,
  type: ResourceType<T>,
  object: T,
  parts: (object: T) => unknown,
): Promise<void> {
  const resource = client.of(type);
  try {
    const held = await resource.get(META);
    if (JSON.stringify(parts(held)) === JSON.stringify(parts(object))) return;
    await resource.update({ ...object, metadata: { ...held.metadata, ...object.metadata } });
  } catch (error) {
    if (!ApiError.is(error, 'NotFound')) throw error;
    await createMissing(client, type, object);
  }
}
