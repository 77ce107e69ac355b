// A bearer token among the subprotocols of a WebSocket: browsers can send no other header. Pure.
// Guarantees: the token is known here and told to nobody else; one that cannot be read is refused, not taken for none.

export const PROTOCOLS = 'sec-websocket-protocol';
const PREFIX = 'base64url.bearer.authorization.k8s.io.';
/** No authenticator knows it, so whoever sends it is refused. */
const UNREADABLE = 'Bearer unreadable';

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** As an Authorization header would have it; undefined when there is none. */
export function webSocketAuthorization(headers: Headers): string | undefined {
  const isWebSocket = /(^|,)\s*upgrade\s*(,|$)/i.test(String(headers['connection'] ?? ''));
  if (!isWebSocket || String(headers['upgrade'] ?? '').toLowerCase() !== 'websocket') return undefined;
  const offered = protocolsIn(String(headers[PROTOCOLS] ?? ''));
  const tokens = offered.filter((one) => one.startsWith(PREFIX)).map((one) => one.slice(PREFIX.length));
  const [encoded = '', ...more] = tokens;
  if (encoded === '' && more.length === 0) return undefined;
  const token = decoded(encoded);
  // One other is needed, to be answered with: the server may not name one that was not offered.
  const isAlone = offered.length === tokens.length;
  return more.length > 0 || isAlone || token === undefined ? UNREADABLE : `Bearer ${token}`;
}

/** What may travel on. */
export function withoutBearer(protocols: string): string {
  return protocolsIn(protocols)
    .filter((one) => !one.startsWith(PREFIX))
    .join(', ');
}

const protocolsIn = (text: string): readonly string[] =>
  text
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');

function decoded(encoded: string): string | undefined {
  if (!/^[A-Za-z0-9_-]+$/.test(encoded)) return undefined;
  try {
    const bytes = Buffer.from(encoded, 'base64url');
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return /^\S+$/.test(text) ? text : undefined;
  } catch {
    return undefined;
  }
}
