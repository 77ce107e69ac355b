// What this machine is and has, read from /proc, /etc and the file system.
// Guarantees: a fact that cannot be read is left empty; nothing here waits for anything but files.
import { readdir, readFile, statfs } from 'node:fs/promises';
import os from 'node:os';

export interface MachineFacts {
  readonly hostname: string;
  readonly architecture: string;
  readonly kernelVersion: string;
  readonly osImage: string;
  readonly machineID: string;
  readonly systemUUID: string;
  readonly bootID: string;
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly ephemeralBytes: number;
  /** Memory set aside in large pages, by their size. */
  readonly hugePages: readonly { readonly pageBytes: number; readonly count: number }[];
  /** The kernel enforces AppArmor's profiles. */
  readonly hasAppArmor: boolean;
}

export interface MachinePressure {
  readonly memoryAvailableBytes: number;
  readonly diskAvailableBytes: number;
  readonly diskTotalBytes: number;
  readonly inodesFree: number;
  readonly inodesTotal: number;
  readonly pidsUsed: number;
  readonly pidsMax: number;
}

const ARCHITECTURES: Readonly<Record<string, string>> = {
  x64: 'amd64',
  ia32: '386',
  arm64: 'arm64',
  arm: 'arm',
};

export async function readMachine(rootDir: string): Promise<MachineFacts> {
  const [release, machineID, bootID, systemUUID, meminfo, apparmor, hugePages, disk] = await Promise.all([
    text('/etc/os-release'),
    text('/etc/machine-id'),
    text('/proc/sys/kernel/random/boot_id'),
    text('/sys/class/dmi/id/product_uuid'),
    text('/proc/meminfo'),
    text('/sys/module/apparmor/parameters/enabled'),
    readHugePages(),
    statfs(rootDir),
  ]);
  return {
    hostname: os.hostname(),
    architecture: ARCHITECTURES[process.arch] ?? process.arch,
    kernelVersion: os.release(),
    osImage: /^PRETTY_NAME="?([^"\n]*)/m.exec(release)?.[1] ?? 'Linux',
    machineID,
    // Without a firmware that tells one, the machine's id serves, as it does in Kubernetes.
    systemUUID: systemUUID || machineID,
    bootID,
    cpus: os.cpus().length,
    memoryBytes: kilobytes(meminfo, 'MemTotal'),
    ephemeralBytes: disk.blocks * disk.bsize,
    hugePages,
    hasAppArmor: apparmor === 'Y',
  };
}

const HUGE_PAGES = '/sys/kernel/mm/hugepages';

async function readHugePages(): Promise<MachineFacts['hugePages']> {
  const names = await readdir(HUGE_PAGES).catch(() => []); // a kernel without them
  return Promise.all(
    names.sort().map(async (name) => ({
      pageBytes: Number(/(\d+)kB$/.exec(name)?.[1] ?? 0) * 1024,
      count: Number(await text(`${HUGE_PAGES}/${name}/nr_hugepages`)),
    })),
  );
}

/** The node's addresses where none were given: the first of each family that others can reach. */
export function reachableAddresses(): readonly string[] {
  const all = Object.values(os.networkInterfaces()).flatMap((list) => list ?? []);
  const usable = all.filter(({ internal, address }) => !internal && !address.startsWith('fe80:'));
  const first = (family: string) => usable.find((one) => one.family === family)?.address;
  const found = [first('IPv4'), first('IPv6')].filter((address) => address !== undefined);
  return found.length === 0 ? ['127.0.0.1'] : found;
}

const kilobytes = (meminfo: string, name: string) =>
  Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(meminfo)?.[1] ?? 0) * 1024;

async function text(path: string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch {
    return ''; // not on this machine, or not for us to read
  }
}
