// Writes the shell script that the machine runs: directory, environment, command.
// Guarantees: pure; every word reaches the command unchanged, whatever characters are in it.

const sbin = ['/usr/local/sbin', '/usr/sbin', '/sbin'];

/** One shell word. Inside single quotes only the single quote itself is special. */
export function quote(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/**
 * The command's whole environment: little of the host's (so that a run can be repeated), Node's
 * directory first and the sbin directories last in PATH, then the caller's own variables.
 */
export function jobEnvironment({ hostEnv, nodeDirectory, machine, out, extra }) {
  const path = [nodeDirectory, ...(hostEnv.PATH ?? '/usr/local/bin:/usr/bin:/bin').split(':'), ...sbin];
  const env = {
    PATH: [...new Set(path.filter((directory) => directory !== ''))].join(':'),
    HOME: '/root',
    USER: 'root',
    SHELL: '/bin/sh',
    TRELLIS_VM: machine,
    TRELLIS_VM_OUT: out,
  };
  for (const name of ['LANG', 'LC_ALL', 'TZ', 'NO_COLOR', 'FORCE_COLOR', 'CI']) {
    if (hostEnv[name] !== undefined) env[name] = hostEnv[name];
  }
  return { ...env, ...extra };
}

/** The script's text. It replaces itself by the command, so the exit code is the command's. */
export function jobScript({ cwd, env, command }) {
  const lines = [`cd ${quote(cwd)} || exit 125`];
  for (const [name, value] of Object.entries(env)) lines.push(`export ${name}=${quote(value)}`);
  lines.push(`exec ${command.map(quote).join(' ')}`, '');
  return lines.join('\n');
}
