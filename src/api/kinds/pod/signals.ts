// The signals that may stop a container, by the names of the API. Pure.
// Guarantees: what passes is a signal of the pod's own operating system.
import { type Cause, forbiddenField, notSupported } from '../../causes.js';
import type { V1Container, V1PodSpec } from '../../gen/types.js';

const range = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => String(from + index));

const LINUX: readonly string[] = [
  'SIGABRT',
  'SIGALRM',
  'SIGBUS',
  'SIGCHLD',
  'SIGCLD',
  'SIGCONT',
  'SIGFPE',
  'SIGHUP',
  'SIGILL',
  'SIGINT',
  'SIGIO',
  'SIGIOT',
  'SIGKILL',
  'SIGPIPE',
  'SIGPOLL',
  'SIGPROF',
  'SIGPWR',
  'SIGQUIT',
  'SIGSEGV',
  'SIGSTKFLT',
  'SIGSTOP',
  'SIGSYS',
  'SIGTERM',
  'SIGTRAP',
  'SIGTSTP',
  'SIGTTIN',
  'SIGTTOU',
  'SIGURG',
  'SIGUSR1',
  'SIGUSR2',
  'SIGVTALRM',
  'SIGWINCH',
  'SIGXCPU',
  'SIGXFSZ',
  'SIGRTMIN',
  'SIGRTMAX',
  ...range(1, 15).map((step) => `SIGRTMIN+${step}`),
  ...range(1, 14).map((step) => `SIGRTMAX-${step}`),
];
const WINDOWS: readonly string[] = ['SIGKILL', 'SIGTERM'];

export function validateStopSignal(
  { lifecycle }: V1Container,
  at: string,
  os: V1PodSpec['os'],
): readonly Cause[] {
  const signal = lifecycle?.stopSignal;
  if (signal === undefined) return [];
  const field = `${at}.lifecycle.stopSignal`;
  if (!os?.name) return [forbiddenField(field, 'may not be set for containers with empty `spec.os.name`')];
  const known = os.name === 'windows' ? WINDOWS : LINUX;
  return known.includes(signal) ? [] : [notSupported(field, signal, known)];
}
