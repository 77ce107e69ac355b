// What must hold before anything is started; each failure says what is wrong and what to do.
// Guarantees: looks only; a machine that fails is left as it was.
import { accessSync, constants, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import path from 'node:path';
import { canonicalIp, type Family, parseCidr, parseIp } from '../api/ip.js';
import { ClusterError } from './error.js';
import { rangesOf, type Settings } from './settings.js';
import type { Speaker } from './steps.js';

const PROGRAMS = [
  { name: 'containerd', install: 'apt-get install containerd' },
  { name: 'containerd-shim-runc-v2', install: 'apt-get install containerd' },
  { name: 'runc', install: 'apt-get install runc' },
  { name: 'mount', install: 'apt-get install mount' },
];

export function requireRoot(command: string): void {
  if (process.getuid?.() === 0) return;
  throw new ClusterError(
    'NOT_ROOT',
    `"trellis ${command}" makes network devices, mounts and control groups, which only root may: run it with sudo`,
  );
}

export function requirePrograms(searchPath = process.env['PATH'] ?? ''): void {
  for (const { name, install } of PROGRAMS) {
    if (findProgram(name, searchPath) !== undefined) continue;
    throw new ClusterError(
      'MISSING_PROGRAM',
      `${name} was not found in PATH (${searchPath}); install it, on Debian with "${install}", and try again`,
    );
  }
}

export function findProgram(name: string, searchPath = process.env['PATH'] ?? ''): string | undefined {
  return searchPath
    .split(':')
    .filter((dir) => dir !== '')
    .map((dir) => path.join(dir, name))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

export async function requirePorts(settings: Settings, of: readonly Speaker[]): Promise<void> {
  const wanted = {
    server: [{ port: settings.securePort, who: 'the apiserver', flag: '--secure-port' }],
    agent: [
      { port: settings.kubeletPort, who: 'the kubelet', flag: '--kubelet-port' },
      {
        port: settings.kubeletHealthzPort,
        who: "the kubelet's health check",
        flag: '--kubelet-healthz-port',
      },
      { port: settings.dnsPort, who: "the cluster's DNS", flag: '--dns-port' },
    ],
  };
  for (const { port, who, flag } of of.flatMap((speaker) => wanted[speaker])) {
    if (await isFree(port)) continue;
    throw new ClusterError(
      'PORT_IN_USE',
      `port ${port} is needed by ${who} but something already listens on it; ` +
        `see who with "ss -ltnp sport = :${port}" and stop it, or choose another port with ${flag}`,
    );
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(false) : reject(error),
    );
    probe.listen({ port, host: '::', exclusive: true }, () => probe.close(() => resolve(true)));
  });
}

/** The node's addresses: those that were named, or one for each family of the cluster. */
export function nodeAddresses(
  named: string | undefined,
  clusterCidr: string,
): readonly [string, ...string[]] {
  const families = rangesOf(clusterCidr).map((range) => parseCidr(range)?.family);
  if (named === undefined) {
    const [first, ...rest] = families.map((family) => nodeAddress(family));
    return [first ?? nodeAddress(), ...rest];
  }
  const [first = '', ...rest] = named.split(',').map((address) => address.trim());
  const given = [first, ...rest].map((address) => parseIp(address)?.family);
  if (given.join() === families.join()) return [first, ...rest];
  throw new ClusterError(
    'BAD_OPTION',
    `--node-ip ${named}: pods have ${clusterCidr}, so the node needs an address of ${families.join(' and one of ')}, in this order`,
  );
}

/** The same of a node, which must have them: pods of other nodes are reached by way of the link that does. */
export function ownAddresses(
  named: string | undefined,
  clusterCidr: string,
  interfaces = networkInterfaces(),
): readonly [string, ...string[]] {
  const addresses = nodeAddresses(named, clusterCidr);
  const ours = Object.values(interfaces).flatMap((entries) => (entries ?? []).map(({ address }) => address));
  const foreign = addresses.find((address) => !ours.some((own) => canonicalIp(own) === canonicalIp(address)));
  if (foreign === undefined) return addresses;
  throw new ClusterError(
    'NO_ADDRESS',
    `--node-ip: no device of this machine has the address ${foreign}; it has ${ours.join(', ')}`,
  );
}

/** The address others reach this node by: that of the device with the default route, else the first that is not loopback. */
export function nodeAddress(
  family: Family = 'IPv4',
  routes = readFileSync('/proc/net/route', 'utf8'),
  interfaces = networkInterfaces(),
): string {
  const device = defaultDevice(routes);
  const ordered = [
    ...(device === undefined ? [] : (interfaces[device] ?? [])),
    ...Object.values(interfaces).flat(),
  ];
  const found = ordered.find(
    (entry) =>
      entry !== undefined && entry.family === family && !entry.internal && !isLinkLocal(entry.address),
  );
  if (found !== undefined) return found.address;
  throw new ClusterError(
    'NO_ADDRESS',
    `this machine has no ${family} address that others could reach; give a device one (ip address add ...) or name one with --node-ip`,
  );
}

/** fe80::/10: good on one wire only. */
const isLinkLocal = (address: string) => /^fe[89ab]/i.test(address);

/** Rows are: device, destination, gateway, flags, ... in hexadecimal; destination 0 with mask 0 is the default. */
function defaultDevice(routes: string): string | undefined {
  const rows = routes
    .split('\n')
    .slice(1)
    .map((line) => line.split('\t'));
  return rows.find((row) => row[1] === '00000000' && row[7] === '00000000')?.[0];
}
