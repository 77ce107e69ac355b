// Mounts below a directory, from /proc/self/mountinfo. Pure.
// Guarantees: in the order in which they can be unmounted: what was mounted last comes first.

const unescapeOctal = (text: string): string =>
  text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));

/** Each as often as it is mounted; the directories themselves count when something is mounted on them. */
export function mountsBelow(mountinfo: string, directories: readonly string[]): readonly string[] {
  return mountinfo
    .split('\n')
    .map((line) => unescapeOctal(line.split(' ')[4] ?? ''))
    .filter((point) => directories.some((top) => point === top || point.startsWith(`${top}/`)))
    .reverse();
}
