// Trellis as services of systemd: the text of a unit, and putting it in place or taking it away.
// Guarantees: a unit that Trellis did not write is never changed or removed; a secret is in no unit, but in a file that
// root alone can read; pods outlive a restart of their service.
import { readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { ClusterError } from './error.js';
import { makePrivateDir, readIfThere, removeIfEmpty, writePrivate } from './files.js';

export const ROLES = ['up', 'server', 'agent'] as const;
export type Role = (typeof ROLES)[number];

export interface ServiceOptions {
  readonly role: Role;
  /** The program and its arguments; no secret among them. */
  readonly command: readonly string[];
  readonly dataDir: string;
  /** Where the programs are that it runs. */
  readonly searchPath: string;
  /** Kept in a file of its own. */
  readonly environment: Readonly<Record<string, string>>;
}

export interface SystemdPlace {
  /** `/etc/systemd/system` */
  readonly unitDir: string;
  /** `/etc/trellis` */
  readonly environmentDir: string;
  systemctl(...words: string[]): Promise<unknown>;
}

const MARK = '# Written by "trellis install"; "trellis install --remove" takes it away.';
const DESCRIPTIONS: Readonly<Record<Role, string>> = {
  up: 'Trellis: a Kubernetes control plane and node',
  server: 'Trellis: a Kubernetes control plane',
  agent: 'Trellis: a Kubernetes node',
};
const UNIT = /^trellis-(up|server|agent)\.service$/;

/** All that a control plane alone may do of what only root may. */
export const SERVER_CAPABILITIES = ['dac_override', 'chown', 'fowner', 'kill', 'net_bind_service'];

/**
 * A control plane runs no containers, so it gets no more than it uses. A node cannot be fenced in this way: what its
 * service may not do, no pod could.
 */
const fence = ({ command, dataDir }: ServiceOptions): readonly string[] => [
  'NoNewPrivileges=yes',
  'ProtectSystem=strict',
  `ReadWritePaths=${quoted(dataDir)}`,
  'RuntimeDirectory=trellis',
  'RuntimeDirectoryPreserve=yes',
  'RuntimeDirectoryMode=0700',
  // With a /tmp of its own it would not find what is in everybody's.
  ...([dataDir, ...command].some((word) => /^(\/var)?\/tmp\//.test(word)) ? [] : ['PrivateTmp=yes']),
  'ProtectHome=read-only',
  'PrivateDevices=yes',
  'ProtectControlGroups=yes',
  'ProtectKernelModules=yes',
  'ProtectKernelTunables=yes',
  'ProtectKernelLogs=yes',
  'ProtectClock=yes',
  'ProtectHostname=yes',
  'RestrictNamespaces=yes',
  'RestrictRealtime=yes',
  'RestrictSUIDSGID=yes',
  'LockPersonality=yes',
  'SystemCallArchitectures=native',
  'RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK',
  `CapabilityBoundingSet=${SERVER_CAPABILITIES.map((name) => `CAP_${name.toUpperCase()}`).join(' ')}`,
];

/** Pods live on in the service's own group, so nothing but the first process is ever killed for them. */
const NODE = ['Delegate=yes', 'LimitNPROC=infinity', 'TasksMax=infinity'];

export function unitText(options: ServiceOptions, environmentFile: string): string {
  const { role, command, searchPath } = options;
  const lines = [
    MARK,
    '[Unit]',
    `Description=${DESCRIPTIONS[role]}`,
    'Wants=network-online.target',
    'After=network-online.target',
    'StartLimitIntervalSec=0',
    '',
    '[Service]',
    'Type=exec',
    `Environment=${quoted(`PATH=${searchPath}`)}`,
    `EnvironmentFile=-${environmentFile}`,
    `ExecStart=${[...command, '--keep-pods'].map(quoted).join(' ')}`,
    'Restart=always',
    'RestartSec=5',
    'KillMode=process',
    'TimeoutStopSec=60',
    'LimitNOFILE=1048576',
    'SuccessExitStatus=130', // of a start that was interrupted
    ...(role === 'server' ? fence(options) : NODE),
    '',
    '[Install]',
    'WantedBy=multi-user.target',
  ];
  return `${lines.join('\n')}\n`;
}

/** One word for systemd, which would else read `%` and `$` as its own. */
export function quoted(word: string): string {
  const plain = word.replace(/%/g, '%%').replace(/\$/g, '$$$$');
  return /^[\w@%+=:,./$-]+$/.test(plain) ? plain : `"${plain.replace(/[\\"]/g, '\\$&')}"`;
}

const unitName = (role: Role) => `trellis-${role}.service`;
export const environmentFile = (role: Role, { environmentDir }: Pick<SystemdPlace, 'environmentDir'>) =>
  path.join(environmentDir, `trellis-${role}.env`);

/** Writes the unit and starts it now and at every start of the machine. */
export async function install(options: ServiceOptions, place: SystemdPlace): Promise<string> {
  const { role, environment } = options;
  const file = path.join(place.unitDir, unitName(role));
  await requireOurs(file);
  await makePrivateDir(options.dataDir);
  const settings = environmentFile(role, place);
  const lines = Object.entries(environment).map(([name, value]) => `${name}=${value}\n`);
  if (lines.length > 0) {
    await makePrivateDir(place.environmentDir);
    await writePrivate(settings, lines.join(''));
  }
  await writeFile(file, unitText(options, settings), { mode: 0o644 });
  await place.systemctl('daemon-reload');
  await place.systemctl('enable', unitName(role));
  // Also one that ran before: it takes up what is new.
  await place.systemctl('restart', unitName(role));
  return file;
}

/** Answers the units that were there. Their data and pods stay: "trellis down" ends those. */
export async function uninstall(roles: readonly Role[], place: SystemdPlace): Promise<readonly string[]> {
  const found = (await readdir(place.unitDir).catch(() => [])).filter((name) => UNIT.test(name));
  const wanted = found.filter((name) => roles.some((role) => unitName(role) === name));
  for (const name of wanted) {
    const file = path.join(place.unitDir, name);
    await requireOurs(file);
    await place.systemctl('disable', '--now', name);
    await rm(file, { force: true });
    const role = UNIT.exec(name)?.[1] as Role;
    await rm(environmentFile(role, place), { force: true });
  }
  await removeIfEmpty(place.environmentDir);
  if (wanted.length > 0) await place.systemctl('daemon-reload');
  return wanted;
}

async function requireOurs(file: string): Promise<void> {
  const text = await readIfThere(file);
  if (text === undefined || text.startsWith(MARK)) return;
  throw new ClusterError('NOT_OURS', `${file} was not written by Trellis, so it was left as it is`);
}
