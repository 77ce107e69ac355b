// Which signatures cluster-info should have.
import { compactVerify } from 'jose';
import { describe, expect, test } from 'vitest';
import { nextExpiryInMs, signedData } from '../../../../src/controllers/bootstrapTokens/signer.js';
import { signingTokenOf, type TokenSecret } from '../../../../src/controllers/bootstrapTokens/tokens.js';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const TOKEN = { id: 'abcdef', secret: '0123456789abcdef' };
const KUBECONFIG = 'apiVersion: v1\nkind: Config\n';

const secret = (data: Record<string, string>, name = 'bootstrap-token-abcdef') =>
  ({
    metadata: { name, namespace: 'kube-system', uid: 'u', resourceVersion: '1' },
    type: 'bootstrap.kubernetes.io/token',
    data: Object.fromEntries(
      Object.entries({
        'token-id': TOKEN.id,
        'token-secret': TOKEN.secret,
        'usage-bootstrap-signing': 'true',
        ...data,
      }).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
    ),
  }) as unknown as TokenSecret;

describe('signatures', () => {
  test('another reader of JWS finds good once the content is put back', async () => {
    const data = signedData({ kubeconfig: KUBECONFIG }, [TOKEN]);
    const [header, , signature] = (data?.['jws-kubeconfig-abcdef'] ?? '').split('.');
    const jws = [header, Buffer.from(KUBECONFIG).toString('base64url'), signature].join('.');
    const { protectedHeader } = await compactVerify(jws, Buffer.from(TOKEN.secret));
    expect(protectedHeader).toEqual({ alg: 'HS256', kid: 'abcdef' });
    await expect(compactVerify(jws, Buffer.from('another-secret--'))).rejects.toThrow();
  });

  test('are written once, and go with their token or their content', () => {
    const signed = signedData({ kubeconfig: KUBECONFIG }, [TOKEN]) ?? {};
    expect(signedData(signed, [TOKEN])).toBeUndefined();
    expect(signedData(signed, [])).toEqual({ kubeconfig: KUBECONFIG });
    const { kubeconfig: _, ...rest } = signed;
    expect(signedData(rest, [TOKEN])).toEqual({});
  });
});

describe('tokens that may sign', () => {
  test.each<[string, TokenSecret, boolean]>([
    ['a good one', secret({}), true],
    ['one that ends later', secret({ expiration: '2026-01-01T00:00:01Z' }), true],
    ['not one that has ended', secret({ expiration: '2025-12-31T00:00:00Z' }), false],
    ['not one whose end cannot be read', secret({ expiration: 'soon' }), false],
    ['not one for authentication only', secret({ 'usage-bootstrap-signing': 'false' }), false],
    ['not one under a name of another', secret({}, 'bootstrap-token-ghijkl'), false],
  ])('%s', (_, token, may) => {
    expect(signingTokenOf(token, NOW)).toEqual(may ? TOKEN : undefined);
  });

  test('are looked at again when the first of them ends', () => {
    const ending = secret({ expiration: '2026-01-01T00:01:00Z' });
    expect(nextExpiryInMs([secret({}), ending], NOW)).toBe(60_000);
    expect(nextExpiryInMs([secret({})], NOW)).toBeUndefined();
  });
});
