// Follows ClusterNetworkPolicies while the cluster has their definition, and tells the planner.
// Guarantees: without the definition there is one idle watch, of that one definition; when the definition goes, so do its
// policies; a user who may not read either is kept waiting for a while, and then enforces NetworkPolicies alone.
import type { V1CustomResourceDefinition } from '../../api/gen/types.js';
import type { Log } from '../../api/log.js';
import type { Stored } from '../../api/object.js';
import { CUSTOM_RESOURCE_DEFINITIONS } from '../../api/resources.js';
import { within } from '../../base/deadline.js';
import type { Informer, Informers } from '../../client/informer.js';
import {
  CLUSTER_NETWORK_POLICIES,
  type ClusterNetworkPolicy,
  clusterPolicyOf,
} from './clusterNetworkPolicy.js';
import type { Policy } from './model.js';

interface ClusterPolicyObjectsOptions {
  readonly informers: Informers;
  readonly log: Log;
  /** How long the node's pods stay closed for an answer that does not come. */
  readonly patienceMs?: number;
  set(policy: Policy): void;
  remove(key: string): void;
}

const { group, resource, version } = CLUSTER_NETWORK_POLICIES;
const DEFINITION = `${resource}.${group}`;
const PATIENCE_MS = 10_000;

export class ClusterPolicyObjects {
  readonly #options: ClusterPolicyObjectsOptions;
  readonly #definitions: Informer<V1CustomResourceDefinition>;
  readonly #offDefinitions: () => void;
  #policies: Informer<ClusterNetworkPolicy> | undefined;
  #offPolicies: (() => void) | undefined;

  constructor(options: ClusterPolicyObjectsOptions) {
    this.#options = options;
    this.#definitions = options.informers.of(CUSTOM_RESOURCE_DEFINITIONS, {
      fieldSelector: `metadata.name=${DEFINITION}`,
      keep: keptOfDefinition,
    });
    const changed = (definition: Stored<V1CustomResourceDefinition>) =>
      isServed(definition) ? this.#follow() : this.#forget();
    this.#offDefinitions = this.#definitions.on({
      added: changed,
      updated: changed,
      deleted: () => this.#forget(),
    });
  }

  /** Resolves when the policies that there are have been told, or when nobody answers. */
  async synced(): Promise<void> {
    const { log, patienceMs = PATIENCE_MS } = this.#options;
    const all = async () => {
      await this.#definitions.synced();
      await this.#policies?.synced();
    };
    await within(all(), patienceMs, () =>
      log.warn('cluster-wide policies cannot be read; the others are enforced without them', {
        needed: `list and watch of ${CUSTOM_RESOURCE_DEFINITIONS.resource} and ${DEFINITION}`,
      }),
    );
  }

  stop(): void {
    this.#offDefinitions();
    this.#offPolicies?.();
  }

  #follow(): void {
    if (this.#offPolicies !== undefined) return;
    const { informers, remove } = this.#options;
    this.#policies = informers.of(CLUSTER_NETWORK_POLICIES);
    const set = (object: Stored<ClusterNetworkPolicy>) => this.#set(object);
    this.#offPolicies = this.#policies.on({
      added: set,
      updated: set,
      deleted: ({ metadata }) => remove(metadata.name),
    });
  }

  /** The server tells of no objects whose kind it does not serve. */
  #forget(): void {
    if (this.#offPolicies === undefined) return;
    this.#offPolicies();
    this.#offPolicies = undefined;
    for (const { metadata } of this.#policies?.list() ?? []) this.#options.remove(metadata.name);
  }

  #set(object: Stored<ClusterNetworkPolicy>): void {
    const { log, set, remove } = this.#options;
    const { policy, messages } = clusterPolicyOf(object);
    for (const reason of messages)
      log.warn('a cluster-wide policy is not enforced as written', { policy: object.metadata.name, reason });
    if (policy === undefined) remove(object.metadata.name);
    else set(policy);
  }
}

function isServed({ spec, status }: Stored<V1CustomResourceDefinition>): boolean {
  const isEstablished = status.conditions?.some(
    ({ type, status: is }) => type === 'Established' && is === 'True',
  );
  return isEstablished === true && spec.versions.some(({ name, served }) => name === version && served);
}

/** Not the schemas. */
function keptOfDefinition({
  apiVersion,
  kind,
  metadata,
  spec,
  status,
}: Stored<V1CustomResourceDefinition>): Stored<V1CustomResourceDefinition> {
  const { name, uid, resourceVersion, creationTimestamp } = metadata;
  return {
    apiVersion,
    kind,
    metadata: { name, uid, resourceVersion, creationTimestamp },
    spec: {
      ...spec,
      versions: spec.versions.map((one) => ({ name: one.name, served: one.served, storage: one.storage })),
    },
    status: { ...status },
  };
}
