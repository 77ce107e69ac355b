// The machine that a further node runs on: namespaces, mounts and control groups of its own on this host.
// Guarantees: what a node writes is below its data directory, in its control group or in its own /run, so that all of it
// is found by the node's name; the program that makes the machine ends with whoever started it.
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { DEFAULT_CACHE_DIR } from '../../cni/cache.js';
import { openCgroups } from '../../kernel/cgroup/adapter.js';
import { parseHierarchies } from '../../kernel/cgroup/hierarchy.js';
import { projectRoot } from '../../kernel/projectRoot.js';
import { makePrivateDir, readIfThere, writePrivate } from '../files.js';
import type { Layout } from '../layout.js';
import { type LocalNode, placeOf } from './localNode.js';

const RESOLV_CONF = '/etc/resolv.conf';
/** The servers behind systemd's own, which listens on the host's loopback alone. */
const UPLINK_RESOLV_CONF = '/run/systemd/resolve/resolv.conf';

/** The group of a node's own processes, beside those of its pods. */
export const agentGroup = ({ layout }: Pick<LocalNode, 'layout'>): string => `${layout.cgroup}/agent`;

/** Makes what the node needs and answers the words before a command that is to run there. */
export async function makeSpace(layout: Layout, node: LocalNode): Promise<readonly string[]> {
  const inData = (...parts: string[]) => path.join(node.layout.dataDir, ...parts);
  const [results, resolvConf] = [inData('cni', 'cache'), inData('resolv.conf')];
  await makePrivateDir(node.layout.dataDir);
  // containerd's libcni has one place for all; it is there for the node's own to be laid over it.
  for (const dir of [results, DEFAULT_CACHE_DIR]) await mkdir(dir, { recursive: true, mode: 0o700 });
  const binds = [['--bind', results, DEFAULT_CACHE_DIR]];
  if (existsSync(RESOLV_CONF)) {
    const own = nodeResolvConf(await readFile(RESOLV_CONF, 'utf8'), await readIfThere(UPLINK_RESOLV_CONF));
    await writePrivate(resolvConf, own);
    binds.push(['--bind', resolvConf, RESOLV_CONF]);
  }
  await (await openCgroups()).create(agentGroup(node));
  const groups = parseHierarchies(await readFile('/proc/mounts', 'utf8')).map(({ mountPoint }) => [
    '--group',
    path.join(mountPoint, agentGroup(node)),
  ]);
  return [
    path.join(projectRoot(), 'build', 'Release', 'trellis-node'),
    '--netns',
    node.netns,
    '--hostname',
    node.name,
    '--hide',
    layout.kubeletDir,
    ...[...binds, ...groups].flat(),
    '--',
  ];
}

/** A server on the host's loopback is out of a node's reach: those behind it are asked. Pure. */
export function nodeResolvConf(hosts: string, uplink: string | undefined): string {
  const servers = [...hosts.matchAll(/^\s*nameserver\s+(\S+)/gm)].map(([, server = '']) => server);
  const isOutOfReach = servers.length > 0 && servers.every((server) => /^(127\.|::1$)/.test(server));
  return isOutOfReach ? (uplink ?? hosts) : hosts;
}

/** Every node that there may be something of, also of a start that was killed or whose data is gone. */
export async function knownNodes(layout: Layout): Promise<Omit<LocalNode, 'addresses'>[]> {
  const names = new Set<string>();
  for (const dir of [layout.nodesDir, layout.netnsDir])
    for (const name of await readdir(dir).catch(() => [])) names.add(name);
  return [...names].map((name) => placeOf(layout, name));
}
