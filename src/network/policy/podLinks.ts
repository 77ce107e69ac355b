// The bridges on which pods of this node are each other's neighbours, whoever made them.
// Guarantees: found by their addresses, whenever they come; packets between two of their ports meet the rules of IP as routed
// ones do; no other bridge of the machine is changed.
import { existsSync } from 'node:fs';
import { contains, parseCidr } from '../../api/ip.js';
import type { Log } from '../../api/log.js';
import { messageOf } from '../../base/errorMessage.js';
import type { RouteEvent, RoutePort } from '../../kernel/route/port.js';
import type { Watch } from '../../kernel/watch.js';

interface PodLinksOptions {
  readonly route: RoutePort;
  readonly log: Log;
  /** Networks and addresses of this node's pods. */
  networks(): readonly string[];
  /** Told when there are others than before. */
  onChange(names: readonly string[]): void;
}

/** Is there while the kernel hands bridged packets to the hooks of IP at all. */
const BRIDGE_NETFILTER = '/proc/sys/net/bridge';

export class PodLinks {
  readonly #options: PodLinksOptions;
  readonly #watch: Watch;
  #names: readonly string[] = [];
  #turn: Promise<void> = Promise.resolve();
  #hasWarned = false;

  constructor(options: PodLinksOptions) {
    this.#options = options;
    this.#watch = options.route.watch(['address'], (events) => {
      if (events.some(isOfInterest)) void this.look();
    });
  }

  /** Resolves when the bridges that are there now are known; never rejects. */
  look(): Promise<void> {
    this.#turn = this.#turn.then(() =>
      this.#find().catch((error: unknown) =>
        this.#options.log.warn("the links of this node's pods could not be looked at", { error }),
      ),
    );
    return this.#turn;
  }

  close(): void {
    this.#watch.close();
  }

  async #find(): Promise<void> {
    const { route, onChange } = this.#options;
    const networks = this.#options.networks();
    const addresses = networks.length === 0 ? [] : await route.addresses();
    const devices = new Set(addresses.filter((one) => isOfPods(one.address, networks)).map(({ dev }) => dev));
    const links = devices.size === 0 ? [] : await route.links();
    const bridges = links.filter(({ index, type }) => type === 'bridge' && devices.has(index));
    for (const { name, bridge } of bridges)
      if (bridge?.nfCallIptables !== true || bridge.nfCallIp6tables !== true) await this.#judgeBridged(name);
    const names = bridges.map(({ name }) => name).sort();
    if (names.join() === this.#names.join()) return;
    this.#names = names;
    onChange(names);
  }

  /** Without it, what one pod of the bridge sends to another would meet no rule. Of this bridge alone: a sysctl is for all. */
  async #judgeBridged(name: string): Promise<void> {
    const { route } = this.#options;
    const bridge = { nfCallIptables: true, nfCallIp6tables: true };
    try {
      await route.apply([{ do: 'change', kind: 'link', name, bridge }]);
      if (existsSync(BRIDGE_NETFILTER)) return;
      this.#warn('the kernel judges no packet between two pods of a bridge; load br_netfilter', {
        bridge: name,
      });
    } catch (error) {
      this.#warn('packets between two pods of a bridge may not be judged', {
        bridge: name,
        error: messageOf(error),
      });
    }
  }

  #warn(message: string, fields: { bridge: string; error?: string }): void {
    if (!this.#hasWarned) this.#options.log.warn(message, fields);
    this.#hasWarned = true;
  }
}

/** Every link has one of its own that is link-local. */
const isOfInterest = (event: RouteEvent) =>
  event.event === 'lost' || (event.object.kind === 'address' && !event.object.address.startsWith('fe80:'));

/** A link's address, "10.244.1.1/24", is a gateway of the pods' networks, or shares its subnet with a pod. */
function isOfPods(address: string, networks: readonly string[]): boolean {
  const subnet = parseCidr(address);
  const [own = ''] = address.split('/');
  return networks.some((text) => {
    const network = parseCidr(text);
    if (network !== undefined) return contains(network, own);
    return subnet !== undefined && contains(subnet, text);
  });
}
