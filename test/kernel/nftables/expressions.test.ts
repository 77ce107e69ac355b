// Every kind of expression three ways: ours as the kernel's bytecode, nft's listed by us, and printed by nft.
// Guarantees: a kind that the core knows and that has no case fails the matrix.
import { expect, test } from 'vitest';
import { KernelError } from '../../../src/kernel/error.js';
import { openNft } from '../../../src/kernel/nftables/adapter.js';
import type { Expression } from '../../../src/kernel/nftables/expression.js';
import type { NftPort } from '../../../src/kernel/nftables/port.js';
import { netNsPerTest, type TestNetNs } from '../../support/netns.js';
import { RULE_CASES, type RuleCase, ruleCaseTable } from '../../support/nftables/ruleCases.js';
import { describeWith } from '../../support/requires.js';

interface NftJson {
  readonly nftables: readonly { readonly rule?: { readonly expr: unknown } }[];
}

/** The kernel's own view of a chain's rules: "[ payload load 4b @ network header + 12 => reg 1 ]" ... */
const bytecode = async (ns: TestNetNs, { family, chain }: RuleCase) =>
  (await ns.run('nft', '--debug=netlink', 'list', 'chain', family, 't', chain))
    .split('\n')
    .filter((line) => line.startsWith('  ['));

const printed = async (ns: TestNetNs, { family, chain }: RuleCase) =>
  (await ns.json<NftJson>('nft', '-j', 'list', 'chain', family, 't', chain)).nftables.flatMap(
    ({ rule }) => rule?.expr ?? [],
  );

describeWith({ root: true, tools: ['nft'] }, 'expressions', () => {
  const namespaces = netNsPerTest();
  const cases = Object.entries(RULE_CASES).flatMap(([kind, rules]) =>
    rules.map((one) => [kind, one.family, one.nft, one] as const),
  );

  async function prepare({ family }: RuleCase): Promise<{ ns: TestNetNs; nft: NftPort }> {
    const ns = await namespaces.make();
    await ns.run('nft', ruleCaseTable(family));
    return { ns, nft: namespaces.closing(await openNft(ns.path)) };
  }

  test.each(cases)('%s in %s: %s', async (kind, _family, _text, one) => {
    expect(one.expressions.some((expression) => kind in expression)).toBe(true);
    const { ns, nft } = await prepare(one);
    const where = { family: one.family, table: 't', chain: one.chain } as const;

    await ns.run('nft', `add rule ${one.family} t ${one.chain} ${one.nft}`);
    const theirs = { bytecode: await bytecode(ns, one), printed: await printed(ns, one) };
    expect((await nft.rules(where)).map(({ expressions }) => expressions)).toEqual([one.expressions]);

    await nft.commit([
      { do: 'flush', kind: 'chain', family: one.family, table: 't', name: one.chain },
      { do: 'add', kind: 'rule', ...where, expressions: one.expressions },
    ]);
    expect(await bytecode(ns, one)).toEqual(theirs.bytecode);
    expect(await printed(ns, one)).toEqual(theirs.printed);
    expect((await nft.rules(where)).map(({ expressions }) => expressions)).toEqual([one.expressions]);
  });

  test('every kind the core knows has a case', async () => {
    const nft = namespaces.closing(await openNft((await namespaces.make()).path));
    const unknown = { unheard: {} } as unknown as Expression;
    const error = await nft
      .commit([{ do: 'add', kind: 'rule', family: 'ip', table: 't', chain: 'c', expressions: [unknown] }])
      .catch((reason: unknown) => reason);
    if (!(error instanceof KernelError)) throw error;
    const known = error.message.slice(error.message.indexOf('it knows ') + 'it knows '.length).split(', ');
    // nft makes none of xtables': the tests of iptables compare those with its own tool's.
    expect(known.sort()).toEqual([...Object.keys(RULE_CASES), 'match', 'target'].sort());
  });

  test('a kind that only others make is listed as such, and refused', async () => {
    const ns = await namespaces.make();
    const nft = namespaces.closing(await openNft(ns.path));
    await ns.run('nft', 'table ip t { chain c { ct count 3 accept ; } ; }');
    const [rule] = await nft.rules();
    expect(rule?.expressions).toEqual([
      { other: { name: 'connlimit' } },
      { immediate: { verdict: 'accept' } },
    ]);
    await expect(
      nft.commit([
        {
          do: 'add',
          kind: 'rule',
          family: 'ip',
          table: 't',
          chain: 'c',
          expressions: rule?.expressions ?? [],
        },
      ]),
    ).rejects.toMatchObject({ code: 'INVALID' });
  });

  const wrong: [string, unknown, string][] = [
    ['two kinds at once', { cmp: {}, meta: {} }, 'one member'],
    ['an unknown field', { meta: { key: 'mark', dreg: 1, extra: 1 } }, "unknown field 'extra'"],
    ['an unknown key', { meta: { key: 'colour', dreg: 1 } }, "field 'key' must be one of"],
    ['a value that is no hexadecimal', { cmp: { sreg: 1, op: 'eq', value: 'xy' } }, 'hexadecimal'],
    ['a value over 64 bytes', { cmp: { sreg: 1, op: 'eq', value: '00'.repeat(65) } }, '1 to 64 bytes'],
    ['a missing field', { cmp: { sreg: 1, value: '00' } }, 'cmp needs sreg, op and value'],
    [
      'masks of another length',
      { bitwise: { sreg: 1, dreg: 1, length: 4, mask: '00', xor: '00' } },
      'as long as',
    ],
    ['a verdict that is none', { immediate: { verdict: 'maybe' } }, "field 'verdict'"],
    [
      'an unknown flag',
      { masq: { flags: ['sometimes'] } },
      "field 'flags' knows no 'sometimes'; it may hold",
    ],
    [
      'a number that is too large',
      { payload: { base: 'network', offset: 4294967296, length: 4, dreg: 1 } },
      "'offset'",
    ],
  ];
  test.each(wrong)('%s is INVALID', async (_, expression, text) => {
    const nft = namespaces.closing(await openNft((await namespaces.make()).path));
    const error = await nft
      .commit([
        { do: 'add', kind: 'table', family: 'ip', name: 't' },
        {
          do: 'add',
          kind: 'rule',
          family: 'ip',
          table: 't',
          chain: 'c',
          expressions: [expression as Expression],
        },
      ])
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'INVALID', index: 1 });
    expect((error as KernelError).message).toContain(text);
    expect(await nft.tables()).toEqual([]);
  });

  test('a register that does not exist is the kernel’s to refuse', async () => {
    const nft = namespaces.closing(await openNft((await namespaces.make()).path));
    const chain = { family: 'ip', table: 't' } as const;
    await expect(
      nft.commit([
        { do: 'add', kind: 'table', family: 'ip', name: 't' },
        { do: 'add', kind: 'chain', ...chain, name: 'c' },
        { do: 'add', kind: 'rule', ...chain, chain: 'c', expressions: [{ meta: { key: 'mark', dreg: 99 } }] },
      ]),
    ).rejects.toMatchObject({ code: 'ERANGE', index: 2 });
    expect(await nft.tables()).toEqual([]);
  });
});
