// A world that changes step by step, and a planner that is told of each step.
// Guarantees: what the planner was told is what `world` says.
import type { V1NetworkPolicy, V1Pod } from '../../../src/api/gen/types.js';
import type { Stored } from '../../../src/api/object.js';
import {
  type ClusterNetworkPolicy,
  clusterPolicyOf,
} from '../../../src/network/policy/clusterNetworkPolicy.js';
import { podKey } from '../../../src/network/policy/model.js';
import { policyOf, policyPodOf } from '../../../src/network/policy/networkPolicy.js';
import { PolicyPlanner } from '../../../src/network/policy/planner.js';
import { randomClusterPolicy } from './randomTiers.js';
import { NAMESPACES, type RandomWorld } from './randomWorld.js';
import type { World, WorldPod } from './reference.js';

export interface Place {
  readonly name: string;
  readonly ips: readonly string[];
  readonly isLocal: boolean;
}

const NODE = 'here';

export const podObject = (pod: WorldPod, isLocal: boolean): Stored<V1Pod> =>
  ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: pod.namespace, name: pod.name, labels: pod.labels, uid: podKey(pod) },
    spec: {
      nodeName: isLocal ? NODE : 'elsewhere',
      containers: [
        {
          name: 'c',
          ports: pod.ports.map(({ name, protocol, port }) => ({ name, protocol, containerPort: port })),
        },
      ],
    },
    status: { phase: 'Running', podIP: pod.ips[0], podIPs: pod.ips.map((ip) => ({ ip })) },
  }) as unknown as Stored<V1Pod>;

export class WorldPlanner {
  readonly planner: PolicyPlanner;
  readonly #pods = new Map<string, WorldPod>();
  readonly #namespaces = new Map<string, Record<string, string>>();
  readonly #policies = new Map<string, V1NetworkPolicy>();
  readonly #clusterPolicies = new Map<string, ClusterNetworkPolicy>();
  readonly #places: readonly Place[];
  readonly #make: RandomWorld;
  #named = 0;

  constructor(make: RandomWorld, places: readonly Place[], planner = new PolicyPlanner()) {
    this.#make = make;
    this.#places = places;
    this.planner = planner;
    for (const name of NAMESPACES) this.#changeNamespace(name);
    for (const place of places) this.#changePod(place);
  }

  get world(): World {
    return {
      pods: [...this.#pods.values()],
      namespaces: Object.fromEntries(this.#namespaces),
      policies: [...this.#policies.values()],
      clusterPolicies: [...this.#clusterPolicies.values()],
    };
  }

  /** One random change. */
  step(): void {
    const kind = this.#make.pick([
      'pod',
      'pod',
      'policy',
      'policy',
      'policy',
      'remove',
      'namespace',
      'gone',
      'cluster',
      'cluster',
      'cluster',
      'removeCluster',
      'removeCluster',
    ]);
    if (kind === 'pod') this.#changePod(this.#make.pick(this.#places));
    if (kind === 'namespace') this.#changeNamespace(this.#make.pick(NAMESPACES));
    if (kind === 'policy') this.#changePolicy();
    if (kind === 'remove') this.#removePolicy();
    if (kind === 'cluster') this.#changeClusterPolicy();
    if (kind === 'removeCluster') this.#removeClusterPolicy();
    if (kind === 'gone') this.#removePod(this.#make.pick(this.#places).name);
  }

  /** The same world, told to a new planner at once. */
  fresh(): PolicyPlanner {
    const planner = new PolicyPlanner();
    // Another order than that of the steps: policies first.
    for (const policy of this.#policies.values()) planner.setPolicy(policyOf(policy as never).policy);
    for (const policy of this.#clusterPolicies.values()) tellClusterPolicy(planner, policy);
    for (const pod of this.#pods.values()) this.#tell(planner, pod);
    for (const [name, labels] of this.#namespaces) planner.setNamespace(name, labels);
    return planner;
  }

  #tell(planner: PolicyPlanner, pod: WorldPod): void {
    const isLocal = this.#places.some((place) => place.name === pod.name && place.isLocal);
    const told = policyPodOf(podObject(pod, isLocal), NODE);
    if (told !== undefined) planner.setPod(told);
  }

  #changePod({ name, ips }: Place): void {
    const before = this.#pods.get(name);
    const namespace = before?.namespace ?? this.#make.pick(NAMESPACES);
    const pod = { namespace, name, labels: this.#make.labels(), ips, ports: this.#make.podPorts() };
    this.#pods.set(name, pod);
    this.#tell(this.planner, pod);
  }

  #removePod(name: string): void {
    const pod = this.#pods.get(name);
    if (pod === undefined) return;
    this.#pods.delete(name);
    this.planner.removePod(podKey(pod));
  }

  #changeNamespace(name: string): void {
    const labels = this.#make.namespaceLabels(name);
    this.#namespaces.set(name, labels);
    this.planner.setNamespace(name, labels);
  }

  #changePolicy(): void {
    const known = [...this.#policies.values()];
    const before = known.length > 0 && this.#make.chance(0.5) ? this.#make.pick(known) : undefined;
    const made = this.#make.policy(before?.metadata?.name ?? `p${++this.#named}`);
    const policy = { ...made, metadata: { ...made.metadata, ...(before?.metadata ?? {}) } };
    this.#policies.set(policy.metadata.name ?? '', policy);
    this.planner.setPolicy(policyOf(policy as never).policy);
  }

  #removePolicy(): void {
    const known = [...this.#policies];
    if (known.length === 0) return;
    const [name, policy] = this.#make.pick(known);
    this.#policies.delete(name);
    this.planner.removePolicy(`${policy.metadata?.namespace}/${name}`);
  }

  #changeClusterPolicy(): void {
    const known = [...this.#clusterPolicies.keys()];
    const isChange = known.length > 0 && this.#make.chance(0.5);
    const policy = randomClusterPolicy(this.#make, isChange ? this.#make.pick(known) : `c${++this.#named}`);
    this.#clusterPolicies.set(policy.metadata?.name ?? '', policy);
    tellClusterPolicy(this.planner, policy);
  }

  #removeClusterPolicy(): void {
    const known = [...this.#clusterPolicies.keys()];
    if (known.length === 0) return;
    const name = this.#make.pick(known);
    this.#clusterPolicies.delete(name);
    this.planner.removePolicy(name);
  }
}

function tellClusterPolicy(planner: PolicyPlanner, object: ClusterNetworkPolicy): void {
  const { policy } = clusterPolicyOf(object);
  if (policy === undefined) throw new Error(`${object.metadata?.name} cannot be read`);
  planner.setPolicy(policy);
}
