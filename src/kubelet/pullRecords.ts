// What this kubelet has pulled and with what, in memory and below its root directory, in the files of Kubernetes' kubelet.
// Guarantees: no credential is written, only hashes; a file is whole or not there; one that cannot be read is logged and
// counts as a pull with unknown credentials, never as an image that somebody else put on the node.
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Log } from '../api/log.js';
import { messageOf } from '../base/errorMessage.js';
import type { ImageService } from '../cri/runtime.js';
import type { KubeletConfig } from './config.js';
import {
  mayUse,
  type PullCredential,
  type PullersByRepository,
  type PullSecret,
  withPuller,
} from './imageAccess.js';
import { withDefaultTag } from './imageName.js';

interface PullRecordsOptions {
  readonly config: Pick<
    KubeletConfig,
    'rootDir' | 'imagePullCredentialsVerificationPolicy' | 'preloadedImagesVerificationAllowlist'
  >;
  readonly log: Log;
  readonly now: () => number;
}

interface Pulled {
  readonly pullers: PullersByRepository;
  /** The last pull, whether it changed the record or not. */
  readonly atMs: number;
}

interface Intent {
  /** Undefined if its file cannot be read. */
  readonly image: string | undefined;
  readonly underWay: number;
}

const API_VERSION = 'kubelet.config.k8s.io/v1beta1';

export class PullRecords {
  readonly #options: PullRecordsOptions;

  /** By file name, which is made of the image's id, or of the name that was asked for. */
  readonly #pulled = new Map<string, Pulled>();
  readonly #intents = new Map<string, Intent>();
  readonly #pulledDir: string;
  readonly #pullingDir: string;
  #lastWrite: Promise<void> = Promise.resolve();

  private constructor(options: PullRecordsOptions) {
    this.#options = options;

    this.#pulledDir = path.join(options.config.rootDir, 'image_manager', 'pulled');
    this.#pullingDir = path.join(options.config.rootDir, 'image_manager', 'pulling');
  }

  static async open(options: PullRecordsOptions): Promise<PullRecords> {
    const records = new PullRecords(options);
    await records.#load();
    return records;
  }

  /** Whether a pod with these credentials may use the image that is here; reads no file. */
  async mayUse(image: string, id: string, credentials: readonly PullCredential[]): Promise<boolean> {
    const { config } = this.#options;
    const { allowed, remember } = mayUse({
      policy: config.imagePullCredentialsVerificationPolicy,
      allowlist: config.preloadedImagesVerificationAllowlist,
      image,
      pulled: this.#pulled.get(fileOf(id))?.pullers,
      intended: this.#intents.has(fileOf(image)),
      secrets: credentials.map(({ secret }) => secret),
    });
    if (remember !== undefined) await this.#record(image, id, remember).catch(this.#unwritten(image));
    return allowed;
  }

  /** A pull begins. Throws if that cannot be written: after a crash the image would pass for somebody else's. */
  async intend(image: string): Promise<void> {
    const file = fileOf(image);
    const underWay = this.#intents.get(file)?.underWay ?? 0;
    this.#intents.set(file, { image, underWay: underWay + 1 });
    try {
      await this.#write(this.#pullingDir, file, { kind: 'ImagePullIntent', image });
    } catch (error) {
      await this.failed(image);
      throw error;
    }
  }

  /** It has ended well; the intent stays if the record cannot be written. */
  async pulled(image: string, id: string, credential: PullCredential | undefined): Promise<void> {
    try {
      await this.#record(image, id, credential?.secret);
      await this.#end(image);
    } catch (error) {
      this.#unwritten(image)(error);
    }
  }

  async failed(image: string): Promise<void> {
    await this.#end(image).catch(this.#unwritten(image));
  }

