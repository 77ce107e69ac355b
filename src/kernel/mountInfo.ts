// The kernel's table of mounts, /proc/<pid>/mountinfo, as text. Pure.

/** Mount points in the order of the table: later ones lie over earlier ones. Spaces and the like are octal in it. */
export function parseMountInfo(text: string): readonly string[] {
  return text
    .split('\n')
    .map((line) => line.split(' ')[4])
    .filter((point) => point !== undefined)
    .map((point) =>
      point.replace(/\\([0-7]{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8))),
    );
}
