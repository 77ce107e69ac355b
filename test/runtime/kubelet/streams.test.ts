// Stock kubectl through the kubelet's server into a container of a real containerd.
// Guarantees: exec, attach, logs and port-forward carry bytes, exit codes and refusals unchanged, over SPDY and WebSocket.

import { execFile, spawn } from 'node:child_process';
import { Readable, Writable } from 'node:stream';
import { Exec, KubeConfig, type V1Status } from '@kubernetes/client-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { BUSYBOX } from '../../support/imageArchive.js';
import { type LocalPort, openKubectlServer } from '../../support/kubelet/kubectlServer.js';
import { echo, StreamingNode } from '../../support/kubelet/streamingNode.js';
import { describeWith } from '../../support/requires.js';
import { makeTestPki } from '../../support/testPki.js';

const needs = {
  root: true,
  tools: ['containerd', 'runc', 'ctr', 'nsenter', 'kubectl'],
  files: [BUSYBOX],
  features: ['veth', 'bridge'],
};
const SCRIPT = 'echo started; while [ ! -e /end ]; do sleep 0.2; done; echo ended';
const ECHO = 'nc -ll -p 8080 -e cat';
const TALK = 'while read line; do echo "heard $line"; done; exec sleep 10000';

describeWith(needs, 'kubectl through the kubelet', () => {
  let node: StreamingNode;
  let kubectlServer: LocalPort;

  beforeAll(async () => {
    const pki = await makeTestPki();
    node = await StreamingNode.start(pki, [
      { name: 'main', script: SCRIPT },
      { name: 'echo', script: ECHO },
      { name: 'talk', script: TALK, stdin: true },
    ]);
    const client = { ...(await pki.client('apiserver')), ca: pki.ca };
    kubectlServer = await openKubectlServer({
      own: await pki.server(),
      pod: node.pod,
      kubeletPort: node.port,
      client,
    });
  });
  afterAll(async () => {
    await kubectlServer?.close();
    await node?.close();
  });

  const flags = () => [
    '--kubeconfig=/dev/null',
    `--server=https://127.0.0.1:${kubectlServer.port}`,
    '--insecure-skip-tls-verify',
    '--token=any',
  ];
  const kubectl = (args: readonly string[], input = '') =>
    new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
      const child = execFile('kubectl', [...flags(), ...args], { timeout: 60_000 }, (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : Number(error.code ?? -1), stdout, stderr }),
      );
      child.stdin?.end(input);
    });

  test('exec: output, errors, exit code and input', async () => {
    const both = await kubectl([
      'exec',
      'web',
      '-c',
      'main',
      '--',
      'sh',
      '-c',
      'echo out; echo err >&2; exit 3',
    ]);
    expect([both.stdout, both.code]).toEqual(['out\n', 3]);
    expect(both.stderr).toContain('err\n');
    const echoed = await kubectl(['exec', '-i', 'web', '-c', 'main', '--', 'cat'], 'x'.repeat(200_000));
    expect(echoed.stdout).toHaveLength(200_000);
  });

  /** A stock client that speaks v5.channel.k8s.io, which kubectl does from 1.31 on. */
  async function execByWebSocket(options: {
    readonly command: string[];
    readonly input?: string;
    readonly tty?: { readonly rows: number; readonly columns: number };
  }) {
    const { command, input, tty } = options;
    const config = new KubeConfig();
    config.loadFromOptions({
      clusters: [{ name: 'c', server: `https://127.0.0.1:${kubectlServer.port}`, skipTLSVerify: true }],
      users: [{ name: 'u', token: 'any' }],
      contexts: [{ name: 'x', cluster: 'c', user: 'u' }],
      currentContext: 'x',
    });
    const said = { out: '', err: '' };
    const into = (name: 'out' | 'err') =>
      new Writable({
        write: (chunk, _, done) => {
          said[name] += String(chunk);
          done();
        },
      });
    const stdout = Object.assign(into('out'), tty);
    const stdin = input === undefined ? null : Readable.from([input]);
    const [protocol, status] = await new Promise<[string, V1Status]>((resolve, reject) => {
      const errors = tty === undefined ? into('err') : null;
      const answered = (answer: V1Status) =>
        socket.then(({ protocol: spoken }) => resolve([spoken, answer]), reject);
      const place = ['default', 'web', 'main'] as const;
      const exec = new Exec(config);
      const socket = exec.exec(...place, command, stdout, errors, stdin, tty !== undefined, answered);
      socket.catch(reject);
    });
    return { ...said, protocol, status };
  }

  test('exec over WebSocket, the end of the input and the exit code included', async () => {
    const both = await execByWebSocket({ command: ['sh', '-c', 'echo out; echo err >&2; exit 3'] });
    expect(both).toMatchObject({ out: 'out\n', err: 'err\n', protocol: 'v5.channel.k8s.io' });
    expect(both.status).toMatchObject({ status: 'Failure', reason: 'NonZeroExitCode' });
    expect(both.status.details?.causes).toEqual([{ reason: 'ExitCode', message: '3' }]);
    // cat ends only because its input does.
    const echoed = await execByWebSocket({ command: ['cat'], input: 'x'.repeat(300_000) });
    expect(echoed.status.status).toBe('Success');
    expect(echoed.out).toHaveLength(300_000);
  });

  test('a terminal over WebSocket has the size of the caller', async () => {
    const size =
      'until [ "$(busybox stty size 2>/dev/null)" = "33 101" ]; do sleep 0.1; done; busybox stty size';
    const { out, status } = await execByWebSocket({
      command: ['sh', '-c', size],
      tty: { rows: 33, columns: 101 },
    });
    expect([out, status.status]).toEqual(['33 101\r\n', 'Success']);
  });

  test('attach talks to the process itself', async () => {
    const child = spawn('kubectl', [...flags(), 'attach', '-i', 'web', '-c', 'talk']);
    const ended = new Promise((done) => child.once('close', done));
    try {
      let said = '';
      const heard = new Promise<void>((resolve, reject) => {
        child.stderr.on('data', (piece: Buffer) => {
          said += piece.toString();
        });
        child.stdout.on('data', (piece: Buffer) => {
          said += piece.toString();
          if (said.includes('heard me\n')) resolve();
        });
        child.on('close', () => reject(new Error(said)));
      });
      child.stdin.write('me\n');
      await heard;
    } finally {
      child.kill();
      await ended;
    }
  });

  test('exec into what is not there is refused with its reason', async () => {
    const { code, stderr } = await kubectl(['exec', 'web', '-c', 'main', '--', '/no/such/program']);
    expect(code).not.toBe(0);
    expect(stderr).toContain('/no/such/program');
  });

  test('port-forward', async () => {
    const child = spawn('kubectl', [...flags(), 'port-forward', 'pod/web', ':8080']);
    try {
      const port = await new Promise<number>((resolve, reject) => {
        let said = '';
        const hear = (piece: Buffer) => {
          said += piece.toString();
          const found = /127\.0\.0\.1:(\d+)/.exec(said);
          if (found !== null) resolve(Number(found[1]));
        };
        child.stdout.on('data', hear);
        child.stderr.on('data', hear);
        child.on('close', () => reject(new Error(said)));
      });
      expect(await echo(port, 'through')).toBe('through');
    } finally {
      child.kill();
      await new Promise((done) =>
        child.exitCode === null && child.signalCode === null ? child.once('exit', done) : done(0),
      );
    }
  });

  test('logs are followed until the container ends', async () => {
    const followed = kubectl(['logs', '-f', 'web', '-c', 'main']);
    await kubectl(['exec', 'web', '-c', 'main', '--', 'sh', '-c', '> /end']);
    expect((await followed).stdout).toBe('started\nended\n');
  });
});
