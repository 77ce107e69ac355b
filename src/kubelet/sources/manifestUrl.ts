// Static pods from a URL: one pod or a list of them, asked for again and again.
// Guarantees: an answer that cannot be had or is wrong leaves the pods as they were; at most 1 MiB is read.

import type { Log } from '../../api/log.js';
import { collectBytes } from '../../base/collectBytes.js';
import { LONGEST_TIMER_MS } from '../../base/deadline.js';
import { messageOf } from '../../base/errorMessage.js';
import { KubeletError } from '../error.js';
import type { Pod } from '../ports.js';
import { parseManifest, splitManifest } from './manifest.js';

interface ManifestUrlOptions {
  readonly url: string;
  readonly nodeName: string;
  readonly checkFrequencyMs: number;
  readonly now: () => number;
  readonly log: Log;
  /** Every pod that the URL answers. */
  readonly changed: (pods: readonly Pod[]) => void;
}

const ANSWER = {
  most: 1 << 20,
  tooLarge: () => new KubeletError('InvalidManifest', 'the answer is larger than 1 MiB'),
};
const TIMEOUT_MS = 10_000;

export class ManifestUrl {
  readonly #options: ManifestUrlOptions;

  #timer: NodeJS.Timeout | undefined;
  readonly #ending = new AbortController();
  #last = '';

  constructor(options: ManifestUrlOptions) {
    this.#options = options;
  }

  /** Resolves after the first look. */
  async start(): Promise<void> {
    await this.look();
    if (this.#ending.signal.aborted) return;
    this.#timer = setTimeout(
      () => void this.start(),
      Math.min(this.#options.checkFrequencyMs, LONGEST_TIMER_MS),
    );
  }

  stop(): void {
    this.#ending.abort();
    clearTimeout(this.#timer);
  }

  async look(): Promise<void> {
    const { url, nodeName, now, log, changed } = this.#options;
    try {
      const text = await this.#fetch();
      if (text === this.#last) return;
      const pods = splitManifest(text, safe(url)).map((one) =>
        parseManifest(one, { file: safe(url), source: 'http', nodeName, now: now() }),
      );
      this.#last = text;
      changed(pods);
    } catch (error) {
      if (!this.#ending.signal.aborted)
        log.error('cannot read the manifest URL', { url: safe(url), error: messageOf(error) });
    }
  }

  async #fetch(): Promise<string> {
    const signal = AbortSignal.any([this.#ending.signal, AbortSignal.timeout(TIMEOUT_MS)]);
    const url = new URL(this.#options.url);
    // A name and a password go into a header: nobody who prints the URL then prints them.
    const given = [url.username, url.password].map(decodeURIComponent).join(':');
    const headers: Record<string, string> =
      given === ':' ? {} : { authorization: `Basic ${Buffer.from(given).toString('base64')}` };
    const answer = await fetch(safe(this.#options.url) + url.search, { signal, headers });
    if (!answer.ok) throw new KubeletError('InvalidManifest', `the answer is ${answer.status}`);
    const bytes = await collectBytes(answer.body ?? [], ANSWER);
    if (bytes.length === 0) throw new KubeletError('InvalidManifest', 'the answer is empty');
    return bytes.toString();
  }
}

/** Without a password that the URL may hold. */
function safe(url: string): string {
  return URL.canParse(url) ? `${new URL(url).origin}${new URL(url).pathname}` : 'not a URL';
}
