// The kernel's virtual services through the native core.
// Guarantees: a batch crosses once; listings come with all destinations of each service.
import type { NetNs } from '../addon.js';
import { Channel } from '../channel.js';
import type {
  IpvsDestination,
  IpvsInfo,
  IpvsPort,
  IpvsRequest,
  IpvsService,
  IpvsServiceHeader,
  IpvsServiceKey,
  IpvsTimeouts,
} from './port.js';

type Listed = IpvsServiceHeader | { readonly destinations: readonly IpvsDestination[] };

class NativeIpvs implements IpvsPort {
  readonly #channel: Channel;

  constructor(channel: Channel) {
    this.#channel = channel;
  }

  async apply(requests: readonly IpvsRequest[]): Promise<void> {
    await this.#channel.apply(requests);
  }

  async list(): Promise<IpvsService[]> {
    return this.#services({ kind: 'service' });
  }

  async listHeaders(): Promise<IpvsServiceHeader[]> {
    return this.#channel.query<IpvsServiceHeader>({ kind: 'service', destinations: false });
  }

  async get(key: IpvsServiceKey): Promise<IpvsService | undefined> {
    const [service] = await this.#services({ kind: 'service', key });
    return service;
  }

  async timeouts(): Promise<IpvsTimeouts> {
    return this.#one<IpvsTimeouts>('timeouts');
  }

  async info(): Promise<IpvsInfo> {
    return this.#one<IpvsInfo>('info');
  }

  close(): void {
    this.#channel.close();
  }

  async #one<T>(kind: string): Promise<T> {
    const [answer] = await this.#channel.query<T>({ kind });
    if (answer === undefined) throw new Error(`the core gave no ${kind}`);
    return answer;
  }

  // A service's destinations follow it in pieces.
  async #services(query: object): Promise<IpvsService[]> {
    const services: (IpvsServiceHeader & { destinations: IpvsDestination[] })[] = [];
    for (const listed of await this.#channel.query<Listed>(query)) {
      if ('destinations' in listed) {
        for (const destination of listed.destinations) services.at(-1)?.destinations.push(destination);
      } else {
        services.push({ ...listed, destinations: [] });
      }
    }
    return services;
  }
}

/** Opens IPVS of a namespace. EOPNOTSUPP with a sentence when the kernel has no ip_vs. The caller closes. */
export async function openIpvs(netns?: NetNs): Promise<IpvsPort> {
  return new NativeIpvs(await Channel.open('ipvs', netns));
}
