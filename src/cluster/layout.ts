// Where a cluster keeps what it makes, and the names by which its traces on the machine are known.
// Guarantees: everything is derived from the data directory alone, so `down` finds it after any crash.
import { createHash } from 'node:crypto';
import path from 'node:path';
import type { Family } from '../api/ip.js';

export interface Layout {
  readonly dataDir: string;
  /** Eight hexadecimal digits that tell this cluster's traces from another's on the same machine. */
  readonly id: string;
  /** Says that the directory is ours, and with which settings it was made. */
  readonly settingsFile: string;
  /** Held by the supervisor: in the data itself, so that whoever shares it is kept out, from any namespace. */
  readonly lockFile: string;
  /** Configuration files of the components, as they were given. */
  readonly configDir: string;
  readonly pkiDir: string;
  readonly adminKubeconfig: string;
  /** Of a node that has joined: its own, and the one with which it asks for its first certificate. */
  readonly nodeKubeconfig: string;
  readonly bootstrapKubeconfig: string;
  readonly storeDir: string;
  readonly logDir: string;
  readonly podLogDir: string;
  /** Volumes of the class `local-path`. */
  readonly volumeDir: string;
  readonly kubeletDir: string;
  readonly manifestDir: string;
  readonly cniConfigDir: string;
  /** Addresses that host-local has given out. */
  readonly cniStateDir: string;
  readonly containerdRoot: string;
  readonly containerdConfigDir: string;
  /** Sockets and state that a reboot may take away. */
  readonly runDir: string;
  readonly containerdState: string;
  readonly containerdSocket: string;
  readonly stateFile: string;
  /** The node's ranges of pod addresses, in flannel's form. */
  readonly subnetFile: string;
  /** Control group of everything that runs for this cluster, below the root of each hierarchy. */
  readonly cgroup: string;
  /** The name of the pod network, and of its bridge. */
  readonly network: string;
  readonly bridge: string;
  readonly networkTable: string;
  /** The chain of iptables that accepts traffic of pods where all other is dropped. */
  readonly forwardChain: string;
  /** The devices to other nodes, one a family. */
  readonly overlayDevices: Readonly<Record<Family, string>>;
  readonly proxyTable: string;
  /** Of network policies. */
  readonly policyTable: string;
  /** Of rules about packets between nodes. */
  readonly carrierTable: string;
  /** Data of further nodes on this machine, and the files that pin their networks. */
  readonly nodesDir: string;
  readonly netnsDir: string;
  /** The bridge between the nodes of this machine, its table of rules, and the port of a node on it. */
  readonly underlay: string;
  readonly underlayTable: string;
  readonly underlayPort: string;
}

/** `dataDir` is absolute, with links resolved: two names of one directory are one cluster. */
export function layoutOf(dataDir: string): Layout {
  const id = createHash('sha256').update(dataDir).digest('hex').slice(0, 8);
  const inData = (...parts: string[]) => path.join(dataDir, ...parts);
  // Unix sockets have at most 107 bytes of name: they cannot live below a data directory of any length.
  const inRun = (...parts: string[]) => path.join('/run/trellis', id, ...parts);
  return {
    dataDir,
    id,
    settingsFile: inData('cluster.json'),
    lockFile: inData('supervisor.lock'),
    configDir: inData('config'),
    pkiDir: inData('pki'),
    adminKubeconfig: inData('admin.kubeconfig'),
    nodeKubeconfig: inData('node.kubeconfig'),
    bootstrapKubeconfig: inData('bootstrap.kubeconfig'),
    storeDir: inData('store'),
    logDir: inData('logs'),
    podLogDir: inData('logs', 'pods'),
    volumeDir: inData('volumes'),
    kubeletDir: inData('kubelet'),
    manifestDir: inData('manifests'),
    cniConfigDir: inData('cni', 'net.d'),
    cniStateDir: inData('cni', 'networks'),
    containerdRoot: inData('containerd'),
    containerdConfigDir: inData('containerd-config'),
    runDir: inRun(),
    containerdState: inRun('containerd'),
    containerdSocket: inRun('containerd.sock'),
    stateFile: inRun('state.json'),
    subnetFile: inRun('subnet.env'),
    cgroup: `/trellis-${id}`,
    network: `trellis-${id}`,
    bridge: `trl-${id}`,
    networkTable: `trellis-pods-${id}`,
    forwardChain: `TRELLIS-FWD-${id}`,
    overlayDevices: { IPv4: `trx-${id}`, IPv6: `trx6-${id}` },
    proxyTable: `trellis-proxy-${id}`,
    policyTable: `trellis-policy-${id}`,
    carrierTable: `trellis-nodes-${id}`,
    nodesDir: inData('nodes'),
    netnsDir: inRun('netns'),
    underlay: `tru-${id}`,
    underlayTable: `trellis-nodes-${id}`,
    underlayPort: `trn-${id}`,
  };
}
