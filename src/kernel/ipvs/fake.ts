// IPVS in memory, for tests of what stands on the port.
// Guarantees: held to the same contract suite as the kernel: same order, same codes, nothing done when a request is INVALID.
import { type Failure, KernelError } from '../error.js';
import { bitsOf, formatIp, parseIp } from '../ip.js';
import type {
  IpvsDestination,
  IpvsDestinationKey,
  IpvsFamily,
  IpvsInfo,
  IpvsPort,
  IpvsRequest,
  IpvsService,
  IpvsServiceHeader,
  IpvsServiceKey,
  IpvsServiceOptions,
  IpvsStatistics,
  IpvsTimeouts,
} from './port.js';

const SCHEDULERS = 'rr wrr lc wlc sh dh sed nq mh lblc lblcr fo ovf'.split(' ');
const FLAGS = ['ops', 'sh-fallback', 'sh-port', 'mh-fallback', 'mh-port', 'flag-1', 'flag-2', 'flag-3'];
const NO_STATISTICS: IpvsStatistics = {
  connections: 0,
  inPackets: 0,
  outPackets: 0,
  inBytes: 0,
  outBytes: 0,
  connectionsPerSecond: 0,
  inPacketsPerSecond: 0,
  outPacketsPerSecond: 0,
  inBytesPerSecond: 0,
  outBytesPerSecond: 0,
};

type DestinationRequest = Extract<IpvsRequest, { kind: 'destination' }>;
type NewDestination = Exclude<DestinationRequest, { do: 'delete' }>;
type OrdinaryService = Extract<IpvsRequest, { kind: 'service'; do: 'add' | 'change' | 'replace' | 'delete' }>;
type NewService = Exclude<OrdinaryService, { do: 'delete' }>;

class Refusal extends Error {
  readonly code: string;

  constructor(code: string, text = '') {
    super(text);
    this.code = code;
  }
}

interface Held {
  header: IpvsServiceHeader;
  destinations: Map<string, IpvsDestination>;
}

const invalid = (message: string): never => {
  throw KernelError.invalid(message);
};

function familyOf(key: IpvsServiceKey): IpvsFamily {
  if ('fwmark' in key) return key.family ?? 'inet';
  return parseIp(key.address)?.family ?? invalid("field 'address' must be an IP address");
}

const canonical = (address: string): string => {
  const ip = parseIp(address);
  return ip === undefined ? address : formatIp(ip);
};

const keyText = (key: IpvsServiceKey): string =>
  'fwmark' in key
    ? `fwmark ${key.fwmark} ${familyOf(key)}`
    : `${key.protocol} ${canonical(key.address)} ${key.port}`;

const destinationText = ({ address, port }: IpvsDestinationKey): string => `${canonical(address)} ${port}`;

function checkPort(port: number): void {
  if (!Number.isInteger(port) || port < 0 || port > 65535)
    invalid("field 'port' must be a whole number from 0 to 65535");
}

function checkKey(key: IpvsServiceKey): void {
  if ('fwmark' in key) {
    if (key.fwmark === 0) invalid("field 'fwmark' must not be 0");
    return;
  }
  if (key.protocol === undefined || key.address === undefined || key.port === undefined)
    invalid('a service needs its protocol, address and port, or a fwmark');
  if (!['tcp', 'udp', 'sctp'].includes(key.protocol))
    invalid("field 'protocol' must be one of tcp, udp, sctp");
  familyOf(key);
  checkPort(key.port);
}

