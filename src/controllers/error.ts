// What can be wrong with how controllers are asked to run, by code.
// Guarantees: thrown before any controller starts.

export class ControllersError extends Error {
  override readonly name = 'ControllersError';
  readonly code: 'UNKNOWN_CONTROLLER' | 'NO_CONTROLLER' | 'BAD_CLUSTER_CIDR';

  constructor(code: ControllersError['code'], message: string) {
    super(message);
    this.code = code;
  }
}
