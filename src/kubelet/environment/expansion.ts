// `$(NAME)` in commands, arguments and values. Pure.
// Guarantees: an unknown name stays as it was written, `$$` is one dollar, and nothing is expanded twice.

/** Answers the value of a name, or undefined to leave the reference as written. */
type Lookup = (name: string) => string | undefined;

export function expand(text: string, lookup: Lookup): string {
  let out = '';
  let rest = 0;
  for (let at = text.indexOf('$'); at !== -1; at = text.indexOf('$', rest)) {
    out += text.slice(rest, at);
    const next = text[at + 1];
    const close = next === '(' ? text.indexOf(')', at + 2) : -1;
    if (next === '$') {
      out += '$';
      rest = at + 2;
    } else if (close !== -1) {
      const name = text.slice(at + 2, close);
      out += lookup(name) ?? `$(${name})`;
      rest = close + 1;
    } else {
      out += '$';
      rest = at + 1;
    }
  }
  return out + text.slice(rest);
}

/** As `expand`, and the names that nobody knew or that are empty: a path with one of them is refused. */
export function expandStrictly(text: string, lookup: Lookup): { value: string; missing: readonly string[] } {
  const missing: string[] = [];
  const value = expand(text, (name) => {
    const known = lookup(name);
    if (known === undefined || known === '') missing.push(name);
    return known;
  });
  return { value, missing };
}

/** The first map that has the name wins. */
export function lookupIn(...maps: readonly ReadonlyMap<string, string>[]): Lookup {
  return (name) => maps.find((map) => map.has(name))?.get(name);
}
