// The command lines of the machines, and what they run under.
import { closeSync, readSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { confine } from '../../../../scripts/vm/confine.mjs';
import { ConsoleLog } from '../../../../scripts/vm/consoleLog.mjs';
import { guestVariables, hiddenDirectories, kernelWords } from '../../../../scripts/vm/kernelArguments.mjs';
import * as qemu from '../../../../scripts/vm/machines/qemu.mjs';
import * as uml from '../../../../scripts/vm/machines/uml.mjs';
import { channelFds, fileFds } from '../../../../scripts/vm/supervise.mjs';

const guest = { out: '/results', share: true, keep: ['/src'], jobBytes: 99 };
const common = { guest, init: '/src/init.sh', memoryMb: 512, cpus: 3 };
const fds = { ...channelFds, ...fileFds({ initramfs: 20, kernel: 21 }) };

describe('the uml machine', () => {
  const words = uml.commandLine({ ...common, parts: { kernel: '/linux', modules: '/mod/6.1' }, fds });

  test('mounts the host read-only and gives each channel a console', () => {
    expect(words).toEqual(expect.arrayContaining(['/linux', 'mem=512M', 'rootfstype=hostfs', 'ro']));
    expect(words).toEqual(expect.arrayContaining(['con1=fd:3,fd:3', 'con2=null,fd:4', 'con3=null,fd:5']));
    expect(words.slice(-2)).toEqual(['--', '/src/init.sh']);
  });

  test('loads the library for large register sets from its descriptor, where it could be compiled', () => {
    const files = { ...channelFds, ...fileFds({ registers: 20 }) };
    const loading = uml.commandLine({ ...common, parts: { kernel: '/linux', modules: '/m' }, fds: files });
    expect(loading.join(' ')).toContain('env LD_PRELOAD=/proc/self/fd/6 /linux');
    expect(words).not.toContain('env');
  });

  test('compiles that library', () => {
    const { registers } = uml.files() as { registers?: number };
    if (registers === undefined) throw new Error('it was not compiled');
    const start = Buffer.alloc(4);
    readSync(registers, start, 0, 4, 0);
    closeSync(registers);
    expect(start.toString('latin1')).toBe('\x7fELF');
  });
});

describe('the qemu machine', () => {
  const parts = { emulator: '/qemu', busybox: '/b', kernel: '/k', modules: '/mod/6.1' };
  const words = (share: boolean) =>
    qemu.commandLine({ ...common, guest: { ...guest, share }, parts, fds }).join(' ');

  test('shares the root read-only, and a directory for results only when asked', () => {
    expect(words(true)).toContain('local,id=root,path=/,security_model=none,multidevs=remap,readonly=on');
    expect(words(true)).toContain('local,id=out,path=/results,security_model=none,multidevs=remap -device');
    expect(words(false)).not.toContain('id=out');
  });

  test('takes kernel and initramfs from descriptors', () => {
    expect(words(true)).toContain('-kernel /proc/self/fd/7 -initrd /proc/self/fd/6');
    expect(words(true)).toContain('-smp 3 -m 512');
  });
});

describe('kernelWords', () => {
  test('tells the guest what it needs to know', () => {
    const variables = guestVariables({ ...guest, machine: 'uml', modules: '/m' });
    expect(kernelWords(variables)).toContain('TRELLIS_VM_SHARE=yes');
    expect(kernelWords(variables)).toContain('TRELLIS_VM_JOB_BYTES=99');
  });

  test.each(['/a b', '/a,b', '/a"b'])('refuses the path %s', (path) => {
    expect(() => kernelWords({ P: path })).toThrow(/cannot take a path/);
  });
});

test('only directories below a fresh tmpfs are kept, and not twice', () => {
  const directories = [
    '/home/x',
    '/tmp/p',
    '/tmp/p/sub',
    '/tmp/p',
    '/tmp',
    '/run/q',
    '/var/tmp/r',
    '/tmp/pp',
  ];
  expect(hiddenDirectories(directories)).toEqual(['/tmp/p', '/run/q', '/var/tmp/r', '/tmp/pp']);
});

test('a machine is in a process namespace that dies with its parent', () => {
  const words = confine(['x', 'y']);
  expect(words.slice(0, 4)).toEqual(['setpriv', '--pdeathsig', 'KILL', 'unshare']);
  expect(words).toEqual(expect.arrayContaining(['--pid', '--fork', '--kill-child']));
  expect(words.slice(-2)).toEqual(['x', 'y']);
});

test('the console log keeps the last lines and takes out what only a terminal needs', () => {
  const log = new ConsoleLog(2);
  log.add('<6>one\r\ntw');
  log.add('o\n\n\x1b[1mthree\x1b[0m\nfo');
  expect(log.lines()).toEqual(['three', 'fo']);
});
