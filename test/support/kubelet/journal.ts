// What the containers of a pod wrote of themselves, and whether a kubelet may have let them: order, counts, logs. Pure.
// Guarantees: each broken rule is a sentence; what only a kill at the wrong moment explains is no broken rule.

/** One container began or ended, in the sandbox whose network namespace it saw. */
interface Entry {
  readonly container: string;
  readonly what: 'begin' | 'end';
  readonly sandbox: string;
  /** Its own in each run. */
  readonly token: string;
}

/** What a container does first and last, so that its lines are those that `parseJournal` reads. */
export const telling = (name: string, between: string) => `
say() { echo "${name} $1 $(busybox readlink /proc/self/ns/net) $token" | busybox tee -a /journal/$HOSTNAME; }
token=$(busybox cat /proc/sys/kernel/random/uuid)
say begin
${between}
say end
`;

export function parseJournal(text: string): readonly Entry[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [container = '', what, sandbox = '', token = ''] = line.split(' ');
      return { container, what: what as Entry['what'], sandbox, token };
    });
}

/** In each sandbox the init containers run one after the other, a sidecar beside those after it, and then the others. */
export function disorder(journal: readonly Entry[], order: readonly string[], sidecars: readonly string[]) {
  const passed = new Map<string, Set<string>>();
  const problems: string[] = [];
  for (const { container, what, sandbox } of journal) {
    const place = order.indexOf(container);
    const here = passed.get(sandbox) ?? new Set<string>();
    passed.set(sandbox, here);
    // The first begins again: another sandbox with the number of one that is gone, or the same after it failed.
    if (place === 0 && what === 'begin') here.clear();
    const before = order.slice(0, place === -1 ? order.length : place);
    const missing = what === 'begin' ? before.filter((name) => !here.has(name)) : [];
    if (missing.length > 0) problems.push(`${container} began before ${missing.join(', ')} in ${sandbox}`);
    if (what === 'end' || sidecars.includes(container)) here.add(container);
  }
  return problems;
}

interface Counted {
  readonly name: string;
  readonly restartCount: number;
  readonly isRunning: boolean;
}

/** A run that was made and killed before it could tell of itself is counted and not heard of; never the other way round. */
export function miscounts(
  journal: readonly Entry[],
  statuses: readonly Counted[],
  logs: ReadonlyMap<string, string>,
): string[] {
  return statuses.flatMap(({ name, restartCount, isRunning }) => {
    const begun = journal.filter(({ container, what }) => container === name && what === 'begin');
    const problems: string[] = [];
    if (begun.length > restartCount + 1)
      problems.push(`${name} began ${begun.length} times and shows ${restartCount} restarts`);
    const own = [...logs].filter(([file]) => file.startsWith(`${name}/`));
    for (const [file, text] of own) {
      const runs = text.split(' begin ').length - 1;
      if (runs > 1) problems.push(`${file} is the log of ${runs} runs`);
    }
    const last = begun.at(-1)?.token;
    const current = logs.get(`${name}/${restartCount}.log`) ?? '';
    if (isRunning && last !== undefined && !current.includes(last))
      problems.push(`${name}/${restartCount}.log is not the log of the run that runs`);
    return problems;
  });
}

/** Those that begin again although they may not: `over` says after what. */
export function repeats(journal: readonly Entry[], names: readonly string[], over: Entry['what']): string[] {
  return names.flatMap((name) => {
    const own = journal.filter(({ container }) => container === name);
    const first = own.findIndex(({ what }) => what === over);
    const again = first === -1 ? [] : own.slice(first + 1).filter(({ what }) => what === 'begin');
    return again.length > 0 ? [`${name} ran again after its first ${over}`] : [];
  });
}
