// URLs as Go reads them: absolute, or an absolute path.
// Guarantees: linear in the text.
import { evaluationError } from '../error.js';
import { type Overload, overload, readsFirst } from '../signature.js';
import { ListValue, mapValue, UrlValue } from '../values.js';

const FORM = /^(?:([a-zA-Z][a-zA-Z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s;
const HOST = /^(?:[^@]*@)?(\[[^\]]*\]|[^:]*)(?::(\d*))?$/;

/** Undefined for what is no URL. */
export function parseUrl(text: string): UrlValue | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a URL holds none
  const match = /[\0-\x1f\x7f]/.test(text) ? null : FORM.exec(text);
  if (match === null) return undefined;
  const [, scheme = '', authority, path = '', query = ''] = match;
  if (scheme === '' && !path.startsWith('/') && authority === undefined) return undefined;
  if (scheme === '' && authority !== undefined) return undefined;
  if (hasBadEscape(path)) return undefined;
  const host = HOST.exec(authority ?? '');
  if (host === null || /[ <>"]/.test(host[1] ?? '')) return undefined;
  const [, name = '', port = ''] = host;
  return new UrlValue(text, {
    scheme: scheme.toLowerCase(),
    host: port === '' ? name : `${name}:${port}`,
    hostname: name.replace(/^\[(.*)\]$/, '$1'),
    port,
    path: escapePath(path),
    query: queryOf(query),
  });
}

const hasBadEscape = (path: string) => /%(?![0-9a-fA-F]{2})/.test(path);

const escapePath = (path: string) =>
  path.replace(/[^A-Za-z0-9\-._~!$&'()*+,;=:@/%[\]]/gu, (letter) => encodeURIComponent(letter));

function queryOf(query: string): ReadonlyMap<string, readonly string[]> {
  const values = new Map<string, string[]>();
  for (const pair of query.split('&')) {
    if (pair === '') continue;
    const [key = '', ...rest] = pair.split('=');
    const name = unescaped(key);
    const list = values.get(name) ?? [];
    list.push(unescaped(rest.join('=')));
    values.set(name, list);
  }
  return values;
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

function url(text: string): UrlValue {
  const parsed = parseUrl(text);
  if (parsed === undefined)
    throw evaluationError(
      `URL parse error during conversion from string: parse "${text.slice(0, 200)}": invalid URI for request`,
    );
  return parsed;
}

const part = (name: string, read: (value: UrlValue['url']) => string) =>
  overload(`URL.${name}(): string`, ([value]) => read((value as UrlValue).url));

export const URLS: readonly Overload[] = [
  overload('url(string): URL', ([text]) => url(text as string), readsFirst()),
  overload('isURL(string): bool', ([text]) => parseUrl(text as string) !== undefined, readsFirst()),
  part('getScheme', ({ scheme }) => scheme),
  part('getHost', ({ host }) => host),
  part('getHostname', ({ hostname }) => hostname),
  part('getPort', ({ port }) => port),
  part('getEscapedPath', ({ path }) => path),
  overload('URL.getQuery(): map<string, list<string>>', ([value]) =>
    mapValue(
      Array.from((value as UrlValue).url.query, ([key, values]) => [key, ListValue.of(values)] as const),
    ),
  ),
];
