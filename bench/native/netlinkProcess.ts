// Starts the program on the npm package netlink in the host's namespace, ready to be told to go.
// Guarantees: it has loaded and opened everything before this resolves.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { Node } from './vethNode.js';

export type PeerProcess = ChildProcessByStdio<Writable, Readable, null>;

const PROGRAM = fileURLToPath(new URL('./netlinkPeer.js', import.meta.url));

export async function startNetlinkPeer({ host, pods }: Node): Promise<PeerProcess> {
  const child = spawn('nsenter', [`--net=${host}`, process.execPath, PROGRAM, ...pods], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [said] = (await Promise.race([once(child.stdout, 'data'), once(child, 'exit')])) as [unknown];
  if (String(said) !== 'ready\n') throw new Error(`the netlink peer did not start: ${said}`);
  return child;
}
