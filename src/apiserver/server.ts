// Opens an apiserver: caches filled, handler built, port opened.
// Guarantees: when it resolves the port answers; close() ends every connection and leaves the store open for its owner.
import { randomUUID } from 'node:crypto';
import { type Build, gitVersion, UNKNOWN_BUILD } from '../api/build.js';
import type { KindDefinition } from '../api/kind.js';
import { customResourceDefinitionKind } from '../api/kinds/customResource/definition.js';
import type { Log } from '../api/log.js';
import type { GroupVersionResource } from '../api/resources.js';
import { provideSchemaRules } from '../api/structural/schemaRules.js';
import { METRICS_TYPE, metricsText } from '../base/metrics.js';
import { checkRules } from '../cel/rules/checkRules.js';
import { makeValidator } from '../cel/rules/validator.js';
import { processMetrics } from '../client/processMetrics.js';
import type { Transport } from '../client/transport.js';
import type { Check, Store } from '../store/store.js';
import type { AdmissionPlugin } from './admission.js';
import { DefinitionLoop } from './customResources/definitionLoop.js';
import { Definitions } from './customResources/definitions.js';
import { Health } from './discovery/health.js';
import { makePathHandler, type VersionInfo } from './discovery/paths.js';
import { type ApiResponse, bytesResponse } from './exchange.js';
import { type Handler, makeHandler } from './handler.js';
import { type Address, Listeners, requireLoopback } from './http/listeners.js';
import type { TlsFiles } from './http/server.js';
import type { Authenticator, Authorizer, UserInfo } from './identity.js';
import { openInProcess } from './inProcess.js';
import { type InFlightOptions, makeInFlight } from './load/inFlight.js';
import { makePacing } from './load/pacing.js';
import { SlowChecks } from './load/slowChecks.js';
import { makeRequestMetrics } from './metrics/requests.js';
import { randomSuffix } from './randomSuffix.js';
import { Feed } from './registry/feed.js';
import { KeyedLock } from './registry/keyedLock.js';
import { beginTerm, type HeldLease } from './registry/terms.js';
import type {
  KubeletConnection,
  ServerContext,
  SubresourceHook,
  VirtualResource,
  WriteHooks,
} from './serverContext.js';
import { type Audit, makeSupervision } from './supervision.js';
import { usageResources } from './usage/resources.js';
import { makeServed } from './verbs/served.js';

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
  /** What these paths answer, such as /openid/v1/jwks; authorized as any other path. */
  readonly paths?: ReadonlyMap<string, () => ApiResponse>;
  /** Resolves when the parts can judge requests, such as after their informers have synced. */
  ready?(): Promise<void>;
  close?(): void;
}

export type InProcess = (user: UserInfo, term?: Check) => Transport;

export interface ApiServerOptions {
  readonly store: Store;
  readonly kinds: readonly KindDefinition[];
  readonly listen: Address;
  /** The host that discovery tells clients; the one it listens on unless given. */
  readonly externalHost?: string;
  /** Plain HTTP for anybody who reaches it, as system:masters. Refused unless it is loopback. */
  readonly insecure?: Address;
  readonly load?: InFlightOptions;
  readonly audit?: Audit;
  readonly tls: TlsFiles;
  /** Built once the registry can be read, so that authorizers may watch the roles they judge by. */
  readonly parts: (inProcess: InProcess) => ServerParts;
  readonly kubelet?: KubeletConnection;
  /** What of it all is served; all of it unless given. */
  isServed?(type: GroupVersionResource): boolean;
  readonly log: Log;
  /** What /version tells; nothing but the Kubernetes level unless given. */
  readonly build?: Build | undefined;
}

export interface ApiServer {
  readonly port: number;
  readonly insecurePort?: number;
  /** The caller is believed to be this user; authorization applies. */
  inProcess: InProcess;
  /**
   * Begins a term of the lease's holder, as the one writer of what is opened with it; undefined when the lease is no longer
   * as it was.
   */
  beginTerm(lease: HeldLease): Promise<Check | undefined>;
  /** Resolves when requests are judged by complete information. */
  ready(): Promise<void>;
  close(): Promise<void>;
}

export async function openApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const { store, kinds, insecure, log } = options;
  if (insecure !== undefined) requireLoopback(insecure);
  const feed = new Feed(store, kinds, log);
  await feed.open();
  const definitions = await openDefinitions(feed, kinds, log);
  const { inProcess, become } = beforeTheHandler();
  const parts = partsOf(options, inProcess, feed);
  const listeners = new Listeners();
  const ownPorts = () => listeners.ports();
  const server = withUsage({ ...serverContextOf(options, { feed, parts, definitions }), ownPorts });
  const definitionLoop = definitions === undefined ? undefined : new DefinitionLoop(server, definitions);
  for (const hooks of server.hooks.values()) hooks.start(server);
  definitionLoop?.start();
  const state = { isReady: false, isEnding: false };
  const handler = handlerOf(options, { feed, parts, definitions, server, listeners, state });
  become(handler);
  const ready = Promise.resolve(parts.ready?.()).then(() => {
    state.isReady = true;
  });
  ready.catch(() => {}); // told to whoever calls ready()
  const close = async () => {
    state.isEnding = true;
    for (const hooks of server.hooks.values()) hooks.stop();
    definitionLoop?.stop();
    definitions?.close();
    server.slowChecks.close();
    parts.close?.();
    feed.close();
    await listeners.close();
  };
  try {
    await listeners.open(options, handler);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    port: listeners.port,
    ...(listeners.insecurePort === undefined ? {} : { insecurePort: listeners.insecurePort }),
    inProcess,
    beginTerm: (lease) => beginTerm(store, lease),
    ready: () => ready,
    close,
  };
}

