// What every IptablesPort must do; run against the fake and against the real tools of both back ends and families.
import { describe, expect, test } from 'vitest';
import type { IptablesFamily, IptablesPort, Ruleset, TableName } from '../../../src/kernel/iptables/port.js';

const chainsOf = (ruleset: Ruleset, table: TableName) => [...(ruleset.get(table)?.chains.keys() ?? [])];
const rulesOf = (ruleset: Ruleset, table: TableName, chain: string) =>
  ruleset.get(table)?.chains.get(chain)?.rules;

const table = (name: TableName, ...lines: string[]) => [`*${name}`, ...lines, 'COMMIT'];

export function iptablesContract(family: IptablesFamily, open: () => Promise<IptablesPort>): void {
  const host = (n: number) => (family === 'inet' ? `10.0.0.${n}/32` : `fd00::${n}/128`);
  /** A rule as every tool saves it. */
  const rule = (chain: string, n: number, target = 'ACCEPT') =>
    `-A ${chain} -s ${host(n)} -p tcp -m tcp --dport ${n} -j ${target}`;

  /** INPUT jumps to ONE, which jumps to TWO; THREE is alone and empty. */
  const opened = async () => {
    const iptables = await open();
    await iptables.restore(
      table(
        'filter',
        ':ONE - [0:0]',
        ':TWO - [0:0]',
        ':THREE - [0:0]',
        rule('ONE', 1),
        '-A ONE -j TWO',
        rule('TWO', 2, 'DROP'),
        rule('TWO', 3),
        '-A INPUT -j ONE',
      ),
    );
    return iptables;
  };

  test('a namespace that was never used has no tables, and asking makes none', async () => {
    const iptables = await open();
    expect((await iptables.save()).size).toBe(0);
    const chains = [...((await iptables.save('nat')).get('nat')?.chains.values() ?? [])];
    expect(chains.filter((chain) => chain.policy !== 'ACCEPT' || chain.rules.length > 0)).toEqual([]);
    expect((await iptables.save()).size).toBe(0);
  });

  test('rules are saved as they were restored', async () => {
    const ruleset = await (await opened()).save('filter');
    expect(chainsOf(ruleset, 'filter')).toEqual(
      expect.arrayContaining(['INPUT', 'FORWARD', 'OUTPUT', 'ONE', 'TWO', 'THREE']),
    );
    expect(rulesOf(ruleset, 'filter', 'ONE')).toEqual([rule('ONE', 1), '-A ONE -j TWO']);
    expect(rulesOf(ruleset, 'filter', 'TWO')).toEqual([rule('TWO', 2, 'DROP'), rule('TWO', 3)]);
    expect(rulesOf(ruleset, 'filter', 'THREE')).toEqual([]);
    expect(rulesOf(ruleset, 'filter', 'INPUT')).toEqual(['-A INPUT -j ONE']);
    expect(ruleset.get('filter')?.chains.get('INPUT')).toMatchObject({
      policy: 'ACCEPT',
      packets: 0,
      bytes: 0,
    });
    expect(ruleset.get('filter')?.chains.get('ONE')?.policy).toBeNull();
  });

  test('comments with blanks and quotes come back as they were', async () => {
    const iptables = await open();
    const commented = '-A ONE -m comment --comment "default/web:http \\"x\\" cluster IP" -j RETURN';
    await iptables.restore(table('filter', ':ONE - [0:0]', commented));
    expect(rulesOf(await iptables.save('filter'), 'filter', 'ONE')).toEqual([commented]);
  });

  test('several tables in one restore', async () => {
    const iptables = await open();
    await iptables.restore([
      '# a comment, and an empty line',
      '',
      ...table('nat', ':SVC - [0:0]', '-A PREROUTING -j SVC'),
      ...table('mangle', ':MARKS - [0:0]'),
    ]);
    const ruleset = await iptables.save();
    expect([...ruleset.keys()].sort()).toEqual(['mangle', 'nat']);
    expect([...(await iptables.save('nat')).keys()]).toEqual(['nat']);
    expect(rulesOf(ruleset, 'nat', 'PREROUTING')).toEqual(['-A PREROUTING -j SVC']);
  });

  test('a declared chain is emptied, its neighbours are not', async () => {
    const iptables = await opened();
    await iptables.restore(table('filter', ':TWO - [0:0]', rule('TWO', 9)));
    const ruleset = await iptables.save('filter');
    expect(rulesOf(ruleset, 'filter', 'TWO')).toEqual([rule('TWO', 9)]);
    expect(rulesOf(ruleset, 'filter', 'ONE')).toEqual([rule('ONE', 1), '-A ONE -j TWO']);
  });

  test('a declared built-in chain keeps its rules and takes the policy', async () => {
    const iptables = await opened();
    await iptables.restore(table('filter', ':INPUT DROP [0:0]', ':OUTPUT - [0:0]'));
    const chains = (await iptables.save('filter')).get('filter')?.chains;
    expect(chains?.get('INPUT')).toMatchObject({ policy: 'DROP', rules: ['-A INPUT -j ONE'] });
    expect(chains?.get('OUTPUT')).toMatchObject({ policy: 'ACCEPT' });
  });

  test('counters are taken only when asked for', async () => {
    const iptables = await open();
    const lines = table('filter', ':FORWARD ACCEPT [5:600]');
    await iptables.restore(lines);
    const forward = async () => (await iptables.save('filter')).get('filter')?.chains.get('FORWARD');
    expect(await forward()).toMatchObject({ packets: 0, bytes: 0 });
    await iptables.restore(lines, { counters: true });
    expect(await forward()).toMatchObject({ packets: 5, bytes: 600 });
    await iptables.restore(table('filter', ':X - [0:0]', '[7:420] -A X -j RETURN'), { counters: true });
    expect(rulesOf(await iptables.save('filter'), 'filter', 'X')).toEqual(['-A X -j RETURN']);
  });

  test.each<[string, string[], string, (rule: (n: number, target?: string) => string) => string[]]>([
    ['-I at the front', ['-I TWO -j RETURN'], 'TWO', (r) => ['-A TWO -j RETURN', r(2, 'DROP'), r(3)]],
    ['-I at a place', ['-I TWO 2 -j RETURN'], 'TWO', (r) => [r(2, 'DROP'), '-A TWO -j RETURN', r(3)]],
    ['-I behind the last', ['-I TWO 3 -j RETURN'], 'TWO', (r) => [r(2, 'DROP'), r(3), '-A TWO -j RETURN']],
    ['-R', ['-R TWO 1 -j RETURN'], 'TWO', (r) => ['-A TWO -j RETURN', r(3)]],
    ['-D by place', ['-D TWO 1'], 'TWO', (r) => [r(3)]],
    ['-F of a chain', ['-F TWO'], 'TWO', () => []],
    ['-F of all', ['-F'], 'TWO', () => []],
    ['-N', ['-N FOUR', '-A FOUR -j TWO'], 'FOUR', () => ['-A FOUR -j TWO']],
    ['-P', ['-P FORWARD DROP'], 'TWO', (r) => [r(2, 'DROP'), r(3)]],
    ['-g', ['-A THREE -g TWO'], 'THREE', () => ['-A THREE -g TWO']],
  ])('%s does what it says', async (_, lines, chain, expected) => {
    const iptables = await opened();
    await iptables.restore(table('filter', ...lines));
    const wanted = expected((n, target) => rule(chain, n, target));
    expect(rulesOf(await iptables.save('filter'), 'filter', chain)).toEqual(wanted);
  });

  test('-D takes away the rule that says the same', async () => {
    const iptables = await opened();
    await iptables.restore(table('filter', rule('TWO', 2, 'DROP').replace('-A', '-D')));
    expect(rulesOf(await iptables.save('filter'), 'filter', 'TWO')).toEqual([rule('TWO', 3)]);
  });

  test('-X takes away chains that are empty and unused', async () => {
    const iptables = await opened();
    await iptables.restore(table('filter', '-X THREE'));
    expect(chainsOf(await iptables.save('filter'), 'filter')).not.toContain('THREE');
    await iptables.restore(table('filter', '-F', '-X'));
    expect(chainsOf(await iptables.save('filter'), 'filter').sort()).toEqual(['FORWARD', 'INPUT', 'OUTPUT']);
  });

  test('the stamp is another after a change, and only then', async () => {
    const iptables = await opened();
    const stamp = () => iptables.stamp(['filter']);
    const before = await stamp();
    expect(await stamp()).toBe(before);
    await iptables.restore(table('filter', '-F TWO'));
    expect(await stamp()).not.toBe(before);
  });

  describe('a refused line', () => {
    test.each<[string, string]>([
      ['a rule in an unknown chain', '-A NOPE -j ACCEPT'],
      ['an unknown target', '-A ONE -j NOPE'],
      ['a goto to nowhere', '-A ONE -g NOPE'],
      ['an unknown match', '-A ONE -m nope -j ACCEPT'],
      ['deleting a rule that is not there', '-D ONE -j DROP'],
      ['deleting a place that is not there', '-D ONE 9'],
      ['inserting too far behind', '-I ONE 9 -j ACCEPT'],
      ['making a chain that is there', '-N ONE'],
      ['emptying a chain that is not there', '-F NOPE'],
      ['deleting a chain that is not there', '-X NOPE'],
      ['deleting a chain that has rules', '-X ONE'],
      ['deleting a chain that is jumped to', '-X LEAF'],
      ['deleting a built-in chain', '-X OUTPUT'],
      ['a chain name that is too long', `:${'N'.repeat(29)} - [0:0]`],
      ['an unknown option', '--nope'],
      ['a word that is no option', 'hello'],
    ])('for %s is named, and its table stays as it was', async (_, line) => {
      const iptables = await opened();
      await iptables.restore(table('filter', ':LEAF - [0:0]', '-A FORWARD -j LEAF'));
      const before = await iptables.save();
      const lines = [
        ...table('mangle', ':DONE - [0:0]'),
        ...table('filter', ':NEW - [0:0]', rule('NEW', 1), line, rule('NEW', 2)),
        ...table('raw', ':NOT-REACHED - [0:0]'),
      ];
      const error = await iptables.restore(lines).catch((reason: unknown) => reason);
      expect(error).toMatchObject({ name: 'KernelError', code: 'EINVAL', index: 6, operation: line });
      expect(error).toMatchObject({ message: expect.stringContaining(line) });
      const after = await iptables.save();
      expect(after.get('filter')).toEqual(before.get('filter'));
      expect(chainsOf(after, 'mangle')).toContain('DONE');
      expect(chainsOf(after, 'raw')).not.toContain('NOT-REACHED');
    });

    test('for an unknown table is named', async () => {
      const iptables = await open();
      await expect(iptables.restore(['*nope', 'COMMIT'])).rejects.toMatchObject({
        index: 0,
        operation: '*nope',
      });
    });

    test('a missing COMMIT is blamed on the last line and changes nothing', async () => {
      const iptables = await opened();
      const error = iptables.restore(['*filter', ':NEW - [0:0]']);
      await expect(error).rejects.toMatchObject({
        index: 1,
        kernel: expect.stringContaining('COMMIT expected'),
      });
      expect(chainsOf(await iptables.save('filter'), 'filter')).not.toContain('NEW');
    });

    test('with a line break inside is refused before anything runs', async () => {
      const iptables = await open();
      const lines = table('filter', ':NEW - [0:0]', '-A NEW -j ACCEPT\n-A INPUT -j DROP');
      await expect(iptables.restore(lines)).rejects.toMatchObject({ code: 'INVALID', index: 2 });
      expect((await iptables.save()).size).toBe(0);
    });
  });
}
