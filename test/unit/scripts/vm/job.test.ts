// The job script: every word of the command must arrive as it was given.
import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { jobEnvironment, jobScript, quote } from '../../../../scripts/vm/job.mjs';

describe('quote', () => {
  test.each(["it's", '', ' ', '$HOME', '`id`', 'a\nb', '"', '\\', '*', 'plain-1.2/x=y'])(
    'keeps %j',
    (word) => {
      expect(execFileSync('sh', ['-c', `printf %s ${quote(word)}`], { encoding: 'utf8' })).toBe(word);
    },
  );
});

describe('jobScript', () => {
  const script = (command: string[]) => jobScript({ cwd: '/usr', env: { A: "o'k" }, command });

  test('sets the directory and the environment, then becomes the command', () => {
    const out = execFileSync('sh', ['-c', script(['sh', '-c', 'printf "%s %s" "$PWD" "$A"'])], {
      encoding: 'utf8',
    });
    expect(out).toBe("/usr o'k");
  });

  test('ends with the exit code of the command', () => {
    expect(() => execFileSync('sh', ['-c', script(['sh', '-c', 'exit 7'])])).toThrow(
      expect.objectContaining({ status: 7 }),
    );
  });
});

describe('jobEnvironment', () => {
  const given = { nodeDirectory: '/n/bin', machine: 'uml', out: '/o', extra: {} };

  test('puts Node first and the sbin directories last in PATH, each directory once', () => {
    const env = jobEnvironment({ ...given, hostEnv: { PATH: '/usr/bin:/n/bin:/usr/sbin:' } });
    expect(env.PATH).toBe('/n/bin:/usr/bin:/usr/sbin:/usr/local/sbin:/sbin');
  });

  test('takes little from the host and lets the caller have the last word', () => {
    const env = jobEnvironment({
      ...given,
      hostEnv: { SECRET: 's', LANG: 'C', CI: '1' },
      extra: { LANG: 'de' },
    });
    expect(env).toMatchObject({
      LANG: 'de',
      CI: '1',
      TRELLIS_VM: 'uml',
      TRELLIS_VM_OUT: '/o',
      HOME: '/root',
    });
    expect(env).not.toHaveProperty('SECRET');
  });
});
