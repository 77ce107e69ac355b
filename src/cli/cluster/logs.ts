// `trellis logs`: what a component of a cluster has written, and with --follow what it writes from now on.
// Guarantees: works on a cluster that has ended too; reads from the end, however long the file is.
import { type FileHandle, open, readdir, watch } from 'node:fs/promises';
import path from 'node:path';
import { Command } from 'commander';
import { ClusterError } from '../../cluster/error.js';
import type { Layout } from '../../cluster/layout.js';
import { placeOf } from '../../cluster/nodes/localNode.js';
import { wholeNumber } from '../numbers.js';
import type { Terminal } from '../terminal.js';
import { type DataDirOption, existingLayout, reporting, withDataDir } from './options.js';

interface LogsFlags extends DataDirOption {
  readonly follow?: boolean;
  readonly tail: number;
}

const CHUNK = 64 * 1024;
const EXAMPLES = `
Examples:
  trellis logs                    which components have written
  trellis logs agent              the last lines of the node's agent
  trellis logs server -f          what the control plane writes, as it comes
  trellis logs host-2/agent       the agent of a further node on this machine
`;

export function logsCommand(terminal: Terminal): Command {
  return withDataDir(new Command('logs'))
    .summary("show a component's log")
    .description("Shows the log of one of the cluster's processes. Logs of pods: trellis kubectl logs.")
    .argument('[component]', 'server, agent, containerd or trellis (the supervisor)')
    .option('-f, --follow', 'keep printing new lines')
    .option('--tail <lines>', 'number of lines from the end', wholeNumber, 100)
    .addHelpText('after', EXAMPLES)
    .action((component: string | undefined, flags: LogsFlags) =>
      reporting(terminal, async () => {
        const layout = existingLayout(flags);
        const names = await componentsWithLogs(layout);
        if (component === undefined) {
          if (names.length === 0)
            terminal.write(`Nothing of a cluster in ${layout.dataDir} has written yet.\n`);
          for (const name of names) terminal.write(`${name}\n`);
          return;
        }
        if (!names.includes(component)) {
          const known = names.length === 0 ? 'none has written yet' : `there are: ${names.join(', ')}`;
          throw new ClusterError('BAD_OPTION', `no log of "${component}" in ${layout.logDir}; ${known}`);
        }
        await show(terminal, logFile(layout, component), flags);
      }),
    );
}

async function componentsWithLogs(layout: Layout): Promise<string[]> {
  const own = await namesIn(layout.logDir);
  const nodes = await readdir(layout.nodesDir).catch((): string[] => []);
  const theirs = nodes.map(async (node) =>
    (await namesIn(logDirOf(layout, node))).map((name) => `${node}/${name}`),
  );
  return [...own, ...(await Promise.all(theirs)).flat()].sort();
}

async function namesIn(dir: string): Promise<string[]> {
  const files = await readdir(dir).catch((): string[] => []);
  return files.filter((name) => name.endsWith('.log')).map((name) => name.slice(0, -'.log'.length));
}

const logDirOf = (layout: Layout, node: string) => placeOf(layout, node).layout.logDir;

function logFile(layout: Layout, component: string): string {
  const [node = '', name] = component.split('/');
  return name === undefined
    ? path.join(layout.logDir, `${component}.log`)
    : path.join(logDirOf(layout, node), `${name}.log`);
}

async function show(terminal: Terminal, file: string, { follow, tail }: LogsFlags): Promise<void> {
  // Watched before it is read: nothing written in between goes unseen.
  const changes = follow === true ? watch(file) : [];
  const handle = await open(file, 'r');
  try {
    let at = await copy(terminal, handle, await startOfLast(handle, tail));
    for await (const _ of changes) at = await copy(terminal, handle, at);
  } finally {
    await handle.close();
  }
}

/** Where the last so many lines begin, found from the end. */
async function startOfLast(handle: FileHandle, lines: number): Promise<number> {
  let at = (await handle.stat()).size;
  let wanted = lines + 1; // the newline that ends the last line is no beginning of another
  const chunk = Buffer.alloc(CHUNK);
  while (at > 0) {
    const length = Math.min(CHUNK, at);
    await handle.read(chunk, 0, length, at - length);
    for (let i = length - 1; i >= 0; i--) if (chunk[i] === 10 && --wanted === 0) return at - length + i + 1;
    at -= length;
  }
  return 0;
}

async function copy(terminal: Terminal, handle: FileHandle, from: number): Promise<number> {
  const chunk = Buffer.alloc(CHUNK);
  const decoder = new TextDecoder();
  let at = from;
  for (;;) {
    const { bytesRead } = await handle.read(chunk, 0, CHUNK, at);
    if (bytesRead === 0) return at;
    terminal.write(decoder.decode(chunk.subarray(0, bytesRead), { stream: true }));
    at += bytesRead;
  }
}
