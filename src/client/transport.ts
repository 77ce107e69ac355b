// How a request reaches an apiserver: over HTTPS, or by a call in the same process. Both carry the same requests.
// Guarantees: the client above a transport cannot tell which one it has.

export interface TransportRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path with its query, such as `/api/v1/pods?watch=true`. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
  /** Ends the request, and a streamed body with it. */
  readonly signal?: AbortSignal;
  /** Of a watch: its events may be answered as objects without managedFields, where the server is in this process. */
  readonly takesObjects?: boolean;
  /** Asked last before something is written, where the server is in this process; a write that is not allowed is refused. */
  readonly isAllowed?: () => boolean;
}

export interface TransportResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body as it comes; a watch's body ends when the server or the signal ends it. Read it once, or cancel by signal. */
  readonly body: AsyncIterable<Uint8Array>;
  /** What the body says, as frozen objects that others share, without managedFields; read one of the two. */
  readonly events?: AsyncIterable<{ readonly type: string; readonly object: object }>;
}

export interface Transport {
  request(request: TransportRequest): Promise<TransportResponse>;
  close(): void;
}
