// What each test of a file has anew.
// Guarantees: it is opened before every test and closed after it.
import { afterEach, beforeEach } from 'vitest';

/** To be called in a test file; the answer stands for the one of the test that runs. */
export function perTest<T extends { close(): unknown }>(open: () => Promise<T>): T {
  let current: T;
  beforeEach(async () => {
    current = await open();
  });
  afterEach(async () => {
    await current.close();
  });
  return new Proxy({} as T, {
    get: (_, name) => Reflect.get(current, name),
    set: (_, name, value) => Reflect.set(current, name, value),
  });
}
