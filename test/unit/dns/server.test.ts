// The name server on loopback, asked over real sockets; and the world behind it played by a socket of the test.
import dgram from 'node:dgram';
import net from 'node:net';
import packet, { type Packet } from 'dns-packet';
import { describe, expect, test } from 'vitest';
import { silentLog } from '../../../src/api/log.js';
import { type Forwarder, MAX_CONNECTIONS, makeForwarder, withLength } from '../../../src/dns/forward.js';
import type { Reply } from '../../../src/dns/message.js';
import { askers, MAX_TCP, MAX_TCP_OF_CLIENT, openDnsServer } from '../../../src/dns/server.js';
import { Zone } from '../../../src/dns/zone.js';
import { dnsWorlds, echo, type World } from '../../support/dnsWorld.js';
import { until } from '../../support/until.js';

const { closers, world } = dnsWorlds();

async function server(zone: Zone, upstream?: World, serves: string[] = []) {
  const servers = upstream === undefined ? [] : ['127.0.0.1'];
  const forwarder = makeForwarder({ servers, port: upstream?.port ?? 53, timeoutMs: 200, log: silentLog });
  const opened = await openDnsServer({
    zone,
    forwarder,
    address: '127.0.0.1',
    port: 0,
    serves,
    log: silentLog,
  });
  closers.push(() => opened.close());
  return opened.port;
}

/** A name server whose answers over UDP are cut; `tcp` becomes the same over TCP. */
async function cutAnswers(tcp: net.Server): Promise<World> {
  // First: somebody else's connection may have the number of a free port of UDP.
  await new Promise<void>((resolve) => tcp.listen(0, '127.0.0.1', resolve));
  closers.push(() => new Promise((resolve) => tcp.close(resolve)));
  const cut = (question: Packet): Packet => ({
    id: question.id ?? 0,
    type: 'response',
    questions: question.questions ?? [],
    flags: packet.TRUNCATED_RESPONSE,
  });
  return world(cut, (tcp.address() as net.AddressInfo).port);
}

function zoneOf(count: number): Zone {
  const zone = new Zone('cluster.local');
  const endpoints = Array.from({ length: count }, (_, i) => ({
    label: `p${i}`,
    ip: `10.244.${i >> 8}.${i & 255}`,
    ports: [],
  }));
  zone.set({ service: 'many', namespace: 'default', clusterIps: [], ports: [], endpoints });
  return zone;
}

function overUdp(port: number, bytes: Buffer): Promise<Packet> {
  return new Promise((resolve) => {
    const socket = dgram.createSocket('udp4');
    socket.on('message', (reply) => {
      socket.close();
      resolve(packet.decode(reply));
    });
    socket.send(bytes, port, '127.0.0.1');
  });
}

function overTcp(port: number, bytes: Buffer): Promise<Packet> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(port, '127.0.0.1');
    let received = Buffer.alloc(0);
    // In pieces of one byte: a message may come in any.
    for (const byte of withLength(bytes)) socket.write(Buffer.of(byte));
    socket.on('error', reject);
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      if (received.length < 2 + received.readUInt16BE(0)) return;
      socket.destroy();
      resolve(packet.decode(received.subarray(2)));
    });
  });
}

const ask = (name: string, type = 'A', more: object = {}) =>
  packet.encode({
    id: 7,
    type: 'query',
    flags: packet.RECURSION_DESIRED,
    questions: [{ name, type: type as 'A' }],
    ...more,
  });
const code = (reply: Packet) => (reply.flags ?? 0) & 0xf;
const isCut = (reply: Packet) => ((reply.flags ?? 0) & packet.TRUNCATED_RESPONSE) !== 0;

