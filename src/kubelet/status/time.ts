// Times as the API writes them. Pure.
// Guarantees: whole seconds for metav1.Time, microseconds for MicroTime, always UTC.

export function apiTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

export function apiMicroTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 23)}000Z`;
}
