// The reading half of the OCI distribution API as a function from request to answer. Pure.
// Guarantees: whatever is not a manifest or blob of the images given is refused in OCI's form of errors.
import type { Blob, OciImage } from '../images/image.js';

interface RegistryRequest {
  readonly method: string;
  /** The path of the URL, still percent-encoded. */
  readonly path: string;
  readonly range?: string | undefined;
}

interface RegistryAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

const VERSION = { 'Docker-Distribution-API-Version': 'registry/2.0' };
const JSON_TYPE = { 'Content-Type': 'application/json' };

export function answer(images: readonly OciImage[], request: RegistryRequest): RegistryAnswer {
  if (request.method !== 'GET' && request.method !== 'HEAD')
    return refusal(405, 'UNSUPPORTED', 'this registry only reads', { Allow: 'GET, HEAD' });
  if (request.path === '/v2/' || request.path === '/v2')
    return { status: 200, headers: { ...VERSION, ...JSON_TYPE }, body: Buffer.from('{}') };
  const [, name, kind, reference] =
    /^\/v2\/([a-z0-9._/-]+)\/(manifests|blobs)\/([\w.:+-]+)$/.exec(request.path) ?? [];
  if (name === undefined || reference === undefined)
    return refusal(404, 'UNSUPPORTED', 'there is nothing at this path');
  const image = images.find((one) => one.name === name);
  if (image === undefined) return refusal(404, 'NAME_UNKNOWN', 'repository name not known to registry');
  if (kind === 'blobs') {
    const blob = [image.config, image.layer].find(({ digest }) => digest === reference);
    if (blob === undefined) return refusal(404, 'BLOB_UNKNOWN', 'blob unknown to registry');
    return contents({ ...blob, mediaType: 'application/octet-stream' }, request.range);
  }
  if (reference !== image.manifest.digest && !image.tags.includes(reference))
    return refusal(404, 'MANIFEST_UNKNOWN', 'manifest unknown');
  return contents(image.manifest);
}

function contents({ digest, mediaType, bytes }: Blob, range?: string): RegistryAnswer {
  const headers = {
    ...VERSION,
    'Content-Type': mediaType,
    'Docker-Content-Digest': digest,
    ETag: `"${digest}"`,
    'Accept-Ranges': 'bytes',
  };
  const part = range === undefined ? undefined : parseRange(range, bytes.length);
  if (part === undefined) return { status: 200, headers, body: bytes };
  if (part === 'none')
    return refusal(416, 'RANGE_INVALID', 'the range is not in the blob', {
      'Content-Range': `bytes */${bytes.length}`,
    });
  return {
    status: 206,
    headers: { ...headers, 'Content-Range': `bytes ${part.first}-${part.last}/${bytes.length}` },
    body: bytes.subarray(part.first, part.last + 1),
  };
}

/** RFC 9110, section 14: one range is served; of a unit we do not know, or of several ranges, the whole is. */
export function parseRange(
  range: string,
  size: number,
): { readonly first: number; readonly last: number } | 'none' | undefined {
  const [, from = '', to = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(range) ?? [];
  if (from === '' && to === '') return undefined;
  if (from === '') return Number(to) === 0 || size === 0 ? 'none' : lastBytes(Number(to), size);
  if (to !== '' && Number(to) < Number(from)) return undefined;
  if (Number(from) >= size) return 'none';
  return { first: Number(from), last: to === '' ? size - 1 : Math.min(Number(to), size - 1) };
}

const lastBytes = (count: number, size: number) => ({ first: Math.max(size - count, 0), last: size - 1 });

const refusal = (
  status: number,
  code: string,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): RegistryAnswer => ({
  status,
  headers: { ...VERSION, ...JSON_TYPE, ...headers },
  body: Buffer.from(JSON.stringify({ errors: [{ code, message }] })),
});
