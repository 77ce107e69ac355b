// Which controllers run: the list that `--controllers` takes. Pure.
// Guarantees: a name that no controller has is told, not ignored; the first entry that speaks of a name decides.

export class ControllersError extends Error {
  override readonly name = 'ControllersError';
  readonly code: 'UNKNOWN_CONTROLLER' | 'BAD_CLUSTER_CIDR';

  constructor(code: ControllersError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

/** `*` is every controller, `name` one, `-name` not that one. Throws ControllersError for an unknown name. */
export function enabledNames(known: readonly string[], entries: readonly string[]): string[] {
  const unknown = entries.find((entry) => entry !== '*' && !known.includes(entry.replace(/^-/, '')));
  if (unknown !== undefined)
    throw new ControllersError(
      'UNKNOWN_CONTROLLER',
      `"${unknown.replace(/^-/, '')}" is not in the list of known controllers: ${known.join(', ')}`,
    );
  return known.filter((name) => {
    if (entries.includes(`-${name}`) && !entries.slice(0, entries.indexOf(`-${name}`)).includes(name))
      return false;
    return entries.includes(name) || entries.includes('*');
  });
}
