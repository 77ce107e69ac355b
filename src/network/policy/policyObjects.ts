// Follows the objects of the API that network policies are made of, and tells the planner.
// Guarantees: while no policy exists in the cluster, of pods only this node's are watched; of a pod no more is kept than
// policies ask; an address that the node itself gave a pod counts before the API knows it.
import type { V1Pod } from '../../api/gen/types.js';
import type { Log } from '../../api/log.js';
import type { KubeObject, Stored } from '../../api/object.js';
import { NAMESPACES, NETWORK_POLICIES, PODS } from '../../api/resources.js';
import type { Informer, InformerHandler, Informers } from '../../client/informer.js';
import { ClusterPolicyObjects } from './clusterPolicyObjects.js';
import { type Policy, podKey } from './model.js';
import { policyOf, policyPodOf } from './networkPolicy.js';
import type { PolicyPlanner } from './planner.js';

interface PolicyObjectsOptions {
  readonly informers: Informers;
  readonly nodeName: string;
  readonly planner: PolicyPlanner;
  readonly log: Log;
  onChange(): void;
}

interface Attachment {
  readonly uid: string;
  readonly ips: readonly string[];
}

export class PolicyObjects {
  readonly #options: PolicyObjectsOptions;
  readonly #closers: (() => void)[] = [];
  readonly #local = new Map<string, Stored<V1Pod>>();
  readonly #attached = new Map<string, Attachment>();
  #everywhere: Informer<V1Pod> | undefined;
  #synced: Promise<unknown>;

