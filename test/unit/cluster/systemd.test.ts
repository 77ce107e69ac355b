// Units of systemd: judged by systemd itself where it is there, written and removed in a folder of the test.
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { withWholePaths } from '../../../src/cli/cluster/install.js';
import {
  install,
  quoted,
  ROLES,
  type ServiceOptions,
  uninstall,
  unitText,
} from '../../../src/cluster/systemd.js';
import { describeWith } from '../../support/requires.js';
import { trellis } from '../../support/trellisCommand.js';

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'trellis-systemd-'));
  mkdirSync(path.join(dir, 'units'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const service = (role: ServiceOptions['role']): ServiceOptions => ({
  role,
  command: [process.execPath, '/opt/trellis/main.js', role, '--data-dir', path.join(dir, 'data')],
  dataDir: path.join(dir, 'data'),
  searchPath: '/usr/sbin:/usr/bin',
  environment: role === 'agent' ? { TRELLIS_TOKEN: 'abcdef.0123456789abcdef' } : {},
});

function place() {
  const said: string[] = [];
  return {
    unitDir: path.join(dir, 'units'),
    environmentDir: path.join(dir, 'etc'),
    said,
    systemctl: async (...words: string[]) => said.push(words.join(' ')),
  };
}

describe('a service', () => {
  test('restarts, and leaves pods alone when it does', () => {
    for (const role of ROLES) {
      const text = unitText(service(role), '/etc/trellis/x.env');
      for (const line of ['Restart=always', 'KillMode=process', 'WantedBy=multi-user.target'])
        expect(text.split('\n')).toContain(line);
      expect(text).toMatch(/^ExecStart=\S+node .* --keep-pods$/m);
    }
    expect(unitText(service('agent'), '')).toMatch(/^Delegate=yes$/m);
    expect(unitText(service('server'), '')).toMatch(/^ProtectSystem=strict$/m);
    const inLib = {
      ...service('server'),
      dataDir: '/var/lib/trellis',
      command: ['/usr/bin/trellis', 'server'],
    };
    expect(unitText(inLib, '')).toMatch(/^PrivateTmp=yes$/m);
    // What is itself in /tmp must be found there.
    const below = { ...inLib, command: ['/usr/bin/node', '/tmp/trellis/main.js', 'server'] };
    expect(unitText(below, '')).not.toContain('PrivateTmp');
  });

  test.each([
    ['plain', 'plain'],
    ['/var/lib/trellis', '/var/lib/trellis'],
    ['two words', '"two words"'],
    ['a"b\\c', '"a\\"b\\\\c"'],
    ['100%', '100%%'],
    ['$HOME', '$$HOME'],
    ['', '""'],
  ])('is told %j as %s', (word, written) => {
    expect(quoted(word)).toBe(written);
  });

  test('is told files by their whole path', () => {
    expect(withWholePaths(['--data-dir', 'd', '--ca-file=c', '--node-name', 'n'])).toEqual([
      '--data-dir',
      path.resolve('d'),
      `--ca-file=${path.resolve('c')}`,
      '--node-name',
      'n',
    ]);
  });

  test('is put in place with its secret aside, and taken away again', async () => {
    const there = place();
    const file = await install(service('agent'), there);
    expect(readFileSync(file, 'utf8')).not.toContain('0123456789abcdef');
    const secret = path.join(there.environmentDir, 'trellis-agent.env');
    expect(statSync(secret).mode & 0o777).toBe(0o600);
    expect(readFileSync(secret, 'utf8')).toBe('TRELLIS_TOKEN=abcdef.0123456789abcdef\n');
    expect(await uninstall(ROLES, there)).toEqual(['trellis-agent.service']);
    expect(there.said).toEqual([
      'daemon-reload',
      'enable trellis-agent.service',
      'restart trellis-agent.service',
      'disable --now trellis-agent.service',
      'daemon-reload',
    ]);
    expect(readdirSync(there.unitDir)).toEqual([]);
    expect(existsSync(there.environmentDir)).toBe(false);
    expect(await uninstall(ROLES, there)).toEqual([]);
  });

  test('of the same name that is not ours is left alone', async () => {
    const there = place();
    const file = path.join(there.unitDir, 'trellis-up.service');
    writeFileSync(file, '[Unit]\n');
    await expect(install(service('up'), there)).rejects.toMatchObject({ code: 'NOT_OURS' });
    await expect(uninstall(ROLES, there)).rejects.toMatchObject({ code: 'NOT_OURS' });
    expect(readFileSync(file, 'utf8')).toBe('[Unit]\n');
    expect(there.said).toEqual([]);
  });
});

describe('trellis install --dry-run', () => {
  test('prints the unit without the token', async () => {
    const { out, code } = await trellis([
      'install',
      '--dry-run',
      'agent',
      '--server',
      'https://a:6443',
      '--token',
      'abcdef.0123456789abcdef',
    ]);
    expect(code).toBe(0);
    expect(out).toMatch(/^ExecStart=.* agent --server https:\/\/a:6443 --keep-pods$/m);
    expect(out).not.toContain('abcdef');
  });

  describe('with TRELLIS_DATA_DIR', () => {
    beforeEach(() => vi.stubEnv('TRELLIS_DATA_DIR', 'srv/other'));
    afterEach(() => void vi.unstubAllEnvs());
    const other = path.resolve('srv/other');

    test('tells the service that directory, since it has another environment', async () => {
      const { out } = await trellis(['install', '--dry-run', 'server']);
      expect(out).toMatch(new RegExp(`^ExecStart=.* server --data-dir ${other} --keep-pods$`, 'm'));
      expect(out).toContain(`ReadWritePaths=${other}\n`);
    });

    test('prefers --data-dir', async () => {
      const { out } = await trellis(['install', '--dry-run', 'server', '--data-dir', '/srv/own']);
      expect(out).toMatch(/^ExecStart=.* server --data-dir \/srv\/own --keep-pods$/m);
      expect(out).not.toContain('other');
    });
  });

  test.each([
    [['agent', '--detach'], '--detach'],
    [['server', '--nonsense'], '--nonsense'],
    [['up', 'word'], 'word'],
  ])('refuses %j', async (words, named) => {
    const { err, code } = await trellis(['install', '--dry-run', ...words]);
    expect(code).toBe(1);
    expect(err).toContain(`"${named}" is not an option for a service`);
  });
});

describeWith({ tools: ['systemd-analyze'] }, 'units in the eyes of systemd', () => {
  test.each(ROLES)('%s', (role) => {
    const file = path.join(dir, 'units', `trellis-${role}.service`);
    writeFileSync(file, unitText(service(role), '/etc/trellis/x.env'));
    // It complains on either stream, and not always by its exit code.
    const { stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', file], {
      encoding: 'utf8',
    });
    expect(`${stdout}${stderr}`.split('\n').filter((line) => line.includes(`trellis-${role}`))).toEqual([]);
  });
});
