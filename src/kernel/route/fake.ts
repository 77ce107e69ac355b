// An in-memory rtnetlink for unit tests: one network namespace with its links, addresses, routes, rules, neighbours.
// Guarantees: the same errors for the same mistakes as the kernel, as far as the contract suite asks; no clock, no IO.
import { type Failure, KernelError } from '../error.js';
import type {
  Address,
  Link,
  LinkRef,
  Neighbour,
  Qdisc,
  Route,
  RouteObject,
  Rule,
  TrafficClass,
} from './objects.js';
import type {
  AddressRequest,
  ClassRequest,
  LinkRequest,
  NeighbourRequest,
  QdiscRequest,
  Request,
  RouteEvent,
  RoutePort,
  RouteRequest,
  RuleRequest,
  WatchKind,
} from './port.js';

const ERRNO = { ENOENT: 2, ESRCH: 3, EEXIST: 17, ENODEV: 19, EADDRNOTAVAIL: 99 } as const;
type Code = keyof typeof ERRNO;

class Refused extends Error {
  constructor(readonly code: Code) {
    super(code);
  }
}

interface Listener {
  readonly kinds: readonly WatchKind[];
  deliver(events: readonly RouteEvent[]): void;
}

export class FakeRoute implements RoutePort {
  #links: Link[] = [loopback()];
  #addresses: Address[] = [];
  #routes: Route[] = [];
  #rules: Rule[] = standardRules();
  #neighbours: Neighbour[] = [];
  #qdiscs: Qdisc[] = [];
  #classes: TrafficClass[] = [];
  #nextIndex = 2;
  #open = true;
  readonly #listeners = new Set<Listener>();

  async apply(requests: readonly Request[]): Promise<void> {
    this.#requireOpen();
    const failures: Failure[] = [];
    for (const [index, request] of requests.entries()) {
      try {
        this.#do(request);
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        if (!isAllowed(request, error.code)) failures.push(describeFailure(request, error.code, index));
      }
    }
    const [first, ...rest] = failures;
    if (first !== undefined) throw new KernelError([first, ...rest]);
  }

