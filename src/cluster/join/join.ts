// Joins this machine to a cluster as a node: finds and trusts the server, takes over its settings, says how the agent runs.
// Guarantees: nothing is written before the server is trusted and takes the token; a node that has joined starts again
// without a token, also while its server is away.
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { CONFIG_MAPS, NODES } from '../../api/resources.js';
import { ApiError } from '../../api/status.js';
import type { Client } from '../../client/client.js';
import { readKubeconfig } from '../../client/kubeconfig.js';
import { certificateStillServes } from '../../kubelet/certificates/bootstrap.js';
import { saveComponents } from '../componentFiles.js';
import type { ClusterFile } from '../configuration.js';
import { ClusterError } from '../error.js';
import { makePrivateDir, writePrivate } from '../files.js';
import { kubeconfigText } from '../kubeconfig.js';
import type { Layout } from '../layout.js';
import { nodeComponents, prepareNodeDirs } from '../nodeComponents.js';
import { caFile } from '../pki/files.js';
import { ownAddresses, requirePorts, requirePrograms } from '../preflight.js';
import {
  defaultSettings,
  readSettings,
  requireRole,
  type Settings,
  SHARED_SETTINGS,
  saveSettings,
  settle,
  type WantedSettings,
} from '../settings.js';
import { step } from '../steps.js';
import { endLeftovers, type Prepared, type StartOptions } from '../supervision.js';
import { asking, discoverAuthority, unknownToken } from './discovery.js';
import { CONFIG_KEY, SHARED_CONFIG } from './objects.js';
import { type JoinToken, parseToken, tokenText } from './token.js';

export interface JoinOptions extends StartOptions {
  /** Ports and the name of the node; the rest is the cluster's. */
  readonly wanted: WantedSettings;
  readonly nodeIp?: string | undefined;
  /** Needed at the first start, as is the token. */
  readonly server?: string | undefined;
  readonly token?: string | undefined;
  readonly caHashes?: readonly string[];
  /** A file with the PEM of the cluster's authority. */
  readonly caFile?: string | undefined;
  /** What replaces the configuration of the node's components; without it they stay as they are. */
  readonly configuration?: ClusterFile | undefined;
}

export async function prepareJoin(options: JoinOptions): Promise<Prepared> {
  const { layout, sink, configuration } = options;
  requirePrograms();
  await endLeftovers(layout);
  await requireRole(layout, 'agent');
  const isMember = await certificateStillServes(layout.nodeKubeconfig);
  const settings = isMember
    ? await step(sink, 'cluster settings', () => settleAgain(options))
    : await step(sink, 'join', () => settleFirst(options));
  await requirePorts(settings, ['agent']);
  const nodeIps = ownAddresses(options.nodeIp, settings.clusterCidr);
  await saveSettings(layout, settings);
  await prepareNodeDirs(layout);
  if (configuration !== undefined) await saveComponents(layout, configuration.components);
  const components = await nodeComponents(options, nodeIps);
  return { settings, components, awaits: ['agent'], isPatient: isMember };
}

async function settleFirst(options: JoinOptions): Promise<Settings> {
  const { layout, wanted } = options;
  const saved = await readSettings(layout);
  const server = (options.server ?? saved?.server ?? '').replace(/\/+$/, '');
  if (server === '' || options.token === undefined) throw notAMember(layout, saved);
  const token = parseToken(options.token);
  const known = options.caFile === undefined ? undefined : await readCa(options.caFile);
  const ca = await discoverAuthority({ server, token, caHashes: options.caHashes ?? [], ca: known });
  const defaults = defaultSettings(hostname().toLowerCase());
  const nodeName = wanted.nodeName ?? saved?.nodeName ?? defaults.nodeName;
  const shared = await asking({ server, ca, token: tokenText(token) }, async (client) => {
    const settings = await readShared(client, server).catch((error: unknown) => {
      throw ApiError.is(error, 'Unauthorized') ? unknownToken({ token, server }) : error;
    });
    await requireFreeName(client, nodeName);
    return settings;
  });
  const settings = await settle(layout, { ...wanted, ...shared, server, nodeName }, defaults);
  await writeTrust(layout, { server, ca, token });
  return settings;
}

