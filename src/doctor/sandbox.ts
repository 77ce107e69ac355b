// One shell script that puts many questions to the kernel, for namespaces that vanish when it ends. Pure.
// Guarantees: every question runs in a subshell of its own, and answers are told apart whatever they contain.

interface Question {
  readonly id: string;
  readonly script: string;
}

/** Own network, mounts and processes; the kernel frees all of it when the shell is gone. */
export const UNSHARE_ARGS = ['--net', '--mount', '--pid', '--fork', '--kill-child'] as const;

/** Lets a user without root ask, where the kernel allows user namespaces. */
export const UNPRIVILEGED_ARGS = ['--user', '--map-root-user', ...UNSHARE_ARGS] as const;

/** Most network tools are in sbin, which an ordinary user's PATH leaves out. */
export const SEARCH_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** A private /run keeps the iptables lock ours, a private /tmp gives room for mounts. */
export const PRELUDE = 'mount -t tmpfs none /run; mount -t tmpfs none /tmp';

/** Prints id, exit code and output of each question, each ended by a NUL. */
export function sandboxScript(questions: readonly Question[]): string {
  const asked = questions.map(
    ({ id, script }) => `out=$( { ${script}\n} 2>&1 </dev/null )\nprintf '%s\\0%s\\0%s\\0' '${id}' $? "$out"`,
  );
  return [PRELUDE, ...asked].join('\n');
}

/** Reads what the script printed; a question that is missing was never reached. */
export function parseSandboxOutput(output: string): Map<string, { code: number; output: string }> {
  const fields = output.split('\0');
  const answers = new Map<string, { code: number; output: string }>();
  for (let at = 0; at + 2 < fields.length; at += 3) {
    const [id, code, text] = fields.slice(at, at + 3) as [string, string, string];
    answers.set(id, { code: Number.parseInt(code, 10), output: text });
  }
  return answers;
}
