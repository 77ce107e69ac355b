// Access control of the kubelet's API: a request reaches its route only if the caller may use it.
// Guarantees: 401 and 403 come before anything is looked up, so that a stranger learns nothing, not even what exists.
import type http from 'node:http';
import type { TLSSocket } from 'node:tls';
import { bearerOf, certificateCaller } from '../../client/delegatedAccess.js';
import type { Access } from './access.js';
import { HttpError } from './containers.js';
import { attributesOf, type Route, routeOf } from './routes.js';

interface Asked {
  readonly route: Route;
  readonly query: URLSearchParams;
}

export async function admit(access: Access, request: http.IncomingMessage): Promise<Asked> {
  const [path, query] = splitOnce(request.url ?? '/');
  const caller = await access.authenticate({
    certificate: certificateCaller(request.socket as TLSSocket),
    bearer: bearerOf(request.headers.authorization),
  });
  if (caller === undefined) throw new HttpError(401, 'Unauthorized');
  const attributes = attributesOf(request.method ?? '', path);
  const { verb, subresources } = attributes;
  const what = `user=${caller.user}, verb=${verb}, resource=nodes, subresource(s)=[${subresources.join(' ')}]`;
  const allowed = await access.authorize(caller, attributes).catch((cause) => {
    throw new HttpError(500, `Authorization error (${what})`, { cause });
  });
  if (!allowed) throw new HttpError(403, `Forbidden (${what})`);
  const route = routeOf(path);
  if (route === undefined) throw new HttpError(404, '404 page not found');
  return { route, query: new URLSearchParams(query) };
}

function splitOnce(url: string): [string, string] {
  const mark = url.indexOf('?');
  return mark === -1 ? [url, ''] : [url.slice(0, mark), url.slice(mark + 1)];
}
