// The program that makes a machine of its own for a node.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { netNsPerTest, type TestNetNs } from '../../support/netns.js';
import { describeWith } from '../../support/requires.js';
import { until } from '../../support/until.js';

const PROGRAM = path.resolve('build/Release/trellis-node');
const execute = promisify(execFile);
const namespaces = netNsPerTest();
let netns: TestNetNs;
let dir = '';

beforeEach(async () => {
  dir = mkdtempSync(path.join(tmpdir(), 'trellis-space-'));
  netns = await namespaces.make();
});
afterEach(() => rmSync(dir, { recursive: true }));

const wordsFor = (script: string, more: readonly string[] = []) => [
  '--netns',
  netns.path,
  '--hostname',
  'node-two',
  ...more,
  '--',
  'sh',
  '-c',
  script,
];

const run = async (script: string, ...more: string[]) =>
  (await execute(PROGRAM, wordsFor(script, more))).stdout.trim();

/** Runs until it is ended; resolves when the script says something. */
async function start(script: string, wrapper: readonly string[] = []) {
  const [program = '', ...words] = [...wrapper, PROGRAM, ...wordsFor(script)];
  const child = spawn(program, words, { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  return child;
}

/** Processes of the host whose words hold a mark. */
const marked = (mark: string) =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(mark);
      } catch {
        return false; // ended meanwhile
      }
    });

describeWith({ root: true, tools: ['ip'] }, 'a machine of its own', () => {
  test('has a name, processes, devices and an empty /run', async () => {
    await netns.run('ip', 'link', 'add', 'wire', 'type', 'bridge');
    expect(await run('hostname; echo $PPID; ls /sys/class/net; ls /run; echo -; ls -d /proc/[0-9]*')).toMatch(
      /^node-two\n1\nlo\nwire\n-\n\/proc\/1\n\/proc\/2$/,
    );
    expect(hostname()).not.toBe('node-two');
  });

  test('has the control groups of the host, and is in those that were named', async () => {
    const name = `trellis-test-space-${process.pid}`;
    const isV1 = readdirSync('/sys/fs/cgroup').includes('pids');
    const group = path.join('/sys/fs/cgroup', isV1 ? 'pids' : '', name);
    await execute('mkdir', [group]);
    try {
      expect(await run('cat /proc/self/cgroup', '--group', group)).toContain(`:/${name}\n`);
    } finally {
      await execute('rmdir', [group]);
    }
    expect((await run('ls /sys/fs/cgroup')).split('\n')).toEqual(readdirSync('/sys/fs/cgroup').sort());
  });

  test('keeps its mounts to itself, and shares them with what it starts', async () => {
    const mount = `mount -t tmpfs mine ${dir} && touch ${dir}/inside`;
    const seen = await run(`unshare --mount --propagation unchanged sh -c '${mount}'; ls ${dir}`);
    expect(seen).toBe('inside');
    expect(existsSync(path.join(dir, 'inside'))).toBe(false);
  });

  test('lays files over those of the host, also behind a link into its /run', async () => {
    writeFileSync(path.join(dir, 'own'), 'own words');
    await execute('ln', ['-s', '/run/absent/there', path.join(dir, 'link')]);
    expect(
      await run(`cat ${dir}/link /run/absent/there`, '--bind', `${dir}/own`, path.join(dir, 'link')),
    ).toBe('own wordsown words');
  });

  test('holds no mount below what is hidden, though the host has one', async () => {
    await execute('mount', ['-t', 'tmpfs', 'ours', dir]);
    try {
      expect(await run('cat /proc/self/mountinfo', '--hide', tmpdir())).not.toContain(dir);
      expect(await run('cat /proc/self/mountinfo')).toContain(dir);
    } finally {
      await execute('umount', [dir]);
    }
  });

  test('gives the exit code of its program, and leaves none of its processes', async () => {
    const mark = `3${process.pid}`;
    await expect(run(`(setsid sleep ${mark} &); exit 7`)).rejects.toMatchObject({ code: 7 });
    expect(marked(mark)).toEqual([]);
  });

  test('reaps whatever is orphaned', async () => {
    const orphans =
      'for i in 1 2 3; do (sleep 0.1 &); done; sleep 0.5; grep -l "State:.Z" /proc/[0-9]*/status';
    expect(await run(`${orphans} | wc -l`)).toBe('0');
  });

  test('passes a request to end on to its program', async () => {
    const child = await start('trap "exit 9" TERM; echo began; while :; do sleep 0.1; done');
    child.kill('SIGTERM');
    expect((await once(child, 'exit'))[0]).toBe(9);
  });

  test('ends as a whole when it is killed', async () => {
    const mark = `4${process.pid}`;
    const child = await start(`(setsid sleep ${mark} &); echo began; sleep ${mark}`);
    await until(() => expect(marked(mark).length).toBeGreaterThanOrEqual(2));
    child.kill('SIGKILL');
    await until(() => expect(marked(mark)).toEqual([]));
  });

  test('ends as a whole when whoever started it is killed', async () => {
    const mark = `5${process.pid}`;
    const child = await start(`echo began; sleep ${mark}`, ['sh', '-c', '"$@"; true', 'starter']);
    await until(() => expect(marked(mark).length).toBeGreaterThanOrEqual(2));
    child.kill('SIGKILL');
    await until(() => expect(marked(mark)).toEqual([]));
  });

  test.each([
    [['--netns', '/nowhere', '--hostname', 'x', '--', 'true'], /enter the network of \/nowhere/],
    [['--colour', 'red', '--', 'true'], /unknown option --colour/],
    [['--netns', 'self', '--hostname', 'x', '--'], /no program is named/],
    [['--netns', 'self', '--hostname', 'x', '--', '/nowhere/program'], /run \/nowhere\/program/],
    [['--netns', 'self', '--hostname', 'x', '--group', '/nowhere', '--', 'true'], /join the control group/],
  ])('says what is wrong with %j', async (words, message) => {
    const own = words.map((word) => (word === 'self' ? netns.path : word));
    await expect(execute(PROGRAM, own)).rejects.toMatchObject({ stderr: expect.stringMatching(message) });
  });
});
