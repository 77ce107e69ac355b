// An etcd endpoint as it is written on a command line. Pure.
// Guarantees: what is not a URL of a host and a port is refused with what to write instead.
import { StoreError } from '../store.js';

export interface EtcdTls {
  /** PEM. The machine's own authorities when absent. */
  readonly ca?: string | Buffer;
  /** PEM, both or none: who we are to etcd. */
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
}

interface Endpoint {
  readonly url: string;
  /** Host and port. */
  readonly target: string;
  readonly secure: boolean;
}

export function parseEndpoint(text: string, tls?: EtcdTls): Endpoint {
  const match = /^(https?):\/\/(\[[0-9a-fA-F:.]+\]|[^\s/:?#@]+):(\d{1,5})\/?$/.exec(text);
  const [, scheme = '', host = '', port = ''] = match ?? [];
  if (match === null || Number(port) === 0 || Number(port) > 65_535) {
    throw refused(`the etcd endpoint ${JSON.stringify(text)} is not of the form https://host:2379`);
  }
  const secure = scheme === 'https';
  // Sending a client certificate's owner over a plain connection is never what was meant.
  if (!secure && tls !== undefined) {
    throw refused(`the etcd endpoint ${text} is not https, but certificates were given for it`);
  }
  if ((tls?.cert === undefined) !== (tls?.key === undefined)) {
    throw refused('a client certificate for etcd needs its key, and a key its certificate');
  }
  return { url: `${scheme}://${host}:${port}`, target: `${host}:${port}`, secure };
}

const refused = (why: string) => new StoreError('UNAVAILABLE', why);
