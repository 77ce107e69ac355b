// Lifecycle hooks: postStart and preStop by exec, HTTP or sleep.
// Guarantees: a hook that fails throws with what it said; the caller bounds its time.
import type { V1Container, V1HTTPGetAction, V1LifecycleHandler } from '../../api/gen/types.js';
import type { RuntimeService } from '../../cri/runtime.js';
import { sleep } from '../abort.js';
import type { EventSink } from '../events.js';
import type { Pod } from '../ports.js';
import { urlHost } from '../probes/dial.js';
import { fetchPage, type HttpTarget } from '../probes/http.js';
import { portOf } from '../probes/run.js';

interface HookTarget {
  readonly pod: Pod;
  readonly container: V1Container;
  readonly containerId: string;
  readonly podIp: string | undefined;
}

interface HookPorts {
  readonly runtime: RuntimeService;
  readonly events: EventSink;
}

/** `timeoutSeconds` of 0 means no limit of its own. */
export async function runHook(
  ports: HookPorts,
  handler: V1LifecycleHandler,
  target: HookTarget,
  { timeoutSeconds = 0, signal }: { readonly timeoutSeconds?: number; readonly signal?: AbortSignal } = {},
): Promise<void> {
  if (handler.exec !== undefined) {
    const command = handler.exec.command ?? [];
    const { exitCode, stdout, stderr } = await ports.runtime.execSync(
      target.containerId,
      command,
      timeoutSeconds,
    );
    if (exitCode === 0) return;
    const said = Buffer.concat([stdout, stderr]).toString().slice(0, 1024);
    throw new Error(`command '${command.join(' ')}' exited with ${exitCode}: ${said}`);
  }
  if (handler.httpGet !== undefined) return httpHook(ports, handler.httpGet, target, signal);
  if (handler.sleep !== undefined) return sleep(handler.sleep.seconds * 1000, signal);
}

/** As Kubernetes: whatever the server answers, the hook was heard. Only one that cannot be reached fails. */
async function httpHook(
  { events }: HookPorts,
  action: V1HTTPGetAction,
  { pod, container, podIp }: HookTarget,
  signal: AbortSignal | undefined,
): Promise<void> {
  const host = action.host || podIp;
  if (host === undefined || host === '') throw new Error('failed to find networking container');
  const { scheme = 'HTTP', path = '/', httpHeaders: headers = [] } = action;
  const page: HttpTarget = { scheme, host, port: portOf(action.port, container), path, headers };
  const heard = (one: HttpTarget) => fetchPage(one, { agent: 'kube-lifecycle', signal });
  try {
    await heard(page);
  } catch (error) {
    if (!isPlainAnswer(error)) throw error;
    // Hooks of old said HTTPS and were asked over HTTP; what they may not hear in the open is left out.
    const open = headers.filter(({ name }) => name.toLowerCase() !== 'authorization');
    await heard({ ...page, scheme: 'HTTP', headers: open }).catch(() => Promise.reject(error));
    const message = `request to HTTPS lifecycle hook ${urlHost(host)}:${page.port} got HTTP response, retry with HTTP succeeded`;
    events.event(pod, { type: 'Warning', reason: 'LifecycleHTTPFallback', message });
  }
}

/** What was answered was no TLS. OpenSSL calls every such answer a wrong version. */
function isPlainAnswer(error: unknown): boolean {
  return error instanceof Error && /wrong version number/.test(error.message);
}
