// Keeps one certificate of the kubelet current: asked for when there is none, and again before it runs out.
// Guarantees: the newest pair is told once each; a refusal is tried again later and ends nothing.
import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import type { PemPair } from '../../api/certificates/keyPair.js';
import type { Log } from '../../api/log.js';
import { backOffMs } from '../../base/backOff.js';
import { messageOf } from '../../base/errorMessage.js';
import type { Client } from '../../client/client.js';
import { sleep } from '../abort.js';
import type { CertificateWish } from './certificateRequest.js';
import type { CertificateStore } from './certificateStore.js';

const LONGEST_SLEEP_MS = 60 * 60 * 1000;
const RETRY = { firstMs: 1_000, longestMs: 5 * 60 * 1000 };

interface CertificateManagerOptions {
  readonly client: Client;
  readonly store: CertificateStore;
  readonly wish: () => CertificateWish;
  /** Hears of each new pair. */
  readonly renewed: (pair: PemPair) => void;
  readonly log: Log;
  readonly now?: () => number;
  readonly random?: () => number;
}

/** Between 70 and 90 percent of a certificate's life, so that nodes that began together do not ask together. */
export function rotationDeadline(cert: string, random: number): number {
  const { validFrom, validTo } = new X509Certificate(cert);
  const [from, to] = [Date.parse(validFrom), Date.parse(validTo)];
  return from + (to - from) * (0.7 + 0.2 * random);
}

/** A server's certificate must name every address it is reached by. */
export function covers(cert: string, hosts: readonly string[]): boolean {
  const parsed = new X509Certificate(cert);
  const names = (host: string) =>
    isIP(host) === 0 ? parsed.checkHost(host, { subject: 'never' }) : parsed.checkIP(host);
  return hosts.every((host) => names(host) !== undefined);
}

/** One whole try: key, request, wait, file. */
export async function renewCertificate(
  { client, store, wish, now = Date.now }: CertificateManagerOptions,
  signal: AbortSignal,
): Promise<PemPair> {
  // Loaded when it is needed: most kubelets ask for a certificate once a year.
  const { newKey, obtainCertificate } = await import('./certificateRequest.js');
  const key = await store.pendingKey(newKey);
  try {
    const pair = await obtainCertificate(client, wish(), key, signal);
    await store.update(pair, new Date(now()));
    return pair;
  } catch (error) {
    if ((error as { reason?: unknown }).reason === 'FailedCertificate') await store.dropPendingKey();
    throw error;
  }
}

/** Goes on until the signal ends it. */
export async function keepCertificate(
  options: CertificateManagerOptions,
  signal: AbortSignal,
): Promise<void> {
  const { store, wish, renewed, log, now = Date.now, random = Math.random } = options;
  const share = random();
  /** How long this certificate may still be used; 0 for one that must be replaced. */
  const leftMs = (pair: PemPair | undefined) =>
    pair === undefined || !covers(pair.cert, wish().hosts)
      ? 0
      : Math.max(0, rotationDeadline(pair.cert, share) - now());
  let tries = 0;
  while (!signal.aborted) {
    let waitMs = 0;
    try {
      waitMs = leftMs(await store.current());
      if (waitMs === 0) {
        const pair = await renewCertificate(options, signal);
        renewed(pair);
        log.info('a certificate was renewed', { file: store.currentFile });
        waitMs = leftMs(pair);
      }
    } catch (error) {
      if (signal.aborted) return;
      log.warn('a certificate could not be had', { file: store.currentFile, error: messageOf(error) });
    }
    // A signer that answers with what is already due must not be asked in circles either.
    if (waitMs === 0) waitMs = backOffMs(tries++, RETRY);
    else tries = 0;
    await sleep(Math.min(waitMs, LONGEST_SLEEP_MS), signal).catch(() => {}); // the loop's condition sees the signal
  }
}
