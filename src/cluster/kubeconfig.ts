// A kubeconfig as text. Pure.
import type { Pem } from './pki/authority.js';

export interface KubeconfigOptions {
  readonly server: string;
  readonly ca: string;
  readonly client: Pem;
  readonly user: string;
}

/** With the certificates inside, so that the file can be copied to where the user wants it. JSON is YAML. */
export function kubeconfigText({ server, ca, client, user }: KubeconfigOptions): string {
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const context = `${user}@trellis`;
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'trellis', cluster: { server, 'certificate-authority-data': base64(ca) } }],
    users: [
      {
        name: user,
        user: { 'client-certificate-data': base64(client.cert), 'client-key-data': base64(client.key) },
      },
    ],
    contexts: [{ name: context, context: { cluster: 'trellis', user } }],
    'current-context': context,
  };
  return `${JSON.stringify(config, null, 2)}\n`;
}
