// pods/log: what a container has written, streamed from the kubelet of its node.
// Guarantees: only the options that kubelets know are passed on; the container is checked before the node is asked.
import type { V1Pod } from '../../api/gen/types.js';
import type { KindDefinition } from '../../api/kind.js';
import { statusError } from '../../api/status.js';
import type { ApiResponse } from '../exchange.js';
import { readCurrent } from '../registry/readAndWrite.js';
import { isTrue } from '../requestInfo.js';
import type { Call, ServerContext } from '../serverContext.js';
import { writeContext } from '../verbs/write.js';
import { containerOf } from './container.js';
import { askKubelet, kubeletOf } from './kubelet.js';

const FLAGS = ['follow', 'previous', 'timestamps'] as const;
const NUMBERS = ['sinceSeconds', 'tailLines', 'limitBytes'] as const;

export async function podLog(server: ServerContext, kind: KindDefinition, call: Call): Promise<ApiResponse> {
  const { info, query, request } = call;
  const pod = (await readCurrent(server, writeContext(kind, call))).parse<V1Pod>();
  const container = containerOf(pod, query.get('container') ?? '');
  const options = logOptions(query);
  // A pod without a node has no log yet; kubectl shows an empty one.
  if ((pod.spec?.nodeName ?? '') === '') return { status: 200, headers: PLAIN, body: Buffer.alloc(0) };
  const segments = [info.namespace, info.name, container].map(encodeURIComponent).join('/');
  const answer = await askKubelet(server, kubeletOf(server, pod), {
    method: 'GET',
    path: `/containerLogs/${segments}?${options}`,
    headers: {},
    signal: request.signal,
    upgrade: false,
  });
  if (answer.status === 200) return { ...answer, headers: PLAIN };
  throw statusError(answer.status === 404 ? 'NotFound' : 'BadRequest', await textOf(answer));
}

const PLAIN = { 'content-type': 'text/plain' };

function logOptions(query: URLSearchParams): URLSearchParams {
  const options = new URLSearchParams();
  for (const name of FLAGS) if (query.has(name) && isTrue(query.get(name))) options.set(name, 'true');
  for (const name of NUMBERS) {
    const value = query.get(name);
    if (value === null || value === '') continue;
    if (!/^\d{1,15}$/.test(value)) {
      throw statusError(
        'BadRequest',
        `${name}: Invalid value: ${JSON.stringify(value)}: must be greater than or equal to 0`,
      );
    }
    options.set(name, value);
  }
  const sinceTime = query.get('sinceTime');
  if (sinceTime !== null && sinceTime !== '') options.set('sinceTime', sinceTime);
  return options;
}

const MAX_MESSAGE = 8192;

async function textOf({ body }: ApiResponse): Promise<string> {
  let text = '';
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    text += Buffer.from(chunk).toString('utf8');
    if (text.length > MAX_MESSAGE) break;
  }
  return text.trim().slice(0, MAX_MESSAGE) || 'the kubelet refused the request';
}
