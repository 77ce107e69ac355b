// The gate that decides whether a suite can run.
// Guarantees: every kind of missing need is named, and the kernel is asked only when asking can succeed.
import { expect, test } from 'vitest';
import { type Machine, reasonOf, titleWithReason, unmetNeeds } from '../../support/needs.js';

const machine = (overrides: Partial<Machine> = {}): Machine => ({
  isRoot: true,
  hasTool: () => true,
  hasFile: () => true,
  featureObstacle: () => null,
  ...overrides,
});

const needs = { root: true, tools: ['nft', 'ipset'], features: ['ip-vs'] };

test('nothing is unmet on a machine that has everything', () => {
  expect(unmetNeeds(needs, machine())).toEqual([]);
});

test('a suite that needs nothing runs anywhere', () => {
  const nowhere = machine({ isRoot: false, hasTool: () => false, featureObstacle: () => 'no' });
  expect(unmetNeeds({}, nowhere)).toEqual([]);
});

test('a missing file is named', () => {
  const poor = machine({ hasFile: (file) => file !== '/b' });
  expect(unmetNeeds({ files: ['/a', '/b'] }, poor)).toEqual(['the file /b (npm run setup -- test)']);
});

test('root and tools are named together, before the kernel is asked', () => {
  const featureObstacle = () => {
    throw new Error('asked too early');
  };
  const poor = machine({ isRoot: false, hasTool: (tool) => tool !== 'nft', featureObstacle });
  expect(unmetNeeds(needs, poor)).toEqual(['root', 'the tool nft (npm run setup -- test)']);
});

test("a missing feature carries the kernel's words", () => {
  const old = machine({ featureObstacle: () => 'kernel lacks it: no ip_vs' });
  expect(unmetNeeds(needs, old)).toEqual(['the kernel feature ip-vs: kernel lacks it: no ip_vs']);
});

test('the reason survives the way through a title', () => {
  expect(reasonOf(titleWithReason('IPVS services', ['root', 'the tool nft']))).toBe(
    'IPVS services needs root; the tool nft',
  );
  expect(reasonOf('IPVS services')).toBeNull();
});
