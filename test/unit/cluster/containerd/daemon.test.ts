import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startContainerd } from '../../../../src/cluster/containerd/daemon.js';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'trellis-daemon-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

const optionsWith = (script: string) => {
  const inside = (name: string) => path.join(directory, name);
  writeFileSync(inside('containerd'), `#!/bin/sh\n${script}\n`);
  chmodSync(inside('containerd'), 0o755);
  return {
    program: inside('containerd'),
    configPath: inside('etc/config.toml'),
    logPath: inside('log/containerd.log'),
    registries: { 'trellis.local': { port: 5443, caFile: '/ca.crt' } },
    containerd: {
      root: inside('root'),
      state: inside('state'),
      socketPath: inside('containerd.sock'),
      sandboxImage: 'trellis.local/pause:latest',
      cniBinDir: '/opt/cni/bin',
      cniConfDir: '/etc/cni/net.d',
      registryConfigDir: inside('certs.d'),
      snapshotter: 'native',
      restrictOomScoreAdj: false,
      disableApparmor: true,
    },
  } as const;
};

describe('starting containerd', () => {
  test('one that ends at once is an error with its last words, and its configuration is there to look at', async () => {
    const options = optionsWith('echo "reads $1 $2"; echo "no such disk" >&2; exit 1');
    await expect(startContainerd(options)).rejects.toMatchObject({
      name: 'ContainerdError',
      code: 'NOT_READY',
      message: `containerd ended at once: reads --config ${options.configPath}\nno such disk`,
    });
    expect(readFileSync(options.configPath, 'utf8')).toContain('version = 2');
    const hosts = path.join(options.containerd.registryConfigDir, 'trellis.local', 'hosts.toml');
    expect(readFileSync(hosts, 'utf8')).toContain('https://127.0.0.1:5443');
  });

  test('one that never answers is ended', async () => {
    const options = { ...optionsWith('echo $$; exec sleep 1000'), readyTimeoutMs: 300 };
    await expect(startContainerd(options)).rejects.toThrow('containerd does not answer');
    const pid = Number(readFileSync(options.logPath, 'utf8'));
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });

  test('one that is not installed is named', async () => {
    const options = { ...optionsWith(''), program: path.join(directory, 'none') };
    await expect(startContainerd(options)).rejects.toMatchObject({
      code: 'NOT_STARTED',
      message: `${options.program} cannot be started: it is not installed`,
    });
  });
});