function checkService(service: IpvsServiceKey & IpvsServiceOptions): void {
  checkKey(service);
  const { scheduler = 'wlc', flags = [], persistence, persistencePrefix } = service;
  if (scheduler === '' || scheduler.length > 15) invalid("field 'scheduler' must be 1 to 15 bytes long");
  for (const flag of flags) {
    if (!FLAGS.includes(flag)) invalid(`field 'flags' knows no '${flag}'`);
    const owner = /^(sh|mh)-/.exec(flag)?.[1];
    if (owner !== undefined && owner !== scheduler)
      invalid(`field 'flags' '${flag}' is not for the scheduler ${scheduler}`);
  }
  if (persistence === 0) invalid("field 'persistence' must be at least one second");
  if (persistence === undefined && persistencePrefix !== undefined)
    invalid('persistencePrefix and persistenceEngine are for services with a persistence');
  const bits = bitsOf(familyOf(service));
  if (persistencePrefix !== undefined && (persistencePrefix < 1 || persistencePrefix > bits))
    invalid("field 'persistencePrefix' must be a prefix length of the service's family");
}

function checkDestination(request: DestinationRequest): void {
  checkKey(request.service);
  const ip = parseIp(request.address);
  if (ip === undefined) invalid("field 'address' must be an IP address");
  checkPort(request.port);
  if (request.do === 'delete') return;
  if ((request.lowerThreshold ?? 0) > (request.upperThreshold ?? 0))
    invalid("field 'lowerThreshold' must not be above the upperThreshold");
  if (ip?.family !== familyOf(request.service) && request.forward !== 'tunnel')
    invalid("field 'address' must be of the service's family unless 'forward' is tunnel");
  if ((request.tunnelType ?? request.tunnelPort) !== undefined && request.forward !== 'tunnel')
    invalid("field 'tunnelType' and 'tunnelPort' are for destinations whose 'forward' is tunnel");
}

function headerOf(request: NewService): IpvsServiceHeader {
  const prefix = request.persistencePrefix;
  const family = familyOf(request);
  return {
    family,
    ...('fwmark' in request
      ? { fwmark: request.fwmark }
      : { protocol: request.protocol, address: canonical(request.address), port: request.port }),
    scheduler: request.scheduler ?? 'wlc',
    ...(request.flags === undefined || request.flags.length === 0
      ? {}
      : {
          flags: FLAGS.filter((flag) =>
            request.flags?.some((one) => one === flag),
          ) as IpvsServiceOptions['flags'] & {},
        }),
    ...(request.persistence === undefined ? {} : { persistence: request.persistence }),
    ...(prefix === undefined || prefix === bitsOf(family) ? {} : { persistencePrefix: prefix }),
    statistics: NO_STATISTICS,
  };
}

function destinationOf(request: NewDestination): IpvsDestination {
  const forward = request.forward ?? 'masq';
  const positive = (name: 'upperThreshold' | 'lowerThreshold') =>
    (request[name] ?? 0) === 0 ? {} : { [name]: request[name] };
  return {
    address: canonical(request.address),
    port: request.port,
    forward,
    weight: request.weight ?? 1,
    ...positive('upperThreshold'),
    ...positive('lowerThreshold'),
    ...(forward === 'tunnel' ? { tunnelType: request.tunnelType ?? 'ipip' } : {}),
    ...(request.tunnelPort === undefined ? {} : { tunnelPort: request.tunnelPort }),
    activeConnections: 0,
    inactiveConnections: 0,
    persistentConnections: 0,
    statistics: NO_STATISTICS,
  };
}

export class FakeIpvs implements IpvsPort {
  readonly #services = new Map<string, Held>();
  #timeouts: IpvsTimeouts = { tcp: 900, tcpFin: 120, udp: 300 };
  #closed = false;

  async apply(requests: readonly IpvsRequest[]): Promise<void> {
    this.#checkOpen();
    for (const request of requests) this.#check(request);
    const failures: Failure[] = [];
    for (const [index, request] of requests.entries()) {
      try {
        this.#do(request);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        failures.push(describe(request, index, error));
      }
    }
    const [first, ...rest] = failures;
    if (first !== undefined) throw new KernelError([first, ...rest]);
  }