  /** Pulls that an earlier kubelet did not see end: of those whose image came, the credentials are unknown. */
  async settle(images: Pick<ImageService, 'imageStatus'>): Promise<void> {
    for (const { image, underWay } of [...this.#intents.values()])
      if (image !== undefined && underWay === 0)
        try {
          const present = await images.imageStatus(withDefaultTag(image));
          if (present === undefined) continue;
          const file = fileOf(present.id);
          if (!this.#pulled.has(file)) await this.#keep(file, present.id, {});
          await this.#end(image);
        } catch (error) {
          this.#unwritten(image)(error);
        }
  }

  /** Forgets images that were not among those listed at that time. */
  async prune(ids: readonly string[], listedAtMs: number): Promise<void> {
    const present = new Set(ids.map(fileOf));
    for (const [file, { atMs }] of [...this.#pulled])
      if (!present.has(file) && atMs < listedAtMs) {
        this.#pulled.delete(file);
        await this.#remove(this.#pulledDir, file).catch(this.#unwritten(file));
      }
  }

  async #record(image: string, id: string, secret: PullSecret | undefined): Promise<void> {
    const file = fileOf(id);
    const known = this.#pulled.get(file);
    const pullers = withPuller(known?.pullers ?? {}, image, secret);
    if (pullers !== known?.pullers) await this.#keep(file, id, pullers);
    else this.#pulled.set(file, { pullers, atMs: this.#options.now() });
  }

  async #keep(file: string, id: string, pullers: PullersByRepository): Promise<void> {
    const atMs = this.#options.now();
    this.#pulled.set(file, { pullers, atMs });
    const lastUpdatedTime = `${new Date(atMs).toISOString().slice(0, 19)}Z`;
    await this.#write(this.#pulledDir, file, {
      kind: 'ImagePulledRecord',
      lastUpdatedTime,
      imageRef: id,
      credentialMapping: pullers,
    });
  }

  async #end(image: string): Promise<void> {
    const file = fileOf(image);
    const underWay = this.#intents.get(file)?.underWay ?? 0;
    if (underWay > 1) {
      this.#intents.set(file, { image, underWay: underWay - 1 });
      return;
    }
    this.#intents.delete(file);
    await this.#remove(this.#pullingDir, file);
  }

  async #load(): Promise<void> {
    for (const dir of [this.#pulledDir, this.#pullingDir]) await mkdir(dir, { recursive: true, mode: 0o700 });
    for (const [file, record] of await this.#readAll(this.#pulledDir, 'ImagePulledRecord', 'imageRef')) {
      const pullers = pullersIn(record);
      this.#pulled.set(file, { pullers, atMs: 0 });
    }
    for (const [file, intent] of await this.#readAll(this.#pullingDir, 'ImagePullIntent', 'image'))
      this.#intents.set(file, { image: intent?.['image'] as string | undefined, underWay: 0 });
  }

  /** Every record of a directory; undefined for one that is not what its name says. */
  async #readAll(dir: string, kind: string, about: string) {
    const files = (await readdir(dir)).filter((file) => /^sha256-[0-9a-f]{64}$/.test(file));
    const records: [file: string, record: Readonly<Record<string, unknown>> | undefined][] = [];
    for (const file of files)
      try {
        const record: unknown = JSON.parse(await readFile(path.join(dir, file), 'utf8'));
        if (!isTable(record) || record['kind'] !== kind || fileOf(String(record[about])) !== file)
          throw new Error(`is not the ${kind} that its name says`);
        records.push([file, record]);
      } catch (error) {
        const words = 'a record of a pulled image cannot be read; its credentials will be asked for again';
        this.#options.log.warn(words, { file: path.join(dir, file), error: messageOf(error) });
        records.push([file, undefined]);
      }
    return records;
  }

  /** By rename, one after the other, so that the newest state of a record is the one that stays. */
  #write(dir: string, file: string, record: object): Promise<void> {
    const text = JSON.stringify({ apiVersion: API_VERSION, ...record });
    return this.#inTurn(async () => {
      const to = path.join(dir, file);
      await writeFile(`${to}.tmp`, text, { mode: 0o600, flush: true });
      await rename(`${to}.tmp`, to);
    });
  }

  #remove(dir: string, file: string): Promise<void> {
    return this.#inTurn(() => rm(path.join(dir, file), { force: true }));
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#lastWrite.then(work);
    this.#lastWrite = done.catch(() => {}); // whoever asked for it hears of it
    return done;
  }

  #unwritten(image: string) {
    return (error: unknown) =>
      this.#options.log.warn('cannot keep the record of an image pull', { image, error: messageOf(error) });
  }
}

const fileOf = (name: string) => `sha256-${createHash('sha256').update(name).digest('hex')}`;

const isTable = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Entries of another form are left out, so that their images are pulled again. */
function pullersIn(record: Readonly<Record<string, unknown>> | undefined): PullersByRepository {
  const mapping = record?.['credentialMapping'];
  if (!isTable(mapping)) return {};
  const right = (one: unknown) => {
    const secrets = isTable(one) ? (one['kubernetesSecrets'] ?? []) : undefined;
    return Array.isArray(secrets) && secrets.every(isTable);
  };
  return Object.fromEntries(Object.entries(mapping).filter(([, one]) => right(one))) as PullersByRepository;
}
