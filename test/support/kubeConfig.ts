// What the stock JavaScript client connects with, as the administrator of a server of a test.
import { KubeConfig } from '@kubernetes/client-node';
import type { TestApiServer } from './testApiServer.js';

export function kubeConfigOf({ url, pki, admin }: Pick<TestApiServer, 'url' | 'pki' | 'admin'>): KubeConfig {
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const config = new KubeConfig();
  config.loadFromOptions({
    clusters: [{ name: 't', server: url, caData: base64(pki.ca) }],
    users: [{ name: 'u', certData: base64(admin.cert), keyData: base64(admin.key) }],
    contexts: [{ name: 'c', cluster: 't', user: 'u' }],
    currentContext: 'c',
  });
  return config;
}
