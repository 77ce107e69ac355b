// A kubelet's certificate and key on disk, where stock kubelets have them: `<prefix>-current.pem` leads to the newest.
// Guarantees: files are readable by root alone; the link is swapped at once, so a reader finds a whole pair or none.
import { X509Certificate } from 'node:crypto';
import { mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { PemPair } from '../../api/certificates/keyPair.js';
import { isMissing } from '../volumes/files.js';

export class CertificateStore {
  readonly #directory: string;
  readonly #prefix: 'kubelet-client' | 'kubelet-server';

  /** Certificate first, then its key, in one file. */
  readonly currentFile: string;
  readonly #pendingFile: string;

  constructor(directory: string, prefix: 'kubelet-client' | 'kubelet-server') {
    this.#directory = directory;
    this.#prefix = prefix;

    this.currentFile = path.join(directory, `${prefix}-current.pem`);
    this.#pendingFile = path.join(directory, `${prefix}.key.tmp`);
  }

  /** Undefined when there is none, or none that can be read. */
  async current(): Promise<PemPair | undefined> {
    const text = await readIfThere(this.currentFile);
    const key = /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]+?-----END [A-Z ]*PRIVATE KEY-----\n?/.exec(
      text ?? '',
    );
    if (text === undefined || key === null) return undefined;
    const cert = text.replace(key[0], '');
    try {
      new X509Certificate(cert);
      return { cert, key: key[0] };
    } catch {
      return undefined; // written by another hand, or cut off: asked for anew
    }
  }

  async update({ cert, key }: PemPair, now: Date): Promise<void> {
    const stamp = now.toISOString().slice(0, 23).replace(/[T:.]/g, '-');
    const name = `${this.#prefix}-${stamp}.pem`;
    await this.#write(path.join(this.#directory, name), `${cert.trimEnd()}\n${key.trimEnd()}\n`);
    const link = `${this.currentFile}.new`;
    await rm(link, { force: true });
    await symlink(name, link);
    await rename(link, this.currentFile);
    await rm(this.#pendingFile, { force: true });
  }

  /** The key of a request that is under way, also of one that an earlier process has made. */
  async pendingKey(make: () => string): Promise<string> {
    const kept = await readIfThere(this.#pendingFile);
    if (kept !== undefined) return kept;
    const key = make();
    await this.#write(this.#pendingFile, key);
    return key;
  }

  /** The request was refused: its key asks no more. */
  async dropPendingKey(): Promise<void> {
    await rm(this.#pendingFile, { force: true });
  }

  async #write(file: string, text: string): Promise<void> {
    await mkdir(this.#directory, { recursive: true, mode: 0o750 });
    await rm(`${file}.new`, { force: true });
    await writeFile(`${file}.new`, text, { mode: 0o600, flag: 'wx' });
    await rename(`${file}.new`, file);
  }
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
