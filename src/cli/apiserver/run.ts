// Opens what `trellis apiserver` was asked for, serves until the signal, and closes it.
// Guarantees: what no flag names is made in the data directory; admin.kubeconfig is written only when its certificate is believed.
import { readFile } from 'node:fs/promises';
import { isIP, isIPv6 } from 'node:net';
import { hostname } from 'node:os';
import { parse } from 'yaml';
import { KINDS } from '../../api/kinds/index.js';
import type { Log } from '../../api/log.js';
import { openAuditLog } from '../../apiserver/audit/auditLog.js';
import { readPolicy, uniformPolicy } from '../../apiserver/audit/policy.js';
import { reconcileBootstrapPolicy } from '../../apiserver/auth/bootstrapPolicy.js';
import { parseModes } from '../../apiserver/auth/modes.js';
import { bootstrap } from '../../apiserver/bootstrap.js';
import { APISERVER_USER, clusterParts } from '../../apiserver/clusterParts.js';
import { type ApiServer, openApiServer } from '../../apiserver/server.js';
import type { Audit } from '../../apiserver/supervision.js';
import { aborted } from '../../base/aborted.js';
import { openClient } from '../../client/typedClient.js';
import { ClusterError } from '../../cluster/error.js';
import { makePrivateDir, writePrivate } from '../../cluster/files.js';
import { kubeconfigText } from '../../cluster/kubeconfig.js';
import type { Layout } from '../../cluster/layout.js';
import { ensurePki, type Pki } from '../../cluster/pki/files.js';
import { nodeAddress } from '../../cluster/preflight.js';
import { serviceAddress } from '../../cluster/serviceAddress.js';
import { keepIdleMemorySmall } from '../../kernel/idleMemory.js';
import { openStoreAt } from '../../store/openStore.js';
import { makeLayout } from '../cluster/options.js';
import { tlsManner } from '../stock/tls.js';
import { trellisBuild } from '../version.js';
import { type ApiServerFlags, auditLevelOf, listOf } from './flags.js';
import { readRuntimeConfig } from './runtimeConfig.js';

interface RunOptions {
  readonly flags: ApiServerFlags;
  readonly signal: AbortSignal;
  readonly log: Log;
  told(text: string): void;
}

export async function runApiServer({ flags, signal, log, told }: RunOptions): Promise<void> {
  const layout = makeLayout(flags);
  const address = flags.advertiseAddress ?? advertised(flags);
  const pki = await ensurePki(pkiOptions(flags, layout, address));
  const audit = await openAudit(flags, log);
  await makePrivateDir(layout.storeDir);
  const stopReleasing = keepIdleMemorySmall();
  const store = await openStoreAt(flags, layout.storeDir);
  try {
    const apiserver = await openApiServer({
      ...(await serverOptions(flags, pki, log)),
      externalHost: address,
      store,
      ...audit,
    });
    try {
      await prepare(apiserver, flags, { address, clientCa: await readOr(flags.clientCaFile, pki.ca.cert) });
      told(await announce(apiserver, flags, layout, pki));
      await aborted(signal);
    } finally {
      await apiserver.close();
    }
  } finally {
    stopReleasing();
    await store.close();
    await audit.audit?.sink.close();
  }
}

/** What --runtime-config can speak of. */
const SERVED = KINDS.flatMap((kind) => [kind, ...(kind.versions ?? [])]).map(({ type }) => type);

const addressTypesOf = ({ kubeletPreferredAddressTypes: list }: ApiServerFlags) =>
  list === undefined ? {} : { addressTypes: listOf(list) };

const read = (file: string): Promise<string> => readFile(file, 'utf8');
const readOr = async (file: string | undefined, otherwise: string): Promise<string> =>
  file === undefined ? otherwise : read(file);

async function serverOptions(flags: ApiServerFlags, pki: Pki, log: Log) {
  const kubelet = pki.apiserverKubeletClient;
  return {
    kinds: KINDS,
    listen: { host: flags.bindAddress, port: flags.securePort },
    ...(flags.insecurePort === undefined
      ? {}
      : { insecure: { host: flags.insecureBindAddress, port: flags.insecurePort } }),
    tls: {
      cert: await readOr(flags.tlsCertFile, pki.apiserver.cert),
      key: await readOr(flags.tlsPrivateKeyFile, pki.apiserver.key),
      clientCa: await readOr(flags.clientCaFile, pki.ca.cert),
      ...tlsManner(flags),
    },
    load: { maxReading: flags.maxRequestsInflight, maxMutating: flags.maxMutatingRequestsInflight },
    kubelet: {
      cert: await readOr(flags.kubeletClientCertificate, kubelet.cert),
      key: await readOr(flags.kubeletClientKey, kubelet.key),
      ca: await readOr(flags.kubeletCertificateAuthority, pki.ca.cert),
      ...addressTypesOf(flags),
    },
    ...(flags.runtimeConfig === undefined
      ? {}
      : { isServed: readRuntimeConfig(flags.runtimeConfig, SERVED) }),
    parts: clusterParts({ ...(await securityOptions(flags, pki)), log }),
    log,
    build: trellisBuild(),
  };
}