describe('the name server', () => {
  test('answers with the id and the spelling of the question', async () => {
    const port = await server(zoneOf(1));
    const reply = await overUdp(port, ask('MANY.default.svc.Cluster.local'));
    expect(reply).toMatchObject({
      id: 7,
      type: 'response',
      questions: [{ name: 'MANY.default.svc.Cluster.local' }],
    });
    expect(reply.answers).toMatchObject([{ type: 'A', data: '10.244.0.0', ttl: 5 }]);
  });

  test('keeps of an answer what fits, says that it is cut, and gives it whole over TCP', async () => {
    const port = await server(zoneOf(300));
    const cut = await overUdp(port, ask('many.default.svc.cluster.local'));
    expect(isCut(cut)).toBe(true);
    // 512 bytes: the header, the question, and records of 16 bytes.
    expect(cut.answers).toHaveLength(Math.floor((512 - 12 - 36) / 16));
    const whole = await overTcp(port, ask('many.default.svc.cluster.local'));
    expect(whole.answers).toHaveLength(300);
    expect(isCut(whole)).toBe(false);
  });

  test('keeps what fits over TCP too', async () => {
    const reply = await overTcp(await server(zoneOf(5_000)), ask('many.default.svc.cluster.local'));
    expect(isCut(reply)).toBe(true);
    expect(reply.answers?.length).toBeGreaterThan(4_000);
  });

  test('leaves additional records out without calling the answer cut', async () => {
    const zone = zoneOf(1);
    const clusterIps = Array.from({ length: 40 }, (_, i) => `10.96.0.${i}`);
    const ports = [{ name: 'http', protocol: 'tcp', port: 80 }];
    zone.set({ service: 'wide', namespace: 'default', clusterIps, ports, endpoints: [] });
    const reply = await overUdp(await server(zone), ask('wide.default.svc.cluster.local', 'SRV'));
    expect(isCut(reply)).toBe(false);
    expect(reply.answers).toMatchObject([{ data: { port: 80 } }]);
    expect(reply.additionals?.length).toBeGreaterThan(0);
    expect(reply.additionals?.length).toBeLessThan(40);
  });

  test('has the start of authority and the name server at the top of its domain', async () => {
    const zone = zoneOf(1);
    const dns = { service: 'kube-dns', namespace: 'kube-system', ports: [], endpoints: [] };
    zone.set({ ...dns, clusterIps: ['10.96.0.10'] });
    const port = await server(zone);
    expect((await overUdp(port, ask('cluster.local', 'SOA'))).answers).toMatchObject([
      { type: 'SOA', name: 'cluster.local', data: { minimum: 5 } },
    ]);
    const reply = await overUdp(port, ask('cluster.local', 'NS'));
    const name = 'kube-dns.kube-system.svc.cluster.local';
    expect(reply.answers).toMatchObject([{ type: 'NS', name: 'cluster.local', data: name }]);
    expect(reply.additionals).toMatchObject([{ type: 'A', name, data: '10.96.0.10' }]);
  });

  test('asks the world for its root', async () => {
    const outside = await world((question) => ({
      id: question.id ?? 0,
      type: 'response',
      questions: question.questions ?? [],
      answers: [{ name: '.', type: 'NS', ttl: 60, data: 'a.root-servers.net' }],
    }));
    const reply = await overUdp(await server(zoneOf(1), outside), ask('.', 'NS'));
    expect(code(reply)).toBe(0);
    expect(reply.answers).toMatchObject([{ name: '.', type: 'NS', data: 'a.root-servers.net' }]);
  });

  test('closes although a client keeps its connection open', async () => {
    const zone = zoneOf(1);
    const forwarder = makeForwarder({ servers: [], log: silentLog });
    const at = { address: '127.0.0.1', port: 0 };
    const opened = await openDnsServer({ zone, forwarder, ...at, serves: [], log: silentLog });
    const client = net.connect(opened.port, at.address);
    closers.push(() => client.destroy());
    client.write(withLength(ask('many.default.svc.cluster.local')));
    await new Promise((resolve) => client.once('data', resolve));
    const ended = new Promise((resolve) => client.once('close', resolve));
    await opened.close();
    await ended;
  });

  test('gives larger answers to askers with EDNS', async () => {
    const port = await server(zoneOf(40));
    const opt = { type: 'OPT', name: '.', udpPayloadSize: 4096, flags: 0, options: [] };
    expect((await overUdp(port, ask('many.default.svc.cluster.local'))).answers?.length).toBeLessThan(40);
    const reply = await overUdp(port, ask('many.default.svc.cluster.local', 'A', { additionals: [opt] }));
    expect(reply.answers?.length).toBe(40);
  });

  test('knows what does not exist, and says how long', async () => {
    const port = await server(zoneOf(1));
    const reply = await overUdp(port, ask('absent.default.svc.cluster.local'));
    expect(code(reply)).toBe(3);
    expect(reply.authorities).toMatchObject([{ type: 'SOA', data: { minimum: 5 } }]);
  });

  test('asks the world for other names, once for as long as the answer may be kept', async () => {
    const outside = await world(echo);
    const port = await server(zoneOf(1), outside);
    for (let time = 0; time < 3; time++)
      expect((await overUdp(port, ask('example.com'))).answers).toMatchObject([{ data: '192.0.2.1' }]);
    expect(outside.asked).toBe(1);
  });

  test('asks once for all who ask at the same time', async () => {
    const outside = await world(echo);
    const port = await server(zoneOf(1), outside);
    await Promise.all(Array.from({ length: 20 }, () => overUdp(port, ask('example.com'))));
    expect(outside.asked).toBe(1);
  });

  test('keeps for a while that a name does not exist, as its zone says', async () => {
    const soa = { mname: 'ns', rname: 'me', serial: 1, refresh: 1, retry: 1, expire: 1, minimum: 60 };
    const outside = await world((question) => ({
      id: question.id ?? 0,
      type: 'response',
      flags: 3,
      questions: question.questions ?? [],
      authorities: [{ name: 'com', type: 'SOA', ttl: 60, data: soa }],
    }));
    let clock = 0;
    const forwarder = makeForwarder({
      servers: ['127.0.0.1'],
      port: outside.port,
      log: silentLog,
      now: () => clock,
    });
    for (const at of [0, 29_000]) {
      clock = at;
      expect(await forwarder.ask('absent.com', 'A')).toMatchObject({ code: 'NXDOMAIN', answers: [] });
    }
    expect(outside.asked).toBe(1);
    clock = 31_000;
    await forwarder.ask('absent.com', 'A');
    expect(outside.asked).toBe(2);
  });

  test('asks the world again over TCP when an answer was cut', async () => {
    const many = Array.from({ length: 200 }, (_, i) => ({
      name: 'example.com',
      type: 'A' as const,
      ttl: 60,
      data: `192.0.2.${i}`,
    }));
    const tcp = net.createServer((socket) =>
      socket.on('data', (bytes) => {
        const question = packet.decode(bytes.subarray(2));
        socket.write(withLength(packet.encode({ ...echo(question), answers: many })));
      }),
    );
    const outside = await cutAnswers(tcp);
    const port = await server(zoneOf(1), outside);
    expect((await overTcp(port, ask('example.com'))).answers).toHaveLength(200);
    expect(outside.asked).toBe(1);
  });

  test('follows aliases, and not for ever', async () => {
    const zone = zoneOf(1);
    const alias = (service: string, externalName: string) =>
      zone.set({ service, namespace: 'default', clusterIps: [], ports: [], endpoints: [], externalName });
    alias('other', 'many.default.svc.cluster.local');
    alias('one', 'two.default.svc.cluster.local');
    alias('two', 'one.default.svc.cluster.local');
    const port = await server(zone);
    const types = async (name: string) =>
      (await overTcp(port, ask(`${name}.default.svc.cluster.local`))).answers?.map(({ type }) => type);
    expect(await types('other')).toEqual(['CNAME', 'A']);
    expect(new Set(await types('one'))).toEqual(new Set(['CNAME']));
  });

  test('takes no answer that does not fit the question', async () => {
    const outside = await world((question) => ({
      ...echo(question),
      questions: [{ name: 'evil.com', type: 'A' }],
    }));
    const port = await server(zoneOf(1), outside);
    expect(code(await overUdp(port, ask('example.com')))).toBe(2);
  });

  test('fails clearly when the world does not answer', async () => {
    const port = await server(zoneOf(1), await world(() => undefined));
    expect(code(await overUdp(port, ask('example.com')))).toBe(2);
  });

  test.each<[string, Buffer, number]>([
    [
      'two questions',
      packet.encode({
        id: 7,
        type: 'query',
        questions: [
          { name: 'a', type: 'A' },
          { name: 'b', type: 'A' },
        ],
      }),
      1,
    ],
    ['no question', packet.encode({ id: 7, type: 'query', questions: [] }), 1],
    ['a header and rubbish', Buffer.concat([ask('a').subarray(0, 12), Buffer.from([0xff, 0xff, 0xff])]), 1],
    [
      'another operation',
      packet.encode({ id: 7, type: 'query', flags: 2 << 11, questions: [{ name: 'a', type: 'A' }] }),
      4,
    ],
  ])('refuses %s', async (_, bytes, expected) => {
    expect(code(await overUdp(await server(zoneOf(1)), bytes))).toBe(expected);
  });

  test('answers neither noise nor answers, and goes on', async () => {
    const port = await server(zoneOf(1));
    const socket = dgram.createSocket('udp4');
    for (const bytes of [Buffer.from('short'), packet.encode({ id: 1, type: 'response', questions: [] })])
      socket.send(bytes, port, '127.0.0.1');
    expect((await overUdp(port, ask('many.default.svc.cluster.local'))).answers).toHaveLength(1);
    socket.close();
  });
});

