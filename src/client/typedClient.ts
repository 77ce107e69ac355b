// The typed client: resources and verbs become requests, answers become objects.
// Guarantees: the same over every transport; `close` ends requests, watches and waits.
import { setMaxListeners } from 'node:events';
import type { V1DeleteOptions, V1ListMeta } from '../api/gen/types.js';
import type { KubeObject, ObjectName, Stored } from '../api/object.js';
import { apiVersionOf, type ResourceType } from '../api/resources.js';
import { ApiError } from '../api/status.js';
import { decode } from './answer.js';
import type { Client, ListQuery, ObjectList, PatchType, ResourceClient, WriteOptions } from './client.js';
import { ClientError } from './error.js';
import { acceptOf, makeRequester, type Requester, type RequesterOptions } from './request.js';
import {
  collectionPath,
  creationPath,
  objectPath,
  selectorQuery,
  withQuery,
  writeQuery,
} from './resourcePath.js';
import type { Transport, TransportRequest } from './transport.js';
import { watchEvents } from './watchStream.js';

const PAGE = 500;
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

const PATCH_TYPES: Readonly<Record<PatchType, string>> = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
};

export function openClient(transport: Transport, options: RequesterOptions = {}): Client {
  const closing = new AbortController();
  setMaxListeners(0, closing.signal); // every request under way listens
  const request = makeRequester(transport, closing.signal, options);
  return {
    of: (type) =>
      resourceClient(type, {
        transport,
        request,
        closing: closing.signal,
        silenceMs: options.watchSilenceMs,
      }),
    async raw<Answer>(method: string, path: string, body?: unknown) {
      const answer = await request({ method: methodOf(method), path, body });
      return (answer.length === 0 ? undefined : decode(answer, `the answer to ${method} ${path}`)) as Answer;
    },
    close() {
      closing.abort();
      transport.close();
    },
  };
}

interface Wire {
  readonly transport: Transport;
  readonly request: Requester;
  readonly closing: AbortSignal;
  readonly silenceMs: number | undefined;
}

function resourceClient<T extends KubeObject>(type: ResourceType<T>, wire: Wire): ResourceClient<T> {
  const { request } = wire;
  const what = `the answer about ${type.resource}`;
  const typed = (object: T) => ({ apiVersion: apiVersionOf(type), kind: type.kind, ...object });
  const objectOf = async (answer: Promise<Buffer>) => decode<Stored<T>>(await answer, what);

  return {
    get: (name, extent = {}) =>
      objectOf(request({ method: 'GET', path: objectPath(type, name), accept: acceptOf('object', extent) })),
    list: (query = {}) => listAll(type, query, request),
    watch: (query) => watchEvents<T>({ type, query, ...wire }),
    async create(object, options = {}) {
      const path =
        options.subresource === undefined
          ? creationPath(type, object.metadata?.namespace)
          : objectPath(type, nameIn(object), options.subresource);
      return objectOf(
        request({ method: 'POST', path: withQuery(path, writeQuery(options)), body: typed(object) }),
      );
    },
    async update(object, options = {}) {
      const path = objectPath(type, nameIn(object), options.subresource);
      return objectOf(
        request({ method: 'PUT', path: withQuery(path, writeQuery(options)), body: typed(object) }),
      );
    },
    async patch(name: ObjectName, patchType: PatchType, patch: unknown, options: WriteOptions = {}) {
      const path = withQuery(objectPath(type, name, options.subresource), writeQuery(options));
      return objectOf(request({ method: 'PATCH', path, body: patch, contentType: PATCH_TYPES[patchType] }));
    },
    async delete(name: ObjectName, options?: V1DeleteOptions) {
      const body =
        options === undefined ? undefined : { apiVersion: 'v1', kind: 'DeleteOptions', ...options };
      try {
        await request({ method: 'DELETE', path: objectPath(type, name), body });
      } catch (error) {
        if (!ApiError.is(error, 'NotFound')) throw error;
      }
    },
    async post<Answer>(name: ObjectName, subresource: string, body: unknown) {
      const answer = await request({ method: 'POST', path: objectPath(type, name, subresource), body });
      return decode<Answer>(answer, what);
    },
  };
}

interface WireList<T> {
  readonly metadata?: V1ListMeta;
  readonly items?: readonly Stored<T>[] | null;
}

async function listAll<T extends KubeObject>(
  type: ResourceType<T>,
  query: ListQuery,
  request: Requester,
): Promise<ObjectList<T>> {
  const items: Stored<T>[] = [];
  const page = (limit: number | undefined, next: string | undefined) =>
    request({
      method: 'GET',
      accept: acceptOf('list', query),
      path: withQuery(collectionPath(type, query.namespace), [
        ...selectorQuery(query),
        ['limit', limit],
        ['continue', next],
        ['resourceVersion', next === undefined ? query.resourceVersion : undefined],
      ]),
    });
  let limit: number | undefined = query.limit ?? PAGE;
  let next: string | undefined;
  for (;;) {
    try {
      const { metadata, items: more } = listOf<T>(await page(limit, next), type);
      for (const item of more ?? [])
        items.push(query.keep === undefined ? item : (query.keep(item) as Stored<T>));
      next = metadata?.continue;
      if (next === undefined || next === '')
        return { items, resourceVersion: metadata?.resourceVersion ?? '' };
    } catch (error) {
      // The pages' revision was compacted while we read them: the rest would be of another time, so read all at once.
      if (next === undefined || !ApiError.is(error, 'Expired', 'Gone')) throw error;
      items.length = 0;
      next = undefined;
      limit = undefined;
    }
  }
}

function listOf<T>(answer: Buffer, { resource }: ResourceType): WireList<T> {
  const list = decode<WireList<T> | null>(answer, `the list of ${resource}`);
  if (typeof list !== 'object' || list === null || !(list.items == null || Array.isArray(list.items))) {
    throw new ClientError('BAD_ANSWER', `the list of ${resource} has no items`);
  }
  return list;
}

function nameIn({ metadata }: KubeObject): ObjectName {
  return { name: metadata?.name ?? '', namespace: metadata?.namespace };
}

function methodOf(method: string): TransportRequest['method'] {
  const known = METHODS.find((name) => name === method.toUpperCase());
  if (known === undefined) throw new ClientError('BAD_REQUEST', `${method} is not a method of the API`);
  return known;
}
