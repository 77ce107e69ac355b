// One HTTPS request to a webhook.
// Guarantees: the certificate is checked, by the bundle when there is one; an answer larger than the bound, or later than
// the deadline, is none; connections are kept and used again, and ended with the client.

import https from 'node:https';
import type { ConnectionOptions } from 'node:tls';
import { jsonObstacle } from '../../../api/bodyBounds.js';
import { collectBytes } from '../../../base/collectBytes.js';
import type { Endpoint } from './endpoint.js';
import { ConversionError } from './error.js';

const TIMEOUT_MS = 30_000;
/** Batches are far smaller; one object may be as large as a body. */
const ANSWER = {
  most: 8 * 1024 * 1024,
  tooLarge: (most: number) => new Error(`the answer is larger than ${most} bytes`),
};
const MOST_VALUES = 300_000;
const MOST_SOCKETS = 64;

export class WebhookClient {
  readonly #timeoutMs;

  readonly #agent: https.Agent;
  readonly #ca: string | undefined;

  /** `caBundle` is base64 of PEM; without one the machine's authorities are trusted. */
  constructor(caBundle: string | undefined, timeoutMs = TIMEOUT_MS) {
    this.#timeoutMs = timeoutMs;

    const bundle = Buffer.from(caBundle ?? '', 'base64').toString();
    this.#ca = bundle.trim() === '' ? undefined : bundle;
    this.#agent = new https.Agent({ keepAlive: true, maxSockets: MOST_SOCKETS, timeout: timeoutMs });
  }

  close(): void {
    this.#agent.destroy();
  }

  /** What was answered, as data. Throws ConversionError. */
  async post(endpoint: Endpoint, body: string): Promise<unknown> {
    const { status, bytes } = await this.#send(endpoint, body);
    if (status < 200 || status > 299) throw new ConversionError('CALL', statusText(status, bytes));
    const obstacle = jsonObstacle(bytes, MOST_VALUES);
    try {
      if (obstacle !== undefined) throw new Error(obstacle);
      return JSON.parse(bytes.toString('utf8')) as unknown;
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : 'not JSON';
      throw new ConversionError('CALL', `couldn't get version/kind; json parse error: ${why}`, { cause });
    }
  }

  async #send(endpoint: Endpoint, body: string) {
    const deadline = AbortSignal.timeout(this.#timeoutMs);
    try {
      return await this.#once(endpoint, body, { deadline });
    } catch (error) {
      if (!(error instanceof StaleSocket)) throw error;
      return await this.#once(endpoint, body, { deadline, isFresh: true });
    }
  }

  #once(endpoint: Endpoint, body: string, { deadline, isFresh = false }: Attempt): Promise<Answer> {
    const { host, port, path, servername, authority } = endpoint;
    return new Promise((resolve, reject) => {
      const options: https.RequestOptions & TlsOptions = {
        host,
        port,
        path,
        method: 'POST',
        signal: deadline,
        agent: isFresh ? false : this.#agent,
        ALPNProtocols: ['http/1.1'],
        ...(servername === undefined ? {} : { servername }),
        ...(this.#ca === undefined ? {} : { ca: this.#ca }),
        headers: {
          host: authority,
          accept: 'application/json',
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
        },
      };
      const request = https.request(options);
      const fail = (cause: Error) => {
        const isStale = request.reusedSocket && !deadline.aborted && !isFresh;
        reject(isStale ? new StaleSocket() : callError(endpoint, cause, deadline.aborted));
      };
      request.once('error', fail);
      request.once('response', (response) => {
        collectBytes(response, ANSWER).then(
          (bytes) => resolve({ status: response.statusCode ?? 0, bytes }),
          fail,
        );
      });
      request.end(body);
    });
  }
}

/** Node hands it to TLS; the types of its https leave it out. */
type TlsOptions = Pick<ConnectionOptions, 'ALPNProtocols'>;

interface Attempt {
  readonly deadline: AbortSignal;
  /** On a connection of its own. */
  readonly isFresh?: boolean;
}

interface Answer {
  readonly status: number;
  readonly bytes: Buffer;
}

/** The other side closed a connection that was kept while it was taken up again. */
class StaleSocket extends Error {}

const UNKNOWN_AUTHORITY = new Set([
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_GET_ISSUER_CERT',
]);

/** In the words of Go's client, which operators search for. */
function callError({ url, host, port }: Endpoint, cause: Error, isLate: boolean): ConversionError {
  const { code = '' } = cause as NodeJS.ErrnoException;
  const address = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
  const why = () => {
    if (isLate) return 'context deadline exceeded';
    if (code === 'ECONNREFUSED') return `dial tcp ${address}: connect: connection refused`;
    if (code === 'EHOSTUNREACH') return `dial tcp ${address}: connect: no route to host`;
    if (code === 'ENOTFOUND') return `dial tcp: lookup ${host}: no such host`;
    if (code === 'ECONNRESET') return 'EOF';
    if (UNKNOWN_AUTHORITY.has(code))
      return 'tls: failed to verify certificate: x509: certificate signed by unknown authority';
    return code.startsWith('ERR_TLS') || code.startsWith('CERT')
      ? `tls: failed to verify certificate: x509: ${cause.message}`
      : cause.message;
  };
  return new ConversionError('CALL', `Post ${JSON.stringify(url)}: ${why()}`, { cause });
}

const LONGEST_TEXT = 2048;

function statusText(status: number, bytes: Buffer): string {
  if (status === 404) return 'the server could not find the requested resource';
  const text = bytes.toString('utf8', 0, LONGEST_TEXT).trim() || 'unknown';
  return `an error on the server (${JSON.stringify(text)}) has prevented the request from succeeding`;
}
