// An ordinary user of a benchmark's server: `edit` in one namespace, where large objects are to send requests against.
import https from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientTls, Place } from '../apiserver/testbed.js';
import { type HostileRequest, NAMESPACE } from './corpus.js';
import { collectionOf, DEFINITIONS, definition, prepared } from './definitions.js';

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** One who asks over a few connections that stay open. */
export class Asker {
  readonly #agent: https.Agent;
  readonly #port: number;

  constructor(tls: ClientTls, port: number) {
    this.#agent = new https.Agent({ ...tls, keepAlive: true });
    this.#port = port;
  }

  ask({ method, path, type }: Omit<HostileRequest, 'name' | 'body'>, body: Buffer): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const headers = { 'content-type': type, 'content-length': body.length };
      const options = { agent: this.#agent, host: '127.0.0.1', port: this.#port, method, path, headers };
      const request = https.request(options, (response) => {
        const pieces: Buffer[] = [];
        response.on('data', (piece: Buffer) => pieces.push(piece));
        response.on('error', reject);
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, text: Buffer.concat(pieces).toString() }),
        );
      });
      request.on('error', reject);
      request.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

const JSON_TYPE = 'application/json';

async function make(admin: Asker, path: string, object: object): Promise<void> {
  const body = Buffer.from(JSON.stringify(object));
  const { status, text } = await admin.ask({ method: 'POST', path, type: JSON_TYPE }, body);
  if (status !== 201) throw new Error(`${path} was answered with ${status}: ${text.slice(0, 400)}`);
}

/** The namespace, the user's rights in it, and its large objects. */
export async function prepare(place: Place, port: number): Promise<{ admin: Asker; user: Asker }> {
  const admin = new Asker(place.tls, port);
  const user = new Asker(place.user, port);
  const inside = `/api/v1/namespaces/${NAMESPACE}`;
  const rbac = 'rbac.authorization.k8s.io';
  await make(admin, '/api/v1/namespaces', { metadata: { name: NAMESPACE } });
  await make(admin, `${inside}/serviceaccounts`, { metadata: { name: 'default' } });
  for (const role of ['edit', 'admin'])
    await make(admin, `/apis/${rbac}/v1/namespaces/${NAMESPACE}/rolebindings`, {
      metadata: { name: role },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: role },
      subjects: [{ kind: 'User', apiGroup: rbac, name: place.user.name }],
    });
  const data = Object.fromEntries(Array.from({ length: 30_000 }, (_, index) => [`k${index}`, 'v']));
  await make(admin, `${inside}/configmaps`, { metadata: { name: 'large' }, data });
  const finalizers = Array.from({ length: 20_000 }, (_, index) => `a.b/f${index}`);
  await make(admin, `${inside}/configmaps`, { metadata: { name: 'listed', finalizers } });
  const containers = Array.from({ length: 3_000 }, (_, index) => ({ name: `c${index}`, image: 'b' }));
  await make(admin, `${inside}/pods`, { metadata: { name: 'large' }, spec: { containers } });
  await allowDefinitions(admin, place.user.name);
  for (const { plural, schema } of prepared) {
    await make(admin, DEFINITIONS, definition(plural, schema));
    await served(admin, collectionOf(plural, NAMESPACE));
  }
  return { admin, user };
}

/** The user may make and change definitions, and make objects of the kinds that come of them. */
async function allowDefinitions(admin: Asker, name: string): Promise<void> {
  const rbac = 'rbac.authorization.k8s.io';
  const rules = [
    {
      apiGroups: ['apiextensions.k8s.io'],
      resources: ['customresourcedefinitions'],
      verbs: ['create', 'patch'],
    },
    { apiGroups: ['hostile.example.com'], resources: ['*'], verbs: ['create'] },
  ];
  await make(admin, `/apis/${rbac}/v1/clusterroles`, { metadata: { name: 'definer' }, rules });
  await make(admin, `/apis/${rbac}/v1/clusterrolebindings`, {
    metadata: { name: 'definer' },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'definer' },
    subjects: [{ kind: 'User', apiGroup: rbac, name }],
  });
}

async function served(admin: Asker, path: string): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const { status } = await admin.ask({ method: 'GET', path, type: JSON_TYPE }, Buffer.alloc(0));
    if (status === 200) return;
    await sleep(100);
  }
  throw new Error(`${path} is not served`);
}
