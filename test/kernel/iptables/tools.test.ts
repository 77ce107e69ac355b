import { existsSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { detectBackend, openIptables, toolVersion } from '../../../src/kernel/iptables/adapter.js';
import { parseSave } from '../../../src/kernel/iptables/parse.js';
import { run } from '../../../src/kernel/process.js';
import { netNsPerTest } from '../../support/netns.js';
import { describeWith } from '../../support/requires.js';

const BACKENDS = ['nft', 'legacy'] as const;
const tools = BACKENDS.flatMap((backend) => [`iptables-${backend}-restore`, `ip6tables-${backend}-restore`]);

describeWith({ root: true, tools }, 'iptables tools', () => {
  const netns = netNsPerTest();

  test('an empty namespace counts as nft', async () => {
    expect(await detectBackend((await netns.make()).path)).toBe('nft');
  });

  test.each(BACKENDS)('the one that holds rules is found: %s', async (backend) => {
    const ns = await netns.make();
    await ns.run(`ip6tables-${backend}`, '-A', 'INPUT', '-j', 'ACCEPT');
    expect(await detectBackend(ns.path)).toBe(backend);
    expect((await openIptables({ family: 'inet', netns: ns.path })).backend).toBe(backend);
  });

  test.each(BACKENDS)('the kubelet’s mark outweighs the rules of the other: %s', async (backend) => {
    const ns = await netns.make();
    const other = backend === 'nft' ? 'legacy' : 'nft';
    await ns.run(`iptables-${other}`, '-A', 'INPUT', '-j', 'ACCEPT');
    await ns.run(`iptables-${backend}`, '-t', 'mangle', '-N', 'KUBE-IPTABLES-HINT');
    expect(await detectBackend(ns.path)).toBe(backend);
  });

  test('looking makes no table in either back end', async () => {
    const ns = await netns.make();
    await detectBackend(ns.path);
    expect(await ns.run('nft', 'list', 'ruleset')).toBe('');
    expect(await ns.run('cat', '/proc/net/ip_tables_names')).toBe('');
  });

  test.each(BACKENDS)('the version of %s is told', async (backend) => {
    expect(await toolVersion('inet', backend)).toMatchObject({ hasWait: true, hasRandomFully: true });
  });

  test.each(BACKENDS)(
    'what %s’s own command makes is saved, and what we restore it lists',
    async (backend) => {
      const ns = await netns.make();
      const iptables = await openIptables({ family: 'inet', backend, netns: ns.path });
      await ns.run(`iptables-${backend}`, '-t', 'nat', '-N', 'THEIRS');
      await ns.run(`iptables-${backend}`, '-t', 'nat', '-A', 'THEIRS', '-d', '10.96.0.1', '-j', 'MASQUERADE');
      await iptables.restore([
        '*nat',
        ':OURS - [0:0]',
        '-A OURS -p udp -m udp --dport 53 -j DNAT --to-destination 10.0.0.5:5353',
        '-A PREROUTING -m comment --comment "all of ours" -j OURS',
        'COMMIT',
      ]);
      const chains = (await iptables.save('nat')).get('nat')?.chains;
      expect(chains?.get('THEIRS')?.rules).toEqual(['-A THEIRS -d 10.96.0.1/32 -j MASQUERADE']);
      const listed = await ns.run(`iptables-${backend}`, '-t', 'nat', '-S');
      for (const rule of ['OURS', 'PREROUTING'].flatMap((name) => chains?.get(name)?.rules ?? []))
        expect(listed).toContain(rule);
      expect(parseSave(await ns.run(`iptables-${backend}-save`)).get('nat')?.chains).toEqual(chains);
    },
  );

  test('a held xtables lock is EAGAIN after the wait', async () => {
    const ns = await netns.make();
    const lock = join(tmpdir(), `trellis-xtables-${process.pid}.lock`);
    const env = { XTABLES_LOCKFILE: lock };
    const iptables = await openIptables({
      family: 'inet',
      backend: 'legacy',
      netns: ns.path,
      lockWaitSeconds: 1,
      env,
    });
    const holder = run(['flock', lock, 'sleep', '3']);
    await expect.poll(() => existsSync(lock)).toBe(true);
    await new Promise((done) => setTimeout(done, 200));
    await expect(iptables.restore(['*filter', ':X - [0:0]', 'COMMIT'])).rejects.toMatchObject({
      code: 'EAGAIN',
      message: expect.stringContaining('xtables lock'),
    });
    await holder;
    await iptables.restore(['*filter', ':X - [0:0]', 'COMMIT']);
    expect((await iptables.save('filter')).get('filter')?.chains.has('X')).toBe(true);
    rmSync(lock);
  });

  test.each(BACKENDS)('10,000 rules go in and come back in order with %s', async (backend) => {
    const ns = await netns.make();
    const iptables = await openIptables({ family: 'inet', backend, netns: ns.path });
    const rules = Array.from(
      { length: 10_000 },
      (_, i) =>
        `-A MANY -s 10.${i >> 16}.${(i >> 8) & 255}.${i & 255}/32 -p tcp -m tcp --dport ${1 + (i % 60000)} -j RETURN`,
    );
    await iptables.restore(['*filter', ':MANY - [0:0]', ...rules, 'COMMIT']);
    expect((await iptables.save('filter')).get('filter')?.chains.get('MANY')?.rules).toEqual(rules);
    const bad = [...rules.slice(0, 7000), '-A NOWHERE -j RETURN', ...rules.slice(7000)];
    const refused = iptables.restore(['*filter', ':MANY - [0:0]', ...bad, 'COMMIT']);
    await expect(refused).rejects.toMatchObject({ index: 7002, operation: '-A NOWHERE -j RETURN' });
  });

  test('a namespace that is not there is told', async () => {
    const iptables = await openIptables({ family: 'inet', backend: 'nft', netns: '/run/netns/not-there' });
    await expect(iptables.save()).rejects.toMatchObject({ code: 'ENOENT' });
  });
});
