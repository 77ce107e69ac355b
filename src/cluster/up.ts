// Prepares a cluster on this machine: checks it, makes what is missing on disk, says which processes are to run.
// Guarantees: nothing is written before the settings are checked; what is there already is kept.
import { hostname } from 'node:os';
import { openNft } from '../kernel/nftables/adapter.js';
import { openRoute } from '../kernel/route/adapter.js';
import type { RoutePort } from '../kernel/route/port.js';
import { saveComponents } from './componentFiles.js';
import type { ClusterFile } from './configuration.js';
import { ClusterError } from './error.js';
import { makePrivateDir, writePrivate } from './files.js';
import { kubeconfigText } from './kubeconfig.js';
import { nodeComponents, prepareNodeDirs } from './nodeComponents.js';
import { furtherNodes } from './nodes/component.js';
import { requireRoom, underlayAddresses } from './nodes/localNode.js';
import { clearNodes } from './nodes/remove.js';
import { retireNodes } from './nodes/retire.js';
import { chooseUnderlay, chooseVni, makeUnderlay } from './nodes/underlay.js';
import { ensurePki } from './pki/files.js';
import { nodeAddresses, ownAddresses, requirePorts, requirePrograms } from './preflight.js';
import { serviceAddress } from './serviceAddress.js';
import {
  defaultSettings,
  requireRole,
  type Settings,
  saveSettings,
  settle,
  type WantedSettings,
} from './settings.js';
import { step } from './steps.js';
import { endLeftovers, ownComponent, type Prepared, type StartOptions } from './supervision.js';

export interface UpOptions extends StartOptions {
  readonly wanted: WantedSettings & { readonly dualStack?: boolean | undefined };
  /** The node's addresses, one a family with a comma between; those of the default device unless named. */
  readonly nodeIp?: string | undefined;
  /** What replaces the configuration of the components; without it they stay as they are. */
  readonly configuration?: ClusterFile | undefined;
  /** No node on this machine: others join. */
  readonly controlPlaneOnly?: boolean | undefined;
}

export async function prepareUp(options: UpOptions): Promise<Prepared> {
  const { layout, sink, controlPlaneOnly = false } = options;
  const { settings, nodeIps } = await step(sink, 'machine', () => prepareMachine(options));
  await step(sink, 'certificates', () => prepareFiles(options, settings, nodeIps));
  const server = ownComponent(options, 'server', nodeIps);
  if (controlPlaneOnly) return { settings, components: [server], awaits: ['server'] };
  const [runtime, agent] = await nodeComponents(options, nodeIps);
  const further = await furtherNodes(options, settings);
  return {
    settings,
    components: [runtime, server, agent, ...further.members],
    afterServer: async () => {
      await retireNodes(layout, settings);
      return further.joining();
    },
    awaits: ['agent', ...further.names],
  };
}

async function prepareMachine(options: UpOptions) {
  const { layout, controlPlaneOnly = false } = options;
  if (!controlPlaneOnly) requirePrograms();
  await endLeftovers(layout);
  await requireRole(layout, 'server');
  return controlPlaneOnly ? prepareServer(options) : prepareNodes(options);
}

/** A control plane alone has nothing to do with the network, and may lack the right to. */
async function prepareServer({ layout, wanted, nodeIp }: UpOptions) {
  if ((wanted.nodes ?? 1) > 1)
    throw new ClusterError('BAD_OPTION', '--nodes: a control plane alone has no node on this machine');
  const settings = await settle(layout, wanted, defaultSettings(hostname().toLowerCase()));
  await requirePorts(settings, ['server']);
  const nodeIps = nodeAddresses(nodeIp, settings.clusterCidr);
  await saveSettings(layout, settings);
  return { settings, nodeIps };
}

async function prepareNodes(options: UpOptions) {
  const { layout } = options;
  const [nft, route] = await Promise.all([openNft(), openRoute()]);
  try {
    const settings = await settleNodes(options, route);
    await requirePorts(settings, ['server', 'agent']);
    const own = settings.nodes === 1 ? ownAddresses(options.nodeIp, settings.clusterCidr) : undefined;
    await clearNodes(layout, { nft, route });
    await saveSettings(layout, settings);
    if (own !== undefined) return { settings, nodeIps: own };
    await makeUnderlay(layout, settings, { nft, route });
    return { settings, nodeIps: underlayAddresses(settings, 1) };
  } finally {
    nft.close();
    route.close();
  }
}

/** Nodes beside this one need a range for their addresses, which stays once it is chosen, and a VXLAN. */
async function settleNodes({ layout, wanted, nodeIp }: UpOptions, route: RoutePort): Promise<Settings> {
  const defaults = defaultSettings(hostname().toLowerCase());
  const settings = await settle(layout, wanted, defaults);
  if (settings.nodes === 1) return settings;
  if (nodeIp !== undefined)
    throw new ClusterError('BAD_OPTION', '--node-ip cannot be chosen with --nodes; --underlay-cidr can');
  const underlayCidr = settings.underlayCidr || (await chooseUnderlay(settings, route));
  requireRoom({ ...settings, underlayCidr });
  const vni = await chooseVni(layout, settings, route);
  return settle(layout, { ...wanted, underlayCidr, vni }, defaults);
}

async function prepareFiles(
  { layout, configuration }: UpOptions,
  settings: Settings,
  nodeIps: readonly string[],
): Promise<void> {
  await makePrivateDir(layout.storeDir);
  await prepareNodeDirs(layout);
  if (configuration !== undefined) await saveComponents(layout, configuration.components);
  const { clusterDomain, tlsSan } = settings;
  const pki = await ensurePki({
    dir: layout.pkiDir,
    nodeName: settings.nodeName,
    apiserverHosts: [
      'kubernetes',
      'kubernetes.default',
      'kubernetes.default.svc',
      `kubernetes.default.svc.${clusterDomain}`,
      'localhost',
      settings.nodeName,
      '127.0.0.1',
      '::1',
      ...nodeIps,
      serviceAddress(settings, 1),
      ...tlsSan.split(',').filter((host) => host !== ''),
    ],
    nodeHosts: [settings.nodeName, ...nodeIps, '127.0.0.1', 'localhost'],
    now: Date.now(),
  });
  const server = `https://127.0.0.1:${settings.securePort}`;
  const config = kubeconfigText({ server, ca: pki.ca.cert, client: pki.admin, user: 'kubernetes-admin' });
  await writePrivate(layout.adminKubeconfig, config);
}