test('a question over TCP that cannot be answered ends its connection, and nothing else', async () => {
  const forwarder: Forwarder = { ask: () => Promise.reject(new Error('nobody to ask')) };
  const options = { zone: zoneOf(1), forwarder, address: '127.0.0.1', port: 0, serves: [], log: silentLog };
  const opened = await openDnsServer(options);
  closers.push(() => opened.close());
  const socket = net.connect(opened.port, '127.0.0.1');
  const closed = new Promise((resolve) => socket.on('error', () => {}).once('close', resolve));
  socket.write(withLength(ask('example.com')));
  await closed;
  expect((await overUdp(opened.port, ask('many.default.svc.cluster.local'))).answers).toHaveLength(1);
});

describe('a flood', () => {
  test('over one connection has a few questions under way, and the rest waits unread', async () => {
    const outside = await world(() => undefined);
    const port = await server(zoneOf(1), outside);
    const socket = net.connect(port, '127.0.0.1');
    const questions = Array.from({ length: 5_000 }, (_, index) => withLength(ask(`n${index}.example.com`)));
    socket.on('error', () => {});
    socket.write(Buffer.concat(questions));
    await expect.poll(() => outside.asked).toBeGreaterThan(0);
    expect(outside.asked).toBeLessThanOrEqual(16);
    socket.destroy();
  });
  test('of one client over UDP is refused beyond its share', async () => {
    const waiting: (() => void)[] = [];
    const failed: Reply = { code: 'SERVFAIL', authoritative: false, answers: [] };
    const forwarder: Forwarder = {
      ask: () => new Promise((resolve) => waiting.push(() => resolve(failed))),
    };
    const opened = await openDnsServer({
      zone: zoneOf(1),
      forwarder,
      address: '127.0.0.1',
      port: 0,
      serves: [],
      log: silentLog,
    });
    const socket = dgram.createSocket('udp4');
    closers.push(
      () => opened.close(),
      () => socket.close(),
    );
    const codes: number[] = [];
    socket.on('message', (bytes) => codes.push(code(packet.decode(bytes))));
    await expect
      .poll(() => {
        for (let index = 0; index < 50; index += 1) socket.send(ask('example.com'), opened.port, '127.0.0.1');
        return codes[0];
      })
      .toBe(5);
    expect(waiting).toHaveLength(256);
    // Few at a time: what does not fit into the buffer of the socket would be lost.
    for (let answered = 32; answered <= 256; answered += 32) {
      for (const resolve of waiting.slice(answered - 32, answered)) resolve();
      await expect.poll(() => codes.filter((each) => each === 2).length).toBe(answered);
    }
  });
});

