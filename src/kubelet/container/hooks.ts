// Lifecycle hooks: postStart and preStop by exec, HTTP or sleep.
// Guarantees: a hook that fails throws with what it said; the caller bounds its time. A hook over HTTP has run when it was
// answered, whatever the status, as in Kubernetes.
import http from 'node:http';
import https from 'node:https';
import type { V1Container, V1HTTPGetAction, V1LifecycleHandler } from '../../api/gen/types.js';
import type { RuntimeService } from '../../cri/runtime.js';
import { sleep } from '../abort.js';

export interface HookTarget {
  readonly container: V1Container;
  readonly containerId: string;
  readonly podIp: string | undefined;
}

/** `timeoutSeconds` of 0 means no limit of its own. */
export async function runHook(
  runtime: RuntimeService,
  handler: V1LifecycleHandler,
  target: HookTarget,
  { timeoutSeconds = 0, signal }: { readonly timeoutSeconds?: number; readonly signal?: AbortSignal } = {},
): Promise<void> {
  if (handler.exec !== undefined) {
    const command = handler.exec.command ?? [];
    const { exitCode, stdout, stderr } = await runtime.execSync(target.containerId, command, timeoutSeconds);
    if (exitCode === 0) return;
    const said = Buffer.concat([stdout, stderr]).toString().slice(0, 1024);
    throw new Error(`command '${command.join(' ')}' exited with ${exitCode}: ${said}`);
  }
  if (handler.httpGet !== undefined) return httpHook(handler.httpGet, target, timeoutSeconds);
  if (handler.sleep !== undefined) return sleep(handler.sleep.seconds * 1000, signal);
}

function httpHook(action: V1HTTPGetAction, target: HookTarget, timeoutSeconds: number): Promise<void> {
  const host = action.host || target.podIp;
  const port = portOf(action.port, target.container);
  if (host === undefined || host === '') throw new Error('failed to find networking container');
  const secure = action.scheme === 'HTTPS';
  const headers = Object.fromEntries((action.httpHeaders ?? []).map(({ name, value }) => [name, value]));
  const path = action.path?.startsWith('/') ? action.path : `/${action.path ?? ''}`;
  return new Promise((resolve, reject) => {
    // As Kubernetes: the certificate of a hook's server is not checked, since nobody names it, and its answer is read
    // leniently: small servers end their lines without a carriage return.
    const lenient = { rejectUnauthorized: false, insecureHTTPParser: true };
    const request = (secure ? https : http).get({ host, port, path, headers, ...lenient });
    if (timeoutSeconds > 0)
      request.setTimeout(timeoutSeconds * 1000, () =>
        request.destroy(new Error('the hook did not answer in time')),
      );
    request.on('error', reject);
    request.on('response', (response) => {
      response.resume();
      response.on('error', reject);
      response.on('end', resolve);
    });
  });
}

function portOf(port: string | number | object, container: V1Container): number {
  const number = Number(port);
  if (Number.isInteger(number) && number > 0) return number;
  const named = container.ports?.find(({ name }) => name === String(port))?.containerPort;
  if (named === undefined)
    throw new Error(`couldn't find port: ${String(port)} in container ${container.name}`);
  return named;
}
