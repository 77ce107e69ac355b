// pods/exec, attach and portforward: the client's upgraded connection, joined to the kubelet's.
// Guarantees: the bytes after the switch of protocols are passed through unread; a refusal by the kubelet is passed back;
// who may only read gets no connection, though a WebSocket is asked for by GET.
import type { V1Pod } from '../../api/gen/types.js';
import type { KindDefinition } from '../../api/kind.js';
import { statusError } from '../../api/status.js';
import type { ApiResponse } from '../exchange.js';
import { validateAdmission } from '../registry/admit.js';
import { readCurrent } from '../registry/readAndWrite.js';
import { isTrue } from '../requestInfo.js';
import type { Call, ServerContext } from '../serverContext.js';
import { writeContext } from '../verbs/write.js';
import { containerOf } from './container.js';
import { askKubelet, kubeletOf } from './kubelet.js';

export async function connectPod(
  server: ServerContext,
  kind: KindDefinition,
  call: Call,
): Promise<ApiResponse> {
  const { info, query, request } = call;
  call.demand('create');
  const context = writeContext(kind, call);
  const pod = (await readCurrent(server, context)).parse<V1Pod>();
  await validateAdmission(server, context, { operation: 'connect', old: pod });
  if ((request.headers['upgrade'] ?? '') === '') {
    throw statusError('BadRequest', 'Upgrade request required');
  }
  if (pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed') {
    throw statusError(
      'BadRequest',
      `cannot exec into a container in a completed pod; current phase is ${pod.status.phase}`,
    );
  }
  const path = kubeletPath(pod, info.subresource, query);
  return askKubelet(server, kubeletOf(server, pod), {
    method: request.method,
    path,
    headers: request.headers,
    signal: request.signal,
    upgrade: true,
  });
}

/** The kubelet names its streams otherwise: stdin is input, stdout output, stderr error. */
function kubeletPath(pod: V1Pod, subresource: string, query: URLSearchParams): string {
  const { namespace = '', name = '' } = pod.metadata ?? {};
  const where = `/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
  if (subresource === 'portforward') {
    const ports = query.getAll('ports').map((port) => `port=${encodeURIComponent(port)}`);
    return `/portForward${where}${ports.length === 0 ? '' : `?${ports.join('&')}`}`;
  }
  const container = containerOf(pod, query.get('container') ?? '');
  const options = new URLSearchParams();
  for (const [from, to] of STREAMS) if (query.has(from) && isTrue(query.get(from))) options.set(to, '1');
  if (subresource === 'exec') {
    const command = query.getAll('command');
    if (command.length === 0)
      throw statusError('BadRequest', 'you must specify at least one command for the container');
    for (const word of command) options.append('command', word);
  }
  return `/${subresource}${where}/${encodeURIComponent(container)}?${options}`;
}

const STREAMS = [
  ['stdin', 'input'],
  ['stdout', 'output'],
  ['stderr', 'error'],
  ['tty', 'tty'],
] as const;
