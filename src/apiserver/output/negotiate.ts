// What form of answer the client can read, from its Accept header. Pure but for what it remembers.
// Guarantees: an unknown wish is refused with 406; a list of wishes takes the first that is served.
import { statusError } from '../../api/status.js';

type Form = 'object' | 'table' | 'partial' | 'aggregatedDiscovery';

export interface Negotiated {
  /** Protobuf is of objects, lists and watches, whole or their metadata; whatever has no message of its own is sent as JSON. */
  readonly media: 'application/json' | 'application/yaml' | typeof PROTOBUF_TYPE;
  readonly form: Form;
  /** v2 or v2beta1 for discovery, v1 or v1beta1 otherwise. */
  readonly version: string;
}

export const PROTOBUF_TYPE = 'application/vnd.kubernetes.protobuf';

const PLAIN: Negotiated = { media: 'application/json', form: 'object', version: 'v1' };

interface MediaRange {
  readonly type: string;
  readonly params: ReadonlyMap<string, string>;
  readonly quality: number;
}

export function negotiate(accept: string | undefined): Negotiated {
  if (accept === undefined || accept === PLAIN.media || accept.trim() === '') return PLAIN;
  const answer = known.get(accept) ?? firstServed(accept);
  if (answer !== undefined) return answer;
  throw notAcceptable();
}

/** For what has no message in protobuf. */
export function negotiateText(accept: string | undefined): Negotiated {
  const found = parseAccept(accept ?? '')
    .map(serve)
    .find((answer) => answer !== undefined && answer.media !== PROTOBUF_TYPE);
  if (found !== undefined) return found;
  const message = 'only the following media types are accepted: application/json, application/yaml';
  throw statusError('NotAcceptable', message);
}

/** For what has no other form than its own: a table of it, and nothing else, cannot be had. */
export function requireObject(accept: string | undefined): void {
  if (accept === undefined || accept.trim() === '') return;
  if (!parseAccept(accept).some((range) => serve(range)?.form === 'object')) throw notAcceptable();
}

const notAcceptable = () =>
  statusError(
    'NotAcceptable',
    `only the following media types are accepted: application/json, application/yaml, ${PROTOBUF_TYPE}`,
  );

/** Clients of one kind all say the same. */
const known = new Map<string, Negotiated>();
const MOST_KNOWN = 100;

function firstServed(accept: string): Negotiated | undefined {
  for (const range of parseAccept(accept)) {
    const answer = serve(range);
    if (answer === undefined) continue;
    if (accept.length < 256 && known.size < MOST_KNOWN) known.set(accept, answer);
    return answer;
  }
  return undefined;
}

function parseAccept(accept: string): readonly MediaRange[] {
  const ranges = accept.slice(0, 4096).split(',').map(parseRange);
  // Array.prototype.sort is stable: equal qualities keep the client's order.
  return ranges.filter((range) => range.quality > 0).sort((a, b) => b.quality - a.quality);
}

function parseRange(text: string): MediaRange {
  const [type = '', ...rest] = text.split(';').map((part) => part.trim());
  const params = new Map<string, string>();
  for (const part of rest) {
    const equals = part.indexOf('=');
    if (equals > 0) params.set(part.slice(0, equals).trim().toLowerCase(), part.slice(equals + 1).trim());
  }
  const quality = Number(params.get('q') ?? '1');
  return { type: type.toLowerCase(), params, quality: Number.isFinite(quality) ? quality : 0 };
}

function serve({ type, params }: MediaRange): Negotiated | undefined {
  const media = mediaOf(type);
  if (media === undefined) return undefined;
  const as = params.get('as');
  if (as === undefined) return { media, form: 'object', version: 'v1' };
  const group = params.get('g');
  const version = params.get('v') ?? 'v1';
  const isMeta = group === 'meta.k8s.io' && (version === 'v1' || version === 'v1beta1');
  if (isMeta && (as === 'PartialObjectMetadata' || as === 'PartialObjectMetadataList')) {
    return { media, form: 'partial', version };
  }
  // Tables and the like have no protobuf here: the client names JSON next.
  if (media === PROTOBUF_TYPE) return undefined;
  if (isMeta && as === 'Table') return { media, form: 'table', version };
  if (group === 'apidiscovery.k8s.io' && as === 'APIGroupDiscoveryList' && version.startsWith('v2')) {
    return { media, form: 'aggregatedDiscovery', version };
  }
  return undefined;
}

function mediaOf(type: string): Negotiated['media'] | undefined {
  if (type === PROTOBUF_TYPE) return PROTOBUF_TYPE;
  if (type === 'application/json' || type === '*/*' || type === 'application/*') return 'application/json';
  if (type === 'application/yaml' || type === 'application/x-yaml' || type === 'text/yaml') {
    return 'application/yaml';
  }
  return undefined;
}
