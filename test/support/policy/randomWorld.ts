// Random pods, namespaces and policies over few labels, networks and ports, so that rules meet each other often.
// Guarantees: the same seed gives the same world.
import type {
  V1LabelSelector,
  V1NetworkPolicy,
  V1NetworkPolicyPeer,
  V1NetworkPolicyPort,
} from '../../../src/api/gen/types.js';
import type { WorldPod } from './reference.js';

/** Mulberry32. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export const NAMESPACES = ['a', 'b', 'c'] as const;
export const PORTS = [80, 81, 443, 5000] as const;
const PROTOCOLS = ['TCP', 'UDP', 'SCTP'] as const;

export class RandomWorld {
  readonly #random: () => number;
  /** Networks in which the pods and others are. */
  readonly #networks: readonly string[];

  constructor(random: () => number, networks: readonly string[]) {
    this.#random = random;
    this.#networks = networks;
  }

  pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.#random() * list.length)] as T;
  }

  chance(share: number): boolean {
    return this.#random() < share;
  }

  some<T>(most: number, make: () => T): T[] {
    return Array.from({ length: Math.floor(this.#random() * (most + 1)) }, make);
  }

  labels(): Record<string, string> {
    const labels: Record<string, string> = {};
    if (this.chance(0.9)) labels['app'] = this.pick(['web', 'db', '']);
    if (this.chance(0.5)) labels['tier'] = this.pick(['front', 'back']);
    return labels;
  }

  namespaceLabels(name: string): Record<string, string> {
    return {
      'kubernetes.io/metadata.name': name,
      ...(this.chance(0.6) ? { team: this.pick(['x', 'y']) } : {}),
    };
  }

  podPorts(): WorldPod['ports'] {
    return this.some(2, () => ({
      name: this.pick(['http', 'dns']),
      protocol: this.pick(PROTOCOLS),
      port: this.pick(PORTS),
    }));
  }

  policy(name: string): V1NetworkPolicy {
    const types = this.pick([['Ingress'], ['Egress'], ['Ingress', 'Egress'], undefined]);
    return {
      metadata: { namespace: this.pick(NAMESPACES), name },
      spec: {
        podSelector: this.selector(['app', 'tier']),
        ...(types === undefined ? {} : { policyTypes: types }),
        ingress: this.some(2, () => ({ from: this.some(2, () => this.#peer()), ports: this.#ports() })),
        egress: this.some(2, () => ({ to: this.some(2, () => this.#peer()), ports: this.#ports() })),
      },
    };
  }

  network(): string {
    return this.pick(['0.0.0.0/0', '::/0', ...this.#networks]);
  }

  selector(keys: readonly string[]): V1LabelSelector {
    const key = this.pick(keys);
    const values = { app: ['web', 'db', ''], tier: ['front', 'back'], team: ['x', 'y'] }[key] ?? [];
    return this.pick<() => V1LabelSelector>([
      () => ({}),
      () => ({ matchLabels: { [key]: this.pick(values) } }),
      () => ({
        matchExpressions: [{ key, operator: this.pick(['In', 'NotIn']), values: [this.pick(values)] }],
      }),
      () => ({ matchExpressions: [{ key, operator: 'In', values }] }),
      () => ({ matchExpressions: [{ key, operator: this.pick(['Exists', 'DoesNotExist']) }] }),
    ])();
  }

  #peer(): V1NetworkPolicyPeer {
    return this.pick<() => V1NetworkPolicyPeer>([
      () => ({ podSelector: this.selector(['app', 'tier']) }),
      () => ({ namespaceSelector: this.selector(['team']) }),
      () => ({ namespaceSelector: this.selector(['team']), podSelector: this.selector(['app', 'tier']) }),
      () => {
        const cidr = this.network();
        const inside = this.#networks.filter((network) => network.includes(':') === cidr.includes(':'));
        return {
          ipBlock: { cidr, ...(this.chance(0.5) ? { except: this.some(2, () => this.pick(inside)) } : {}) },
        };
      },
    ])();
  }

  #ports(): V1NetworkPolicyPort[] {
    return this.some(2, () => {
      const protocol = this.pick(PROTOCOLS);
      return this.pick<() => V1NetworkPolicyPort>([
        () => ({ protocol }),
        () => ({ port: this.pick(PORTS) }),
        () => ({ protocol, port: this.pick(PORTS) }),
        () => ({ protocol, port: 80, endPort: this.pick([80, 81, 5000]) }),
        () => ({ protocol, port: this.pick(['http', 'dns']) }),
      ])();
    });
  }
}
