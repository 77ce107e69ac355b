// A connection to a D-Bus daemon over its unix socket: method calls and signals.
// Guarantees: a call ends by its deadline; when the connection breaks, calls under way fail and `closed` resolves.
import net from 'node:net';
import { KubeletError } from '../error.js';
import { type BusMessage, CALL, decode, ERROR, encode, REPLY, SIGNAL } from './message.js';

interface Method {
  readonly destination: string;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  /** One letter an argument. */
  readonly signature?: string;
  readonly body?: readonly unknown[];
}

export interface Bus {
  /** Answers the arguments of the reply; throws with the name and the words of an error. */
  call(method: Method): Promise<readonly unknown[]>;
  /** Signals that the rule lets through, from now on. */
  listen(rule: string, heard: (signal: BusMessage) => void): Promise<void>;
  readonly closed: Promise<void>;
  close(): void;
}

const CALL_TIMEOUT_MS = 25_000;
const BROKER = {
  destination: 'org.freedesktop.DBus',
  path: '/org/freedesktop/DBus',
  interface: 'org.freedesktop.DBus',
};

/** `address` as in DBUS_SYSTEM_BUS_ADDRESS: `unix:path=/run/dbus/system_bus_socket`. */
export async function openBus(address: string): Promise<Bus> {
  const socket = net.connect({ path: socketPath(address) });
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()));
  const connection = new BusConnection(socket, closed);
  try {
    await connection.authenticate();
    await connection.call({ ...BROKER, member: 'Hello' });
    return connection;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

export function socketPath(address: string): string {
  for (const one of address.split(';')) {
    const [, key, value = ''] = /^unix:(?:.*,)?(path|abstract)=([^,]*)/.exec(one) ?? [];
    if (key !== undefined) return key === 'abstract' ? `\0${value}` : value;
  }
  throw new KubeletError('InvalidConfig', `${address} names no unix socket of a D-Bus daemon`);
}

class BusConnection implements Bus {
  readonly #socket: net.Socket;

  #received = Buffer.alloc(0);
  #serial = 0;
  #authenticated: ((line: string) => void) | undefined;
  readonly #waiting = new Map<number, (answer: BusMessage | Error) => void>();
  readonly #listeners: ((signal: BusMessage) => void)[] = [];

  constructor(
    socket: net.Socket,
    readonly closed: Promise<void>,
  ) {
    this.#socket = socket;

    let failure: Error | undefined;
    socket.on('error', (error) => {
      failure = error;
    });
    socket.on('data', (piece) => {
      this.#received = Buffer.concat([this.#received, piece]);
      this.#read();
    });
    void closed.then(() => this.#end(failure ?? new Error('the connection to the bus was closed')));
  }

  /** As whom the kernel says that we are. */
  async authenticate(): Promise<void> {
    const uid = Buffer.from(String(process.getuid?.() ?? 0)).toString('hex');
    this.#socket.write(`\0AUTH EXTERNAL ${uid}\r\n`);
    const answer = await Promise.race([
      new Promise<string>((resolve) => {
        this.#authenticated = resolve;
      }),
      this.closed.then(() => 'nothing'),
    ]);
    if (!answer.startsWith('OK ')) throw new Error(`the bus did not let us in: ${answer}`);
    this.#socket.write('BEGIN\r\n');
  }

  call({ signature = '', body = [], ...method }: Method): Promise<readonly unknown[]> {
    const serial = ++this.#serial;
    const name = `${method.interface}.${method.member}`;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => this.#settle(serial, new Error(`${name} was not answered in time`)),
        CALL_TIMEOUT_MS,
      );
      this.#waiting.set(serial, (answer) => {
        clearTimeout(timer);
        if (answer instanceof Error) reject(answer);
        else if (answer.type === ERROR)
          reject(new Error(`${name}: ${answer.errorName}: ${String(answer.body?.[0] ?? '')}`));
        else resolve(answer.body ?? []);
      });
      this.#socket.write(encode({ type: CALL, serial, ...method, signature, body }));
    });
  }

  async listen(rule: string, heard: (signal: BusMessage) => void): Promise<void> {
    await this.call({ ...BROKER, member: 'AddMatch', signature: 's', body: [rule] });
    this.#listeners.push(heard);
  }

  close(): void {
    this.#socket.destroy();
  }

  #read(): void {
    try {
      if (this.#authenticated !== undefined) {
        const end = this.#received.indexOf('\r\n');
        if (end === -1) return;
        this.#authenticated(this.#received.toString('utf8', 0, end));
        this.#authenticated = undefined;
        this.#received = this.#received.subarray(end + 2);
      }
      for (let next = decode(this.#received); next !== undefined; next = decode(this.#received)) {
        this.#received = this.#received.subarray(next.length);
        this.#take(next.message);
      }
    } catch (error) {
      this.#socket.destroy(error as Error);
    }
  }

  #take(message: BusMessage): void {
    if (message.type === REPLY || message.type === ERROR) this.#settle(message.replySerial ?? 0, message);
    else if (message.type === SIGNAL) for (const heard of this.#listeners) heard(message);
  }

  #settle(serial: number, answer: BusMessage | Error): void {
    this.#waiting.get(serial)?.(answer);
    this.#waiting.delete(serial);
  }

  #end(why: Error): void {
    for (const serial of [...this.#waiting.keys()]) this.#settle(serial, why);
  }
}
