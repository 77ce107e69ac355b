// The paths of the kubelet's API beside pods and streams: configuration, logs of the node, statistics, metrics.
// Guarantees: who asks has been let in before; a log's path never leads out of /var/log.
import { createReadStream } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import path from 'node:path';
import { messageOf } from '../../base/errorMessage.js';
import type { RunningKubelet } from '../dependencies.js';
import { configz } from './configz.js';

const LOGS = '/var/log';
const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

type Answer = (path: string, response: ServerResponse) => Promise<void>;

/** As it was sent: resolving would take `//host/metrics` for a path of ours, and fail on what is no URL. */
export const pathOf = ({ url = '/' }: IncomingMessage): string => url.split('?', 1)[0] ?? '/';

/** For `others` of the kubelet's server. */
export function nodeRoutes(kubelet: Pick<RunningKubelet, 'config' | 'stats'>) {
  const metrics =
    (read: () => Promise<string>): Answer =>
    async (_, response) => {
      const body = await read();
      response.writeHead(200, { 'content-type': METRICS_TYPE }).end(body);
    };
  const routes: readonly (readonly [string, Answer])[] = [
    ['/configz', async (_, response) => json(response, { kubeletconfig: configz(kubelet.config) })],
    ['/stats/summary', async (_, response) => json(response, await kubelet.stats.summary())],
    ['/metrics/cadvisor', metrics(() => kubelet.stats.cadvisor())],
    ['/metrics/resource', metrics(() => kubelet.stats.resource())],
    ['/metrics/probes', metrics(async () => kubelet.stats.probes())],
    ['/metrics', metrics(() => kubelet.stats.own())],
  ];
  return (request: IncomingMessage, response: ServerResponse): boolean => {
    const pathname = pathOf(request);
    const [, answer] = routes.find(([at]) => at === pathname) ?? [];
    const chosen = answer ?? (pathname === '/logs' || pathname.startsWith('/logs/') ? nodeLog : undefined);
    if (chosen === undefined || request.method !== 'GET') return false;
    chosen(pathname, response).catch((error: unknown) => fail(response, 500, messageOf(error)));
    return true;
  };
}

function json(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function fail(response: ServerResponse, status: number, words: string): void {
  if (response.headersSent) response.destroy();
  else response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${words}\n`);
}

/** A file below /var/log, or the names in a directory of it. Links are followed before the path is judged. */
async function nodeLog(pathname: string, response: ServerResponse): Promise<void> {
  const asked = path.join(
    LOGS,
    path.posix.normalize(`/${decodeURIComponent(pathname.slice('/logs'.length))}`),
  );
  const real = await realpath(asked).catch(() => undefined); // not there
  const root = await realpath(LOGS);
  if (real === undefined || (real !== root && !real.startsWith(`${root}/`)))
    return fail(response, 404, '404 page not found');
  const found = await stat(real);
  if (found.isDirectory()) {
    const entries = await readdir(real, { withFileTypes: true });
    const names = entries.map((entry) => `${entry.name}${entry.isDirectory() ? '/' : ''}`).sort();
    const lines = names.map((name) => `<a href="${encodeURI(name)}">${htmlText(name)}</a>`);
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
    response.end(`<pre>\n${lines.join('\n')}\n</pre>\n`);
    return;
  }
  if (!found.isFile()) return fail(response, 404, '404 page not found');
  response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' });
  createReadStream(real)
    .on('error', () => response.destroy())
    .pipe(response);
}

const htmlText = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
