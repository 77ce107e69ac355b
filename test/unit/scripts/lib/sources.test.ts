// The units in which the native build compiles its sources.
// Guarantees: every source is compiled once, together with its folder and no other.
import path from 'node:path';
import { expect, test } from 'vitest';
import { cniSources, coreSources, unitsOf } from '../../../../scripts/lib/sources.mjs';

const included = (text: string) =>
  [...text.matchAll(/^#include "\.\.\/\.\.\/(.*)"$/gm)].map(([, file]) => file ?? '');

test.each([
  ['core', coreSources()],
  ['CNI plugins', cniSources()],
])('every source of the %s is in one unit', (_, sources) => {
  const units = unitsOf(sources);
  expect(units.flatMap(({ text }) => included(text)).toSorted()).toEqual(sources.toSorted());
  expect(new Set(units.map((unit) => unit.path)).size).toBe(units.length);
  for (const { text } of units)
    expect(new Set(included(text).map((file) => path.dirname(file))).size).toBe(1);
});

test('a unit stands in build/units and includes its sources from there', () => {
  expect(unitsOf(['native/base/ip.cc', 'native/base/json.cc', 'cni-plugins/main.cc'])).toEqual([
    {
      path: 'build/units/native-base.cc',
      text: '#include "../../native/base/ip.cc"\n#include "../../native/base/json.cc"\n',
    },
    { path: 'build/units/cni-plugins.cc', text: '#include "../../cni-plugins/main.cc"\n' },
  ]);
});