  async link(name: string): Promise<Link | undefined> {
    return (await this.links()).find((link) => link.name === name);
  }
  async links(): Promise<Link[]> {
    this.#requireOpen();
    return [...this.#links];
  }
  addresses: RoutePort['addresses'] = async (filter) => {
    const dev = this.#filterIndex(filter?.dev);
    return this.#addresses.filter(
      (a) => dev(a.dev) && (filter?.family ?? familyOf(a.address)) === familyOf(a.address),
    );
  };
  routes: RoutePort['routes'] = async (filter) => {
    const dev = this.#filterIndex(filter?.dev);
    return this.#routes.filter(
      (r) =>
        dev(r.dev) && (filter?.family ?? r.family) === r.family && (filter?.table ?? r.table) === r.table,
    );
  };
  rules: RoutePort['rules'] = async (filter) => {
    this.#requireOpen();
    return this.#rules.filter((rule) => (filter?.family ?? rule.family) === rule.family);
  };
  neighbours: RoutePort['neighbours'] = async (filter) => {
    const dev = this.#filterIndex(filter?.dev);
    const wanted = (family: string) => (filter?.family ? family === filter.family : family !== 'bridge');
    return this.#neighbours.filter((n) => dev(n.dev) && wanted(n.family));
  };
  qdiscs: RoutePort['qdiscs'] = async (filter) => {
    const dev = this.#filterIndex(filter?.dev);
    return this.#qdiscs.filter((qdisc) => dev(qdisc.dev));
  };
  classes: RoutePort['classes'] = async (filter) => {
    const dev = this.#filterIndex(filter.dev);
    return this.#classes.filter((entry) => dev(entry.dev));
  };

  watch(kinds: readonly WatchKind[], onEvents: (events: readonly RouteEvent[]) => void) {
    this.#requireOpen();
    const listener = { kinds, deliver: onEvents };
    this.#listeners.add(listener);
    return {
      close: () => {
        this.#listeners.delete(listener);
      },
    };
  }

  close(): void {
    this.#open = false;
    this.#listeners.clear();
  }

  #requireOpen(): void {
    if (!this.#open) throw KernelError.closed();
  }

  #do(request: Request): void {
    switch (request.kind) {
      case 'link':
        this.#doLink(request);
        break;
      case 'address':
        this.#doAddress(request);
        break;
      case 'route':
        this.#doRoute(request);
        break;
      case 'rule':
        this.#doRule(request);
        break;
      case 'neighbour':
        this.#doNeighbour(request);
        break;
      case 'qdisc':
        this.#doTraffic(request, this.#qdiscs, 'qdisc');
        break;
      case 'class':
        this.#doTraffic(request, this.#classes, 'class');
        break;
    }
  }

  #doLink(request: LinkRequest): void {
    const found = this.#links.find((link) => link.name === request.name || link.index === request.index);
    if (request.do === 'add' && found) throw new Refused('EEXIST');
    if (request.do === 'delete' || request.do === 'change') {
      if (!found) throw new Refused('ENODEV');
      if (request.do === 'delete') this.#removeLink(found);
      else this.#changeLink(found, request);
      return;
    }
    if (found) {
      this.#changeLink(found, request);
      return;
    }
    const { do: _do, kind: _kind, peer, netns, master, parent, ...fields } = withoutPardons(request);
    const made = this.#addLink({
      ...fields,
      type: request.type ?? typeFromOptions(request),
      ...this.#references({ master, parent }),
    });
    if (netns !== undefined) this.#removeLink(made);
    if (peer === undefined || peer.netns !== undefined) return;
    const { netns: _netns, name = `veth${this.#nextIndex}`, ...rest } = peer;
    this.#addLink({ ...rest, name, type: 'veth', parent: made.index });
  }

  #addLink(fields: Partial<Link> & { name: string }): Link {
    const index = fields.index ?? this.#nextIndex++;
    const link: Link = {
      mtu: 1500,
      up: false,
      ...fields,
      kind: 'link',
      index,
      running: false,
      loopback: false,
    };
    this.#links.push(link);
    this.#emit('link', 'new', link);
    return link;
  }

  #changeLink(link: Link, request: Exclude<LinkRequest, { do: 'delete' }>): void {
    const { do: _do, kind: _kind, master, parent, netns, ...fields } = request;
    const { newName, ...rest } = fields as typeof fields & { newName?: string };
    if (newName !== undefined && this.#links.some(({ name }) => name === newName))
      throw new Refused('EEXIST');
    const changed: Link = {
      ...link,
      ...rest,
      ...this.#references({ master, parent }),
      name: newName ?? link.name,
      index: link.index,
    };
    this.#links[this.#links.indexOf(link)] = changed;
    this.#emit('link', 'new', changed);
    if (netns !== undefined) this.#removeLink(changed);
  }

  #removeLink(link: Link): void {
    const pair = this.#links.filter(
      (other) =>
        other === link ||
        (other.type === 'veth' && (other.parent === link.index || link.parent === other.index)),
    );
    for (const gone of pair) {
      const stays = (object: { readonly dev?: LinkRef }) => object.dev !== gone.index;
      this.#addresses = this.#addresses.filter(stays);
      this.#routes = this.#routes.filter(stays);
      this.#neighbours = this.#neighbours.filter(stays);
      this.#qdiscs = this.#qdiscs.filter(stays);
      this.#classes = this.#classes.filter(stays);
      this.#links = this.#links.filter((other) => other !== gone);
      this.#emit('link', 'delete', gone);
    }
  }

  #doAddress(request: AddressRequest): void {
    const { do: verb, kind, dev: where, ...fields } = withoutPardons(request);
    const dev = this.#index(where);
    const at = this.#addresses.findIndex((a) => a.dev === dev && a.address === request.address);
    this.#put('address', this.#addresses, at, verb, { ...fields, kind, dev }, 'EADDRNOTAVAIL');
  }

  #doRoute(request: RouteRequest): void {
    const { do: verb, kind, dev: where, ...fields } = withoutPardons(request);
    const family = request.family ?? familyOf(request.destination ?? request.gateway ?? '');
    const destination = request.destination ?? (family === 'inet6' ? '::/0' : '0.0.0.0/0');
    const table = request.table ?? 'main';
    const route: Route = {
      ...fields,
      ...(where === undefined ? {} : { dev: this.#index(where) }),
      kind,
      family,
      destination,
      table,
    };
    const at = this.#routes.findIndex(
      (r) => r.destination === destination && r.table === table && (request.metric ?? r.metric) === r.metric,
    );
    this.#put('route', this.#routes, at, verb, route, 'ESRCH');
  }

  #doRule(request: RuleRequest): void {
    const { do: verb, kind, ...fields } = withoutPardons(request);
    const family = request.family ?? familyOf(request.source ?? request.destination ?? '');
    const wanted = { action: 'table', ...fields } as const;
    const at = this.#rules.findIndex(
      (rule) =>
        rule.family === family &&
        Object.entries(verb === 'delete' ? fields : wanted).every(
          ([name, value]) => JSON.stringify(rule[name as keyof Rule]) === JSON.stringify(value),
        ),
    );
    const priority =
      request.priority ?? Math.min(...this.#rules.map((rule) => rule.priority).filter((p) => p > 0)) - 1;
    this.#put('rule', this.#rules, at, verb, { ...wanted, kind, family, priority }, 'ENOENT');
    this.#rules.sort((a, b) => a.priority - b.priority);
  }

  #doNeighbour(request: NeighbourRequest): void {
    const { do: verb, kind, dev: where, via, ...fields } = withoutPardons(request);
    const family = request.family ?? (request.address === undefined ? 'bridge' : familyOf(request.address));
    const dev = this.#index(where);
    const at = this.#neighbours.findIndex(
      (n) =>
        n.dev === dev &&
        n.family === family &&
        (family === 'bridge' ? n.mac === request.mac : n.address === request.address),
    );
    const neighbour: Neighbour = {
      state: 'permanent',
      flags: [],
      ...fields,
      ...(via === undefined ? {} : { via: this.#index(via) }),
      kind,
      family,
      dev,
    };
    this.#put('neighbour', this.#neighbours, at, verb, neighbour, 'ENOENT');
  }

  #doTraffic<T extends Qdisc | TrafficClass>(
    request: QdiscRequest | ClassRequest,
    list: T[],
    kind: T['kind'],
  ): void {
    const { do: verb, dev: where, ...fields } = withoutPardons(request);
    const dev = this.#index(where);
    const parent = request.parent ?? (request.type === 'ingress' ? 'ingress' : 'root');
    const handle = request.handle ?? (request.type === 'ingress' ? 'ffff:' : '8001:');
    const type = request.type ?? ('tbf' in request && request.tbf ? 'tbf' : 'htb');
    const at = list.findIndex(
      (entry) => entry.dev === dev && (kind === 'class' ? entry.handle === handle : entry.parent === parent),
    );
    const made = { ...fields, kind, dev, type, handle, parent } as unknown as T;
    this.#put(undefined, list, at, verb, made, 'ENOENT');
  }

  /** Adds, replaces or removes in one list, and tells the listeners. */
  #put<T extends RouteObject>(
    kind: WatchKind | undefined,
    list: T[],
    at: number,
    verb: Request['do'],
    object: T,
    missing: Code,
  ): void {
    const found = list[at];
    if (verb === 'add' && found) throw new Refused('EEXIST');
    if ((verb === 'delete' || verb === 'change') && !found) throw new Refused(missing);
    if (verb === 'delete') list.splice(at, 1);
    else if (found) list[at] = object;
    else list.push(object);
    if (kind !== undefined) this.#emit(kind, verb === 'delete' ? 'delete' : 'new', object);
  }

  #references(refs: { master?: LinkRef | undefined; parent?: LinkRef | undefined }): Partial<Link> {
    return Object.fromEntries(
      Object.entries(refs).flatMap(([name, ref]) => (ref === undefined ? [] : [[name, this.#index(ref)]])),
    );
  }

  #index(ref: LinkRef): number {
    if (ref === 0) return 0;
    const found = this.#links.find((link) => link.name === ref || link.index === ref);
    if (!found) throw new Refused('ENODEV');
    return found.index;
  }

  #filterIndex(ref: LinkRef | undefined): (dev: LinkRef | undefined) => boolean {
    this.#requireOpen();
    if (ref === undefined) return () => true;
    const index = this.#links.find((link) => link.name === ref || link.index === ref)?.index;
    return (dev) => dev === index;
  }

  #emit(kind: WatchKind, event: 'new' | 'delete', object: RouteObject): void {
    for (const listener of this.#listeners)
      if (listener.kinds.includes(kind)) listener.deliver([{ event, object }]);
  }
}

