// A server and short ways to talk to it about definitions and their objects.
// Guarantees: everything it opened is closed by close().
import type { V1CustomResourceDefinition, V1JSONSchemaProps, V1Status } from '../../src/api/gen/types.js';
import type { TransportRequest } from '../../src/client/transport.js';
import { startTestApiServer, type TestApiServer, type TestApiServerOptions } from './testApiServer.js';
import { until } from './until.js';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever was answered
  readonly body: any;
}

export const GROUP = 'example.com';
export const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
export const WIDGETS = `/apis/${GROUP}/v1/namespaces/default/widgets`;

type Version = Partial<V1CustomResourceDefinition['spec']['versions'][number]>;

interface DefinitionOptions {
  readonly plural?: string;
  readonly kind?: string;
  readonly group?: string;
  readonly scope?: 'Namespaced' | 'Cluster';
  readonly schema?: V1JSONSchemaProps;
  readonly version?: Version;
  readonly versions?: readonly Version[];
  readonly names?: object;
  readonly conversion?: object;
}

export const OPEN: V1JSONSchemaProps = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

export const specOf = (properties: V1JSONSchemaProps['properties']): V1JSONSchemaProps => ({
  type: 'object',
  properties: { spec: { type: 'object', properties }, status: OPEN },
});

export function definition(options: DefinitionOptions = {}) {
  const { plural = 'widgets', kind = 'Widget', group = GROUP, scope = 'Namespaced' } = options;
  const schema = options.schema ?? specOf({ size: { type: 'integer' } });
  const { versions = [{ name: 'v1', storage: true, ...options.version }] } = options;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope,
      names: { plural, kind, ...options.names },
      ...(options.conversion === undefined ? {} : { conversion: options.conversion }),
      versions: versions.map((version) => ({
        served: true,
        storage: false,
        schema: { openAPIV3Schema: schema },
        ...version,
      })),
    },
  };
}

export const widget = (name: string, more: object = {}) => ({
  apiVersion: `${GROUP}/v1`,
  kind: 'Widget',
  metadata: { name },
  ...more,
});

/** As `until`, of a check that answers whether it is so. */
export const untilTrue = (what: string, check: () => Promise<boolean>): Promise<void> =>
  until(async () => {
    if (!(await check())) throw new Error(`it is not so that ${what}`);
  });

export interface CustomServer {
  readonly api: TestApiServer;
  send(
    method: TransportRequest['method'],
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer>;
  /** Creates it and waits until it is served. */
  define(options?: DefinitionOptions): Promise<Answer>;
  close(): Promise<void>;
}

export async function startCustomServer(options: TestApiServerOptions = {}): Promise<CustomServer> {
  const api = await startTestApiServer(options);
  const send: CustomServer['send'] = async (method, path, body, headers = {}) => {
    const text = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
    const answer = await api.transport.request({
      method,
      path,
      headers: { 'content-type': 'application/json', ...headers },
      ...(text === undefined ? {} : { body: text }),
    });
    const parts: Uint8Array[] = [];
    for await (const part of answer.body) parts.push(Buffer.from(part));
    const sent = Buffer.concat(parts).toString();
    const isJson = (answer.headers['content-type'] ?? '').startsWith('application/json');
    return { status: answer.status, headers: answer.headers, body: isJson ? JSON.parse(sent) : sent };
  };
  await send('POST', '/api/v1/namespaces', { metadata: { name: 'default' } });
  return {
    api,
    send,
    async define(wanted = {}) {
      const made = definition(wanted);
      const answer = await send('POST', DEFINITIONS, made);
      if (answer.status !== 201) return answer;
      const { group, names, versions } = made.spec;
      const version = versions.find(({ served }) => served)?.name;
      await untilTrue(`${names.plural} is served`, async () => {
        const list = await send('GET', `/apis/${group}/${version}/${names.plural}`);
        return list.status === 200;
      });
      return answer;
    },
    close: () => api.close(),
  };
}

/** The sentences of a refusal. */
export const causesOf = ({ body }: Answer): string[] =>
  ((body as V1Status).details?.causes ?? []).map(({ field, message }) => `${field}: ${message}`);
