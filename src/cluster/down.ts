// Takes a cluster away: its processes, containers, mounts, control groups, devices, rules and run-time files.
// Guarantees: works from the data directory's name alone, also after everything was killed; touches nothing of another's;
// calling it again is success; a start that is under way is ended first, and none begins in the middle.
import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { openCgroups } from '../kernel/cgroup/adapter.js';
import { openNft } from '../kernel/nftables/adapter.js';
import { openRoute } from '../kernel/route/adapter.js';
import { openEachIptables, removeAcceptedForward } from '../network/acceptedForward.js';
import { removeOverlay } from '../network/overlay/overlay.js';
import { removePodNetwork } from '../network/podNetwork.js';
import { removePolicies } from '../network/policy/enforcer.js';
import { collectAttachments } from './attachments.js';
import { containerdConfigFile } from './containerd/component.js';
import { killRemains } from './containerd/remains.js';
import { ClusterError } from './error.js';
import { removeIfEmpty } from './files.js';
import { restoreForwarding } from './forwarding.js';
import { removeKubeletChains } from './kubeletChains.js';
import type { Layout } from './layout.js';
import { lockForEnd } from './lock.js';
import { unmountBelow } from './mounts.js';
import { clearNodes } from './nodes/remove.js';
import { terminate } from './processes.js';
import { removeProxyRules } from './proxyMode.js';
import { restoreProxySettings } from './proxySettings.js';
import { rangesOf, readSettings } from './settings.js';
import { readState, runningSupervisor } from './state.js';

export interface DownOptions {
  readonly layout: Layout;
  readonly cniBinDir: string;
}

const SUPERVISOR_GRACE_MS = 30_000;
const COMPONENT_GRACE_MS = 5_000;
/** Where shims of every containerd on the machine keep their sockets. */
const SHIM_SOCKETS = '/run/containerd/s';

export async function down(options: DownOptions & { readonly purge: boolean }): Promise<void> {
  const { layout, purge } = options;
  if (purge) await requireOurs(layout);
  const supervisor = runningSupervisor(await readState(layout));
  if (supervisor !== undefined) await terminate(supervisor, SUPERVISOR_GRACE_MS);
  const lock = await lockForEnd(layout, SUPERVISOR_GRACE_MS);
  try {
    await removeTraces(options);
    if (purge) await rm(layout.dataDir, { recursive: true, force: true });
  } finally {
    lock?.release();
  }
}

/** Everything but the data. The order matters: whoever could make something new goes first. */
export async function removeTraces({ layout, cniBinDir }: DownOptions): Promise<void> {
  const { components } = await readState(layout);
  for (const component of Object.values(components)) await terminate(component, COMPONENT_GRACE_MS);
  await killRemains({
    root: layout.containerdRoot,
    state: layout.containerdState,
    socketPath: layout.containerdSocket,
    configPath: containerdConfigFile(layout),
  });
  const cgroups = await openCgroups();
  await cgroups.kill(layout.cgroup);
  await collectAttachments({ layout, cniBinDir });
  await unmountBelow(layout.dataDir);
  await unmountBelow(layout.runDir);
  await removeFromKernel(layout);
  await cgroups.remove(layout.cgroup);
  await rm(layout.runDir, { recursive: true, force: true });
  for (const dir of [path.dirname(layout.runDir), SHIM_SOCKETS, path.dirname(SHIM_SOCKETS)])
    await removeIfEmpty(dir);
}

async function removeFromKernel(layout: Layout): Promise<void> {
  await removeForwardChain(layout);
  // Before the tables that nobody uses any more.
  await removeKubeletChains(layout);
  await removeProxyRules(layout);
  const [nft, route] = await Promise.all([openNft(), openRoute()]);
  try {
    // What cannot be read never stands in the way of the rest.
    const settings = await readSettings(layout).catch(() => undefined);
    const clusterCidrs = settings === undefined ? [] : rangesOf(settings.clusterCidr);
    await removeOverlay(
      { devices: layout.overlayDevices, clusterCidrs, nftTable: layout.carrierTable },
      { route, nft },
    );
    await removePolicies(nft, layout.policyTable);
    await removePodNetwork({ bridge: layout.bridge, nftTable: layout.networkTable }, { nft, route });
    await clearNodes(layout, { nft, route });
    await restoreForwarding({ layout }, route);
    await restoreProxySettings({ layout });
  } finally {
    nft.close();
    route.close();
  }
}

async function removeForwardChain({ forwardChain }: Layout): Promise<void> {
  const iptables = await openEachIptables();
  try {
    await removeAcceptedForward(iptables, forwardChain);
  } finally {
    for (const port of iptables) port.close();
  }
}

/** A directory that Trellis did not make is never removed, whatever the option said. */
async function requireOurs(layout: Layout): Promise<void> {
  // A start that failed at once leaves its lock and nothing else.
  const all = await readdir(layout.dataDir).catch(() => []);
  const entries = all.filter((name) => name !== path.basename(layout.lockFile));
  if (entries.length === 0 || (await readSettings(layout)) !== undefined) return;
  throw new ClusterError(
    'NOT_OURS',
    `${layout.dataDir} holds no cluster of Trellis (no cluster.json), so nothing of it was removed`,
  );
}
