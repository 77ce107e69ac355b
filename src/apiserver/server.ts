// Opens an apiserver: caches filled, handler built, port opened.
// Guarantees: when it resolves the port answers; close() ends every connection and leaves the store open for its owner.
import { randomInt, randomUUID } from 'node:crypto';
import type https from 'node:https';
import type { AddressInfo } from 'node:net';
import type { KindDefinition } from '../api/kind.js';
import type { Log } from '../api/log.js';
import type { Transport } from '../client/transport.js';
import type { Store } from '../store/store.js';
import type { AdmissionPlugin } from './admission.js';
import { makePathHandler, type VersionInfo } from './discovery/paths.js';
import { listenError } from './error.js';
import { type Handler, makeHandler } from './handler.js';
import { createHttpsServer, type TlsFiles } from './http/server.js';
import type { Authenticator, Authorizer, UserInfo } from './identity.js';
import { openInProcess } from './inProcess.js';
import type {
  KubeletConnection,
  Machinery,
  SubresourceHook,
  VirtualResource,
  WriteHooks,
} from './machinery.js';
import { Feed } from './registry/feed.js';

/** What stands around the registry. Parts may read the API through their own in-process transport. */
export interface ServerParts {
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  /** In the order they run. */
  readonly admission?: readonly AdmissionPlugin[];
  /** By `services` or `deployments.apps`. */
  readonly hooks?: ReadonlyMap<string, WriteHooks>;
  readonly virtualResources?: readonly VirtualResource[];
  readonly subresourceHooks?: readonly SubresourceHook[];
  /** Resolves when the parts can judge requests, such as after their informers have synced. */
  ready?(): Promise<void>;
  close?(): void;
}

export type InProcess = (user: UserInfo) => Transport;

export interface ApiServerOptions {
  readonly store: Store;
  readonly kinds: readonly KindDefinition[];
  readonly listen: { readonly host: string; readonly port: number };
  readonly tls: TlsFiles;
  /** Built once the registry can be read, so that authorizers may watch the roles they judge by. */
  readonly parts: (inProcess: InProcess) => ServerParts;
  readonly kubelet?: KubeletConnection;
  readonly log: Log;
  /** What follows `v1.36.0` in the version: `+trellis` unless given. */
  readonly versionSuffix?: string;
}

export interface ApiServer {
  readonly port: number;
  /** The caller is believed to be this user; authorization applies. */
  inProcess: InProcess;
  /** Resolves when requests are judged by complete information. */
  ready(): Promise<void>;
  close(): Promise<void>;
}

// No vowels and none of the letters that look alike, so that no word arises.
const SUFFIX_LETTERS = 'bcdfghjklmnpqrstvwxz2456789';

export async function openApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const { store, kinds, listen, tls, log } = options;
  const feed = new Feed(store, kinds, log);
  await feed.open();

  let handler: Handler | undefined;
  const inProcess: InProcess = (user) =>
    openInProcess(async (request) => {
      // Parts may ask as soon as they are made; the handler is there before the next turn.
      await null;
      if (handler === undefined) throw new Error('the API was called while its server was being built');
      return handler(request);
    }, user);
  const parts = options.parts(inProcess);
  const machinery = machineryOf(options, feed, parts);
  let isReady = false;
  const paths = makePathHandler({
    ...machinery,
    version: versionInfo(options.versionSuffix ?? '+trellis'),
    ready: [{ name: 'informer-sync', failure: () => (isReady ? undefined : 'not synced') }],
  });
  handler = makeHandler({ machinery, gate: parts, paths });
  const ready = Promise.resolve(parts.ready?.()).then(() => {
    isReady = true;
  });
  ready.catch(() => {}); // told to whoever calls ready()

  const server = createHttpsServer({ tls, handler, log });
  try {
    await startListening(server, listen);
  } catch (error) {
    parts.close?.();
    feed.close();
    throw error;
  }
  return {
    port: (server.address() as AddressInfo).port,
    inProcess,
    ready: () => ready,
    async close() {
      parts.close?.();
      feed.close();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

function machineryOf(
  { store, kinds, kubelet, log }: ApiServerOptions,
  feed: Feed,
  parts: ServerParts,
): Machinery {
  return {
    store,
    feed,
    kinds,
    admission: parts.admission ?? [],
    hooks: parts.hooks ?? new Map(),
    virtualResources: parts.virtualResources ?? [],
    subresourceHooks: parts.subresourceHooks ?? [],
    kubelet,
    log,
    now: () => Date.now(),
    randomSuffix: (length) =>
      Array.from({ length }, () => SUFFIX_LETTERS[randomInt(SUFFIX_LETTERS.length)]).join(''),
    uid: () => randomUUID(),
  };
}

async function startListening(
  server: https.Server,
  { host, port }: ApiServerOptions['listen'],
): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) => reject(listenError(host, port, cause)));
    server.listen({ host, port, backlog: 1024 }, resolve);
  });
}

function versionInfo(suffix: string): VersionInfo {
  return {
    major: '1',
    minor: '36',
    gitVersion: `v1.36.0${suffix}`,
    gitCommit: '',
    gitTreeState: 'clean',
    buildDate: '1970-01-01T00:00:00Z',
    goVersion: '',
    compiler: `node ${process.version}`,
    platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
  };
}
