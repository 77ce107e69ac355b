// The flags by which a component that runs alone tells of itself.
import { describe, expect, test } from 'vitest';
import { type ServingFlags, servingOf } from '../../../src/cli/serving.js';

const of = (flags: ServingFlags) => servingOf(flags, { name: 'kube-scheduler', port: 10_259 });

describe('where health and metrics are served', () => {
  test('is nowhere with port 0', async () => {
    expect(await of({ securePort: '0' })).toBeUndefined();
  });
  test("is the component's port on all addresses, with a certificate of its own", async () => {
    const serving = await of({});
    expect(serving).toMatchObject({ host: '0.0.0.0', port: 10_259 });
    expect(serving?.tls.cert).toContain('BEGIN CERTIFICATE');
  });
  test.each([
    [{ securePort: '70000' }, '--secure-port: "70000" is not a port'],
    [{ securePort: '-1' }, '--secure-port: "-1" is not a port'],
    [{ bindAddress: 'here' }, '--bind-address: "here" is no IP address'],
    [{ tlsCertFile: '/x' }, '--tls-cert-file and --tls-private-key-file must be given together'],
    [{ clientCaFile: '/does/not/exist' }, '--client-ca-file: ENOENT'],
  ])('%j is refused', async (flags, message) => {
    await expect(of(flags)).rejects.toThrow(message);
  });
});
