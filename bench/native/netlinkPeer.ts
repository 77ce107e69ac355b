// What a program on the npm package netlink does for the veth benchmark; one process for the host, one for each pod.
// usage: netlinkPeer host NETNS...   |   netlinkPeer pod ADDRESS GATEWAY
import { openSync } from 'node:fs';
import { createRtNetlink, FlagsNew } from 'netlink';

/** One netlink attribute. The package leaves nested link information to its caller. */
function attribute(type: number, data: Buffer): Buffer {
  const padded = Buffer.alloc((data.length + 7) & ~3);
  padded.writeUInt16LE(data.length + 4, 0);
  padded.writeUInt16LE(type, 2);
  data.copy(padded, 4);
  return padded;
}

const text = (value: string) => Buffer.from(`${value}\0`);
const number = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};

const [IFLA_IFNAME, IFLA_NET_NS_FD, IFLA_INFO_KIND, IFLA_INFO_DATA, VETH_INFO_PEER] = [3, 28, 1, 2, 1];
const CREATE = { flags: FlagsNew.CREATE | FlagsNew.EXCL };
const RT_TABLE_MAIN = 254;

function vethInfo(netns: string): Buffer {
  const peer = Buffer.concat([
    Buffer.alloc(16), // ifinfomsg
    attribute(IFLA_IFNAME, text('eth0')),
    attribute(IFLA_NET_NS_FD, number(openSync(netns, 'r'))),
  ]);
  return Buffer.concat([
    attribute(IFLA_INFO_KIND, text('veth')),
    attribute(IFLA_INFO_DATA, attribute(VETH_INFO_PEER, peer)),
  ]);
}

async function host(pods: readonly string[]): Promise<void> {
  const socket = createRtNetlink();
  const bridge = (await socket.getLinks()).find((link) => link.attrs.ifname === 'br0')?.data.index;
  if (bridge === undefined) throw new Error('br0 is not there');
  for (const [i, netns] of pods.entries())
    await socket.newLink(
      { flags: { up: true }, change: { up: true } },
      { ifname: `veth${i}`, master: bridge, linkinfo: vethInfo(netns) },
      CREATE,
    );
}

const octets = (address: string) => Buffer.from(address.split('.').map(Number));

async function pod(address: string, gateway: string): Promise<void> {
  const socket = createRtNetlink();
  const index = (await socket.getLinks()).find((link) => link.attrs.ifname === 'eth0')?.data.index;
  if (index === undefined) throw new Error('eth0 is not there');
  await socket.setLink({ index, flags: { up: true }, change: { up: true } });
  await socket.newAddress(
    { family: 2, prefixlen: 16, index },
    { local: octets(address), address: octets(address) },
    CREATE,
  );
  await socket.newRoute(
    { family: 2, table: RT_TABLE_MAIN, protocol: 'BOOT', scope: 'UNIVERSE', type: 'UNICAST' },
    { gateway: octets(gateway) },
    CREATE,
  );
}

const [what, ...rest] = process.argv.slice(2);
await (what === 'host' ? host(rest) : pod(rest[0] ?? '', rest[1] ?? ''));
process.exit(0);
