// Checksums between nodes: when a device is told to compute them itself, and when it is left alone.
import { afterEach, describe, expect, test } from 'vitest';
import { type Log, silentLog } from '../../../../src/api/log.js';
import type { OffloadPort } from '../../../../src/kernel/offload.js';
import { checkOffload, OffloadGuard } from '../../../../src/network/overlay/offload.js';

const carrier = { device: 'vx', from: '10.244.1.0', peers: ['10.244.2.0', '10.244.3.0'] };

/** Hardware that is right or wrong, and nodes that answer or do not. */
function machine(it: { isRight: boolean; answering: string[]; isOn?: boolean }) {
  const asked: string[] = [];
  let isOn = it.isOn ?? true;
  const port: OffloadPort = {
    txChecksum: async () => isOn,
    setTxChecksum: async (_, on) => {
      isOn = on;
    },
    arrives: async ({ to }) => {
      asked.push(to);
      return it.answering.includes(to) && (it.isRight || !isOn);
    },
  };
  return { port, asked, it, isOn: () => isOn };
}

describe('a device that leaves checksums to the hardware', () => {
  test.each([
    ['is left alone where they arrive', { isRight: true, answering: ['10.244.3.0'] }, 'good', true],
    ['computes them where they do not', { isRight: false, answering: ['10.244.3.0'] }, 'off', false],
    ['is left alone where nobody answers', { isRight: false, answering: [] }, 'unknown', true],
    ['stays as somebody set it', { isRight: true, answering: [], isOn: false }, 'off', false],
  ] as const)('%s', async (_, hardware, result, isOn) => {
    const { port, isOn: isNow } = machine({ ...hardware, answering: [...hardware.answering] });
    expect(await checkOffload(port, carrier)).toBe(result);
    expect(isNow()).toBe(isOn);
  });

  test('is as it was when asking fails', async () => {
    const { port, isOn } = machine({ isRight: false, answering: [] });
    let calls = 0;
    const failing = {
      ...port,
      arrives: async () => {
        if (++calls > 2) throw new Error('gone');
        return false;
      },
    };
    await expect(checkOffload(failing, carrier)).rejects.toThrow('gone');
    expect(isOn()).toBe(true);
  });
});

describe('the guard', () => {
  const guards: OffloadGuard[] = [];
  afterEach(async () => {
    for (const guard of guards.splice(0)) await guard.stop();
  });
  const make = (port: OffloadPort, log: Log = silentLog) => {
    const guard = new OffloadGuard(port, log);
    guards.push(guard);
    return guard;
  };

  test('asks again until somebody answers, says what it did, and then is content', async () => {
    const { port, asked, it: hardware, isOn } = machine({ isRight: false, answering: [] });
    const warned: string[] = [];
    const guard = make(port, { ...silentLog, warn: (text: string) => void warned.push(text) });
    guard.look(carrier);
    await expect.poll(() => asked.length).toBe(4);
    expect(isOn()).toBe(true);
    hardware.answering = ['10.244.4.0'];
    // A node more is news: nothing waits for the next time.
    guard.look({ ...carrier, peers: [...carrier.peers, '10.244.4.0'] });
    await expect.poll(() => isOn()).toBe(false);
    await expect.poll(() => warned).toEqual([expect.stringContaining('computes them itself')]);
    const before = asked.length;
    guard.look({ ...carrier, peers: ['10.244.9.0'] });
    await guard.stop();
    expect(asked.length).toBe(before);
  });

  test('asks anew for a device that was made anew, and not for one that is alone', async () => {
    const { port, asked } = machine({ isRight: true, answering: [...carrier.peers] });
    const guard = make(port);
    guard.look({ ...carrier, peers: [] });
    guard.look(carrier);
    await expect.poll(() => asked).toEqual(['10.244.2.0']);
    guard.forget('vx');
    guard.look(carrier);
    await expect.poll(() => asked.length).toBe(2);
  });
});
