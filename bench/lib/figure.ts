// A measured figure beside its peer's, and how figures are shown.
// Guarantees: a figure that misses its goal says so; the JSON form is an array of plain objects.

export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** What it was measured against in the same run, or "" where the goal is absolute. */
  readonly peer: string;
  readonly peerValue: number;
  /** value / peerValue; below 1 we need less. */
  readonly ratio: number;
  /** In words, such as "at most 1.2x". */
  readonly goal: string;
  readonly met: boolean;
}

/** A figure against a peer: the ratio may be `atMost`. */
export function againstPeer(
  figure: Pick<Figure, 'name' | 'value' | 'unit' | 'peer' | 'peerValue'>,
  atMost: number,
): Figure {
  const ratio = figure.value / figure.peerValue;
  const goal = atMost < 1 ? `${round(1 / atMost)}x faster or better` : `at most ${round(atMost)}x`;
  return { ...figure, ratio, goal, met: ratio <= atMost };
}

/** A figure with a limit of its own. */
export function againstLimit(figure: Pick<Figure, 'name' | 'value' | 'unit'>, limit: number): Figure {
  return {
    ...figure,
    peer: '',
    peerValue: limit,
    ratio: figure.value / limit,
    goal: `at most ${limit} ${figure.unit}`,
    met: figure.value <= limit,
  };
}

const round = (value: number) => String(Number(value.toPrecision(3)));

/** A table for people. */
export function renderFigures(figures: readonly Figure[]): string {
  const header = ['benchmark', 'ours', 'peer', "peer's", 'ratio', 'goal', 'met'];
  const rows = figures.map((f) => [
    f.name,
    `${round(f.value)} ${f.unit}`,
    f.peer || '-',
    f.peer === '' ? '-' : `${round(f.peerValue)} ${f.unit}`,
    f.peer === '' ? '-' : `${round(f.ratio)}x`,
    f.goal,
    f.met ? 'yes' : 'NO',
  ]);
  const widths = header.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd();
  return [line(header), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}
