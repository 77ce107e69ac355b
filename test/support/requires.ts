// `describeWith`: a suite that runs only where the machine has what it needs.
// Guarantees: under CI a missing need fails the run; elsewhere the suite is skipped and its reason printed.
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'vitest';
import { answer } from '../../src/doctor/answer.js';
import { kernelFeatures } from '../../src/doctor/checks/index.js';
import { PRELUDE, SEARCH_PATH, UNSHARE_ARGS } from '../../src/doctor/sandbox.js';
import { type Machine, type Needs, titleWithReason, unmetNeeds } from './needs.js';

/**
 * Like `describe`, for suites that need tools, kernel features or root:
 *
 *     describeWith({ root: true, tools: ['ip'], features: ['veth'] }, 'veth pairs', () => { ... });
 */
export function describeWith(needs: Needs, name: string, suite: () => void): void {
  const unmet = unmetNeeds(needs, thisMachine);
  if (unmet.length === 0) {
    describe(name, suite);
    return;
  }
  describe.skip(titleWithReason(name, unmet), suite);
  if (process.env['CI']) {
    describe(name, () => {
      test('finds what it needs', () => {
        throw new Error(`under CI nothing may be missing, but ${name} needs ${unmet.join('; ')}`);
      });
    });
  }
}

const remember = <T>(ask: (key: string) => T) => {
  const known = new Map<string, T>();
  return (key: string): T => {
    const value = known.has(key) ? (known.get(key) as T) : ask(key);
    known.set(key, value);
    return value;
  };
};

const thisMachine: Machine = {
  isRoot: process.getuid?.() === 0,
  hasTool: remember((name) => SEARCH_PATH.split(':').some((dir) => isExecutable(path.join(dir, name)))),
  hasFile: existsSync,
  featureObstacle: remember(askKernel),
};

/** Whether the kernel has a feature of the table of `trellis doctor`, for tests that do more where it does. */
export const kernelHas = (id: string): boolean =>
  thisMachine.isRoot && thisMachine.featureObstacle(id) === null;

// One short-lived namespace for the one question; doctor asks all of them in one.
function askKernel(id: string): string | null {
  const check = kernelFeatures.find((feature) => feature.id === id);
  if (check === undefined) throw new Error(`no kernel feature is called ${id}; see src/doctor/checks`);
  const script = `${PRELUDE}\n{ ${check.probe.script}\n} 2>&1`;
  const { status, stdout } = spawnSync('unshare', [...UNSHARE_ARGS, 'sh', '-c', script], {
    encoding: 'utf8',
    env: { ...process.env, PATH: SEARCH_PATH, LC_ALL: 'C' },
  });
  const { state, found } = answer(check, { kind: 'exit', code: status ?? 1, output: stdout ?? '' });
  return state === 'present' ? null : found;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false; // absent or not executable: both mean that it cannot be run
  }
}
