// What the tool refuses of one service, and rules that it spells in its own way.
import { describe, expect, test } from 'vitest';
import { iptablesMode } from '../../../../proxy-modes/iptables/mode.js';
import { fingerprint, Spelling } from '../../../../proxy-modes/iptables/spelling.js';
import { KernelError } from '../../../../src/kernel/error.js';
import { FakeIptables } from '../../../../src/kernel/iptables/fake.js';
import { servicePort as port, stateOf } from '../../../support/proxy/port.js';

describe('a service whose rules are refused', () => {
  const ip = new FakeIptables();
  const restore = ip.restore.bind(ip);
  ip.restore = async (lines, options) => {
    const all = [...lines];
    const index = all.findIndex((line) => line.startsWith('-A') && /10\.96\.0\.(66|67)\//.test(line));
    const refusal = { code: 'EINVAL', message: 'no such target', operation: all[index] ?? '', index };
    if (index !== -1) throw new KernelError([{ ...refusal, kernel: '', errno: 22 }]);
    await restore(all, options);
  };
  const mode = iptablesMode({
    ports: { ip },
    traffic: { ip: { local: { by: 'cidr', cidr: '10.0.0.0/8' } } },
  });

  test('is left out and told, each of them, and all others are served', async () => {
    const { failed } = await mode.sync(stateOf(port(1), port(66), port(2, { endpoints: [] }), port(67)));
    expect([...(failed?.keys() ?? [])]).toEqual([port(66).key, port(67).key]);
    const rules = (await ip.save('nat')).get('nat')?.chains.get('KUBE-SERVICES')?.rules.join() ?? '';
    expect(rules).toContain('10.96.0.1/32');
    expect(rules).not.toContain('10.96.0.66');
    expect(await mode.check?.()).toBe(true);
  });

  test('does not hide what is nobody’s', async () => {
    const broken = new FakeIptables();
    broken.restore = async () => {
      throw KernelError.invalid('no tables');
    };
    await expect(iptablesMode({ ports: { ip: broken }, traffic: {} }).sync(stateOf(port(1)))).rejects.toThrow(
      'no tables',
    );
  });
});

describe('rules compared as text', () => {
  test('are the same without their comments', () => {
    const rule = '-A X -d 10.0.0.1/32 -p tcp';
    expect(fingerprint(`${rule} -m comment --comment "a \\"b\\" c" -j Y`)).toBe(fingerprint(`${rule} -j Y`));
    expect(fingerprint(`${rule} -m comment --comment one -j Y`)).toBe(fingerprint(`${rule} -j Y`));
    expect(fingerprint(`${rule} -j Z`)).not.toBe(fingerprint(`${rule} -j Y`));
  });

  test('are repaired once, not for ever, where the tool never prints them as we do', () => {
    const spelling = new Spelling();
    expect(['as-many', 'as-many', 'as-many', 'other'].map((it) => spelling.accepts(it as 'other'))).toEqual([
      false,
      true,
      true,
      false,
    ]);
  });

  test('are repaired each time where the tool has printed them as we do', () => {
    const spelling = new Spelling();
    expect(['same', 'as-many', 'as-many', 'same'].map((it) => spelling.accepts(it as 'other'))).toEqual([
      true,
      false,
      false,
      true,
    ]);
  });
});
