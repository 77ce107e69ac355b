// What a plugin gets to see.
// Guarantees: name and version of the list, settings only by declared capability, nothing of our own environment.
import { describe, expect, test } from 'vitest';
import { parseList } from '../../../src/cni/config.js';
import { environment, executionConfig } from '../../../src/cni/execution.js';
import { parseResult } from '../../../src/cni/result.js';

const settings = {
  portMappings: [{ hostPort: 80, containerPort: 80, protocol: 'tcp' }],
  ips: ['10.0.0.5/24'],
  mac: '02:00:00:00:00:01',
  bandwidth: { ingressRate: 1 },
  aliases: { net: ['a'] },
  ipRanges: [[{ subnet: '10.0.0.0/24' }]],
  dns: { servers: ['1.1.1.1'] },
  deviceID: '0000:00:00.0',
  infinibandGUID: 'x',
  cgroupPath: '/a',
};

function configWith(capabilities: Record<string, boolean> | undefined, more: object = {}) {
  const plugin = {
    type: 'p',
    name: 'other',
    cniVersion: '0.1.0',
    ...(capabilities && { capabilities }),
    ...more,
  };
  const list = parseList({
    name: 'f',
    text: JSON.stringify({ name: 'n', cniVersion: '1.1.0', plugins: [plugin] }),
  });
  const [first] = list.plugins;
  if (first === undefined) throw new Error('no plugin');
  return executionConfig(list, first, { capabilityArgs: settings });
}

describe('settings', () => {
  test.each(Object.keys(settings).map((name) => [name]))('%s reaches only who declares it', (name) => {
    expect(configWith({ [name]: true })['runtimeConfig']).toEqual({
      [name]: settings[name as keyof typeof settings],
    });
    expect(configWith({ [name]: false })).not.toHaveProperty('runtimeConfig');
  });

  test('reach nobody who declares nothing', () => {
    expect(configWith(undefined)).not.toHaveProperty('runtimeConfig');
  });

  test('that were not given are not made up', () => {
    expect(configWith({ somethingElse: true })).not.toHaveProperty('runtimeConfig');
  });

  test('of the configuration itself stay where nothing is given', () => {
    expect(configWith({}, { runtimeConfig: { mac: 'fixed' } })['runtimeConfig']).toEqual({ mac: 'fixed' });
  });
});

test('name and version are those of the list, all else is the own', () => {
  expect(configWith(undefined, { mtu: 1400 })).toEqual({
    type: 'p',
    name: 'n',
    cniVersion: '1.1.0',
    mtu: 1400,
  });
});

test('the previous result speaks the version of the list', () => {
  const list = parseList({
    name: 'f',
    text: JSON.stringify({ name: 'n', cniVersion: '0.4.0', plugins: [{ type: 'p' }] }),
  });
  const prevResult = parseResult({ cniVersion: '1.0.0', ips: [{ address: 'fd00::1/64' }] }, '1.0.0');
  const [plugin] = list.plugins;
  if (plugin === undefined) throw new Error('no plugin');
  expect(executionConfig(list, plugin, { prevResult })['prevResult']).toEqual({
    cniVersion: '0.4.0',
    ips: [{ version: '6', address: 'fd00::1/64' }],
  });
});

test('every variable of the protocol is set', () => {
  const attachment = {
    containerId: 'c',
    netns: '/run/netns/x',
    ifName: 'net1',
    args: [
      ['IgnoreUnknown', '1'],
      ['IP', '10.0.0.1'],
    ] as [string, string][],
  };
  expect(environment({ command: 'ADD', binDirs: ['/a', '/b'], attachment })).toEqual({
    CNI_COMMAND: 'ADD',
    CNI_CONTAINERID: 'c',
    CNI_NETNS: '/run/netns/x',
    CNI_IFNAME: 'net1',
    CNI_ARGS: 'IgnoreUnknown=1;IP=10.0.0.1',
    CNI_PATH: '/a:/b',
  });
  expect(environment({ command: 'GC', binDirs: [] })).toEqual({
    CNI_COMMAND: 'GC',
    CNI_CONTAINERID: '',
    CNI_NETNS: '',
    CNI_IFNAME: '',
    CNI_ARGS: '',
    CNI_PATH: '',
  });
});