test.each([
  ['10.1.2.3', true],
  ['::ffff:10.1.2.3', true],
  ['127.0.0.1', true],
  ['192.0.2.1', true],
  ['192.0.2.7', true],
  ['192.0.2.8', false],
  ['fd00::1', false],
])('serves pods, nodes and its own machine: %s is answered: %s', (from, isAnswered) => {
  const mayAsk = askers({
    serves: ['10.0.0.0/8'],
    address: '192.0.2.1',
    alsoServes: (address) => address === '192.0.2.7',
  });
  expect(mayAsk(from)).toBe(isAnswered);
});

describe('clients over TCP', () => {
  const open = async (more: object = {}) => {
    const forwarder = makeForwarder({ servers: [], log: silentLog });
    const at = { address: '0.0.0.0', port: 0, serves: ['127.0.0.0/8'], log: silentLog };
    const opened = await openDnsServer({ zone: zoneOf(1), forwarder, ...at, ...more });
    closers.push(() => opened.close());
    return opened.port;
  };
  const connect = (port: number, localAddress = '127.0.0.1') => {
    const client = net.connect({ host: '127.0.0.1', port, localAddress }).on('error', () => {});
    closers.push(() => client.destroy());
    return client;
  };
  const ended = (client: net.Socket) => new Promise((resolve) => client.once('close', resolve));
  const question = withLength(ask('many.default.svc.cluster.local'));
  const answer = async (client: net.Socket) => {
    const answered = new Promise((resolve, reject) => {
      client.once('data', resolve).once('close', () => reject(new Error('closed without an answer')));
    });
    client.write(question);
    return answered;
  };

  test.each(['says nothing', 'sends one byte after another'])('one that %s is let go', async (what) => {
    const client = connect(await open({ idleMs: 200 }));
    let at = 0;
    // Slower than anything that a client has to do, and a question takes more bytes than there is time for.
    const timer = setInterval(() => {
      if (what !== 'says nothing') client.write(question.subarray(at, ++at));
    }, 20);
    closers.push(() => clearInterval(timer));
    await ended(client);
    expect(at).toBeLessThan(question.length);
  });

  test('one that goes on asking stays', async () => {
    const client = connect(await open({ idleMs: 3000 }));
    // Longer than that in all.
    for (let n = 0; n < 16; n++) {
      await answer(client);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    expect(client.destroyed).toBe(false);
  });

  test('are no more than there is room for, and one alone does not take it all', async () => {
    const port = await open();
    const clients = [];
    for (let n = 0; n < MAX_TCP / MAX_TCP_OF_CLIENT; n++) {
      const from = `127.0.0.${10 + n}`;
      for (let own = 0; own < MAX_TCP_OF_CLIENT; own++) clients.push(connect(port, from));
      // In the order in which they came, all of them are taken.
      await answer(clients.at(-1) as net.Socket);
      if (n === 0) await ended(connect(port, from));
    }
    await ended(connect(port, '127.0.0.9'));
    for (const client of clients) expect(client.destroyed).toBe(false);
    clients[0]?.destroy();
    await until(() => answer(connect(port, '127.0.0.10')));
  });
});

test('a flood of questions whose answers are cut opens a bounded number of connections', async () => {
  let [now, most] = [0, 0];
  const tcp = net.createServer((socket) => {
    now += 1;
    most = Math.max(most, now);
    socket
      .resume()
      .on('error', () => {})
      .on('close', () => {
        now -= 1;
      });
  });
  const outside = await cutAnswers(tcp);
  const options = { servers: ['127.0.0.1'], port: outside.port, timeoutMs: 1000, log: silentLog };
  const forwarder = makeForwarder(options);
  const replies = await Promise.all(
    Array.from({ length: 3 * MAX_CONNECTIONS }, (_, n) => forwarder.ask(`n${n}.example.com`, 'A')),
  );
  expect(new Set(replies.map((reply) => reply.code))).toEqual(new Set(['SERVFAIL']));
  expect(most).toBe(MAX_CONNECTIONS);
});
