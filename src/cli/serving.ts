// Flags for the HTTPS server (health, metrics) of a component that runs alone, and the settings they result in.
// Guarantees: a wrong file or flag is told before anything starts; without a certificate one is made for this run.
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import os from 'node:os';
import type { Command } from 'commander';
import type { PemPair } from '../api/certificates/keyPair.js';
import { messageOf } from '../base/errorMessage.js';
import { ClientError } from '../client/error.js';
import { transportOf } from '../client/kubeconfig.js';
import type { Serving } from '../client/serving.js';
import { openClient } from '../client/typedClient.js';
import { type TlsFlags, tlsManner, tlsOptions } from './stock/tls.js';

export interface ServingFlags extends TlsFlags {
  readonly bindAddress?: string;
  readonly securePort?: string;
  readonly tlsCertFile?: string;
  readonly tlsPrivateKeyFile?: string;
  readonly clientCaFile?: string;
  readonly authenticationKubeconfig?: string;
  readonly authorizationKubeconfig?: string;
}

/** Kubernetes' name of the component, and its port. */
interface ServedName {
  readonly name: string;
  readonly port: number;
}

export function withServingFlags(command: Command, { port }: ServedName): Command {
  command
    .option('--bind-address <ip>', 'address that serves health and metrics (default: 0.0.0.0)')
    .option('--secure-port <port>', `HTTPS port for them; 0 turns them off (default: ${port})`)
    .option('--tls-cert-file <file>', 'serving certificate (default: self-signed, for this run)')
    .option('--tls-private-key-file <file>', 'the key of --tls-cert-file')
    .option('--client-ca-file <file>', 'CA used to authenticate client certificates')
    .option(
      '--authentication-kubeconfig <file>',
      'kubeconfig for token reviews (default: that of --kubeconfig)',
    )
    .option(
      '--authorization-kubeconfig <file>',
      'kubeconfig for access reviews (default: that of --kubeconfig)',
    );
  for (const option of tlsOptions()) command.addOption(option);
  return command;
}

const wrong = (message: string, cause?: unknown) => new ClientError('CONFIG', message, { cause });

/** Undefined when nothing is to be served. */
export async function servingOf(flags: ServingFlags, component: ServedName): Promise<Serving | undefined> {
  const { bindAddress: host = '0.0.0.0', tlsCertFile, tlsPrivateKeyFile } = flags;
  const { securePort = String(component.port) } = flags;
  const port = Number(securePort);
  if (!/^\d+$/.test(securePort) || port > 65_535)
    throw wrong(`--secure-port: ${JSON.stringify(securePort)} is not a port`);
  if (isIP(host) === 0) throw wrong(`--bind-address: ${JSON.stringify(host)} is no IP address`);
  if ((tlsCertFile === undefined) !== (tlsPrivateKeyFile === undefined))
    throw wrong('--tls-cert-file and --tls-private-key-file must be given together');
  if (port === 0) return undefined;
  const pair =
    tlsCertFile === undefined || tlsPrivateKeyFile === undefined
      ? await ownCertificate(component.name, host)
      : {
          cert: await read('--tls-cert-file', tlsCertFile),
          key: await read('--tls-private-key-file', tlsPrivateKeyFile),
        };
  const { clientCaFile, authenticationKubeconfig, authorizationKubeconfig } = flags;
  const clientCa =
    clientCaFile === undefined ? {} : { clientCa: await read('--client-ca-file', clientCaFile) };
  const reviewer = async (file: string | undefined) =>
    file === undefined ? undefined : openClient(await transportOf(file));
  return {
    host,
    port,
    tls: { ...pair, ...clientCa, ...tlsManner(flags) },
    tokens: await reviewer(authenticationKubeconfig),
    rights: await reviewer(authorizationKubeconfig),
  };
}

/** As Kubernetes' components do without files: good for this run, known to nobody. */
async function ownCertificate(name: string, host: string): Promise<PemPair> {
  const { issue, makeAuthority } = await import('../cluster/pki/authority.js');
  const now = Date.now();
  const authority = await makeAuthority(`${name}-ca@${Math.floor(now / 1000)}`, now);
  const hosts = ['localhost', '127.0.0.1', os.hostname(), ...(host === '0.0.0.0' ? [] : [host])];
  return issue(authority, { commonName: name, hosts: [...new Set(hosts)] }, now);
}

async function read(flag: string, file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw wrong(`${flag}: ${messageOf(cause)}`, cause);
  }
}
