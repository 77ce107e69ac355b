// Stock kubectl and Python's client through our apiserver and our kubelet into containers of a real containerd.
// Guarantees: exec, attach, logs and port-forward carry bytes, exit codes and refusals unchanged, over SPDY and WebSocket.
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { NAMESPACES, NODES, PODS } from '../../../src/api/resources.js';
import { openClient } from '../../../src/client/typedClient.js';
import { BUSYBOX } from '../../support/imageArchive.js';
import { type Kubectl, openKubectl } from '../../support/kubectl.js';
import { echo, StreamingNode } from '../../support/kubelet/streamingNode.js';
import { describeWith } from '../../support/requires.js';
import { startTestApiServer, type TestApiServer } from '../../support/testApiServer.js';
import { makeTestPki } from '../../support/testPki.js';
import { webSocketMessages } from '../../support/webSocketClient.js';

const needs = {
  root: true,
  tools: ['containerd', 'runc', 'ctr', 'nsenter', 'kubectl'],
  files: [BUSYBOX],
  features: ['veth', 'bridge'],
};
const SCRIPT = 'echo started; while [ ! -e /end ]; do sleep 0.2; done; echo ended';
const SCRIPTS = [
  { name: 'main', script: SCRIPT },
  { name: 'echo', script: 'nc -ll -p 8080 -e cat' },
  { name: 'ticker', script: 'while :; do echo tick; sleep 0.2; done' },
];
const PYTHON = '/usr/bin/python3';

