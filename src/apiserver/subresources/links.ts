// Links in what a proxied server answers, made to lead through the proxy again. Pure.
// Guarantees: only links to that server itself change; everything that is no such link stays byte by byte.

/** Which attributes of which elements hold an address. */
const ATTRIBUTES: Readonly<Record<string, readonly string[]>> = {
  a: ['href'],
  area: ['href'],
  base: ['href'],
  link: ['href'],
  applet: ['codebase'],
  audio: ['src'],
  embed: ['src'],
  script: ['src'],
  source: ['src'],
  video: ['poster', 'src'],
  blockquote: ['cite'],
  del: ['cite'],
  ins: ['cite'],
  q: ['cite'],
  body: ['background'],
  button: ['formaction'],
  form: ['action'],
  command: ['icon'],
  head: ['profile'],
  html: ['manifest'],
  frame: ['longdesc', 'src'],
  iframe: ['longdesc', 'src'],
  img: ['longdesc', 'src', 'usemap'],
  input: ['src', 'usemap', 'formaction'],
  object: ['classid', 'codebase', 'data', 'usemap'],
};

export interface LinkRules {
  /** The path of the proxy itself, without a slash at its end. */
  readonly prefix: string;
  /** `host:port` of the server behind, as it may name itself. */
  readonly server: string;
  /** The name by which the client reaches the proxy. */
  readonly here: string;
}

const URL_PARTS = /^(?:([a-z][a-z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(.*)$/is;

export function rewriteLink(link: string, { prefix, server, here }: LinkRules): string {
  const [, scheme, host, path = '', rest = ''] = URL_PARTS.exec(link) ?? [];
  const isElsewhere = host !== undefined && host !== '' && host !== server && host !== here;
  if (isElsewhere || !path.startsWith('/') || (scheme !== undefined && host === undefined)) return link;
  const origin = host === here ? `${scheme === undefined ? '' : `${scheme}:`}//${host}` : '';
  const leads = path === prefix || path.startsWith(`${prefix}/`);
  return `${origin}${leads ? '' : prefix}${path}${rest}`;
}

const ELEMENT = /<([a-z][a-z0-9]*)(?=[\s/>])/iy;

/** The text may be read as any encoding that has ASCII in it. Every character is looked at a fixed number of times. */
export function rewriteHtml(html: string, rules: LinkRules): string {
  const lower = html.toLowerCase();
  let out = '';
  let done = 0;
  for (let at = html.indexOf('<'); at !== -1; at = html.indexOf('<', at)) {
    if (html.startsWith('<!--', at)) {
      at = html.indexOf('-->', at + 4);
      if (at === -1) break;
      continue;
    }
    ELEMENT.lastIndex = at;
    const name = ELEMENT.exec(html)?.[1]?.toLowerCase();
    if (name === undefined) {
      at++;
      continue;
    }
    const inside = at + 1 + name.length;
    const end = endOfTag(html, inside);
    if (end === -1) break;
    out +=
      html.slice(done, inside) + rewriteAttributes(html.slice(inside, end), ATTRIBUTES[name] ?? [], rules);
    done = end;
    // What stands in these is no markup, whatever it looks like.
    at = name === 'script' || name === 'style' ? lower.indexOf(`</${name}`, end) : end;
    if (at === -1) break;
  }
  return out + html.slice(done);
}

/** Where the `>` is that no quote holds. */
function endOfTag(html: string, from: number): number {
  let quote = '';
  for (let at = from; at < html.length; at++) {
    const character = html[at] ?? '';
    if (quote !== '') {
      if (character === quote) quote = '';
    } else if (character === '"' || character === "'") quote = character;
    else if (character === '>') return at;
  }
  return -1;
}

function rewriteAttributes(text: string, names: readonly string[], rules: LinkRules): string {
  if (names.length === 0) return text;
  let out = '';
  let done = 0;
  for (let at = 0; at < text.length; ) {
    const { name, from, to, next } = attributeAt(text, at);
    at = next;
    if (from === to || !names.includes(name.toLowerCase())) continue;
    out += text.slice(done, from) + rewriteLink(text.slice(from, to), rules);
    done = to;
  }
  return out + text.slice(done);
}

interface Attribute {
  readonly name: string;
  /** Where the value is, without its quotes; equal when there is none. */
  readonly from: number;
  readonly to: number;
  /** Where to read on: always further. */
  readonly next: number;
}

/** By hand and without a step back: a regular expression would look at a run of spaces once for each of them. */
function attributeAt(text: string, start: number): Attribute {
  const begin = skip(text, start, BETWEEN);
  const end = skipUntil(text, begin, AFTER_NAME);
  if (end === begin) return { name: '', from: 0, to: 0, next: begin + 1 };
  const name = text.slice(begin, end);
  const equals = skip(text, end, SPACE);
  if (text[equals] !== '=') return { name, from: 0, to: 0, next: equals };
  const value = skip(text, equals + 1, SPACE);
  const quote = text[value];
  if (quote !== '"' && quote !== "'") {
    const to = skipUntil(text, value, AFTER_VALUE);
    return { name, from: value, to, next: Math.max(to, value + 1) };
  }
  const to = text.indexOf(quote, value + 1);
  // A quote that nothing closes: what follows it is no attribute.
  return to === -1
    ? { name, from: 0, to: 0, next: text.length }
    : { name, from: value + 1, to, next: to + 1 };
}

const SPACE = new Set(' \t\n\f\r\v');
const BETWEEN = new Set([...SPACE, '/']);
const AFTER_NAME = new Set([...BETWEEN, '"', "'", '=', '<', '>']);
const AFTER_VALUE = new Set([...SPACE, '"', "'", '>']);

function skip(text: string, from: number, characters: ReadonlySet<string>): number {
  let at = from;
  while (at < text.length && characters.has(text[at] ?? '')) at++;
  return at;
}

function skipUntil(text: string, from: number, characters: ReadonlySet<string>): number {
  let at = from;
  while (at < text.length && !characters.has(text[at] ?? '')) at++;
  return at;
}