  async list(): Promise<IpvsService[]> {
    this.#checkOpen();
    return [...this.#services.values()].map(({ header, destinations }) => ({
      ...header,
      destinations: [...destinations.values()],
    }));
  }

  async listHeaders(): Promise<IpvsServiceHeader[]> {
    return (await this.list()).map(({ destinations: _, ...header }) => header);
  }

  async get(key: IpvsServiceKey): Promise<IpvsService | undefined> {
    this.#checkOpen();
    checkKey(key);
    const held = this.#services.get(keyText(key));
    return held === undefined ? undefined : { ...held.header, destinations: [...held.destinations.values()] };
  }

  async timeouts(): Promise<IpvsTimeouts> {
    this.#checkOpen();
    return this.#timeouts;
  }

  async info(): Promise<IpvsInfo> {
    this.#checkOpen();
    return { version: '1.2.1', connectionTableSize: 4096 };
  }

  close(): void {
    this.#closed = true;
  }

  #checkOpen(): void {
    if (this.#closed) throw KernelError.closed();
  }

  #check(request: IpvsRequest): void {
    if (request.kind === 'destination') checkDestination(request);
    if (request.kind !== 'service' || request.do === 'flush') return;
    if (request.do === 'zero') {
      if (!('all' in request)) checkKey(request);
    } else if (request.do === 'delete') checkKey(request);
    else checkService(request);
  }

  #do(request: IpvsRequest): void {
    if (request.kind === 'timeouts') {
      const { tcp, tcpFin, udp } = request;
      const old = this.#timeouts;
      this.#timeouts = { tcp: tcp || old.tcp, tcpFin: tcpFin || old.tcpFin, udp: udp || old.udp };
    } else if (request.kind === 'destination') this.#doDestination(request);
    else if (request.do === 'flush') this.#services.clear();
    else if (request.do === 'zero') {
      if (!('all' in request)) this.#find(request);
    } else this.#doService(request);
  }

  #find(key: IpvsServiceKey): Held {
    const held = this.#services.get(keyText(key));
    if (held === undefined) throw new Refusal('ESRCH', 'there is no such service');
    return held;
  }

  #doService(request: OrdinaryService): void {
    const text = keyText(request);
    const held = this.#services.get(text);
    if (request.do === 'delete') {
      if (held === undefined && request.missingOk === true) return;
      this.#find(request);
      this.#services.delete(text);
      return;
    }
    if (held !== undefined && request.do === 'add') {
      if (request.existsOk === true) return;
      throw new Refusal('EEXIST');
    }
    if (request.do === 'change') this.#find(request);
    const header = headerOf(request);
    if (!SCHEDULERS.includes(header.scheduler))
      throw new Refusal(
        'ENOENT',
        `the kernel has no scheduler ${header.scheduler} (module ip_vs_${header.scheduler})`,
      );
    if (held === undefined) this.#services.set(text, { header, destinations: new Map() });
    else held.header = header;
  }

  #doDestination(request: DestinationRequest): void {
    const deleting = request.do === 'delete';
    if (deleting && request.missingOk === true && !this.#services.has(keyText(request.service))) return;
    const { destinations } = this.#find(request.service);
    const text = destinationText(request);
    const exists = destinations.has(text);
    if (!exists && (request.do === 'change' || (deleting && request.missingOk !== true)))
      throw new Refusal('ENOENT', 'the service has no such destination');
    if (request.do === 'delete') destinations.delete(text);
    else if (exists && request.do === 'add') {
      if (request.existsOk !== true) throw new Refusal('EEXIST');
    } else destinations.set(text, destinationOf(request));
  }
}

function describe(request: IpvsRequest, index: number, refusal: Refusal): Failure {
  const subject = 'address' in request ? request.address : '';
  const operation = [request.do, request.kind, subject].filter((word) => word !== '').join(' ');
  const text = refusal.message;
  const message = `${operation}: ${refusal.code}${text === '' ? '' : ` (${text})`}`;
  return { code: refusal.code, message, operation, kernel: text, errno: 0, index };
}
