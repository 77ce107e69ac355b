// HTTP GET as Kubernetes asks containers: probes, and the fetching that hooks share with them.
// Guarantees: one connection of its own, closed at the end; reads at most 10 KiB of the body; never longer than its time.
import http from 'node:http';
import https from 'node:https';
import type { V1HTTPHeader } from '../../api/gen/types.js';
import { dialWords, urlHost } from './dial.js';
import type { ProbeAnswer } from './result.js';

const MAX_BODY_BYTES = 10 * 1024;
const MAX_REDIRECTS = 10;
/** As much as Go's clients read. */
const MAX_HEAD_BYTES = 10 * 1024 * 1024;

export interface HttpTarget {
  readonly scheme: string;
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly headers: readonly V1HTTPHeader[];
}

interface HttpProbe extends HttpTarget {
  readonly timeoutMs: number;
}

interface Got {
  readonly status: number;
  readonly location: string | undefined;
  readonly body: string;
}

export async function probeHttp(probe: HttpProbe): Promise<ProbeAnswer> {
  const url = urlOf(probe);
  if (!URL.canParse(url)) return { outcome: 'unknown', output: `parse "${url}": invalid URL` };
  const signal = AbortSignal.timeout(probe.timeoutMs);
  try {
    const { got, isAway } = await fetchPage(probe, { agent: 'kube-probe', signal });
    // What another host says is not this container's answer; that it redirects shows that it lives.
    return isAway
      ? { outcome: 'warning', output: `Probe terminated redirects, Response body: ${got.body}` }
      : judge(got);
  } catch (error) {
    const words = signal.aborted
      ? 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
      : dialWords(error, `${urlHost(probe.host)}:${probe.port}`);
    return { outcome: 'failure', output: `Get "${new URL(url).href}": ${words}` };
  }
}

/** Follows redirects to the same host; one to another ends it, as `isAway`. Rejects when there is no answer. */
export async function fetchPage(
  target: HttpTarget,
  { agent, signal }: { readonly agent: string; readonly signal: AbortSignal | undefined },
): Promise<{ readonly got: Got; readonly isAway: boolean }> {
  let url = new URL(urlOf(target));
  for (let redirects = 0; ; redirects++) {
    const got = await get(url, headersOf(target.headers, agent), signal);
    const next = redirectOf(got, url);
    if (next === undefined) return { got, isAway: false };
    if (next.hostname !== url.hostname) return { got, isAway: true };
    if (redirects === MAX_REDIRECTS) throw new Error(`stopped after ${MAX_REDIRECTS} redirects`);
    url = next;
  }
}

function urlOf({ scheme, host, port, path }: HttpTarget): string {
  const protocol = scheme.toLowerCase() === 'https' ? 'https' : 'http';
  return `${protocol}://${urlHost(host)}:${port}${path.startsWith('/') ? '' : '/'}${path}`;
}

function judge({ status, body }: Got): ProbeAnswer {
  if (status >= 200 && status < 400) return { outcome: 'success', output: body };
  return { outcome: 'failure', output: `HTTP probe failed with statuscode: ${status}` };
}

function redirectOf({ status, location }: Got, from: URL): URL | undefined {
  if (![301, 302, 303, 307, 308].includes(status) || location === undefined) return undefined;
  if (!URL.canParse(location, from.href)) return undefined;
  const url = new URL(location, from);
  return url.protocol === 'http:' || url.protocol === 'https:' ? url : undefined;
}

/** Names may repeat; the probe's own Host, Accept and User-Agent win over ours, and an empty one removes it. */
function headersOf(given: readonly V1HTTPHeader[], agent: string): http.OutgoingHttpHeaders {
  const headers = new Map<string, string[]>();
  for (const { name, value } of given) {
    const key = name.toLowerCase();
    headers.set(key, [...(headers.get(key) ?? []), value]);
  }
  const merged: http.OutgoingHttpHeaders = { 'user-agent': `${agent}/1.36`, accept: '*/*' };
  for (const [key, values] of headers) merged[key] = values.length === 1 ? values[0] : values;
  return Object.fromEntries(
    Object.entries({ ...merged, connection: 'close' }).filter(([, value]) => value !== ''),
  );
}

function get(url: URL, headers: http.OutgoingHttpHeaders, signal: AbortSignal | undefined): Promise<Got> {
  return new Promise((resolve, reject) => {
    const door = url.protocol === 'https:' ? https : http;
    // Nobody names the authority of a container's certificate: it is not checked. Small servers end their lines without a
    // carriage return, which Kubernetes' probes read.
    const lenient = { rejectUnauthorized: false, insecureHTTPParser: true, maxHeaderSize: MAX_HEAD_BYTES };
    const options = { headers, signal, agent: false as const, ...lenient };
    const request = door.get(url, options, (response) => {
      const pieces: Buffer[] = [];
      let length = 0;
      const done = () => {
        const body = Buffer.concat(pieces).subarray(0, MAX_BODY_BYTES).toString('utf8');
        resolve({ status: response.statusCode ?? 0, location: response.headers.location, body });
        request.destroy();
      };
      response.on('data', (piece: Buffer) => {
        pieces.push(piece);
        length += piece.length;
        if (length >= MAX_BODY_BYTES) done();
      });
      response.on('end', done);
      response.on('error', reject);
    });
    request.on('error', reject);
  });
}
