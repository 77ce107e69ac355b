// Lines of the kernel's log about processes that were killed for want of memory. Pure.
// Guarantees: a line that says nothing of that is undefined; names come as the kernel printed them.

export interface OomKill {
  readonly process: string;
  readonly pid: number;
  /** The control group that ran out; `/` for the machine itself. */
  readonly group: string;
}

interface KernelRecord {
  /** Microseconds since the machine started. */
  readonly atUs: number;
  readonly text: string;
}

/** One record of /dev/kmsg: `priority,sequence,time,flags;text`. */
export function parseRecord(record: string): KernelRecord | undefined {
  const [, at, text] = /^\d+,\d+,(\d+),[^;]*;([^\n]*)/.exec(record) ?? [];
  return at === undefined || text === undefined ? undefined : { atUs: Number(at), text };
}

/** Kernels since 5.0 say it all in one line. */
export function parseOomKill(text: string): OomKill | undefined {
  const [, fields] = /^oom-kill:(.*)$/.exec(text) ?? [];
  if (fields === undefined) return undefined;
  const field = (name: string) => new RegExp(`(?:^|,)${name}=([^,]*)`).exec(fields)?.[1];
  const [task, pid] = [field('task'), Number(field('pid'))];
  if (task === undefined || !Number.isInteger(pid)) return undefined;
  const isGlobal = field('constraint') !== 'CONSTRAINT_MEMCG';
  return { process: task, pid, group: isGlobal ? '/' : (field('oom_memcg') ?? '/') };
}
