// The flags of `trellis apiserver`: kube-apiserver's names, read into what the server is opened with. Pure.
// Guarantees: what cannot work together is refused before anything is opened.
import type { LogFormat } from '../../api/log.js';
import { AUDIT_LEVELS, type AuditLevel } from '../../apiserver/audit/policy.js';
import { ClusterError } from '../../cluster/error.js';
import type { DataDirOption } from '../cluster/options.js';
import type { TlsFlags } from '../stock/tls.js';

export interface ApiServerFlags extends DataDirOption, TlsFlags {
  readonly loggingFormat?: LogFormat;
  readonly v?: number;
  readonly securePort: number;
  readonly bindAddress: string;
  readonly advertiseAddress?: string;
  readonly insecurePort?: number;
  readonly insecureBindAddress: string;
  readonly tlsCertFile?: string;
  readonly tlsPrivateKeyFile?: string;
  readonly clientCaFile?: string;
  readonly serviceAccountKeyFile?: readonly string[];
  readonly serviceAccountSigningKeyFile?: string;
  readonly serviceAccountIssuer: string;
  readonly serviceAccountJwksUri?: string;
  readonly apiAudiences?: string;
  readonly serviceClusterIpRange: string;
  readonly serviceNodePortRange: string;
  readonly authorizationMode?: string;
  readonly authorizationPolicyFile?: string;
  readonly tokenAuthFile?: string;
  readonly basicAuthFile?: string;
  readonly enableBootstrapTokenAuth?: boolean;
  readonly anonymousAuth?: boolean;
  readonly enableAdmissionPlugins?: string;
  readonly disableAdmissionPlugins?: string;
  readonly runtimeConfig?: string;
  readonly serviceAccountMaxTokenExpiration?: number;
  readonly eventTtl?: number;
  readonly auditLogPath?: string;
  readonly auditPolicyFile?: string;
  readonly auditLevel: string;
  readonly auditLogMaxsize: number;
  readonly auditLogMaxbackup: number;
  readonly maxRequestsInflight: number;
  readonly maxMutatingRequestsInflight: number;
  readonly kubeletClientCertificate?: string;
  readonly kubeletClientKey?: string;
  readonly kubeletCertificateAuthority?: string;
  readonly kubeletPreferredAddressTypes?: string;
  readonly etcdServers?: string;
  readonly etcdCafile?: string;
  readonly etcdCertfile?: string;
  readonly etcdKeyfile?: string;
}

/** Files that are given together or not at all. */
const TOGETHER: readonly (readonly [keyof ApiServerFlags, keyof ApiServerFlags])[] = [
  ['tlsCertFile', 'tlsPrivateKeyFile'],
  ['kubeletClientCertificate', 'kubeletClientKey'],
  ['etcdCertfile', 'etcdKeyfile'],
];

export function checkFlags(flags: ApiServerFlags): void {
  for (const [one, other] of TOGETHER)
    if ((flags[one] === undefined) !== (flags[other] === undefined))
      throw refused(`${flagOf(one)} and ${flagOf(other)} must be given together`);
  if (flags.etcdServers === undefined && (flags.etcdCafile ?? flags.etcdCertfile) !== undefined)
    throw refused('etcd certificates need --etcd-servers');
  if (flags.auditPolicyFile !== undefined && flags.auditLogPath === undefined)
    throw refused('--audit-policy-file needs --audit-log-path');
  if (flags.serviceAccountKeyFile !== undefined && flags.serviceAccountSigningKeyFile === undefined)
    throw refused('--service-account-key-file needs --service-account-signing-key-file');
}

export function auditLevelOf({ auditLevel }: ApiServerFlags): AuditLevel {
  const level = AUDIT_LEVELS.find((known) => known === auditLevel);
  if (level !== undefined) return level;
  throw refused(`--audit-level: "${auditLevel}" is not one of ${AUDIT_LEVELS.join(', ')}`);
}

export const listOf = (text: string | undefined): readonly string[] =>
  (text ?? '')
    .split(',')
    .map((one) => one.trim())
    .filter(Boolean);

/** `tlsCertFile` is --tls-cert-file. */
function flagOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

const refused = (why: string) => new ClusterError('BAD_OPTION', why);
