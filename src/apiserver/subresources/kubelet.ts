// Where the kubelet of a pod answers, and the connection to it.
// Guarantees: the kubelet is reached over TLS with the apiserver's own certificate; the client's credentials stay here; an
// address that leads back to this server or its machine's loopback is refused.
import type { V1Node, V1Pod } from '../../api/gen/types.js';
import type { KindDefinition } from '../../api/kind.js';
import { NODES } from '../../api/resources.js';
import { statusError } from '../../api/status.js';
import { isType } from '../discovery/resources.js';
import type { ApiResponse } from '../exchange.js';
import type { Machinery } from '../machinery.js';
import { objectKey } from '../registry/keys.js';
import { type Forwarded, forward } from './forward.js';

const KUBELET_PORT = 10250;
const ADDRESS_TYPES = ['InternalIP', 'Hostname'];
interface KubeletAddress {
  readonly host: string;
  readonly port: number;
  readonly node: string;
}

export function kubeletOf(machinery: Machinery, pod: V1Pod): KubeletAddress {
  const node = pod.spec?.nodeName ?? '';
  if (node === '') {
    throw statusError('BadRequest', `pod ${pod.metadata?.name ?? ''} does not have a host assigned`);
  }
  return kubeletOnNode(machinery, node);
}

export function kubeletOnNode(machinery: Machinery, node: string): KubeletAddress {
  const kind = machinery.kinds.find(({ type }) => isType(type, NODES)) as KindDefinition;
  const held = machinery.feed.cacheOf(kind).get(objectKey(NODES, '', node));
  if (held === undefined)
    throw statusError('NotFound', `nodes "${node}" not found`, { kind: 'nodes', name: node });
  const { status } = held.parse<V1Node>();
  const addresses = status?.addresses ?? [];
  const { addressTypes = ADDRESS_TYPES } = machinery.kubelet ?? {};
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
  machinery: Machinery,
  address: KubeletAddress,
  sent: Forwarded,
): Promise<ApiResponse> {
  if (machinery.kubelet === undefined) {
    throw statusError('ServiceUnavailable', 'this server was started without a certificate for kubelets');
  }
  const { cert, key, ca } = machinery.kubelet;
  return forward({ ...kubeletTarget(machinery, address), tls: { cert, key, ca } }, sent);
}

/** A node states its own address: it must not be that of this server, which would believe itself. */
export function kubeletTarget({ kubelet, ownPorts }: Machinery, { host, port, node }: KubeletAddress) {
  const { allowLoopback = false } = kubelet ?? {};
  return { host, port, what: `node "${node}"`, reach: { allowLoopback, ownPorts: ownPorts() } };
}
