// Where pods come from: the API, a directory of manifests and a URL, as far as the configuration has them.
// Guarantees: nothing is told before start() and nothing after stop(); until every source has spoken, allReady() is false.
import type { V1Node } from '../../api/gen/types.js';
import type { Log } from '../../api/log.js';
import type { Stored } from '../../api/object.js';
import type { Informers } from '../../client/informer.js';
import type { KubeletConfig } from '../config.js';
import { followApiserver, followNode } from './apiserver.js';
import { ManifestDirectory } from './manifestDirectory.js';
import { ManifestUrl } from './manifestUrl.js';
import { PodConfig, type PodUpdate } from './podConfig.js';

interface PodSourcesOptions {
  readonly config: KubeletConfig;
  readonly informers: Informers | undefined;
  readonly log: Log;
  readonly now: () => number;
  readonly take: (update: PodUpdate) => void;
  readonly heardNode: (node: Stored<V1Node>) => void;
}

export class PodSources {
  readonly #options: PodSourcesOptions;
  readonly #pods: PodConfig;
  readonly #manifests: ManifestDirectory | undefined;
  readonly #url: ManifestUrl | undefined;
  readonly #unfollow: (() => void)[] = [];

  constructor(options: PodSourcesOptions) {
    this.#options = options;
    const { config, informers, log, now } = options;
    const { nodeName, staticPodPath, staticPodURL } = config;
    this.#pods = new PodConfig(
      [
        ...(informers === undefined ? [] : ['api' as const]),
        ...(staticPodPath === '' ? [] : ['file' as const]),
        ...(staticPodURL === '' ? [] : ['http' as const]),
      ],
      options.take,
    );
    if (staticPodPath !== '')
      this.#manifests = new ManifestDirectory({
        nodeName,
        now,
        log,
        directory: staticPodPath,
        checkFrequencyMs: config.fileCheckFrequencyMs,
        changed: (found) => this.#pods.set('file', found),
      });
    if (staticPodURL !== '')
      this.#url = new ManifestUrl({
        nodeName,
        now,
        log,
        url: staticPodURL,
        checkFrequencyMs: config.httpCheckFrequencyMs,
        changed: (found) => this.#pods.set('http', found),
      });
  }

  async start(): Promise<void> {
    const { informers, config, heardNode } = this.#options;
    if (informers !== undefined) {
      // Before the pods: labels and taints that the scheduler goes by are known here as soon as there.
      this.#unfollow.push(followNode(informers, config.nodeName, heardNode));
      this.#unfollow.push(followApiserver(informers, config.nodeName, this.#pods));
    }
    await this.#manifests?.start();
    void this.#url?.start();
  }

  allReady(): boolean {
    return this.#pods.allReady();
  }

  stop(): void {
    for (const stop of this.#unfollow) stop();
    this.#manifests?.stop();
    this.#url?.stop();
  }
}
