// What a program on the npm package netlink does for the veth benchmark: all pairs over one socket, in one process.
// usage: netlinkPeer NETNS...      says "ready", waits for a line, makes the pairs, says "done"
import { once } from 'node:events';
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
/** Requests on their way at a time: answers to more would not fit the socket's buffer. */
const IN_FLIGHT = 64;

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

const pods = process.argv.slice(2);
const socket = createRtNetlink();
const master = (await socket.getLinks()).find((link) => link.attrs.ifname === 'br0')?.data.index;
if (master === undefined) throw new Error('br0 is not there');
process.stdout.write('ready\n');
await once(process.stdin, 'data');
const queue = pods.entries();
const worker = async () => {
  for (const [i, netns] of queue)
    await socket.newLink(
      { flags: { up: true }, change: { up: true } },
      { ifname: `veth${i}`, master, linkinfo: vethInfo(netns) },
      CREATE,
    );
};
await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
process.stdout.write('done\n');
process.exit(0);
