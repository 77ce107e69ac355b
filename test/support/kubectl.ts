// The stock kubectl against a server of the test, with a kubeconfig and a cache of its own.
// Guarantees: the machine's kubeconfig and caches are neither read nor written.
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { PemPair } from '../../src/api/certificates/keyPair.js';

interface KubectlResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Kubectl {
  (...args: readonly string[]): Promise<KubectlResult>;
  /** With standard input. */
  input(text: string, ...args: readonly string[]): Promise<KubectlResult>;
  /** As `input`, with a person at the editor whom a shell script stands for. */
  editing(script: string): Promise<Kubectl['input']>;
  spawn(...args: readonly string[]): ChildProcess;
  close(): Promise<void>;
}

export async function openKubectl(
  server: string,
  ca: string,
  { cert, key }: PemPair,
  binary = 'kubectl',
): Promise<Kubectl> {
  const home = await mkdtemp(path.join(os.tmpdir(), 'trellis-kubectl-'));
  const config = path.join(home, 'config');
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  await writeFile(
    config,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 't', cluster: { server, 'certificate-authority-data': base64(ca) } }],
      users: [
        { name: 'u', user: { 'client-certificate-data': base64(cert), 'client-key-data': base64(key) } },
      ],
      contexts: [{ name: 'c', context: { cluster: 't', user: 'u' } }],
      'current-context': 'c',
    }),
    { mode: 0o600 },
  );
  const env = { ...process.env, HOME: home, KUBECONFIG: config };
  const run = (text: string | undefined, args: readonly string[], more: NodeJS.ProcessEnv = {}) =>
    new Promise<KubectlResult>((resolve) => {
      const child = execFile(
        binary,
        args,
        { env: { ...env, ...more }, timeout: 60_000 },
        (error, stdout, stderr) =>
          resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr }),
      );
      child.stdin?.end(text ?? '');
    });
  let editors = 0;
  return Object.assign((...args: readonly string[]) => run(undefined, args), {
    input: (text: string, ...args: readonly string[]) => run(text, args),
    async editing(script: string) {
      editors += 1;
      const editor = path.join(home, `editor-${editors}`);
      await writeFile(editor, `#!/bin/sh\n${script}\n`, { mode: 0o700 });
      return (text: string, ...args: readonly string[]) => run(text, args, { EDITOR: editor });
    },
    spawn: (...args: readonly string[]) => spawn(binary, args, { env }),
    close: () => rm(home, { recursive: true, force: true }),
  });
}

/** The minor version of a kubectl: what it can do, and how it prints it, changes with it. 0 when it is not there. */
export function kubectlMinor(binary = 'kubectl'): number {
  try {
    const said = execFileSync(binary, ['version', '--client', '-o', 'json'], { encoding: 'utf8' });
    return Number.parseInt(
      (JSON.parse(said) as { clientVersion: { minor: string } }).clientVersion.minor,
      10,
    );
  } catch {
    return 0; // the suite says so by its needs
  }
}
