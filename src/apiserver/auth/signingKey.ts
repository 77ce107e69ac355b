// Keys of service account tokens: their algorithm, their id, and their public part as a JSON web key set.
// Guarantees: a key's id is the digest of its public half, so two servers with one key agree on it.
import { createHash, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { AuthConfigError } from './error.js';

export interface VerificationKey {
  readonly keyId: string;
  readonly algorithm: 'ES256' | 'RS256';
  readonly key: KeyObject;
}

export interface SigningKey extends VerificationKey {
  readonly publicKey: KeyObject;
}

export function readSigningKey(privateKeyPem: string, keyId?: string): SigningKey {
  const key = createPrivateKey(privateKeyPem);
  const publicKey = createPublicKey(key);
  return { key, publicKey, algorithm: algorithmOf(publicKey), keyId: keyId ?? idOf(publicKey) };
}

/** Takes a public key, a certificate or a private key, as kube-apiserver's --service-account-key-file does. */
export function readVerificationKey(pem: string, keyId?: string): VerificationKey {
  const key = createPublicKey(pem);
  return { key, algorithm: algorithmOf(key), keyId: keyId ?? idOf(key) };
}

/** What /openid/v1/jwks answers. */
export function jsonWebKeySet(keys: readonly VerificationKey[]): { readonly keys: readonly object[] } {
  return {
    keys: keys.map(({ key, keyId, algorithm }) => ({
      use: 'sig',
      ...publicPart(key),
      kid: keyId,
      alg: algorithm,
    })),
  };
}

/** What /.well-known/openid-configuration answers. */
export function openIdConfiguration({ issuer, jwksUri }: { issuer: string; jwksUri: string }): object {
  return {
    issuer,
    jwks_uri: jwksUri,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256', 'ES256'],
  };
}

function publicPart(key: KeyObject): object {
  return (key.type === 'public' ? key : createPublicKey(key)).export({ format: 'jwk' });
}

function idOf(publicKey: KeyObject): string {
  const der = publicKey.export({ type: 'spki', format: 'der' });
  return createHash('sha256').update(der).digest('base64url');
}

function algorithmOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): 'ES256' | 'RS256' {
  if (asymmetricKeyType === 'rsa') return 'RS256';
  if (asymmetricKeyType === 'ec' && asymmetricKeyDetails?.namedCurve === 'prime256v1') return 'ES256';
  throw new AuthConfigError(
    'SIGNING_KEY',
    'a service account key must be RSA or an elliptic curve key on P-256',
  );
}
