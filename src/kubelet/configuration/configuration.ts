// KubeletConfiguration v1beta1 and kubelet's flags together, as the settings of this kubelet. Pure.
// Guarantees: unknown fields, wrong values and what this kubelet does otherwise are refused with field and value; a flag
// wins over the file.
import { parseDocument } from 'yaml';
import { sameJson } from '../../api/ownKeys.js';
import { messageOf } from '../../base/errorMessage.js';
import { gateMapFault } from '../../base/featureGates.js';
import { type KnownFields, knownFields } from '../../base/knownFields.js';
import type { KubeletConfig } from '../config.js';
import { KubeletError } from '../error.js';
import { FIELDS, type Field, type ServerSettings } from './fields.js';
import { FIXED } from './fixed.js';

export interface KubeletSettings {
  readonly kubelet: Partial<KubeletConfig>;
  readonly server: ServerSettings;
}

const SERVER_DEFAULTS: ServerSettings = {
  tlsCertFile: '',
  tlsPrivateKeyFile: '',
  clientCAFile: '',
  anonymousAuth: false,
  tokenWebhook: true,
  authorizationMode: 'Webhook',
  containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
  certDir: '/var/lib/kubelet/pki',
  rotateCertificates: false,
  serverTLSBootstrap: false,
  loggingFormat: 'text',
  logVerbosity: 0,
  oomScoreAdj: -999,
};

type Values = Map<Field['target'], unknown>;

/** `flags` by their names without dashes, as they were typed. */
export function readSettings(options: {
  readonly file?: { readonly name: string; readonly text: string } | undefined;
  readonly flags: Readonly<Record<string, string>>;
}): KubeletSettings {
  const values: Values = new Map();
  if (options.file !== undefined) readFile(options.file, values);
  for (const [name, given] of Object.entries(options.flags)) {
    const field = FIELDS.find(({ flag }) => flag === name);
    if (field === undefined) throw new KubeletError('InvalidConfig', `unknown flag: --${name}`);
    values.set(field.target, field.kind.text(given, `--${name}`));
  }
  const all = Object.fromEntries(values);
  const isServer = (key: string) => key in SERVER_DEFAULTS;
  const pick = (wanted: (key: string) => boolean) =>
    Object.fromEntries(Object.entries(all).filter(([key]) => wanted(key)));
  const server = { ...SERVER_DEFAULTS, ...pick(isServer) };
  if ((server.tlsCertFile === '') !== (server.tlsPrivateKeyFile === ''))
    throw new KubeletError(
      'InvalidConfig',
      'tlsCertFile, tlsPrivateKeyFile: a certificate and its key belong together',
    );
  if (server.serverTLSBootstrap && server.tlsCertFile !== '')
    throw new KubeletError('InvalidConfig', 'serverTLSBootstrap: tlsCertFile already names a certificate');
  return { kubelet: pick((key) => !isServer(key)), server };
}

function readFile({ name, text }: { name: string; text: string }, values: Values): void {
  try {
    const root = parse(text);
    const { apiVersion, kind, ...fields } = root;
    if (apiVersion !== 'kubelet.config.k8s.io/v1beta1')
      throw wrong(
        `apiVersion: must be kubelet.config.k8s.io/v1beta1, not ${JSON.stringify(apiVersion) ?? 'nothing'}`,
      );
    if (kind !== 'KubeletConfiguration')
      throw wrong(`kind: must be KubeletConfiguration, not ${JSON.stringify(kind) ?? 'nothing'}`);
    readObject(fields, values);
  } catch (cause) {
    throw new KubeletError('InvalidConfig', `${name}: ${messageOf(cause)}`, { cause });
  }
}

function parse(text: string): Record<string, unknown> {
  const document = parseDocument(text);
  const [error] = document.errors;
  if (error !== undefined) throw wrong(error.message.trim());
  const value: unknown = document.toJS({ maxAliasCount: 100 });
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrong('is not an object');
  return value as Record<string, unknown>;
}

function readObject(object: object, values: Values): void {
  for (const [path, given] of knownFields(object, KNOWN)) {
    const field = FIELDS.find((one) => one.path === path);
    // What is zero says "the default" too, where zero makes no sense.
    if (field !== undefined) {
      if (!isDefault(path, given)) values.set(field.target, field.kind.value(given, path));
      continue;
    }
    const fault = gateMapFault(given);
    if (fault !== undefined) throw wrong(`${path}: ${fault}`);
  }
}

/** Each gate is a field of its own: see src/base/featureGates.ts. */
const GATES = 'featureGates';

const KNOWN: KnownFields = {
  read: new Set([GATES, ...FIELDS.flatMap(({ path }) => path ?? [])]),
  fixed: FIXED,
  isSame: sameJson,
  refuse: (path, why) => wrong(`${path}: ${why}`),
  unknown: (path, meant) => wrong(`unknown field "${path}"${meant}`),
};

/** Whose zero Kubernetes replaces by its default; kubeadm writes them all. */
const ZERO_IS_DEFAULT: ReadonlySet<string> = new Set([
  'fileCheckFrequency',
  'httpCheckFrequency',
  'syncFrequency',
  'nodeStatusUpdateFrequency',
  'nodeStatusReportFrequency',
  'imageMinimumGCAge',
  'evictionPressureTransitionPeriod',
  'containerRuntimeEndpoint',
  'containerLogMonitorInterval',
  'imagePullCredentialsVerificationPolicy',
]);

const isDefault = (path: string, given: unknown): boolean =>
  ZERO_IS_DEFAULT.has(path) && (given === '0s' || given === '');

const wrong = (why: string) => new KubeletError('InvalidConfig', why);
