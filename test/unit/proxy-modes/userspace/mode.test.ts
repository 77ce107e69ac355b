// The userspace mode: rules in memory, relays on loopback.
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from 'vitest';
import { Balancer } from '../../../../proxy-modes/userspace/balancer.js';
import { userspaceMode } from '../../../../proxy-modes/userspace/mode.js';
import { FakeIptables } from '../../../../src/kernel/iptables/fake.js';
import { endpoint, servicePort, stateOf } from '../../../support/proxy/port.js';

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

async function serve(answer: string) {
  const server = createServer({ allowHalfOpen: true }, (socket) => void socket.end(answer)).listen(
    0,
    '127.0.0.1',
  );
  closers.push(() => void server.close());
  await once(server, 'listening');
  return endpoint('127.0.0.1', true, (server.address() as AddressInfo).port);
}

async function started() {
  const iptables = new FakeIptables();
  const mode = userspaceMode({ ports: { ip: iptables } });
  closers.push(() => mode.close());
  const rules = async () =>
    (await iptables.save('nat')).get('nat')?.chains.get('KUBE-PORTALS-CONTAINER')?.rules ?? [];
  const relayPort = async () => Number(/--to-ports (\d+)/.exec((await rules())[0] ?? '')?.[1]);
  return { mode, iptables, rules, relayPort };
}

const ask = (port: number) => text(connect(port, '127.0.0.1'));

