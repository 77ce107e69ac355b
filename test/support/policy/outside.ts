// The machines outside of a cluster that the chapter on network policies speaks of, behind a link of the cluster's node.
// Guarantees: the target answers on the two ports of the chapter; processes and the namespace are gone after `remove`.
import { type ChildProcess, spawn } from 'node:child_process';
import { makeNetNs, type TestNetNs } from '../netns.js';
import { OUTSIDE } from './chapterWalk.js';

export interface OutsideMachines {
  /** Whether one of them, under that address, makes a connection. */
  reach(source: string, destination: string, port: number): Promise<boolean>;
  remove(): Promise<void>;
}

export async function outsideOf(node: TestNetNs): Promise<OutsideMachines> {
  const outside = await makeNetNs();
  await node.run('sh', '-e', '-c', reachOutside(outside.path));
  await outside.run('sh', '-e', '-c', SET_UP);
  const children = ['5978', '5979'].map((port): ChildProcess => {
    const serving = ['busybox', 'httpd', '-f', '-p', port, '-h', '/etc'];
    return spawn('nsenter', [`--net=${outside.path}`, ...serving], { stdio: 'ignore' });
  });
  return {
    reach: (source, destination, port) =>
      outside.run('perl', '-e', CONNECT, source, destination, String(port)).then(
        () => true,
        () => false,
      ),
    remove: async () => {
      for (const child of children) child.kill('SIGKILL');
      await outside.remove();
    },
  };
}

const reachOutside = (far: string) => `
ip link add outside type veth peer name eth0 netns ${far}
ip link set outside up
ip addr add 192.168.98.1/24 dev outside
for network in 172.17.0.0/16 10.0.0.0/24; do ip route add $network via 192.168.98.2; done
`;
const SET_UP = `
ip link set lo up
ip link set eth0 up
ip addr add 192.168.98.2/24 dev eth0
ip route add default via 192.168.98.1
for address in ${Object.values(OUTSIDE).join(' ')}; do ip addr add $address/32 dev lo; done
`;
const CONNECT = `use IO::Socket::INET; my ($from, $to, $port) = @ARGV;
exit !IO::Socket::INET->new(LocalAddr => $from, PeerAddr => $to, PeerPort => $port, Timeout => 2);`;