/** Parts may ask as soon as they are made; the handler is there before the next turn. */
function beforeTheHandler(): { readonly inProcess: InProcess; become(handler: Handler): void } {
  let handler: Handler | undefined;
  return {
    inProcess: (user, term) =>
      openInProcess(
        async (request) => {
          await null;
          if (handler === undefined) throw new Error('the API was called while its server was being built');
          return handler(request);
        },
        user,
        term,
      ),
    become: (made) => {
      handler = made;
    },
  };
}

interface HandlerDependencies extends Foundations {
  readonly server: ServerContext;
  readonly listeners: Listeners;
  readonly state: { readonly isReady: boolean; readonly isEnding: boolean };
}

/** What answers requests, with its metrics and its health. */
function handlerOf(
  options: ApiServerOptions,
  { feed, parts, definitions, server, listeners, state }: HandlerDependencies,
): Handler {
  const health = new Health({
    isStoreWatched: () => feed.isWatching,
    isReady: () => state.isReady,
    isEnding: () => state.isEnding,
  });
  const inFlight = makeInFlight(options.load);
  const { kinds, virtualResources, measuredResources } = server;
  const served = [...kinds.map(({ type }) => type), ...virtualResources, ...measuredResources];
  const metrics = makeRequestMetrics({ served, inFlight });
  const conversions = definitions?.conversionMetrics.families ?? [];
  const families = [...metrics.families, ...conversions, ...processMetrics()];
  const paths = makePathHandler({
    ...server,
    others: new Map([
      ...(parts.paths ?? []),
      ['/metrics', () => bytesResponse(200, Buffer.from(metricsText(families)), METRICS_TYPE)],
      ['/metrics/slis', () => bytesResponse(200, Buffer.from(health.metrics()), METRICS_TYPE)],
    ]),
    version: versionInfo(options.build ?? UNKNOWN_BUILD),
    health,
    serverAddress: () => hostAndPort(options.externalHost ?? options.listen.host, listeners.port),
  });
  const supervision = makeSupervision({ inFlight, metrics, audit: options.audit });
  return makeHandler({ server, gate: parts, paths, supervision, pacing: makePacing() });
}

function partsOf({ parts }: ApiServerOptions, inProcess: InProcess, feed: Feed): ServerParts {
  try {
    return parts(inProcess);
  } catch (error) {
    feed.close();
    throw error;
  }
}

const hostAndPort = (host: string, port: number): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;

/** A server that does not serve definitions has no kinds but its own. */
async function openDefinitions(
  feed: Feed,
  kinds: readonly KindDefinition[],
  log: Log,
): Promise<Definitions | undefined> {
  if (!kinds.includes(customResourceDefinitionKind)) return undefined;
  provideSchemaRules({ check: checkRules, compile: makeValidator });
  const definitions = new Definitions(feed, kinds, log);
  await definitions.open();
  return definitions;
}

interface Foundations {
  readonly feed: Feed;
  readonly parts: ServerParts;
  readonly definitions: Definitions | undefined;
}

function serverContextOf(
  { store, kinds, kubelet, log, isServed = () => true }: ApiServerOptions,
  { feed, parts, definitions }: Foundations,
): Omit<ServerContext, 'ownPorts'> {
  const builtIn = makeServed(kinds);
  return {
    store,
    feed,
    turns: new KeyedLock(),
    slowChecks: new SlowChecks(),
    kinds,
    definitions,
    served: (place) => builtIn(place) ?? definitions?.served(place),
    isServed,
    admission: parts.admission ?? [],
    hooks: parts.hooks ?? new Map(),
    virtualResources: parts.virtualResources ?? [],
    measuredResources: [],
    subresourceHooks: parts.subresourceHooks ?? [],
    kubelet,
    log,
    now: () => Date.now(),
    randomSuffix,
    uid: () => randomUUID(),
  };
}

/** Kubelets are asked what their pods use; a server that cannot reach them does not offer it. */
const withUsage = (server: ServerContext): ServerContext =>
  server.kubelet === undefined ? server : { ...server, measuredResources: usageResources(server) };

function versionInfo(build: Build): VersionInfo {
  return {
    major: '1',
    minor: '36',
    gitVersion: gitVersion(build),
    gitCommit: build.commit,
    gitTreeState: build.treeState,
    buildDate: build.date,
    goVersion: '',
    compiler: `node ${process.version}`,
    platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
  };
}
