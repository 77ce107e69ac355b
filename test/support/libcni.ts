// The reference library libcni as a program: built once a test file, run once a call.
// Guarantees: nothing of the build is left behind.
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll } from 'vitest';

/** What a suite that uses it needs of the machine. */
export const LIBCNI_NEEDS = {
  tools: ['go'],
  files: ['/usr/share/gocode/src/github.com/containernetworking/cni/libcni/api.go'],
};

interface LibcniRequest {
  readonly command: 'ADD' | 'CHECK' | 'DEL';
  readonly network: string;
  readonly confDir: string;
  readonly binDir: string;
  readonly cacheDir: string;
  readonly containerId: string;
  readonly netns: string;
  readonly ifName: string;
  readonly args?: readonly (readonly [string, string])[];
  readonly capabilityArgs?: object;
  /** Where it runs; ours if left out. */
  readonly hostNetNs?: string;
}

/** Resolves with what libcni printed; rejects with its words. */
export function libcni(): (request: LibcniRequest) => Promise<string> {
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'trellis-libcni-'));
    const source = path.join(import.meta.dirname, 'libcni', 'main.go');
    execFileSync('go', ['build', '-p', '1', '-o', path.join(folder, 'libcni'), source], {
      env: {
        ...process.env,
        GO111MODULE: 'off',
        GOPATH: '/usr/share/gocode',
        GOCACHE: path.join(folder, 'cache'),
      },
    });
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return ({ hostNetNs, ...request }) =>
    new Promise((resolve, reject) => {
      const program = path.join(folder, 'libcni');
      const [file = program, ...args] =
        hostNetNs === undefined ? [program] : ['nsenter', `--net=${hostNetNs}`, program];
      const child = execFile(file, args, (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else reject(new Error(stderr.trim() || error.message));
      });
      child.stdin?.end(JSON.stringify(request));
    });
}