/** What the cluster has changed since is taken over; a server that is away changes nothing. */
async function settleAgain(options: JoinOptions): Promise<Settings> {
  const { layout, wanted, sink } = options;
  const access = await readKubeconfig(layout.nodeKubeconfig);
  if (options.server !== undefined && options.server.replace(/\/+$/, '') !== access.server)
    throw new ClusterError(
      'BAD_OPTION',
      `the node in ${layout.dataDir} has joined ${access.server}; leave --server out, ` +
        'use another --data-dir, or start afresh after "trellis down --purge"',
    );
  const shared = await asking(access, (client) => readShared(client, access.server)).catch(
    (error: unknown) => {
      if (!(error instanceof ClusterError)) throw error;
      if (error.code === 'UNTRUSTED')
        throw new ClusterError(
          'UNTRUSTED',
          `${error.message}. If the cluster was made anew, forget the old one with "trellis down --purge" and join again`,
          { cause: error },
        );
      sink({ type: 'note', name: 'cluster settings', text: `as they were: ${error.message}` });
      return {};
    },
  );
  return settle(layout, { ...wanted, ...shared }, defaultSettings(hostname().toLowerCase()));
}

async function readShared(client: Client, server: string): Promise<WantedSettings> {
  const { data = {} } = await client.of(CONFIG_MAPS).get(SHARED_CONFIG);
  try {
    const given = JSON.parse(data[CONFIG_KEY] ?? '') as Partial<Settings>;
    return Object.fromEntries(SHARED_SETTINGS.map((key) => [key, given[key]]));
  } catch (cause) {
    const { namespace, name } = SHARED_CONFIG;
    const text = `the ConfigMap ${namespace}/${name} of ${server} is not what Trellis wrote: ${String(cause)}`;
    throw new ClusterError('NOT_OURS', text, { cause });
  }
}

/** Two machines under one name would take each other's pods; and no token gets the certificate of a node that is there. */
async function requireFreeName(client: Client, name: string): Promise<void> {
  const node = await client
    .of(NODES)
    .get({ name })
    .catch((error: unknown) => {
      if (ApiError.is(error, 'NotFound')) return undefined;
      throw error;
    });
  if (node === undefined) return;
  const isReady = node.status.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True');
  const state = isReady === true ? 'that is Ready' : 'already, though it is not Ready';
  throw new ClusterError(
    'NAME_TAKEN',
    `the cluster has a node "${name}" ${state}; choose another name with --node-name, ` +
      `or remove that one first with "trellis kubectl delete node ${name}" on the server`,
  );
}

async function writeTrust(
  layout: Layout,
  { server, ca, token }: { readonly server: string; readonly ca: string; readonly token: JoinToken },
): Promise<void> {
  await makePrivateDir(layout.pkiDir);
  await writePrivate(caFile(layout.pkiDir), ca);
  const user = `system:bootstrap:${token.id}`;
  const config = kubeconfigText({ server, ca, client: { token: tokenText(token) }, user });
  await writePrivate(layout.bootstrapKubeconfig, config);
}

async function readCa(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new ClusterError('BAD_OPTION', `--ca-file: ${(cause as Error).message}`, { cause });
  }
}

function notAMember({ dataDir }: Layout, saved: Settings | undefined): ClusterError {
  const why =
    saved === undefined
      ? `the node in ${dataDir} has not joined a cluster yet`
      : `the node in ${dataDir} has no certificate that still holds`;
  return new ClusterError(
    'BAD_OPTION',
    `${why}; give --server and a token (--token, --token-file or TRELLIS_TOKEN). ` +
      'The server prints the whole command with "trellis token create --print-join-command"',
  );
}
