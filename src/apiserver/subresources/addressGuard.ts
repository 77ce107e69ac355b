// Where this server lets itself be sent by what others state: the addresses that pods, endpoints and nodes say they have.
// Guarantees: never this machine's loopback, nor link-local, multicast and unspecified addresses, nor this server's own
// port; a name is judged by the address that is then connected to, not by an earlier answer.
import { type LookupAddress, lookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { networkInterfaces } from 'node:os';

export interface Reach {
  /** For a kubelet that listens on loopback alone. */
  readonly allowLoopback?: boolean;
  /** The ports on which this server itself listens; no node answers there. */
  readonly ownPorts?: readonly number[];
}

const LOOPBACK = blocked(['127.0.0.0/8', '::1/128']);
const REFUSED = blocked([
  '0.0.0.0/8',
  '169.254.0.0/16',
  '224.0.0.0/4',
  '255.255.255.255/32',
  '::/128',
  'fe80::/10',
  'ff00::/8',
]);

export class AddressRefused extends Error {
  override readonly name = 'AddressRefused';

  constructor() {
    super('address not allowed');
  }
}

/** Throws AddressRefused for an address that is none, or none to be reached. */
export function requireReachable(address: string, port: number, reach: Reach = {}): void {
  if (!isReachable(address, port, reach)) throw new AddressRefused();
}

/** For `net.connect`: resolves a name, and fails with AddressRefused when it leads where nobody is to be sent. */
export function reachableLookup(port: number, reach: Reach = {}): LookupFunction {
  return (host, options, callback) =>
    lookup(host, { ...options, all: true }, (error, found: LookupAddress[]) => {
      if (error !== null) return callback(error, []);
      const allowed = found.filter(({ address }) => isReachable(address, port, reach));
      const [first] = allowed;
      if (first === undefined) return callback(new AddressRefused(), []);
      if (options.all === true) callback(null, allowed);
      else callback(null, first.address, first.family);
    });
}

function isReachable(
  address: string,
  port: number,
  { allowLoopback = false, ownPorts = [] }: Reach,
): boolean {
  // Without the zone of a link-local address.
  const [bare = ''] = address.split('%');
  if (isIP(bare) === 0 || isIn(REFUSED, bare)) return false;
  const isLoopback = isIn(LOOPBACK, bare);
  if (ownPorts.includes(port) && (isLoopback || isIn(ownAddresses(), bare))) return false;
  return allowLoopback || !isLoopback;
}

/** Read each time: addresses come and go. */
function ownAddresses(): BlockList {
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return blocked(own.map(({ address, family }) => `${address}/${family === 'IPv6' ? 128 : 32}`));
}

function blocked(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', prefix] = network.split('/');
    list.addSubnet(address, Number(prefix), familyOf(address));
  }
  return list;
}

/** An IPv4 address in its IPv6 notation is found among the IPv4 ones. */
const isIn = (list: BlockList, address: string): boolean => list.check(address, familyOf(address));

function familyOf(address: string) {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}
