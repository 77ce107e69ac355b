// The configuration of the containerd that a cluster runs for itself, as text. Pure.
// Guarantees: nothing of it lies outside the given directories but what no setting moves: the shims' sockets below /run/containerd/s.

export interface ContainerdOptions {
  /** Images and containers, kept over a restart of the machine. */
  readonly root: string;
  /** What lives as long as the machine: sandboxes, network namespaces, runc's own state. */
  readonly state: string;
  readonly socketPath: string;
  readonly sandboxImage: string;
  readonly cniBinDir: string;
  readonly cniConfDir: string;
  /** Holds a directory with hosts.toml for each registry. */
  readonly registryConfigDir: string;
  /** Where overlayfs does not work, as on another overlayfs, `native` copies each layer. */
  readonly snapshotter: 'overlayfs' | 'native';
  /** As OCI names it, such as `amd64`. */
  readonly architecture: string;
  /** Without CAP_SYS_RESOURCE nobody may lower oom_score_adj, and a container that wants it would not start. */
  readonly restrictOomScoreAdj: boolean;
  readonly disableApparmor: boolean;
  /** Without the controller of huge pages a container could not start: each is told a limit, if only of none. */
  readonly disableHugetlb: boolean;
}

/** Other snapshotters, which would warn of what the machine lacks, and services that nobody here calls. */
const DISABLED_PLUGINS = [
  ...['aufs', 'btrfs', 'zfs', 'devmapper', 'blockfile', 'erofs'].map(
    (name) => `io.containerd.snapshotter.v1.${name}`,
  ),
  'io.containerd.differ.v1.erofs',
  'io.containerd.internal.v1.opt', // would make /opt/containerd
  'io.containerd.internal.v1.restart', // the kubelet restarts containers
  'io.containerd.monitor.container.v1.restart', // the same, since 2.0
  'io.containerd.internal.v1.tracing',
  'io.containerd.tracing.processor.v1.otlp',
  'io.containerd.nri.v1.nri', // listens on one socket for the whole machine
];

const CRI = 'plugins."io.containerd.grpc.v1.cri"';
const TRANSFER = 'plugins."io.containerd.transfer.v1.local"';

type Value = string | number | boolean | readonly string[];

// JSON's strings are TOML's, and so are its lists of them.
const lines = (values: Readonly<Record<string, Value>>): string[] =>
  Object.entries(values).map(([key, value]) => `${key} = ${JSON.stringify(value)}`);

const table = (name: string, values: Readonly<Record<string, Value>>): string =>
  [`[${name}]`, ...lines(values)].join('\n');

/** Version 2, which containerd reads from 1.3 on and translates itself from 2.0 on. */
export function containerdConfig(options: ContainerdOptions): string {
  const { root, state } = options;
  const parts = [
    lines({ version: 2, root, state, disabled_plugins: DISABLED_PLUGINS }).join('\n'),
    table('grpc', { address: options.socketPath }),
    table('debug', { level: 'warn' }),
    table(CRI, {
      sandbox_image: options.sandboxImage,
      stream_server_address: '127.0.0.1',
      stream_server_port: '0',
      restrict_oom_score_adj: options.restrictOomScoreAdj,
      disable_apparmor: options.disableApparmor,
      // Said either way: containerd leaves limits of huge pages out by itself, and takes an empty directory for the controller.
      disable_hugetlb_controller: options.disableHugetlb,
      tolerate_missing_hugetlb_controller: true,
      netns_mounts_under_state_dir: true,
    }),
    table(`${CRI}.cni`, { bin_dir: options.cniBinDir, conf_dir: options.cniConfDir, max_conf_num: 1 }),
    table(`${CRI}.containerd`, { snapshotter: options.snapshotter, default_runtime_name: 'runc' }),
    table(`${CRI}.containerd.runtimes.runc`, { runtime_type: 'io.containerd.runc.v2' }),
    // runc's state would be in /run/containerd/runc whatever `state` says.
    table(`${CRI}.containerd.runtimes.runc.options`, {
      SystemdCgroup: false,
      Root: runcRoot(state),
    }),
    table(`${CRI}.registry`, { config_path: options.registryConfigDir }),
    // Since 2.1 this pulls for CRI, and unpacks for no snapshotter but overlayfs unless told.
    table(`[${TRANSFER}.unpack_config]`, {
      platform: `linux/${options.architecture}`,
      snapshotter: options.snapshotter,
    }),
  ];
  return `${parts.join('\n\n')}\n`;
}

export const runcRoot = (state: string): string => `${state}/runc`;

/** hosts.toml for a registry whose name is served from this machine; it belongs into `<registryConfigDir>/<name>/`. */
export function registryHosts({ port, caFile }: { readonly port: number; readonly caFile: string }): string {
  // Twice the same: 1.6 takes no file without a [host] table, and falls back from it to `server`, which without settings
  // of its own would lack the authority and turn "not found" into a complaint about certificates.
  const server = `https://127.0.0.1:${port}`;
  const settings = { capabilities: ['pull', 'resolve'], ca: caFile };
  return `${lines({ server, ...settings }).join('\n')}\n\n${table(`host.${JSON.stringify(server)}`, settings)}\n`;
}
