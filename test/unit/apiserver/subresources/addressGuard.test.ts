// Where the server lets itself be sent: by address, by name, and to its own ports.
import { networkInterfaces } from 'node:os';
import { describe, expect, test } from 'vitest';
import {
  AddressRefused,
  type Reach,
  reachableLookup,
  requireReachable,
} from '../../../../src/apiserver/subresources/addressGuard.js';

const allows = (address: string, port = 10250, reach: Reach = {}) => {
  try {
    requireReachable(address, port, reach);
    return true;
  } catch (error) {
    if (error instanceof AddressRefused) return false;
    throw error;
  }
};
const resolved = (host: string, reach: Reach = {}, all = false) =>
  new Promise((resolve) => {
    reachableLookup(10250, reach)(host, { all }, (error, address) => resolve(error ?? address));
  });

describe('an address', () => {
  test.each(['10.0.0.1', '192.168.1.1', '8.8.8.8', 'fd00::1', '2001:db8::1'])('%s is reached', (address) => {
    expect(allows(address)).toBe(true);
  });
  test.each([
    '127.0.0.1',
    '127.9.9.9',
    '0.0.0.0',
    '169.254.169.254',
    '224.0.0.1',
    '255.255.255.255',
    '::1',
    '::',
    'fe80::1',
    'fe80::1%lo',
    'ff02::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '',
    'localhost',
    '1.2.3',
  ])('%s is refused', (address) => {
    expect(allows(address)).toBe(false);
  });
  test('on loopback is reached where that is allowed, and nothing more', () => {
    expect(allows('127.0.0.1', 10250, { allowLoopback: true })).toBe(true);
    expect(allows('169.254.0.1', 10250, { allowLoopback: true })).toBe(false);
  });
  test('of this machine is reached, but not on a port of this server', () => {
    const own = Object.values(networkInterfaces())
      .flatMap((addresses) => addresses ?? [])
      .map(({ address }) => address);
    expect(own.length).toBeGreaterThan(0);
    for (const address of own) {
      expect(allows(address, 6443, { allowLoopback: true, ownPorts: [6443] })).toBe(false);
      if (!address.startsWith('fe80:'))
        expect(allows(address, 10250, { allowLoopback: true, ownPorts: [6443] })).toBe(true);
    }
    expect(allows('10.255.255.254', 6443, { ownPorts: [6443] })).toBe(true);
  });
});

describe('a name', () => {
  test.each([false, true])('that means this machine is refused (all: %s)', async (all) => {
    expect(await resolved('localhost', {}, all)).toBeInstanceOf(AddressRefused);
  });
  test('is resolved to what is allowed', async () => {
    expect(await resolved('localhost', { allowLoopback: true })).toMatch(/^(127\.0\.0\.1|::1)$/);
    expect(await resolved('localhost', { allowLoopback: true }, true)).toEqual(
      expect.arrayContaining([expect.objectContaining({ family: expect.any(Number) })]),
    );
  });
});
