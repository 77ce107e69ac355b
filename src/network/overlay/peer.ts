// What nodes tell one another about the overlay: flannel's annotations on Node objects, written and read. Pure.
// Guarantees: what another node wrote is checked before it is believed; what is wrong says which field and why.
import type { V1Node } from '../../api/gen/types.js';
import { canonicalIp, type Family, formatCidr, parseCidr, parseIp } from '../../api/ip.js';
import type { Stored } from '../../api/object.js';

export const BACKENDS = ['vxlan', 'host-gw'] as const;
export type Backend = (typeof BACKENDS)[number];

/** Another node, as one family of addresses sees it. */
export interface Peer {
  readonly node: string;
  readonly podCidr: string;
  /** Its address on the network between the nodes. */
  readonly underlay: string;
  /** Of its VXLAN device; there with that back end. */
  readonly mac?: string;
}

export interface OwnSide {
  readonly family: Family;
  readonly underlay: string;
  /** With VXLAN alone. */
  readonly vtep?: { readonly vni: number; readonly mac: string };
}

const PREFIX = 'flannel.alpha.coreos.com';
const NAMES = {
  IPv4: { data: `${PREFIX}/backend-data`, underlay: `${PREFIX}/public-ip` },
  IPv6: { data: `${PREFIX}/backend-v6-data`, underlay: `${PREFIX}/public-ipv6` },
} as const;
const TYPE = `${PREFIX}/backend-type`;
const MANAGED = `${PREFIX}/kube-subnet-manager`;
const MAC = /^(?:[0-9a-f]{2}:){5}[0-9a-f]{2}$/;

/** The annotations by which the others find this node. */
export function annotationsOf(backend: Backend, sides: readonly OwnSide[]): Record<string, string> {
  const annotations: Record<string, string> = { [TYPE]: backend, [MANAGED]: 'true' };
  for (const { family, underlay, vtep } of sides) {
    annotations[NAMES[family].underlay] = underlay;
    annotations[NAMES[family].data] =
      vtep === undefined ? 'null' : JSON.stringify({ VNI: vtep.vni, VtepMAC: vtep.mac });
  }
  return annotations;
}

/**
 * Undefined as long as the node has no range of pod addresses or has not said where it is: it will. A text says why
 * what it said cannot be used.
 */
export function peerOf(
  node: Stored<V1Node>,
  { family, backend, vni }: { readonly family: Family; readonly backend: Backend; readonly vni: number },
): Peer | string | undefined {
  const annotations = node.metadata.annotations ?? {};
  const podCidr = rangeOf(node, family);
  const address = underlayOf(node, family);
  if (podCidr === undefined || address === undefined) return undefined;
  const said = annotations[TYPE];
  if (said !== undefined && said !== backend) return `its back end is ${said}, ours ${backend}`;
  const underlay = canonicalIp(address);
  if (underlay === undefined || parseIp(underlay)?.family !== family)
    return `${NAMES[family].underlay}: ${address} is not an ${family} address`;
  const peer = { node: node.metadata.name, podCidr, underlay };
  if (backend === 'host-gw') return peer;
  const data = annotations[NAMES[family].data];
  if (data === undefined) return undefined;
  const vtep = readVtep(data);
  if (vtep === undefined) return `${NAMES[family].data}: no VtepMAC in ${data.slice(0, 100)}`;
  if (vtep.vni !== vni) return `${NAMES[family].data}: its VNI is ${vtep.vni}, ours ${vni}`;
  return { ...peer, mac: vtep.mac };
}

/** The device's address as this node last told it, so that it stays the same when the device is made again. */
export function ownMac(node: Stored<V1Node> | undefined, family: Family): string | undefined {
  return readVtep(node?.metadata.annotations?.[NAMES[family].data] ?? '')?.mac;
}

/** The first range of that family, in canonical form. */
export function rangeOf({ spec }: Stored<V1Node>, family: Family): string | undefined {
  const ranges = (spec.podCIDRs ?? []).map(parseCidr);
  const range = ranges.find((cidr) => cidr?.family === family);
  return range && formatCidr(range);
}

/** As the node's overlay daemon says, or else as its kubelet does. */
function underlayOf({ metadata, status }: Stored<V1Node>, family: Family): string | undefined {
  const internal = (status.addresses ?? []).filter(({ type }) => type === 'InternalIP');
  return (
    metadata.annotations?.[NAMES[family].underlay] ??
    internal.find(({ address }) => parseIp(address)?.family === family)?.address
  );
}

function readVtep(text: string): { vni: number; mac: string } | undefined {
  let data: { VNI?: unknown; VtepMAC?: unknown } | null;
  try {
    data = JSON.parse(text);
  } catch {
    return undefined;
  }
  const mac = typeof data?.VtepMAC === 'string' ? data.VtepMAC.toLowerCase() : '';
  if (!MAC.test(mac) || Number.parseInt(mac.slice(0, 2), 16) & 1) return undefined;
  // Older daemons do not tell the number: theirs is the default.
  const vni = data?.VNI ?? 1;
  return typeof vni === 'number' ? { vni, mac } : undefined;
}