describeWith(needs, 'through the apiserver and the kubelet', () => {
  let node: StreamingNode;
  let api: TestApiServer;
  let home: string;
  const kubectls = new Map<string, Kubectl>();

  beforeAll(async () => {
    const pki = await makeTestPki();
    node = await StreamingNode.start(pki, SCRIPTS);
    api = await startTestApiServer({
      pki,
      kubelet: { ...(await pki.client('kube-apiserver')), ca: pki.ca, allowLoopback: true },
    });
    await tellApi();
    home = await mkdtemp(path.join(os.tmpdir(), 'trellis-streams-'));
    for (const [protocol, flag] of [
      ['SPDY', 'false'],
      ['WebSocket', 'true'],
    ] as const) {
      vi.stubEnv('KUBECTL_REMOTE_COMMAND_WEBSOCKETS', flag);
      vi.stubEnv('KUBECTL_PORT_FORWARD_WEBSOCKETS', flag);
      kubectls.set(protocol, await openKubectl(api.url, pki.ca, api.admin));
      vi.unstubAllEnvs();
    }
  });
  afterAll(async () => {
    for (const kubectl of kubectls.values()) await kubectl.close();
    await api?.close();
    await node?.close();
    if (home !== undefined) await rm(home, { recursive: true, force: true });
  });

  /** What the kubelet and the scheduler would have written. */
  async function tellApi(): Promise<void> {
    const client = openClient(api.transport);
    await client.of(NAMESPACES).create({ metadata: { name: 'default' } });
    await client.of(NODES).create({ metadata: { name: 'n1' } });
    const addresses = [{ type: 'InternalIP', address: '127.0.0.1' }];
    const status = { addresses, daemonEndpoints: { kubeletEndpoint: { Port: node.port } } };
    await client.of(NODES).patch({ name: 'n1' }, 'merge', { status }, { subresource: 'status' });
    const name = { name: 'web', namespace: 'default' };
    const containers = SCRIPTS.map((one) => ({ name: one.name, image: 'busybox' }));
    await client.of(PODS).create({ metadata: name, spec: { containers, nodeName: 'n1' } });
    const running = { status: { phase: 'Running' } };
    await client.of(PODS).patch(name, 'merge', running, { subresource: 'status' });
  }

  const kubectlOf = (protocol: string) => kubectls.get(protocol) as Kubectl;

  /** Runs a command that does not end by itself until its output has what is looked for. */
  async function heard(kubectl: Kubectl, wanted: RegExp, args: readonly string[]) {
    const child = kubectl.spawn(...args);
    const exited = new Promise((done) => child.once('exit', done));
    let said = '';
    const found = new Promise<RegExpExecArray>((resolve, reject) => {
      const hear = (piece: Buffer) => {
        said += piece.toString();
        const match = wanted.exec(said);
        if (match !== null) resolve(match);
      };
      child.stdout?.on('data', hear);
      child.stderr?.on('data', hear);
      child.on('close', () => reject(new Error(`kubectl ended: ${said}`)));
    });
    const stop = async () => {
      child.kill();
      await exited;
    };
    return { match: await found.catch(async (error) => stop().then(() => Promise.reject(error))), stop };
  }

  describe.each(['SPDY', 'WebSocket'])('kubectl over %s', (protocol) => {
    test('exec: output, errors, exit code and input', async () => {
      const kubectl = kubectlOf(protocol);
      const script = 'echo out; echo err >&2; exit 3';
      const both = await kubectl('exec', 'web', '-c', 'main', '--', 'sh', '-c', script);
      expect([both.stdout, both.code], both.stderr).toEqual(['out\n', 3]);
      expect(both.stderr).toContain('err\n');
      const large = 'x'.repeat(200_000);
      const echoed = await kubectl.input(large, 'exec', '-i', 'web', '-c', 'main', '--', 'cat');
      expect(echoed.stdout).toHaveLength(200_000);
    });

    test('exec into what is not there is refused with its reason', async () => {
      const { code, stderr } = await kubectlOf(protocol)(
        'exec',
        'web',
        '-c',
        'main',
        '--',
        '/no/such/program',
      );
      expect(code).not.toBe(0);
      expect(stderr).toContain('/no/such/program');
    });

    test('attach: what the container writes from now on', async () => {
      const { match, stop } = await heard(kubectlOf(protocol), /tick\ntick\n/, [
        'attach',
        'web',
        '-c',
        'ticker',
      ]);
      await stop();
      expect(match[0]).toBe('tick\ntick\n');
    });

    test('port-forward', async () => {
      const { match, stop } = await heard(kubectlOf(protocol), /127\.0\.0\.1:(\d+)/, [
        'port-forward',
        'pod/web',
        ':8080',
      ]);
      try {
        expect(await echo(Number(match[1]), 'through')).toBe('through');
      } finally {
        await stop();
      }
    });
  });

  const python = { files: [PYTHON, '/usr/lib/python3/dist-packages/kubernetes/__init__.py'] };
  describeWith(python, "Python's client", () => {
    test('exec: output, errors, input and exit code', async () => {
      const kubeconfig = path.join(home, 'config');
      await writeFile(kubeconfig, (await kubectlOf('SPDY')('config', 'view', '--raw')).stdout, {
        mode: 0o600,
      });
      const script = path.join(import.meta.dirname, 'python/exec.py');
      const said = await new Promise<string>((resolve, reject) => {
        execFile(PYTHON, [script, kubeconfig, 'web', 'main'], { timeout: 50_000 }, (error, stdout, stderr) =>
          error === null ? resolve(stdout) : reject(new Error(`${error.message}${stderr}`)),
        );
      });
      expect(JSON.parse(said)).toEqual({ stdout: 'heard: hello\n', stderr: 'err\n', code: 5 });
    });
  });

  test.each([
    ['binary.k8s.io', (text: string) => text],
    ['base64.binary.k8s.io', (text: string) => Buffer.from(text, 'base64').toString()],
  ])('logs over a WebSocket that speaks %s', async (protocol, read) => {
    let log = '';
    const path = '/api/v1/namespaces/default/pods/web/log?container=main';
    for await (const { text } of webSocketMessages(api, path, protocol)) log += read(text);
    expect(log).toBe('started\n');
  });

  test('logs are followed until the container ends', async () => {
    const kubectl = kubectlOf('SPDY');
    const followed = kubectl('logs', '-f', 'web', '-c', 'main');
    await kubectl('exec', 'web', '-c', 'main', '--', 'sh', '-c', '> /end');
    expect((await followed).stdout).toBe('started\nended\n');
  });
});
