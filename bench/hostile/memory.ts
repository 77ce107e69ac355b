// Memory that one ordinary user can make an apiserver hold: at the worst moment of each attack, and five minutes later.
// TRELLIS_HOSTILE_WAIT_S=30 waits less than five minutes.
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { SMALL_NURSERY } from '../../src/cli/cluster/running.js';
import { readyApiServer } from '../apiserver/ready.js';
import { makePlace, type ServerProcess } from '../apiserver/testbed.js';
import { againstLimit, type Figure } from '../lib/figure.js';
import { Attacker, MAPS } from './attacker.js';

const MOST_MB = 256;
const LEFT_MB = 40;
const WAIT_S = Number(process.env['TRELLIS_HOSTILE_WAIT_S'] ?? 300);
/** Nothing that gzip could make small. */
const LARGE = randomBytes(712_500).toString('base64');
const UNREAD_MB = 0.256;
/** The first ones pay for what all share: code that is compiled, frames that are kept for a moment. */
const FIRST_CONNECTIONS = 20;
const CONNECTIONS = 100;

const JSON_TYPE = 'application/json';
const LISTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  JSON: { accept: JSON_TYPE },
  gzip: { accept: JSON_TYPE, 'accept-encoding': 'gzip' },
  YAML: { accept: 'application/yaml' },
  protobuf: { accept: 'application/vnd.kubernetes.protobuf' },
  Table: { accept: `${JSON_TYPE};as=Table;g=meta.k8s.io;v=v1` },
  metadata: { accept: `${JSON_TYPE};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1` },
};

const WEB_SOCKET = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
};
/** Of everything that is there, and what comes. */
const WATCHES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  JSON: { accept: JSON_TYPE },
  protobuf: { accept: 'application/vnd.kubernetes.protobuf' },
  Table: { accept: `${JSON_TYPE};as=Table;g=meta.k8s.io;v=v1` },
  'over a WebSocket': WEB_SOCKET,
  'over a WebSocket in base64': { ...WEB_SOCKET, 'sec-websocket-protocol': 'base64.binary.k8s.io' },
};
const UNREAD: readonly (readonly [string, string, Readonly<Record<string, string>>])[] = [
  ...Object.entries(LISTS).map(
    ([form, headers]) => [`lists of 50 MB never read, ${form}`, MAPS, headers] as const,
  ),
  ...Object.entries(WATCHES).map(
    ([form, headers]) => [`watches of 50 MB never read, ${form}`, `${MAPS}?watch=1`, headers] as const,
  ),
];

const names = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => `${prefix}-${i}`);

type Attack = (attacker: Attacker) => Promise<void>;

/** Fifty large ConfigMaps are there. */
const ATTACKS: Readonly<Record<string, Attack>> = {
  'an object of 950 KB updated 600 times': async (attacker) => {
    for (let i = 0; i < 150; i += 1) await attacker.write('update', names('map', 4), `${i}${LARGE}`);
  },
  '100 watches never read, 20 changes of 950 KB': async (attacker) => {
    for (let i = 0; i < 100; i += 1) await attacker.ask(`${MAPS}?watch=1`, i % 2 ? {} : LISTS['protobuf']);
    for (let i = 0; i < 5; i += 1) await attacker.write('update', names('map', 4), `${i}${LARGE}`);
  },
  'lists of 50 MB never read, everything updated after each, ten times': async (attacker) => {
    for (let i = 0; i < 10; i += 1) {
      await attacker.ask(MAPS);
      await attacker.write('update', names('map', 50), `${i}${LARGE}`);
    }
  },
  'an object of 950 KB asked for and never read, updated after each, 150 times': async (attacker) => {
    for (let i = 0; i < 150; i += 1) {
      await attacker.ask(`${MAPS}/map-0`);
      await attacker.write('update', ['map-0'], `${i}${LARGE}`);
    }
  },
  '190 bodies of 3 MB, each sent but for its last byte': async (attacker) => {
    const body = Buffer.alloc(3_000_000, 'x');
    const head = `POST ${MAPS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${JSON_TYPE}\r\nContent-Length: ${body.length + 1}\r\n\r\n`;
    for (let i = 0; i < 190; i += 1) await attacker.send(Buffer.concat([Buffer.from(head), body]));
  },
  '2,000 small objects made, updated and forgotten': async (attacker) => {
    await attacker.write('create', names('small', 2000), 'x');
    for (let i = 0; i < 5; i += 1) await attacker.write('update', names('small', 2000), String(i));
  },
};

export async function memory(): Promise<Figure[]> {
  const place = await makePlace();
  try {
    const { server, wires } = await readyApiServer(place, SMALL_NURSERY);
    for (const wire of wires) wire.close();
    const attacker = await Attacker.enter(place, server);
    await attacker.write('create', names('map', 50), LARGE);
    await server.memory({ collect: true });
    const start = server.residentMb();
    const figures: Figure[] = [];
    for (const [what, path, headers] of UNREAD) {
      const open = (count: number) =>
        grownBy(server, async () => {
          for (let i = 0; i < count; i += 1) await attacker.ask(path, headers);
        });
      const first = await open(FIRST_CONNECTIONS);
      const rest = await open(CONNECTIONS - FIRST_CONNECTIONS);
      attacker.leave();
      const each = rest.held / (CONNECTIONS - FIRST_CONNECTIONS);
      const most = Math.max(first.most, first.held + rest.most);
      process.stderr.write(
        `  ${what}: at worst ${Math.round(most)} MB, then ${Math.round(each * 1000)} KB each\n`,
      );
      figures.push(againstLimit({ name: `${what}, each`, samples: [each], unit: 'MB' }, UNREAD_MB));
      figures.push(worst(`${CONNECTIONS} ${what}`, most));
    }
    for (const [name, attack] of Object.entries(ATTACKS)) {
      const { most, held } = await grownBy(server, () => attack(attacker));
      process.stderr.write(`  ${name}: at worst ${Math.round(most)} MB, then ${Math.round(held)} MB\n`);
      attacker.leave();
      figures.push(worst(name, most));
    }
    await sleep(WAIT_S * 1000);
    const left = server.residentMb() - start;
    const name = `all of that, and ${WAIT_S} s later`;
    return [...figures, againstLimit({ name, samples: [left], unit: 'MB' }, LEFT_MB)];
  } finally {
    await place.clean();
  }
}

const worst = (name: string, value: number) =>
  againstLimit({ name: `${name}, at worst`, samples: [value], unit: 'MB' }, MOST_MB);

/** Beyond where it stood: at the worst moment, and what is still held once it has had time to let go. */
async function grownBy(
  server: ServerProcess,
  work: () => Promise<void>,
): Promise<{ readonly most: number; readonly held: number }> {
  await server.memory({ collect: true });
  const start = server.residentMb();
  let most = 0;
  const look = () => {
    most = Math.max(most, server.residentMb() - start);
  };
  const looking = setInterval(look, 100);
  try {
    await work();
    await quiet(server);
  } finally {
    clearInterval(looking);
  }
  await server.memory({ collect: true });
  return { most, held: Math.max(0, server.residentMb() - start) };
}

/** Also on a busy machine: nothing is under way any more that was asked for. */
async function quiet(server: ServerProcess): Promise<void> {
  for (let round = 0, before = -1; round < 30 && server.cpuSeconds() - before > 0.1; round += 1) {
    before = server.cpuSeconds();
    await sleep(2000);
  }
}
