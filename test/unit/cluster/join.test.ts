import { describe, expect, test } from 'vitest';
import type { V1Secret } from '../../../src/api/gen/types.js';
import type { Stored } from '../../../src/api/object.js';
import { argumentsToPass } from '../../../src/cli/cluster/running.js';
import { tokenTable } from '../../../src/cli/cluster/token.js';
import { caHash, isSignedBy } from '../../../src/cluster/join/discovery.js';
import {
  newToken,
  parseToken,
  tokenId,
  tokenSecret,
  tokenText,
  viewOf,
} from '../../../src/cluster/join/token.js';
import { makeAuthority } from '../../../src/cluster/pki/authority.js';
import { detachedSignature } from '../../../src/controllers/bootstrapTokens/tokens.js';

const TOKEN = { id: 'abcdef', secret: '0123456789abcdef' };

describe('a token', () => {
  test('has two parts', () => {
    expect(parseToken(' abcdef.0123456789abcdef\n')).toEqual(TOKEN);
    expect(tokenText(TOKEN)).toBe('abcdef.0123456789abcdef');
  });

  test.each([
    '',
    'abcdef',
    'qwerty.0123',
    'ABCDEF.0123456789abcdef',
    'qwerty.0123456789abcdef0',
    'abcde!.0123456789abcdef',
  ])('is not %j, and the refusal does not repeat it', (text) => {
    expect(() => parseToken(text)).toThrow(expect.objectContaining({ code: 'BAD_TOKEN' }));
    if (text.length > 6) expect(() => parseToken(text)).not.toThrow(text);
  });

  test('is known by its first part', () => {
    expect(tokenId('abcdef')).toBe('abcdef');
    expect(tokenId('abcdef.0123456789abcdef')).toBe('abcdef');
    expect(() => tokenId('abc')).toThrow();
  });

  test('is new every time', () => {
    const made = Array.from({ length: 100 }, newToken);
    expect(new Set(made.map(tokenText)).size).toBe(100);
    for (const token of made) expect(parseToken(tokenText(token))).toEqual(token);
  });

  test('is a Secret in the form of kubeadm, and is read back from one', () => {
    const secret = tokenSecret({
      token: TOKEN,
      expiresAt: Date.parse('2026-01-02T03:04:05.678Z'),
      description: 'd',
    });
    expect(secret).toMatchObject({
      metadata: { namespace: 'kube-system', name: 'bootstrap-token-abcdef' },
      type: 'bootstrap.kubernetes.io/token',
    });
    expect(viewOf(secret as Stored<V1Secret>)).toEqual({
      token: 'abcdef.0123456789abcdef',
      expires: '2026-01-02T03:04:05Z',
      usages: 'authentication,signing',
      description: 'd',
      groups: 'system:bootstrappers:kubeadm:default-node-token',
    });
  });

  test('is listed with the time it has left', () => {
    const view = { token: 't', usages: 'signing', description: '', groups: '' };
    const table = tokenTable(
      [
        { ...view, expires: '' },
        { ...view, expires: '2026-01-02T00:00:00Z' },
        { ...view, expires: '2025-01-01T00:00:00Z' },
      ],
      Date.parse('2026-01-01T22:00:00Z'),
    );
    expect(table.split('\n').map((line) => line.split(/ {3,}/).slice(0, 3))).toEqual([
      ['TOKEN', 'TTL', 'EXPIRES'],
      ['t', '<forever>', '<never>'],
      ['t', '120m', '2026-01-02T00:00:00Z'],
      ['t', '<expired>', '2025-01-01T00:00:00Z'],
      [''],
    ]);
  });

  test('vouches for what it has signed, and for nothing else', () => {
    const signature = detachedSignature('text', TOKEN);
    expect(isSignedBy(TOKEN, 'text', signature)).toBe(true);
    expect(isSignedBy(TOKEN, 'other', signature)).toBe(false);
    expect(isSignedBy({ ...TOKEN, secret: 'fedcba9876543210' }, 'text', signature)).toBe(false);
    expect(isSignedBy(TOKEN, 'text', '')).toBe(false);
  });

  test.each([
    [
      ['agent', '--token', 'a.b', '--detach', '--server', 'u'],
      ['agent', '--server', 'u'],
    ],
    [['agent', '--token=a.b', '-d'], ['agent']],
    [
      ['agent', '--token-file', 'f'],
      ['agent', '--token-file', 'f'],
    ],
  ])('is not handed on by arguments: %j', (words, passed) => {
    expect(argumentsToPass(words)).toEqual(passed);
  });
});

test("the hash of an authority is that of its public key, as kubeadm's", async () => {
  const { cert } = await makeAuthority('a', Date.now());
  expect(caHash(cert)).toMatch(/^sha256:[0-9a-f]{64}$/);
  expect(caHash(cert)).toBe(caHash(cert.trim()));
});
