// A kubeconfig as text. Pure.
import type { PemPair } from '../api/certificates/keyPair.js';

interface KubeconfigOptions {
  readonly server: string;
  readonly ca: string;
  /** Who we are: a certificate, or a token. */
  readonly client: PemPair | { readonly token: string };
  readonly user: string;
}

/** With the certificates inside, so that the file can be copied to where the user wants it. JSON is YAML. */
export function kubeconfigText({ server, ca, client, user }: KubeconfigOptions): string {
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const context = `${user}@trellis`;
  const credentials =
    'token' in client
      ? client
      : { 'client-certificate-data': base64(client.cert), 'client-key-data': base64(client.key) };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'trellis', cluster: { server, 'certificate-authority-data': base64(ca) } }],
    users: [{ name: user, user: credentials }],
    contexts: [{ name: context, context: { cluster: 'trellis', user } }],
    'current-context': context,
  };
  return `${JSON.stringify(config, null, 2)}\n`;
}
