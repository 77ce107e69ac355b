// The program that starts plugins for the benchmarks (spawn.c), built when it is first wanted.
// Guarantees: its clock holds a call's own life (start, work, end) and nothing of Node; a failed call fails the benchmark.
//
// A start from Node costs several times what our plugin needs, and one from a shell about as much; posix_spawn is
// the least that any runtime pays.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runTool } from '../lib/tool.js';
import { SOURCES } from './plugins.js';

export interface Call {
  readonly command: 'ADD' | 'DEL';
  readonly containerId: string;
  readonly netns: string;
  readonly stdin: string;
  readonly stdout: string;
}

export interface Outcome {
  readonly ms: number;
  /** ru_maxrss of wait4: the most that was resident at a time. */
  readonly peakBytes: number;
}

let built: string | undefined;

function spawner(): string {
  if (built !== undefined) return built;
  const directory = mkdtempSync(join(tmpdir(), 'trellis-bench-spawn-'));
  process.on('exit', () => rmSync(directory, { recursive: true }));
  built = join(directory, 'spawn');
  execFileSync('gcc', ['-O2', '-static', '-o', built, join(SOURCES, 'spawn.c')]);
  return built;
}

/** Makes the calls in the host's namespace, one after another (an outcome each) or all at once (one for the whole). */
export async function spawnCalls(
  how: 'one' | 'all',
  { host, plugins, calls }: { host: string; plugins: string; calls: readonly Call[] },
): Promise<Outcome[]> {
  const lines = calls.map((call) =>
    [call.command, call.containerId, call.netns, call.stdin, call.stdout].join(' '),
  );
  const env = ['env', 'CNI_IFNAME=eth0', `CNI_PATH=${plugins}`] as const;
  const input = `${lines.join('\n')}\n`;
  const said = await runTool([...env, spawner(), how, join(plugins, 'bridge')], { netns: host, input });
  const outcomes = said
    .trim()
    .split('\n')
    .map((line) => line.split(' ').map(Number));
  if (outcomes.length !== (how === 'one' ? calls.length : 1) || outcomes.some(([, , status]) => status !== 0))
    throw new Error(`${plugins}: a call failed:\n${said}`);
  return outcomes.map(([micros = 0, kilobytes = 0]) => ({ ms: micros / 1000, peakBytes: kilobytes * 1024 }));
}
