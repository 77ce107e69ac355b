import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { run } from '../../../src/kernel/process.js';
import { netNsPerTest } from '../../support/netns.js';
import { describeWith } from '../../support/requires.js';

const openDescriptors = () => readdirSync('/proc/self/fd').length;
const threads = () => readdirSync('/proc/self/task').length;
const isAlive = (pid: number) => {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false; // no such process any more
  }
};

describe('running a program', () => {
  test('gives its output, its standard error and its exit code', async () => {
    const { status, signal, stdout, stderr } = await run(['sh', '-c', 'echo out; echo err >&2; exit 3']);
    expect({ status, signal, stdout: stdout.toString(), stderr: stderr.toString() }).toEqual({
      status: 3,
      signal: null,
      stdout: 'out\n',
      stderr: 'err\n',
    });
  });

  test('takes arguments as they are, without a shell', async () => {
    const argument = 'a  "b" $HOME; `c`\n';
    expect((await run(['printf', '%s', argument])).stdout.toString()).toBe(argument);
  });

  test('tells the signal that ended it', async () => {
    expect(await run(['sh', '-c', 'kill -TERM $$'])).toMatchObject({ status: null, signal: 'SIGTERM' });
  });

  test('a missing program is ENOENT and named', async () => {
    await expect(run(['no-such-program-here'])).rejects.toMatchObject({
      code: 'ENOENT',
      operation: 'run no-such-program-here',
      message: expect.stringContaining("'no-such-program-here'"),
    });
  });

  test('a file that is no program is EACCES', async () => {
    await expect(run(['/etc/passwd'])).rejects.toMatchObject({ code: 'EACCES' });
  });

  test.each([
    ['no program', []],
    ['an empty name', ['']],
    ['a NUL in an argument', ['echo', 'a\0b']],
  ])('%s is INVALID', async (_, argv) => {
    await expect(run(argv)).rejects.toMatchObject({ code: 'INVALID' });
  });

  test('sets variables over our own environment', async () => {
    const { stdout } = await run(['sh', '-c', 'test -n "$PATH" && echo "$ADDED $HOME"'], {
      env: { ADDED: 'yes', HOME: '/elsewhere' },
    });
    expect(stdout.toString()).toBe('yes /elsewhere\n');
  });

  test('the child has its three pipes and nothing else of ours', async () => {
    const { stdout } = await run(['sh', '-c', 'echo /proc/self/fd/*']);
    const open = stdout.toString().match(/\d+/g)?.map(Number);
    expect(open?.filter((fd) => fd < 3)).toEqual([0, 1, 2]);
    expect(open?.length).toBeLessThanOrEqual(4); // the fourth is the directory being read
  });
});

describe('a program with much to read or write', () => {
  test('echoes 40 MB that a slow reader takes, without deadlock', async () => {
    const input = Array.from({ length: 40 }, (_, i) => Buffer.alloc(1 << 20, 65 + (i % 26)));
    const { stdout, status } = await run(['sh', '-c', 'sleep 0.3; exec cat'], { input });
    expect(status).toBe(0);
    expect(Buffer.concat(input).equals(stdout)).toBe(true);
  });

  test('may write much to standard error while it reads nothing', async () => {
    const input = [Buffer.alloc(8 << 20)];
    const { stderr, status } = await run(['sh', '-c', 'head -c 5000000 /dev/zero >&2; cat >/dev/null'], {
      input,
    });
    expect({ status, length: stderr.length }).toEqual({ status: 0, length: 5_000_000 });
  });

  test('may stop reading early', async () => {
    const input = [Buffer.alloc(16 << 20, 97)];
    const { stdout, status } = await run(['head', '-c', '10'], { input });
    expect({ status, stdout: stdout.toString() }).toEqual({ status: 0, stdout: 'aaaaaaaaaa' });
  });

  test('is killed when it writes more than allowed', async () => {
    await expect(run(['yes'], { maxOutputBytes: 100_000 })).rejects.toMatchObject({
      code: 'ENOBUFS',
      message: expect.stringContaining('100000 bytes'),
    });
  });

  test('does not wait for what it left in the background', async () => {
    // Were it to wait, the test's own time limit would end it first.
    const { stdout } = await run(['sh', '-c', 'sleep 600 & echo $!']);
    const left = Number(stdout.toString());
    expect(isAlive(left)).toBe(true);
    process.kill(left, 'SIGKILL');
  });
});

