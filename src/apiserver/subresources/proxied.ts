// What a proxy of pods, services and nodes changes in requests and answers, as Kubernetes' does.
// Guarantees: a page's links lead through the proxy; what is no page, or too long for one, is passed on as it comes.
import type { ApiRequest, ApiResponse, Body } from '../exchange.js';
import type { Call } from '../serverContext.js';
import { type LinkRules, rewriteHtml, rewriteLink } from './links.js';

/** Longer pages are passed on unchanged: they are held in memory while they change. */
const MAX_PAGE = 4 << 20;

/** The path up to and with /proxy, as sent. */
export function prefixOf({ info, request }: Pick<Call, 'info' | 'request'>): string {
  const parts = (request.url.split('?')[0] ?? '').split('/').filter((part) => part !== '');
  return `/${parts.slice(0, parts.length - info.rest.length).join('/')}`;
}

/** A page asked for without the last slash would have its links lead beside the proxy. */
export function slashMissing({ info, request }: Pick<Call, 'info' | 'request'>): ApiResponse | undefined {
  const [path = '', ...query] = request.url.split('?');
  const isPage = request.method === 'GET' || request.method === 'HEAD';
  if (!isPage || info.rest.length > 0 || path.endsWith('/') || isUpgrade(request)) return undefined;
  const location = [`${path}/`, ...query].join('?');
  return { status: 301, headers: { location }, body: Buffer.alloc(0) };
}

export const isUpgrade = ({ headers }: Pick<ApiRequest, 'headers'>) => (headers['upgrade'] ?? '') !== '';

export async function withLinks(
  answer: ApiResponse,
  { method, rules }: { readonly method: string; readonly rules: LinkRules },
): Promise<ApiResponse> {
  const { location, ...headers } = answer.headers;
  if (answer.tunnel !== undefined) return answer;
  if (location !== undefined)
    return { ...answer, headers: { ...headers, location: rewriteLink(location, rules) } };
  const [type = ''] = (headers['content-type'] ?? '').split(';');
  const isPage = type.trim().toLowerCase() === 'text/html' && headers['content-encoding'] === undefined;
  if (!isPage || method === 'HEAD') return answer;
  const { 'content-length': _, ...kept } = headers;
  return { ...answer, headers: kept, body: await rewritten(answer.body, rules) };
}

async function rewritten(body: Body, rules: LinkRules): Promise<Body> {
  const pieces = piecesOf(body);
  const held: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await pieces.next();
    if (done) break;
    held.push(value);
    length += value.length;
    if (length > MAX_PAGE) return joined(held, pieces);
  }
  // One byte a character: whatever the page's encoding is, it comes out as it went in.
  return Buffer.from(rewriteHtml(Buffer.concat(held).toString('latin1'), rules), 'latin1');
}

async function* piecesOf(body: Body): AsyncGenerator<Uint8Array> {
  if (Buffer.isBuffer(body)) yield body;
  else yield* body;
}

async function* joined(first: readonly Uint8Array[], rest: AsyncGenerator<Uint8Array>) {
  yield* first;
  yield* rest;
}
