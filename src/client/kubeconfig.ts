// Reading a kubeconfig: which server, which authority, who we are.
// Guarantees: every refusal names the file and the field; keys and tokens are in no message.
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { messageOf } from '../base/errorMessage.js';
import { ClientError } from './error.js';
import { type HttpsOptions, openHttps } from './httpTransport.js';
import type { Transport } from './transport.js';

type Fields = Readonly<Record<string, unknown>>;

/** Opens the server of a kubeconfig's context; the current one when none is named. */
export async function transportOf(kubeconfigPath: string, context?: string): Promise<Transport> {
  return openHttps(await readKubeconfig(kubeconfigPath, context));
}

export async function readKubeconfig(kubeconfigPath: string, context?: string): Promise<HttpsOptions> {
  const root = fieldsOf(await load(kubeconfigPath), 'the file', kubeconfigPath);
  const chosen = context ?? optionalText(root, 'current-context', '', kubeconfigPath) ?? '';
  if (chosen === '') throw refusal(kubeconfigPath, 'current-context is not set and no context was named');
  const at = `contexts[${chosen}].context`;
  const selected = entry(root, { list: 'contexts', name: chosen, field: 'context' }, kubeconfigPath);
  const clusterName = text(selected, 'cluster', at, kubeconfigPath);
  const userName = optionalText(selected, 'user', at, kubeconfigPath);
  const cluster = entry(root, { list: 'clusters', name: clusterName, field: 'cluster' }, kubeconfigPath);
  const user =
    userName === undefined
      ? {}
      : entry(root, { list: 'users', name: userName, field: 'user' }, kubeconfigPath);
  return {
    ...(await serverOptions(cluster, `clusters[${clusterName}].cluster`, kubeconfigPath)),
    ...(await userOptions(user, `users[${userName ?? ''}].user`, kubeconfigPath)),
  };
}

async function serverOptions(cluster: Fields, at: string, file: string): Promise<HttpsOptions> {
  const server = text(cluster, 'server', at, file);
  if (!/^https?:\/\//.test(server)) throw refusal(file, `${at}.server must begin with https:// or http://`);
  const ca = await bytes(cluster, 'certificate-authority', at, file);
  const tlsServerName = optionalText(cluster, 'tls-server-name', at, file);
  return {
    server,
    ...(ca === undefined ? {} : { ca }),
    ...(tlsServerName === undefined ? {} : { tlsServerName }),
    ...(cluster['insecure-skip-tls-verify'] === true ? { insecureSkipTlsVerify: true } : {}),
  };
}

async function userOptions(user: Fields, at: string, file: string): Promise<Partial<HttpsOptions>> {
  for (const field of ['exec', 'auth-provider', 'username']) {
    if (user[field] !== undefined) {
      throw refusal(file, `${at}.${field} is not supported; use a client certificate or a token`);
    }
  }
  const cert = await bytes(user, 'client-certificate', at, file);
  const key = await bytes(user, 'client-key', at, file);
  if ((cert === undefined) !== (key === undefined)) {
    const missing = cert === undefined ? 'client-certificate' : 'client-key';
    throw refusal(file, `${at}.${missing} is missing: a client certificate and its key belong together`);
  }
  const token = optionalText(user, 'token', at, file);
  const tokenFile = optionalText(user, 'tokenFile', at, file);
  return {
    ...(cert === undefined || key === undefined ? {} : { cert, key }),
    ...(token === undefined ? {} : { token }),
    ...(tokenFile === undefined ? {} : { tokenFile: beside(file, tokenFile) }),
  };
}

async function load(file: string): Promise<unknown> {
  let content: string;
  try {
    content = await readFile(file, 'utf8');
  } catch (cause) {
    throw new ClientError('CONFIG', `cannot read the kubeconfig: ${messageOf(cause)}`, { cause });
  }
  // Loaded when a file is read: components that were handed their identity keep no YAML in memory.
  const { parse } = await import('yaml');
  try {
    return parse(content);
  } catch {
    // No cause and no excerpt: the parser quotes the lines around a fault, and those may hold a key.
    throw refusal(file, 'it is not valid YAML');
  }
}

/** The bytes of `<field>-data` (base64), or of the file that `<field>` names, relative to the kubeconfig. */
async function bytes(fields: Fields, field: string, at: string, file: string): Promise<Buffer | undefined> {
  const data = optionalText(fields, `${field}-data`, at, file);
  if (data !== undefined) {
    if (!/^[A-Za-z0-9+/\s]+=*\s*$/.test(data)) throw refusal(file, `${at}.${field}-data is not base64`);
    return Buffer.from(data, 'base64');
  }
  const name = optionalText(fields, field, at, file);
  if (name === undefined) return undefined;
  try {
    return await readFile(beside(file, name));
  } catch (cause) {
    throw new ClientError('CONFIG', `kubeconfig ${file}: ${at}.${field}: ${messageOf(cause)}`, { cause });
  }
}

interface Wanted {
  readonly list: string;
  readonly name: string;
  readonly field: string;
}

function entry(root: Fields, { list, name, field }: Wanted, file: string): Fields {
  const entries = root[list];
  const found = Array.isArray(entries)
    ? entries.find(
        (item: unknown) => typeof item === 'object' && item !== null && (item as Fields)['name'] === name,
      )
    : undefined;
  if (found === undefined) throw refusal(file, `${list} has no entry named "${name}"`);
  return fieldsOf((found as Fields)[field], `${list}[${name}].${field}`, file);
}

function fieldsOf(value: unknown, at: string, file: string): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
  throw refusal(file, `${at} must be a mapping`);
}

function text(fields: Fields, field: string, at: string, file: string): string {
  const value = optionalText(fields, field, at, file);
  if (value === undefined) throw refusal(file, `${at}.${field} is missing`);
  return value;
}

/** Absent and empty are the same, as for kubectl. */
function optionalText(fields: Fields, field: string, at: string, file: string): string | undefined {
  const value = fields[field];
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value === 'string') return value;
  throw refusal(file, `${at === '' ? '' : `${at}.`}${field} must be text`);
}

function beside(file: string, name: string): string {
  return path.resolve(path.dirname(file), name);
}

function refusal(file: string, what: string): ClientError {
  return new ClientError('CONFIG', `kubeconfig ${file}: ${what}`);
}