describe('a program that hangs', () => {
  test('is killed after its time, and its children with it', async () => {
    const pids: number[] = [];
    // It tells its children's pids through a pipe of its own making: the output of a killed program is not given.
    const file = `/tmp/trellis-run-${process.pid}`;
    const script = `sleep 600 & a=$!; (trap '' TERM; sleep 601) & b=$!; echo $$ $a $b > ${file}; wait`;
    await expect(run(['sh', '-c', script], { timeoutMs: 400 })).rejects.toMatchObject({
      code: 'ETIMEDOUT',
      message: expect.stringContaining('400 ms'),
    });
    pids.push(...readFileSync(file, 'utf8').trim().split(' ').map(Number));
    await run(['rm', file]);
    expect(pids).toHaveLength(3);
    await expect.poll(() => pids.filter(isAlive)).toEqual([]);
  });

  test('leaves the event loop free meanwhile', async () => {
    let ticks = 0;
    const timer = setInterval(() => ++ticks, 5);
    await run(['sleep', '0.5']);
    clearInterval(timer);
    expect(ticks).toBeGreaterThan(20);
  });
});

test('1,000 runs leave no descriptor, thread or child behind', async () => {
  for (let i = 0; i < 8; ++i) await run(['true']); // libuv makes its threads now
  const before = { descriptors: openDescriptors(), threads: threads() };
  for (let i = 0; i < 250; ++i)
    await Promise.all([
      run(['true']),
      run(['cat'], { input: [Buffer.from('x')] }),
      run(['false']),
      run(['no-such-program-here']).catch(() => undefined),
    ]);
  expect(openDescriptors()).toBe(before.descriptors);
  // The last one ends a moment after its answer is there.
  await expect.poll(threads).toBeLessThanOrEqual(before.threads);
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').trim();
  expect(children).toBe('');
});

describeWith({ root: true, tools: ['ip'] }, 'a program in another namespace', () => {
  const netns = netNsPerTest();

  test('sees only the links of that namespace', async () => {
    const ns = await netns.make();
    await ns.run('ip', 'link', 'add', 'only-here', 'type', 'bridge');
    const { stdout, status } = await run(['ip', '-br', 'link'], { netns: ns.path });
    expect(status).toBe(0);
    const links = stdout
      .toString()
      .trim()
      .split('\n')
      .map((line) => line.split(/\s+/)[0]);
    expect(links.sort()).toEqual(['lo', 'only-here']);
    const ours = await run(['ip', '-br', 'link']);
    expect(ours.stdout.toString()).not.toContain('only-here');
  });

  test('fails clearly when the namespace is not there', async () => {
    await expect(run(['true'], { netns: '/run/netns/not-there' })).rejects.toMatchObject({ code: 'ENOENT' });
    await expect(run(['true'], { netns: '/etc/passwd' })).rejects.toMatchObject({ code: 'EINVAL' });
  });

  test('many at once in several namespaces each see their own', async () => {
    const names = ['one', 'two', 'three'];
    const spaces = await Promise.all(
      names.map(async (name) => {
        const ns = await netns.make();
        await ns.run('ip', 'link', 'add', name, 'type', 'bridge');
        return ns;
      }),
    );
    const seen = await Promise.all(
      Array.from({ length: 30 }, (_, i) => run(['ip', '-br', 'link'], { netns: spaces[i % 3]?.path })),
    );
    for (const [i, { stdout }] of seen.entries()) {
      const others = names.filter((_, n) => n !== i % 3);
      expect(stdout.toString()).toContain(names[i % 3]);
      for (const other of others) expect(stdout.toString()).not.toContain(other);
    }
  });
});
