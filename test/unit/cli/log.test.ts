// The two forms of a log line.
import { describe, expect, test } from 'vitest';
import { type LogOptions, makeLog } from '../../../src/cli/log.js';

const at = new Date('2026-11-18T01:02:03.456Z');

function written(options: Partial<LogOptions>, write: (log: ReturnType<typeof makeLog>) => void): string[] {
  const lines: string[] = [];
  write(makeLog({ component: 'kubelet', now: () => at, write: (line) => void lines.push(line), ...options }));
  return lines;
}

describe('a log as text', () => {
  test('is what Kubernetes’ components write, and the default', () => {
    expect(written({}, (log) => log.warn('away', { error: new Error('no "socket"') }))).toEqual([
      'W1118 01:02:03.456 kubelet] "away" error="no \\"socket\\""\n',
    ]);
  });
});

describe('a log as JSON', () => {
  const json = (write: Parameters<typeof written>[1], options: Partial<LogOptions> = {}) =>
    written({ format: 'json', ...options }, write).map((line) => {
      expect(line).toMatch(/^[^\n]*\n$/);
      return JSON.parse(line);
    });

  test('has klog’s names: ts in milliseconds, msg, v, and the fields', () => {
    expect(json((log) => log.info('pod started', { pod: { name: 'a' }, tries: 2 }))).toEqual([
      { ts: at.getTime(), logger: 'kubelet', msg: 'pod started', v: 0, pod: { name: 'a' }, tries: 2 },
    ]);
  });

  test('tells an error as err, and an error line without a verbosity', () => {
    const fail = new Error('refused');
    expect(json((log) => log.error('lost', { error: fail }))).toEqual([
      { ts: at.getTime(), logger: 'kubelet', msg: 'lost', err: 'refused' },
    ]);
    expect(json((log) => log.warn('away', { error: fail }))).toMatchObject([{ v: 0, err: 'refused' }]);
  });

  test('tells what only -v 4 shows as such', () => {
    expect(json((log) => log.debug('x'))).toEqual([]);
    expect(json((log) => log.debug('x'), { level: 'debug' })).toMatchObject([{ msg: 'x', v: 4 }]);
  });

  test('keeps an entry on one line, whatever is in it, and its own names from fields of the same name', () => {
    const lines = json((log) => log.with({ part: 'proxy' }).info('a\n{"msg":"b"}', { msg: 'c', ts: 0 }));
    expect(lines).toEqual([
      { ts: at.getTime(), logger: 'kubelet', msg: 'a\n{"msg":"b"}', v: 0, part: 'proxy' },
    ]);
  });
});
