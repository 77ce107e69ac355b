// A further node as a component of the cluster: `trellis agent` on a machine of its own, joined as any other host is.
// Guarantees: a node that has its certificate needs no token; a token is in no argument of any process.
import { certificateStillServes } from '../../kubelet/certificates/bootstrap.js';
import { withApi } from '../api.js';
import { shareComponents } from '../componentFiles.js';
import { TOKEN_VARIABLE, tokenText } from '../join/token.js';
import { createToken } from '../join/tokens.js';
import type { Layout } from '../layout.js';
import { caFile } from '../pki/files.js';
import { serverUrl } from '../serviceAddress.js';
import type { Settings } from '../settings.js';
import type { StartOptions } from '../supervision.js';
import type { Component } from '../supervisor.js';
import { type LocalNode, localNodes, underlayAddresses } from './localNode.js';
import { makeSpace } from './space.js';

const TOKEN_MS = 60 * 60 * 1000;

type Options = Pick<StartOptions, 'layout' | 'self' | 'timeoutMs'>;

interface FurtherNodes {
  readonly names: readonly string[];
  /** Those that have joined before: they wait for the control plane themselves. */
  readonly members: readonly Component[];
  /** The others, for when the control plane answers. */
  joining(): Promise<readonly Component[]>;
}

export async function furtherNodes(options: Options, settings: Settings): Promise<FurtherNodes> {
  const nodes = localNodes(options.layout, settings);
  const known = await Promise.all(nodes.map(({ layout }) => certificateStillServes(layout.nodeKubeconfig)));
  const prepare = (isMember: boolean, env?: Component['env']) =>
    Promise.all(
      nodes
        .filter((_, at) => known[at] === isMember)
        .map((node) => nodeComponent(options, { node, settings, env })),
    );
  return {
    names: nodes.map(({ name }) => name),
    members: await prepare(true),
    joining: async () =>
      known.includes(false) ? prepare(false, { [TOKEN_VARIABLE]: await makeToken(options.layout) }) : [],
  };
}

interface Wish {
  readonly node: LocalNode;
  readonly settings: Settings;
  readonly env: Component['env'];
}

async function nodeComponent(options: Options, { node, settings, env = {} }: Wish): Promise<Component> {
  const { layout, self, timeoutMs } = options;
  const { addresses, name } = node;
  const [server] = underlayAddresses(settings, 1);
  const words = [
    'agent',
    '--supervise',
    '--keep-pods',
    '--timeout',
    String(Math.ceil(timeoutMs / 1000)),
    '--data-dir',
    node.layout.dataDir,
    '--node-name',
    name,
    '--node-ip',
    addresses.join(),
    '--server',
    serverUrl(server, settings.securePort),
    '--ca-file',
    caFile(layout.pkiDir),
    '--logging-format',
    settings.loggingFormat,
  ];
  const space = await makeSpace(layout, node);
  await shareComponents(layout, node.layout);
  return { name, command: [...space, ...self, ...words], env, speaks: true, isOneStep: true };
}

async function makeToken(layout: Layout): Promise<string> {
  const description = 'for nodes on the machine of the control plane';
  return tokenText(
    await withApi(layout.adminKubeconfig, (client) => createToken(client, { ttlMs: TOKEN_MS, description })),
  );
}
