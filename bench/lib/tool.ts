// Runs the peers' command-line tools, and makes namespaces for samples.
// Guarantees: a tool that fails fails the benchmark with what it said; namespaces are ours by name.
import { spawn } from 'node:child_process';
import { createNetNs, removeNetNs } from '../../src/kernel/netns.js';

let made = 0;

/** Makes a namespace at a path of its own. */
export async function benchNetNs(): Promise<string> {
  const path = `/run/netns/trellis-bench-${process.pid}-${++made}`;
  await createNetNs(path);
  return path;
}

export { removeNetNs };

/** The name by which `ip -n` knows a namespace made here. */
export const nameOf = (path: string) => path.slice(path.lastIndexOf('/') + 1);

/** Runs a tool, inside a namespace if one is given, with `input` on its standard input; `onError` sees what it says. */
export async function runTool(
  argv: readonly [string, ...string[]],
  options: { netns?: string; input?: string; onError?(text: Buffer): void } = {},
): Promise<string> {
  const [file, ...args] =
    options.netns === undefined ? argv : (['nsenter', `--net=${options.netns}`, ...argv] as const);
  const child = spawn(file, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdin.on('error', () => undefined); // a tool that died tells why on its standard error
  child.stdin.end(options.input ?? '');
  const chunks: Buffer[] = [];
  const errors: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => {
    errors.push(chunk);
    options.onError?.(chunk);
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  if (code !== 0) throw new Error(`${argv.join(' ')} ended with ${code}: ${Buffer.concat(errors)}`);
  return Buffer.concat(chunks).toString();
}
