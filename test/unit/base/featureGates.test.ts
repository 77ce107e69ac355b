// Kubernetes' feature gates: how each stands here, and what is said to the other way.
import { expect, test } from 'vitest';
import { FEATURE_GATES, gateFault, gateMapFault, gatesFault } from '../../../src/base/featureGates.js';

test('each gate of v1.36 is named once', () => {
  // 162 are on and 68 off in Kubernetes, and AllAlpha speaks of those that are young.
  expect(FEATURE_GATES.size).toBe(231);
});

test.each([
  ['SidecarContainers', true, undefined],
  [
    'SidecarContainers',
    false,
    'SidecarContainers cannot be turned off here; leave it out, or say SidecarContainers=true',
  ],
  ['NodeSwap', true, 'NodeSwap is not built here; leave it out, or say NodeSwap=false'],
  ['AllBeta', true, 'AllBeta speaks of many gates at once; name those you mean'],
  ['constructor', true, 'constructor is no feature gate of Kubernetes v1.36; leave it out'],
])('%s=%s', (name, wanted, fault) => {
  expect(gateFault(name, wanted)).toBe(fault);
});

test.each([
  ['', undefined],
  ['SidecarContainers=T, kube:NodeSwap=0,', undefined],
  ['NodeSwap=maybe', 'NodeSwap: "maybe" is neither true nor false'],
  ['NodeSwap', '"NodeSwap" is not written as Name=true or Name=false'],
])('%j', (text, fault) => {
  expect(gatesFault(text)).toBe(fault);
});

test.each([
  [{}, undefined],
  [{ SidecarContainers: true, NodeSwap: false }, undefined],
  [{ NodeSwap: 'false' }, 'NodeSwap: "false" is neither true nor false'],
  [{ NodeSwap: true }, 'NodeSwap is not built here; leave it out, or say NodeSwap=false'],
  [['NodeSwap'], 'is not a map of names to true or false'],
])('the file with %j', (given, fault) => {
  expect(gateMapFault(given)).toBe(fault);
});
