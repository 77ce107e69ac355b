// The names of cipher suites as Kubernetes writes them, and as OpenSSL does. Pure.
// Guarantees: a name that is not here is not offered; those of TLS 1.3 are always on, as in Kubernetes.

const TLS13 = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'] as const;
const TLS12: Readonly<Record<string, string>> = Object.fromEntries(
  ['ECDSA', 'RSA'].flatMap((key) => [
    [`TLS_ECDHE_${key}_WITH_AES_128_GCM_SHA256`, `ECDHE-${key}-AES128-GCM-SHA256`],
    [`TLS_ECDHE_${key}_WITH_AES_256_GCM_SHA384`, `ECDHE-${key}-AES256-GCM-SHA384`],
    [`TLS_ECDHE_${key}_WITH_CHACHA20_POLY1305`, `ECDHE-${key}-CHACHA20-POLY1305`],
    [`TLS_ECDHE_${key}_WITH_CHACHA20_POLY1305_SHA256`, `ECDHE-${key}-CHACHA20-POLY1305`],
    [`TLS_ECDHE_${key}_WITH_AES_128_CBC_SHA`, `ECDHE-${key}-AES128-SHA`],
    [`TLS_ECDHE_${key}_WITH_AES_256_CBC_SHA`, `ECDHE-${key}-AES256-SHA`],
  ]),
);

export const CIPHER_SUITES: readonly string[] = [...TLS13, ...Object.keys(TLS12)];

/** For `tls.createSecureContext`; undefined when nothing was chosen. */
export function cipherList(suites: readonly string[]): string | undefined {
  if (suites.length === 0) return undefined;
  return [...TLS13, ...new Set(suites.flatMap((name) => TLS12[name] ?? []))].join(':');
}