  constructor(options: PolicyObjectsOptions) {
    this.#options = options;
    const { informers, nodeName, planner, log, onChange } = options;
    const local = informers.of(PODS, { fieldSelector: `spec.nodeName=${nodeName}`, keep: keptOfPod });
    const policies = informers.of(NETWORK_POLICIES);
    const ofCluster = new ClusterPolicyObjects({
      informers,
      log,
      set: (policy) => {
        this.#setPolicy(policy);
        onChange();
      },
      remove: (key) => {
        planner.removePolicy(key);
        onChange();
      },
    });
    const others = Promise.all([local.synced(), policies.synced()]);
    // Who does not answer about the one is waited for after those who answer about the others.
    this.#synced = others.then(() => ofCluster.synced());
    this.#closers.push(
      () => ofCluster.stop(),
      local.on(
        this.#following(
          (pod) => this.#setLocal(pod),
          (pod) => this.#removeLocal(pod),
        ),
      ),
      policies.on(
        this.#following(
          (object) => {
            const { policy, messages } = policyOf(object);
            for (const reason of messages)
              log.warn('a network policy is not enforced as written', { policy: policy.key, reason });
            this.#setPolicy(policy);
          },
          ({ metadata }) => planner.removePolicy(`${metadata.namespace}/${metadata.name}`),
        ),
      ),
    );
  }

  /** Resolves when the planner knows everything that there is. */
  async synced(): Promise<void> {
    for (let before: unknown; before !== this.#synced; ) {
      before = this.#synced;
      await before;
    }
  }

  /** The runtime gave this pod addresses. */
  attach(pod: Stored<V1Pod>, ips: readonly string[]): void {
    const key = keyOf(pod);
    this.#attached.set(key, { uid: pod.metadata.uid, ips });
    this.#setLocal(this.#local.get(key) ?? pod);
    this.#options.onChange();
  }

  stop(): void {
    for (const close of this.#closers.splice(0)) close();
  }

  #following<T extends KubeObject>(
    set: (object: Stored<T>) => void,
    remove: (object: Stored<T>) => void,
  ): InformerHandler<T> {
    const told = (tell: (object: Stored<T>) => void) => (object: Stored<T>) => {
      tell(object);
      this.#options.onChange();
    };
    return { added: told(set), updated: told(set), deleted: told(remove) };
  }

  #setLocal(pod: Stored<V1Pod>): void {
    const key = keyOf(pod);
    this.#local.set(key, pod);
    const { planner, nodeName } = this.#options;
    const attached = this.#attached.get(key);
    if (attached !== undefined && attached.uid !== pod.metadata.uid) this.#attached.delete(key);
    const ips = attached?.uid === pod.metadata.uid ? attached.ips : undefined;
    const hasEnded = pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
    const told = policyPodOf(ips === undefined || hasEnded ? pod : withAddresses(pod, ips), nodeName);
    if (told === undefined) planner.removePod(key);
    else planner.setPod(told);
  }

  #removeLocal(pod: Stored<V1Pod>): void {
    const key = keyOf(pod);
    if (this.#attached.get(key)?.uid === pod.metadata.uid) this.#attached.delete(key);
    this.#local.delete(key);
    this.#options.planner.removePod(key);
    // One of the same name may run elsewhere by now.
    const successor = this.#everywhere?.get(key);
    if (successor !== undefined) this.#setElsewhere(successor);
  }

  #setPolicy(policy: Policy): void {
    this.#widen();
    this.#options.planner.setPolicy(policy);
  }

  /** From the first policy on, pods of other nodes and labels of namespaces matter. */
  #widen(): void {
    if (this.#everywhere !== undefined) return;
    const { informers, planner } = this.#options;
    const pods = informers.of(PODS, { keep: keptOfPod });
    this.#everywhere = pods;
    const namespaces = informers.of(NAMESPACES, { metadataOnly: true });
    this.#synced = Promise.all([this.#synced, pods.synced(), namespaces.synced()]);
    this.#closers.push(
      namespaces.on(
        this.#following(
          ({ metadata }) => planner.setNamespace(metadata.name, metadata.labels ?? {}),
          ({ metadata }) => planner.setNamespace(metadata.name, undefined),
        ),
      ),
      pods.on(
        this.#following(
          (pod) => this.#setElsewhere(pod),
          (pod) => {
            if (this.#isElsewhere(pod)) planner.removePod(keyOf(pod));
          },
        ),
      ),
    );
  }

  /** The two watches are not in step: a pod that the nearer one knows to be here is here. */
  #isElsewhere(pod: Stored<V1Pod>): boolean {
    return pod.spec?.nodeName !== this.#options.nodeName && !this.#local.has(keyOf(pod));
  }

  #setElsewhere(pod: Stored<V1Pod>): void {
    if (!this.#isElsewhere(pod)) return;
    const { planner, nodeName } = this.#options;
    const told = policyPodOf(pod, nodeName);
    if (told === undefined) planner.removePod(keyOf(pod));
    else planner.setPod(told);
  }
}

const keyOf = ({ metadata }: Stored<V1Pod>) =>
  podKey({ namespace: metadata.namespace ?? '', name: metadata.name });

const withAddresses = (pod: Stored<V1Pod>, ips: readonly string[]): Stored<V1Pod> => ({
  ...pod,
  status: { ...pod.status, podIPs: ips.map((ip) => ({ ip })) },
});

/** What policies ask of a pod. */
function keptOfPod({ apiVersion, kind, metadata, spec, status }: Stored<V1Pod>): Stored<V1Pod> {
  const { namespace, name, uid, resourceVersion, creationTimestamp, labels } = metadata;
  const named = (containers: NonNullable<typeof spec>['containers'] | undefined) =>
    (containers ?? [])
      .filter(({ ports }) => ports?.some((port) => port.name !== undefined))
      .map((container) => ({
        name: container.name,
        ports: container.ports,
        restartPolicy: container.restartPolicy,
      }));
  return {
    apiVersion,
    kind,
    metadata: { namespace, name, uid, resourceVersion, creationTimestamp, labels },
    spec: {
      nodeName: spec?.nodeName,
      hostNetwork: spec?.hostNetwork,
      containers: named(spec?.containers),
      initContainers: named(spec?.initContainers),
    },
    status: { phase: status?.phase, podIP: status?.podIP, podIPs: status?.podIPs },
  } as unknown as Stored<V1Pod>;
}