describe('the userspace mode', () => {
  test('relays TCP in turn to the endpoints, and past one that does not answer', async () => {
    const { mode, relayPort } = await started();
    const ends = [await serve('one'), await serve('two')];
    await mode.sync(stateOf(servicePort(1, { endpoints: ends })));
    const port = await relayPort();
    expect([await ask(port), await ask(port), await ask(port)].join()).toBe('one,two,one');
    const closed = endpoint('127.0.0.1', true, 1);
    await mode.sync(stateOf(servicePort(1, { endpoints: [closed, ...ends] })));
    for (let i = 0; i < 4; i++) expect(['one', 'two']).toContain(await ask(port));
  });

  test('removes the rule of a service that was deleted while rules were written', async () => {
    const { mode, iptables, rules } = await started();
    const state = new Map(stateOf(servicePort(1)));
    await mode.sync(state);
    const [doomed, other] = [servicePort(2), servicePort(3)];
    for (const port of [doomed, other]) state.set(port.key, port);
    const restore = iptables.restore.bind(iptables);
    iptables.restore = async (lines, options) => {
      iptables.restore = restore;
      state.delete(doomed.key);
      await restore(lines, options);
    };
    await mode.sync(state, new Set([doomed.key, other.key]));
    expect(await rules()).toHaveLength(3);
    await mode.sync(state, new Set([doomed.key]));
    expect((await rules()).join()).not.toContain('default/s2');
  });

  test('writes its rules again after it was told to forget them while it wrote them', async () => {
    const { mode, iptables, rules } = await started();
    const restore = iptables.restore.bind(iptables);
    iptables.restore = async (lines, options) => {
      iptables.restore = restore;
      await restore(lines, options);
      await restore(
        ['*nat', ':KUBE-PORTALS-CONTAINER - [0:0]', '-F KUBE-PORTALS-CONTAINER', 'COMMIT'],
        options,
      );
      mode.forget();
    };
    const state = stateOf(servicePort(1));
    await mode.sync(state);
    expect(await rules()).toHaveLength(0);
    await mode.sync(state, new Set());
    expect((await rules()).join()).toContain('default/s1');
  });

  test('breaks no connection while a thousand changes of others go by', async () => {
    const { mode, relayPort } = await started();
    const server = createServer((socket) => void socket.pipe(socket)).listen(0, '127.0.0.1');
    closers.push(() => void server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const own = servicePort(1, { endpoints: [endpoint('127.0.0.1', true, port)] });
    const state = new Map(stateOf(own));
    await mode.sync(state);
    const socket = connect(await relayPort(), '127.0.0.1');
    closers.push(() => socket.destroy());
    for (let n = 0; n < 1000; n++) {
      const other = servicePort(2 + (n % 20), { endpoints: n % 3 === 0 ? [] : [endpoint('127.0.0.1')] });
      if (n % 7 === 6) state.delete(other.key);
      else state.set(other.key, other);
      await mode.sync(state);
      socket.write(`${n}\n`);
    }
    socket.end();
    expect(await text(socket)).toBe(Array.from({ length: 1000 }, (_, n) => `${n}\n`).join(''));
  });

  test('tells only the relay of other endpoints, and writes rules for other addresses', async () => {
    const { mode, iptables, rules, relayPort } = await started();
    const [one, two] = [await serve('one'), await serve('two')];
    const other = servicePort(2);
    await mode.sync(stateOf(servicePort(1, { endpoints: [one] }), other));
    const port = await relayPort();
    const changed = servicePort(1, { endpoints: [two] });
    const keys = new Set([changed.key]);
    expect(await mode.sync(stateOf(changed, other), keys)).toEqual({ sent: 0 });
    expect(await ask(port)).toBe('two');
    const moved = servicePort(1, { endpoints: [two], externalIps: ['192.0.2.1'] });
    await mode.sync(stateOf(moved, other), keys);
    expect((await rules()).join()).toContain('192.0.2.1');
    await mode.sync(stateOf(other), keys);
    expect((await rules()).join()).not.toContain('192.0.2.1');
    expect(iptables.restored).toHaveLength(3);
    mode.forget();
    await mode.sync(stateOf(other), new Set());
    expect(iptables.restored).toHaveLength(4);
  });

  test('relays UDP and brings the answer back', async () => {
    const { mode, relayPort } = await started();
    const server = createSocket('udp4');
    closers.push(() => server.close());
    server.on('message', (message, from) => server.send(`${message}!`, from.port, from.address));
    server.bind(0, '127.0.0.1');
    await once(server, 'listening');
    const served = endpoint('127.0.0.1', true, server.address().port);
    await mode.sync(stateOf(servicePort(1, { protocol: 'udp', endpoints: [served] })));
    const client = createSocket('udp4');
    closers.push(() => client.close());
    client.send('hello', await relayPort(), '127.0.0.1');
    const [answer] = await once(client, 'message');
    expect(String(answer)).toBe('hello!');
  });

  test('redirects every address and the node port, and leaves nothing when cleaned up', async () => {
    const { mode, iptables } = await started();
    await mode.sync(stateOf(servicePort(1, { nodePort: 30_080, externalIps: ['192.0.2.1'] })));
    const chains = (await iptables.save('nat')).get('nat')?.chains;
    expect(chains?.get('KUBE-PORTALS-HOST')?.rules).toHaveLength(2);
    expect(chains?.get('KUBE-NODEPORT-CONTAINER')?.rules[0]).toMatch(
      /--dport 30080 -j REDIRECT --to-ports \d+$/,
    );
    expect(await mode.check?.()).toBe(true);
    // One that somebody replaced is found, and so is a jump that is gone.
    const [own = ''] = chains?.get('KUBE-PORTALS-HOST')?.rules ?? [];
    await iptables.restore(['*nat', `-D ${own.slice(3)}`, `-A ${own.slice(3)}1`, 'COMMIT']);
    expect(await mode.check?.()).toBe(false);
    await iptables.restore(['*nat', `-D ${own.slice(3)}1`, `-I ${own.slice(3)}`, 'COMMIT']);
    expect(await mode.check?.()).toBe(true);
    const jump = chains?.get('PREROUTING')?.rules[0]?.replace('-A', '-D') ?? '';
    await iptables.restore(['*nat', jump, 'COMMIT']);
    expect(await mode.check?.()).toBe(false);
    await mode.cleanUp();
    const left = (await iptables.save('nat')).get('nat')?.chains;
    expect([...(left?.values() ?? [])].flatMap(({ rules }) => rules)).toEqual([]);
  });
});

describe('the balancer', () => {
  const ends = [1, 2, 3].map((n) => endpoint(`10.0.0.${n}`));

  test('keeps a client with its endpoint for its time, and no longer', () => {
    const balancer = new Balancer();
    balancer.set(ends, 10);
    const first = balancer.pick('a', 0);
    expect(balancer.pick('b', 0)).not.toBe(first);
    expect(balancer.pick('a', 9_000)).toBe(first);
    expect(balancer.pick('a', 18_000)).toBe(first);
    expect(balancer.pick('a', 30_000)).not.toBe(first);
  });

  test('forgets clients of an endpoint that is gone', () => {
    const balancer = new Balancer();
    balancer.set(ends, 10);
    const first = balancer.pick('a', 0);
    balancer.set(
      ends.filter((one) => one !== first),
      10,
    );
    expect(balancer.pick('a', 1)).not.toBe(first);
  });

  test('has nobody to offer without endpoints', () => {
    expect(new Balancer().pick('a', 0)).toBeUndefined();
  });
});
