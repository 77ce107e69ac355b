// What an error says. Pure.
// Guarantees: a text for whatever was thrown, also for what is no Error.

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
