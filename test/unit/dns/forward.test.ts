// What the world is asked: by which of its servers, and which of them there are.
import dgram from 'node:dgram';
import { expect, test } from 'vitest';
import { silentLog } from '../../../src/api/log.js';
import { makeForwarder, serversOf } from '../../../src/dns/forward.js';
import { REST_MS } from '../../../src/dns/upstream.js';
import { dnsWorlds, echo } from '../../support/dnsWorld.js';

const { closers, world } = dnsWorlds();

test('a server of the world that does not answer is asked after the others, until it is back', async () => {
  let isAway = true;
  let isOpen = true;
  const [first, second] = [await world((asked) => (isAway ? undefined : echo(asked))), await world(echo)];
  let clock = 0;
  // Both at one port: 127.0.0.2 leads to the second.
  const relay = dgram.createSocket('udp4');
  relay.on('message', (bytes, from) => {
    const onward = dgram.createSocket('udp4');
    onward.on('message', (reply) => {
      if (isOpen) relay.send(reply, from.port, from.address);
      onward.close();
    });
    onward.send(bytes, second.port, '127.0.0.1');
  });
  await new Promise<void>((resolve) => relay.bind(first.port, '127.0.0.2', resolve));
  closers.push(() => {
    isOpen = false;
    relay.close();
  });
  const servers = ['127.0.0.1', '127.0.0.2'];
  // Long enough for the second to answer on a busy machine; the first is waited for three times.
  const options = { servers, port: first.port, timeoutMs: 500, log: silentLog, now: () => clock };
  const forwarder = makeForwarder(options);
  const ask20 = async (word: string) => {
    for (let at = 0; at < 20; at++)
      expect((await forwarder.ask(`${word}${at}.example.com`, 'A')).code).toBe('NOERROR');
  };
  await ask20('a');
  expect([first.asked, second.asked]).toEqual([2, 20]);
  // Later, one of many questions finds out that it is still away.
  clock = REST_MS;
  await Promise.all(Array.from({ length: 5 }, (_, at) => forwarder.ask(`b${at}.example.com`, 'A')));
  expect([first.asked, second.asked]).toEqual([3, 25]);
  isAway = false;
  clock = 2 * REST_MS;
  await ask20('c');
  expect([first.asked, second.asked]).toEqual([23, 25]);
});

const RESOLV_CONF =
  '# c\nnameserver 10.96.0.10\nnameserver 192.0.2.53\n nameserver fe80::1%eth0\nnameserver FD00:0::1\nnameserver nonsense\nsearch x\n';
test.each([
  ['our own', { address: '192.0.2.53', port: 53 }, ['fe80::1%eth0', 'FD00:0::1']],
  ['our own, spelled differently', { address: 'fd00::1', port: 53 }, ['192.0.2.53', 'fe80::1%eth0']],
  [
    'none, for another server has our address',
    { address: '192.0.2.53', port: 10053 },
    ['192.0.2.53', 'fe80::1%eth0', 'FD00:0::1'],
  ],
])('of the host servers the DNS service and nonsense are left out, and %s', (_, at, expected) => {
  expect(serversOf(RESOLV_CONF, { ...at, serviceAddress: '10.96.0.10' })).toEqual(expected);
});
