// kubectl against an apiserver for custom resources, both for all tests of a file.
import { afterAll, beforeAll } from 'vitest';
import { type CustomServer, startCustomServer } from './customResources.js';
import { type Kubectl, openKubectl } from './kubectl.js';

/** To be called in a `describe`; the tests ask the returned function for both. */
export function customServerWithKubectl(): () => {
  readonly server: CustomServer;
  readonly kubectl: Kubectl;
} {
  let server: CustomServer;
  let kubectl: Kubectl;
  beforeAll(async () => {
    server = await startCustomServer();
    kubectl = await openKubectl(server.api.url, server.api.pki.ca, server.api.admin);
  });
  afterAll(async () => {
    await kubectl?.close();
    await server?.close();
  });
  return () => ({ server, kubectl });
}
