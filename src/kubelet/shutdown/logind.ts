// systemd-logind as the kubelet needs it: how long a shutdown may be delayed, the lock that delays it, and the news of one.
// Guarantees: a lock is held from the moment it is answered until it is released, or until this process is gone.
import { spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { KubeletError } from '../error.js';
import type { Bus } from './bus.js';

const MANAGER = 'org.freedesktop.login1.Manager';
const LOGIN = { destination: 'org.freedesktop.login1', path: '/org/freedesktop/login1' };

/** Where logind is found. */
export interface LogindPlace {
  /** The address of the system's D-Bus daemon. */
  readonly bus: string;
  /** For pieces of its configuration. */
  readonly configDir: string;
}

export const SYSTEM_LOGIND: LogindPlace = {
  bus: process.env['DBUS_SYSTEM_BUS_ADDRESS'] ?? 'unix:path=/run/dbus/system_bus_socket',
  configDir: '/etc/systemd/logind.conf.d',
};

/** True when the machine is about to go down, false when that was called off. */
export async function onShutdown(bus: Bus, heard: (isImminent: boolean) => void): Promise<void> {
  const rule = `type='signal',interface='${MANAGER}',member='PrepareForShutdown',path='${LOGIN.path}'`;
  await bus.listen(rule, ({ interface: from, member, body = [] }) => {
    if (from === MANAGER && member === 'PrepareForShutdown') heard(body[0] === true);
  });
}

/** Lets logind wait for as long as the kubelet needs, by a file of its configuration where it must. */
export async function allowDelay(bus: Bus, neededMs: number, configDir: string): Promise<void> {
  if ((await longestDelayMs(bus)) >= neededMs) return;
  await mkdir(configDir, { recursive: true, mode: 0o755 });
  const text = `# Written by the kubelet\n[Login]\nInhibitDelayMaxSec=${Math.ceil(neededMs / 1000)}\n`;
  await writeFile(path.join(configDir, '99-kubelet.conf'), text, { mode: 0o644 });
  // logind reads its configuration anew on SIGHUP.
  await bus.call({
    destination: 'org.freedesktop.systemd1',
    path: '/org/freedesktop/systemd1',
    interface: 'org.freedesktop.systemd1.Manager',
    member: 'KillUnit',
    signature: 'ssi',
    body: ['systemd-logind.service', 'all', 1],
  });
  const delayMs = await longestDelayMs(bus);
  if (delayMs < neededMs)
    throw new KubeletError(
      'FailedNode',
      `logind delays a shutdown by ${delayMs / 1000}s at most, but shutdownGracePeriod is ${neededMs / 1000}s`,
    );
}

async function longestDelayMs(bus: Bus): Promise<number> {
  const [delayUs] = await bus.call({
    ...LOGIN,
    interface: 'org.freedesktop.DBus.Properties',
    member: 'Get',
    signature: 'ss',
    body: [MANAGER, 'InhibitDelayMaxUSec'],
  });
  return Number(delayUs as bigint) / 1000;
}

export interface InhibitLock {
  /** Lets the shutdown go on. */
  release(): void;
}

/**
 * The lock is a descriptor that logind hands over beside its reply, which a JavaScript program cannot receive. logind's
 * own tool holds it for us, for as long as the pipe to it is open: so it ends with this process, however that ends.
 */
export function inhibitShutdown(address: string): Promise<InhibitLock> {
  const options = ['--what=shutdown', '--mode=delay', '--who=kubelet'];
  const why = '--why=Kubelet needs time to handle node shutdown';
  const child = spawn('systemd-inhibit', [...options, why, 'sh', '-c', 'echo held; exec cat'], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, DBUS_SYSTEM_BUS_ADDRESS: address },
  });
  child.stdin.on('error', () => {}); // it has ended already
  return new Promise((resolve, reject) => {
    let words = '';
    child.stderr.on('data', (piece) => {
      words += piece;
    });
    const refused = (why: string) => reject(new KubeletError('FailedNode', `cannot delay shutdowns: ${why}`));
    child.on('error', (error) => refused(error.message));
    child.on('exit', (code) => refused(words.trim() || `systemd-inhibit ended with ${code}`));
    child.stdout.once('data', () => resolve({ release: () => child.stdin.end() }));
  });
}
