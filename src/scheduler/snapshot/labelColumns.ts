// Labels of nodes as small numbers, a column for each key that someone asks for.
// Guarantees: 0 is "has no such label"; numbers of one column are dense; the memory of columns is bounded.
import type { NodeTable } from './nodeTable.js';

export interface LabelColumn {
  readonly key: string;
  /** By slot. */
  ids: Int32Array;
  /** The values by number; the first stands for none. */
  readonly values: string[];
  readonly numbers: Map<string, number>;
}

const MOST_COLUMNS = 64;

export class LabelColumns {
  readonly #table: NodeTable;
  /** The one asked for longest ago first. */
  readonly #columns = new Map<string, LabelColumn>();

  constructor(table: NodeTable) {
    this.#table = table;
  }

  /** Good until nodes change. */
  of(key: string): LabelColumn {
    let column = this.#columns.get(key);
    // Values of nodes long gone would make every count over the column longer.
    if (column === undefined || column.values.length > 2 * this.#table.size + 64) column = this.#build(key);
    this.#columns.delete(key);
    this.#columns.set(key, column);
    if (this.#columns.size > MOST_COLUMNS) this.#columns.delete(this.#columns.keys().next().value ?? '');
    return column;
  }

  nodeChanged(slot: number): void {
    for (const column of this.#columns.values()) this.#enter(column, slot);
  }

  #build(key: string): LabelColumn {
    const column = { key, ids: new Int32Array(this.#table.exists.length), values: [''], numbers: new Map() };
    for (let slot = 0; slot < this.#table.size; slot += 1) this.#enter(column, slot);
    return column;
  }

  #enter(column: LabelColumn, slot: number): void {
    if (slot >= column.ids.length) {
      const bigger = new Int32Array(this.#table.exists.length);
      bigger.set(column.ids);
      column.ids = bigger;
    }
    const labels = this.#table.nodes[slot]?.metadata.labels;
    const value = labels !== undefined && Object.hasOwn(labels, column.key) ? labels[column.key] : undefined;
    column.ids[slot] = value === undefined ? 0 : numberOf(column, value);
  }
}

function numberOf(column: LabelColumn, value: string): number {
  let number = column.numbers.get(value);
  if (number === undefined) {
    number = column.values.push(value) - 1;
    column.numbers.set(value, number);
  }
  return number;
}
