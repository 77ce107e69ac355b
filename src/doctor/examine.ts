// Puts every check's question to the machine and gathers the answers into a report.
// Guarantees: all kernel questions share one sandbox, and each check gets exactly one answer, in table order.
import { answer } from './answer.js';
import type { Answer, Check, KernelProbe, Observation, ToolProbe } from './check.js';
import type { Machine } from './machine.js';
import { parseSandboxOutput, sandboxScript } from './sandbox.js';

export interface Finding extends Answer {
  readonly check: Check;
}

export interface Report {
  readonly findings: readonly Finding[];
  /** False when something required is missing or too low; what could not be asked does not count. */
  readonly ok: boolean;
}

export async function examine(checks: readonly Check[], machine: Machine): Promise<Report> {
  const kernel = askKernel(checks.filter(isKernelCheck), machine);
  const observe = async (check: Check): Promise<Observation> => {
    if (check.probe.kind === 'tool') return askTool(check.probe, machine);
    if (check.probe.kind === 'file')
      return { kind: 'text', text: await firstFile(check.probe.paths, machine) };
    return (await kernel).get(check.id) ?? { kind: 'unasked', why: 'no answer: the questions took too long' };
  };
  const observations = await Promise.all(checks.map(observe));
  const findings = checks.map((check, i) => ({ check, ...answer(check, observations[i] as Observation) }));
  return { findings, ok: !findings.some(isFatal) };
}

const isFatal = ({ check, state }: Finding) =>
  check.need === 'required' && (state === 'missing' || state === 'low');

const isKernelCheck = (check: Check): check is Check<KernelProbe> => check.probe.kind === 'kernel';

async function askKernel(
  checks: readonly Check<KernelProbe>[],
  machine: Machine,
): Promise<Map<string, Observation>> {
  const names = [...new Set(checks.map((check) => check.probe.tool))];
  const paths = await Promise.all(names.map((name) => machine.findTool(name)));
  const absent = new Set(names.filter((_, i) => paths[i] === null));
  const askable = checks.filter((check) => !absent.has(check.probe.tool));
  const questions = askable.map((check) => ({ id: check.id, script: check.probe.script }));
  const result = await machine.runInSandbox(sandboxScript(questions));

  const observations = new Map<string, Observation>();
  for (const check of checks) {
    if (absent.has(check.probe.tool)) {
      observations.set(check.id, {
        kind: 'unasked',
        why: `could not ask: the tool ${check.probe.tool} is missing`,
      });
    } else if ('reason' in result) {
      observations.set(check.id, { kind: 'unasked', why: `could not ask: ${result.reason}` });
    }
  }
  if ('reason' in result) return observations;
  for (const [id, { code, output }] of parseSandboxOutput(result.output)) {
    observations.set(id, { kind: 'exit', code, output });
  }
  return observations;
}

async function askTool(probe: ToolProbe, machine: Machine): Promise<Observation> {
  const path = await machine.findTool(probe.name);
  const isAsked = probe.versionArgs.length > 0 || probe.judge !== undefined;
  const output = path === null || !isAsked ? '' : await machine.runTool(path, probe.versionArgs);
  return { kind: 'program', path, output };
}

async function firstFile(paths: readonly string[], machine: Machine): Promise<string | null> {
  for (const path of paths) {
    const text = await machine.readFile(path);
    if (text !== null) return text;
  }
  return null;
}
