// Where the kubelet of a pod answers, and the connection to it.
// Guarantees: the kubelet is reached over TLS with the apiserver's own certificate; the client's credentials stay here; an
// address that leads back to this server or its machine's loopback is refused.
import type { V1Node, V1Pod } from '../../api/gen/types.js';
import type { KindDefinition } from '../../api/kind.js';
import { NODES } from '../../api/resources.js';
import { statusError } from '../../api/status.js';
import { isType } from '../discovery/resources.js';
import type { ApiResponse } from '../exchange.js';
import { objectKey } from '../registry/keys.js';
import type { ServerContext } from '../serverContext.js';
import { type Forwarded, forward } from './forward.js';

const KUBELET_PORT = 10250;
const ADDRESS_TYPES = ['InternalIP', 'Hostname'];
interface KubeletAddress {
  readonly host: string;
  readonly port: number;
  readonly node: string;
}

export function kubeletOf(server: ServerContext, pod: V1Pod): KubeletAddress {
  const node = pod.spec?.nodeName ?? '';
  if (node === '') {
    throw statusError('BadRequest', `pod ${pod.metadata?.name ?? ''} does not have a host assigned`);
  }
  return kubeletOnNode(server, node);
}

export function kubeletOnNode(server: ServerContext, node: string): KubeletAddress {
  const kind = server.kinds.find(({ type }) => isType(type, NODES)) as KindDefinition;
  const held = server.feed.cacheOf(kind).get(objectKey(NODES, '', node));
  if (held === undefined)
    throw statusError('NotFound', `nodes "${node}" not found`, { kind: 'nodes', name: node });
  const { status } = held.parse<V1Node>();
  const addresses = status?.addresses ?? [];
  const { addressTypes = ADDRESS_TYPES } = server.kubelet ?? {};
  const [address] = addressTypes.flatMap((wanted) => addresses.filter(({ type }) => type === wanted));
  if (address === undefined) {
    throw statusError(
      'InternalError',
      `no preferred addresses found for node "${node}"; known addresses: []`,
    );
  }
  return {
    host: address.address,
    port: status?.daemonEndpoints?.kubeletEndpoint?.Port ?? KUBELET_PORT,
    node,
  };
}

/** The kubelet's answer, streamed; with `upgrade`, a tunnel if the kubelet agrees to switch protocols. */
export function askKubelet(
  server: ServerContext,
  address: KubeletAddress,
  sent: Forwarded,
): Promise<ApiResponse> {
  if (server.kubelet === undefined) {
    throw statusError('ServiceUnavailable', 'this server was started without a certificate for kubelets');
  }
  const { cert, key, ca } = server.kubelet;
  return forward({ ...kubeletTarget(server, address), tls: { cert, key, ca } }, sent);
}

/** A node states its own address: it must not be that of this server, which would believe itself. */
export function kubeletTarget({ kubelet, ownPorts }: ServerContext, { host, port, node }: KubeletAddress) {
  const { allowLoopback = false } = kubelet ?? {};
  return { host, port, what: `node "${node}"`, reach: { allowLoopback, ownPorts: ownPorts() } };
}
