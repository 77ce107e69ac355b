// Keeps the last lines of the kernel's console.
// Guarantees: bounded memory; escape sequences, log levels and carriage returns are taken out.

import { stripVTControlCharacters } from 'node:util';

export class ConsoleLog {
  #lines = [];
  #partial = '';
  #limit;

  constructor(limit = 60) {
    this.#limit = limit;
  }

  add(text) {
    const lines = (this.#partial + text).split('\n');
    this.#partial = lines.pop().slice(-4096);
    this.#lines = [...this.#lines, ...lines.map(clean).filter((line) => line !== '')].slice(-this.#limit);
  }

  /** The last lines, oldest first, with one that is not complete yet. */
  lines() {
    const partial = clean(this.#partial);
    return partial === '' ? [...this.#lines] : [...this.#lines, partial].slice(-this.#limit);
  }
}

function clean(line) {
  return stripVTControlCharacters(line).replace(/^<\d>/, '').replaceAll('\r', '').trimEnd();
}
