// Throw-away network namespaces for kernel tests, and independent tools run inside them.
// Guarantees: every namespace made here is gone when its test ends, also when the test fails; what a killed run left is swept up by the next.
import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterEach } from 'vitest';
import { createNetNs, removeNetNs } from '../../src/kernel/netns.js';

const execute = promisify(execFile);
let made = 0;

export interface TestNetNs {
  /** As `ip netns` knows it. */
  readonly name: string;
  readonly path: string;
  /** Runs a tool inside; resolves with its standard output, rejects with its standard error in the message. */
  run(tool: string, ...args: string[]): Promise<string>;
  /** The same for tools that print JSON. */
  json<T>(tool: string, ...args: string[]): Promise<T>;
  remove(): Promise<void>;
}

const DIRECTORY = '/run/netns';

/** Removes what test processes that were killed have left. */
async function sweep(): Promise<void> {
  if (!existsSync(DIRECTORY)) return;
  for (const entry of readdirSync(DIRECTORY)) {
    const owner = /^trellis-test-(\d+)-\d+$/.exec(entry)?.[1];
    if (owner !== undefined && !existsSync(`/proc/${owner}`)) await removeNetNs(`${DIRECTORY}/${entry}`);
  }
}

let swept: Promise<void> | undefined;

/** Makes a namespace that the caller removes. */
export async function makeNetNs(): Promise<TestNetNs> {
  swept ??= sweep();
  await swept;
  const name = `trellis-test-${process.pid}-${++made}`;
  const path = `${DIRECTORY}/${name}`;
  await createNetNs(path);
  const run = async (tool: string, ...args: string[]) => {
    const { stdout } = await execute('nsenter', [`--net=${path}`, tool, ...args], { maxBuffer: 1 << 28 });
    return stdout;
  };
  return {
    name,
    path,
    run,
    json: async <T>(tool: string, ...args: string[]) => JSON.parse((await run(tool, ...args)) || '[]') as T,
    remove: () => removeNetNs(path),
  };
}

/** Gives tests namespaces that are removed after each test; ports handed to `closing` are closed first. */
export function netNsPerTest(): {
  make(): Promise<TestNetNs>;
  closing<T extends { close(): void }>(port: T): T;
} {
  const namespaces: TestNetNs[] = [];
  const ports: { close(): void }[] = [];
  afterEach(async () => {
    for (const port of ports.splice(0)) port.close();
    const removed = namespaces.splice(0);
    for (const ns of removed) await ns.remove();
    const left = removed.filter((ns) => existsSync(ns.path));
    if (left.length > 0) throw new Error(`left behind: ${left.map((ns) => ns.path).join(', ')}`);
  });
  return {
    async make() {
      const ns = await makeNetNs();
      namespaces.push(ns);
      return ns;
    },
    closing(port) {
      ports.push(port);
      return port;
    },
  };
}
