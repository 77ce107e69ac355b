// A machine that systemd has started: namespaces of every kind beside a network namespace of a test, with systemd as process 1.
// Guarantees: nothing of the host's hardware, services, /dev or control groups is within its reach; when it stops, its
// processes, mounts, files and control groups are gone.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { removeControlGroups } from './isolatedNode.js';
import type { TestNetNs } from './netns.js';
import { type Answer, answerOf, eventually } from './testCluster.js';

const MAIN = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url));
const NAMESPACES = ['--mount', '--pid', '--net', '--uts', '--ipc', '--cgroup'];
let made = 0;

/** As root of the machine's control groups: what systemd sees as the top of each hierarchy. */
const JOIN = `
set -e
tops=/sys/fs/cgroup
if [ ! -e $tops/cgroup.procs ]; then tops=$(echo $tops/*); fi
for top in $tops; do
  group=$top$GROUP
  mkdir $group
  for file in cpuset.cpus cpuset.mems; do if [ -e $top/$file ]; then cat $top/$file > $group/$file; fi; done
  echo $$ > $group/cgroup.procs
done
exec nsenter --net=$NETNS unshare --mount --pid --uts --ipc --cgroup --fork --kill-child --mount-proc sh -c "$BOOT"
`;

// A cluster of the host in the same place has the same names: its mounts would count as this machine's.
// Of /dev only what programs need: systemd would set owners and modes of all it finds. Of the units only targets and the
// journal: the rest looks after hardware. What is written to /etc and /var stays in memory, but for the data of Trellis.
const BOOT = `
set -e
mount --make-rslave /
awk '$5 ~ "^(/run|/var/lib)/trellis/" { print $5 }' /proc/self/mountinfo | sort -r | xargs -r -n 1 umount -l
mount -t sysfs sysfs /sys
kinds=$(cut -d: -f2 /proc/self/cgroup | grep . || true)
version2=/sys/fs/cgroup
if [ -n "$kinds" ]; then
  mount -t tmpfs -o mode=755 cgroups /sys/fs/cgroup
  version2=/sys/fs/cgroup/unified
fi
for kind in $kinds; do
  name=\${kind#name=}
  mkdir /sys/fs/cgroup/$name
  if [ $name = $kind ]; then options=$kind; else options=none,$kind; fi
  mount -t cgroup -o $options cgroup /sys/fs/cgroup/$name
done
mkdir -p $version2
mount -t cgroup2 cgroup2 $version2
dev=$DIRECTORY/dev
mkdir $dev
mount -t tmpfs -o mode=755 dev $dev
mkdir $dev/pts $dev/shm
for node in null zero full random urandom tty; do
  touch $dev/$node
  mount --bind /dev/$node $dev/$node
done
mount -t devpts -o newinstance,ptmxmode=0666 devpts $dev/pts
mount -t tmpfs shm $dev/shm
ln -s pts/ptmx $dev/ptmx
ln -s /proc/self/fd $dev/fd
mount --move $dev /dev
mount -t tmpfs -o mode=755 run /run
mkdir -p /run/netns /run/private/units
for dir in etc var; do
  over=/run/private/$dir
  mkdir -p $over/upper $over/work
  mount -t overlay -o lowerdir=/$dir,upperdir=$over/upper,workdir=$over/work private /$dir
done
mkdir -p /var/lib/trellis
mount --bind $DIRECTORY/data /var/lib/trellis
cd /usr/lib/systemd/system
cp *.target systemd-journald.service systemd-journald.socket systemd-journald-dev-log.socket /run/private/units
mount --bind /run/private/units /usr/lib/systemd/system
rm -rf /etc/systemd/system
mkdir /etc/systemd/system
: > /etc/fstab
echo $HOST > /etc/hostname
echo $MACHINE_ID > /etc/machine-id
export container=test
exec /usr/lib/systemd/systemd --system --unit=basic.target --show-status=no --log-target=console
`;

export class SystemdMachine {
  readonly #directory: string;
  readonly #group: string;
  readonly #holder: ChildProcess;
  readonly #pid: number;

  private constructor(directory: string, group: string, holder: ChildProcess, pid: number) {
    this.#directory = directory;
    this.#group = group;
    this.#holder = holder;
    this.#pid = pid;
  }

  static async start(host: TestNetNs, name: string): Promise<SystemdMachine> {
    const directory = mkdtempSync(path.join(tmpdir(), 'trellis-node-'));
    mkdirSync(path.join(directory, 'data'));
    const group = `/trellis-test-${process.pid}-systemd-${++made}`;
    const machineId = String(made).padStart(32, '0');
    const words = { DIRECTORY: directory, GROUP: group, NETNS: host.path, HOST: name, MACHINE_ID: machineId };
    const holder = spawn('sh', ['-c', JOIN], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { PATH: process.env['PATH'], ...words, BOOT },
    });
    const errors: Buffer[] = [];
    holder.stderr.on('data', (chunk: Buffer) => errors.push(chunk));
    const child = () => readFileSync(`/proc/${holder.pid}/task/${holder.pid}/children`, 'utf8').trim();
    const pid = await eventually(
      async () => Number(child()),
      (found) => found > 0 && readFileSync(`/proc/${found}/comm`, 'utf8').startsWith('systemd'),
      20_000,
    ).catch((error: unknown) => {
      holder.kill('SIGKILL');
      throw new Error(`systemd did not start: ${Buffer.concat(errors)}${String(error)}`);
    });
    const machine = new SystemdMachine(directory, group, holder, pid);
    await eventually(
      () => machine.run('systemctl', 'start', 'systemd-journald.service'),
      ({ code }) => code === 0,
    );
    return machine;
  }

  /** Runs a program inside; never rejects for its exit code. */
  run(...words: readonly string[]): Promise<Answer> {
    return answerOf('nsenter', [`--target=${this.#pid}`, ...NAMESPACES, ...words]);
  }

  /** `trellis <words>`, with the data where it is unless told otherwise. */
  trellis(...words: readonly string[]): Promise<Answer> {
    return this.run(process.execPath, MAIN, ...words);
  }

  /** For whoever looks into a failure. */
  async journal(): Promise<string> {
    return (await this.run('journalctl', '--no-pager', '--lines=50')).stdout;
  }

  async stop(): Promise<void> {
    // The first process of a process namespace takes all others with it.
    const ended = once(this.#holder, 'exit');
    process.kill(this.#pid, 'SIGKILL');
    await ended;
    removeControlGroups(this.#group);
    rmSync(this.#directory, { recursive: true });
  }
}
