// A probe by HTTP GET.
// Guarantees: one connection of its own, closed at the end; reads at most 10 KiB; never longer than its time.
import http from 'node:http';
import https from 'node:https';
import type { V1HTTPHeader } from '../../api/gen/types.js';
import { dialWords, urlHost } from './dial.js';
import type { ProbeAnswer } from './result.js';

const MAX_BODY_BYTES = 10 * 1024;
const MAX_REDIRECTS = 10;

export interface HttpProbe {
  readonly scheme: string;
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly headers: readonly V1HTTPHeader[];
  readonly timeoutMs: number;
}

interface Got {
  readonly status: number;
  readonly location: string | undefined;
  readonly body: string;
}

export async function probeHttp(probe: HttpProbe): Promise<ProbeAnswer> {
  const scheme = probe.scheme.toLowerCase() === 'https' ? 'https' : 'http';
  const path = probe.path.startsWith('/') ? probe.path : `/${probe.path}`;
  const first = `${scheme}://${urlHost(probe.host)}:${probe.port}${path}`;
  if (!URL.canParse(first)) return { outcome: 'unknown', output: `parse "${first}": invalid URL` };
  const signal = AbortSignal.timeout(probe.timeoutMs);
  let url = new URL(first);
  for (let redirects = 0; ; redirects++) {
    let got: Got;
    try {
      got = await get(url, headersOf(probe.headers), signal);
    } catch (error) {
      const words = signal.aborted
        ? 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
        : dialWords(error, `${urlHost(probe.host)}:${probe.port}`);
      return { outcome: 'failure', output: `Get "${url.href}": ${words}` };
    }
    const next = redirectOf(got, url);
    if (next === undefined) return judge(got);
    // What another host says is not this container's answer; that it redirects shows that it lives.
    if (next.hostname !== url.hostname)
      return { outcome: 'warning', output: `Probe terminated redirects, Response body: ${got.body}` };
    if (redirects === MAX_REDIRECTS)
      return { outcome: 'failure', output: `Get "${url.href}": stopped after ${MAX_REDIRECTS} redirects` };
    url = next;
  }
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
function headersOf(given: readonly V1HTTPHeader[]): http.OutgoingHttpHeaders {
  const headers = new Map<string, string[]>();
  for (const { name, value } of given) {
    const key = name.toLowerCase();
    headers.set(key, [...(headers.get(key) ?? []), value]);
  }
  const merged: http.OutgoingHttpHeaders = { 'user-agent': 'kube-probe/1.36', accept: '*/*' };
  for (const [key, values] of headers) merged[key] = values.length === 1 ? values[0] : values;
  return Object.fromEntries(
    Object.entries({ ...merged, connection: 'close' }).filter(([, value]) => value !== ''),
  );
}

function get(url: URL, headers: http.OutgoingHttpHeaders, signal: AbortSignal): Promise<Got> {
  return new Promise((resolve, reject) => {
    const door = url.protocol === 'https:' ? https : http;
    // Small servers end their lines without a carriage return; Kubernetes' probes read that.
    const lenient = { rejectUnauthorized: false, insecureHTTPParser: true };
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
