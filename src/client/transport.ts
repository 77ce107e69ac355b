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
}

export interface TransportResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body as it comes; a watch's body ends when the server or the signal ends it. Read it once, or cancel by signal. */
  readonly body: AsyncIterable<Uint8Array>;
  /** The pieces of the body may be the very same that other readers in this process are given. Nobody changes them. */
  readonly isShared?: boolean;
}

export interface Transport {
  request(request: TransportRequest): Promise<TransportResponse>;
  close(): void;
}