/** A request without the words that only say which refusals to forgive. */
function withoutPardons<T extends Request>(request: T): Omit<T, 'existsOk' | 'missingOk'> {
  const {
    existsOk: _exists,
    missingOk: _missing,
    ...rest
  } = request as T & {
    existsOk?: boolean;
    missingOk?: boolean;
  };
  return rest;
}

const familyOf = (text: string) => (text.includes(':') ? 'inet6' : 'inet');

const loopback = (): Link => ({
  kind: 'link',
  index: 1,
  name: 'lo',
  mtu: 65536,
  up: false,
  running: false,
  loopback: true,
});

const standardRules = (): Rule[] => {
  const rule = (family: Rule['family'], priority: number, table: 'local' | 'main' | 'default'): Rule => ({
    kind: 'rule',
    family,
    priority,
    action: 'table',
    table,
  });
  return [
    rule('inet', 0, 'local'),
    rule('inet6', 0, 'local'),
    rule('inet', 32766, 'main'),
    rule('inet6', 32766, 'main'),
    rule('inet', 32767, 'default'),
  ];
};

function typeFromOptions(request: LinkRequest): string {
  if ('bridge' in request) return 'bridge';
  if ('vxlan' in request) return 'vxlan';
  if ('macvlan' in request) return 'macvlan';
  return 'veth';
}

function isAllowed(request: Request, code: Code): boolean {
  if ('existsOk' in request && request.existsOk) return code === 'EEXIST';
  return 'missingOk' in request && request.missingOk === true && code !== 'EEXIST';
}

function describeFailure(request: Request, code: Code, index: number): Failure {
  const which = ['name', 'address', 'destination', 'mac', 'dev', 'handle', 'priority']
    .map((field) => (request as unknown as Record<string, unknown>)[field])
    .find((value) => value !== undefined);
  const operation = `${request.do} ${request.kind} ${String(which)}`;
  return { code, message: `${operation}: ${code}`, operation, kernel: '', errno: ERRNO[code], index };
}
