// What a request to exec, attach or forward ports asks of the runtime.
// Guarantees: the query is checked before the runtime hears of it; both spellings of its names are read.
import type { RuntimeService } from '../../cri/runtime.js';
import { HttpError, type PodLookup, podOf, readySandbox, runningContainer } from './containers.js';
import { flag } from './logs/options.js';
import type { Route } from './routes.js';
import type { WantedStreams } from './streams/channels.js';

/** Asks the runtime where its streaming server takes this stream. */
export async function streamUrl(
  { runtime, pods }: { readonly runtime: RuntimeService; readonly pods: PodLookup },
  route: Route,
  query: URLSearchParams,
): Promise<{ readonly url: string; readonly streams?: WantedStreams }> {
  if (route.kind === 'portForward') {
    const sandbox = await readySandbox(runtime, podOf(pods, route));
    const ports = query.getAll('port').map(Number).filter(Number.isInteger);
    return { url: await runtime.portForward(sandbox, ports) };
  }
  if (route.kind !== 'exec' && route.kind !== 'attach') throw new HttpError(400, 'this path has no upgrade');
  const tty = flag(query, 'tty');
  const streams = {
    tty,
    stdin: flag(query, 'input') || flag(query, 'stdin'),
    stdout: flag(query, 'output') || flag(query, 'stdout'),
    // A terminal has one stream for both; runtimes refuse to be asked for two.
    stderr: !tty && (flag(query, 'error') || flag(query, 'stderr')),
  };
  if (!streams.stdin && !streams.stdout && !streams.stderr)
    throw new HttpError(400, 'you must specify at least 1 of stdin, stdout, stderr');
  const pod = podOf(pods, route);
  const containerId = await runningContainer(runtime, pod, route.container);
  if (route.kind === 'attach') return { url: await runtime.attach({ containerId, ...streams }), streams };
  const cmd = query.getAll('command');
  if (cmd.length === 0) throw new HttpError(400, 'you must specify at least 1 command');
  return { url: await runtime.exec({ containerId, cmd, ...streams }), streams };
}