async function securityOptions(flags: ApiServerFlags, pki: Pki) {
  const optional = async (key: string, file: string | undefined) =>
    file === undefined ? {} : { [key]: await read(file) };
  return {
    serviceAccountKeyPem: await readOr(flags.serviceAccountSigningKeyFile, pki.serviceAccountKey),
    olderKeysPem: await Promise.all((flags.serviceAccountKeyFile ?? []).map(read)),
    issuer: flags.serviceAccountIssuer,
    ...(flags.serviceAccountJwksUri === undefined ? {} : { jwksUri: flags.serviceAccountJwksUri }),
    ...(flags.apiAudiences === undefined ? {} : { audiences: listOf(flags.apiAudiences) }),
    ...(await optional('tokenFile', flags.tokenAuthFile)),
    ...(await optional('basicAuthFile', flags.basicAuthFile)),
    ...(await optional('policyFile', flags.authorizationPolicyFile)),
    ...(flags.serviceAccountMaxTokenExpiration === undefined || flags.serviceAccountMaxTokenExpiration === 0
      ? {}
      : { maxTokenSeconds: flags.serviceAccountMaxTokenExpiration / 1000 }),
    bootstrapTokens: flags.enableBootstrapTokenAuth === true,
    allowAnonymous: flags.anonymousAuth ?? true,
    modes: parseModes(flags.authorizationMode ?? 'Node,RBAC'),
    admission: {
      enable: listOf(flags.enableAdmissionPlugins),
      disable: listOf(flags.disableAdmissionPlugins),
    },
    ...(flags.eventTtl === undefined ? {} : { eventTtlMs: flags.eventTtl }),
    serviceCidrs: listOf(flags.serviceClusterIpRange),
    nodePortRange: flags.serviceNodePortRange,
  };
}

async function openAudit(flags: ApiServerFlags, log: Log): Promise<{ audit?: Audit }> {
  const { auditLogPath: path, auditPolicyFile, auditLogMaxsize, auditLogMaxbackup } = flags;
  if (path === undefined) return {};
  const policy =
    auditPolicyFile === undefined
      ? uniformPolicy(auditLevelOf(flags))
      : readPolicy(parse(await read(auditPolicyFile)));
  const sink = openAuditLog({ path, maxSizeMb: auditLogMaxsize, maxBackups: auditLogMaxbackup, log });
  return { audit: { policy, sink } };
}

function pkiOptions(flags: ApiServerFlags, layout: Layout, address: string) {
  const nodeName = hostname().toLowerCase();
  const names = ['kubernetes', 'kubernetes.default', 'kubernetes.default.svc'];
  return {
    dir: layout.pkiDir,
    nodeName,
    apiserverHosts: [
      ...names,
      'kubernetes.default.svc.cluster.local',
      'localhost',
      nodeName,
      '127.0.0.1',
      '::1',
      address,
      serviceIp(flags),
      ...(isIP(flags.bindAddress) === 0 || UNSPECIFIED.includes(flags.bindAddress)
        ? []
        : [flags.bindAddress]),
    ],
    nodeHosts: [nodeName, address, '127.0.0.1', 'localhost'],
    now: Date.now(),
  };
}

function serviceIp({ serviceClusterIpRange }: ApiServerFlags): string {
  return serviceAddress({ serviceCidr: listOf(serviceClusterIpRange)[0] ?? '' }, 1);
}

/** A server that listens on one address is reached there. */
const advertised = ({ bindAddress }: ApiServerFlags): string =>
  isIP(bindAddress) === 0 || UNSPECIFIED.includes(bindAddress) ? reachableAddress() : bindAddress;

/** A machine without a network serves itself. */
function reachableAddress(): string {
  try {
    return nodeAddress();
  } catch (error) {
    if (error instanceof ClusterError && error.code === 'NO_ADDRESS') return '127.0.0.1';
    throw error;
  }
}

async function prepare(
  apiserver: ApiServer,
  flags: ApiServerFlags,
  known: { readonly address: string; readonly clientCa: string },
): Promise<void> {
  await apiserver.ready();
  const client = openClient(apiserver.inProcess(APISERVER_USER));
  await bootstrap(client, {
    ...known,
    port: apiserver.port,
    serviceCidrs: listOf(flags.serviceClusterIpRange),
  });
  await reconcileBootstrapPolicy(client);
}

async function announce(
  { port, insecurePort }: ApiServer,
  { bindAddress, tlsCertFile, clientCaFile, insecureBindAddress }: ApiServerFlags,
  { adminKubeconfig }: Layout,
  { ca, admin }: Pki,
): Promise<string> {
  const server = `https://${localHost(bindAddress)}:${port}`;
  const plain =
    insecurePort === undefined
      ? ''
      : `Anybody on this machine is an administrator at http://${insecureBindAddress}:${insecurePort}\n`;
  if (tlsCertFile !== undefined || clientCaFile !== undefined) return `Serving at ${server}\n${plain}`;
  await writePrivate(
    adminKubeconfig,
    kubeconfigText({ server, ca: ca.cert, client: admin, user: 'kubernetes-admin' }),
  );
  return `Serving at ${server}\n${plain}Try: kubectl --kubeconfig ${adminKubeconfig} get namespaces\n`;
}

const UNSPECIFIED = ['', '::', '0.0.0.0'];

/** Where the server is reached from this machine: on loopback, unless it listens elsewhere. */
export function localHost(bindAddress: string): string {
  if (UNSPECIFIED.includes(bindAddress)) return '127.0.0.1';
  return isIPv6(bindAddress) ? `[${bindAddress}]` : bindAddress;
}
