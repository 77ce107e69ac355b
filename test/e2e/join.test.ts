// A second host joins by a token, as an administrator would type it: real containerd on both, stock kubectl.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWith } from '../support/requires.js';
import { SecondHost } from '../support/secondHost.js';
import { eventually, TestCluster } from '../support/testCluster.js';

const NEEDS = { root: true, tools: ['containerd', 'runc', 'kubectl', 'busybox', 'nft', 'nsenter'] };

describeWith(NEEDS, 'a host that joins', () => {
  let cluster: TestCluster;
  let host: SecondHost;

  beforeAll(async () => {
    cluster = await TestCluster.make();
    host = await SecondHost.beside(cluster);
  });
  afterAll(async () => {
    await host?.remove();
    await cluster?.remove();
  });

  const nodeIsReady = (name: string) =>
    eventually(
      () => cluster.kubectl('get', 'node', name, '--no-headers'),
      (line) => / Ready /.test(line),
    );

  it('becomes a Ready node', async () => {
    const up = await cluster.trellis('up', '--detach', '--node-name', 'first');
    expect(up).toMatchObject({ code: 0, stderr: '' });
    const { stdout: command } = await cluster.trellis('token create', '--print-join-command');
    const words = command.trim().split(' ');
    expect(words.slice(0, 2)).toEqual(['trellis', 'agent']);
    const joined = await host.trellis('agent', ...words.slice(2), '--node-name', 'second', '--detach');
    expect(joined, await logsOf(host)).toMatchObject({ code: 0, stderr: '' });
    await nodeIsReady('second');
    expect(existsSync(path.join(host.dataDir, 'bootstrap.kubeconfig'))).toBe(false);
  });
});

const logsOf = async (host: SecondHost) => (await host.trellis('logs', 'agent')).stdout;
