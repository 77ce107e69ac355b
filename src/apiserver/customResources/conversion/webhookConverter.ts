// Objects turned into another version by the webhook that their definition names.
// Guarantees: one call asks for one version; every failure is an answer in Kubernetes' words, counted by its kind; between
// two objects of a large answer others are served.
import { randomUUID } from 'node:crypto';
import type { V1CustomResourceDefinition } from '../../../api/gen/types.js';
import type { KubeObject } from '../../../api/object.js';
import { ApiError } from '../../../api/status.js';
import { WebhookClient } from './call.js';
import { ConversionCallLimits } from './callLimits.js';
import { type Cluster, endpointOf } from './endpoint.js';
import { ConversionError } from './error.js';
import type { ConversionMetrics } from './metrics.js';
import { convertedObjects, leadOf, reviewText, reviewVersionOf } from './review.js';

interface ConverterOptions {
  readonly definition: V1CustomResourceDefinition;
  readonly cluster: Cluster;
  readonly metrics: ConversionMetrics;
}

const versionOf = (apiVersion: string): string => apiVersion.slice(apiVersion.indexOf('/') + 1);

export class WebhookConverter {
  readonly #options: ConverterOptions;

  readonly #name: string;
  readonly #client: WebhookClient;
  readonly #room: ConversionCallLimits;
  readonly #known: ReadonlySet<string>;

  constructor(options: ConverterOptions) {
    this.#options = options;

    const { metadata, spec } = options.definition;
    this.#name = metadata?.name ?? '';
    this.#client = new WebhookClient(spec.conversion?.webhook?.clientConfig?.caBundle);
    this.#room = new ConversionCallLimits(this.#name);
    this.#known = new Set(spec.versions.map(({ name }) => `${spec.group}/${name}`));
  }

  close(): void {
    this.#client.close();
  }

  /** All have one version, which is another. Throws ApiError. */
  async convert(objects: readonly KubeObject[], to: string, user: string): Promise<readonly KubeObject[]> {
    const from = objects[0]?.apiVersion ?? '';
    if (!this.#known.has(from))
      throw apiError(new Error(`request to convert CR from an invalid group/version: ${from}`));
    const began = performance.now();
    const measure = (error?: unknown) =>
      this.#options.metrics.observe({
        definition: this.#name,
        from: versionOf(from),
        to: versionOf(to),
        seconds: (performance.now() - began) / 1000,
        ...(error === undefined ? {} : { error }),
      });
    try {
      const converted = await this.#room.run(user, () => this.#call(objects, to));
      measure();
      return converted;
    } catch (error) {
      measure(error);
      throw error instanceof ApiError ? error : apiError(error as Error);
    }
  }

  async #call(objects: readonly KubeObject[], to: string): Promise<readonly KubeObject[]> {
    const { definition, cluster } = this.#options;
    const { clientConfig = {}, conversionReviewVersions = [] } = definition.spec.conversion?.webhook ?? {};
    const question = {
      reviewVersion: reviewVersionOf(conversionReviewVersions),
      uid: randomUUID(),
      objects,
      desiredAPIVersion: to,
    };
    const body = reviewText(question);
    const answer = await this.#ask(body, () => endpointOf(cluster, clientConfig), leadOf(question));
    return convertedObjects(question, answer);
  }

  async #ask(body: string, endpoint: () => ReturnType<typeof endpointOf>, lead: string): Promise<unknown> {
    try {
      return await this.#client.post(endpoint(), body);
    } catch (cause) {
      if (!(cause instanceof ConversionError)) throw cause;
      throw new ConversionError(cause.code, `${lead} failed: ${cause.message}`, { cause });
    }
  }
}

/** As Kubernetes answers what is no refusal of its own: without a reason. */
function apiError(cause: Error): ApiError {
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code: 500 };
  return new ApiError({ ...status, message: cause.message }, { cause });
}
