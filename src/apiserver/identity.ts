// User and request attributes: the values that authentication produces and authorization uses.
import type { CertificateUser } from '../api/certificates/subject.js';
import type { FieldTerm } from '../api/selectors.js';

export interface UserInfo {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** What of a request can tell who sent it. */
export interface Credentials {
  /** The verified client certificate's subject, when the connection had one. */
  readonly certificate?: CertificateUser & {
    readonly notAfterMs: number;
    /** SHA-256 of the certificate, in hexadecimal. */
    readonly fingerprint: string;
  };
  /** The Authorization header as sent. */
  readonly authorization?: string;
}

/**
 * Answers the user, or undefined when these credentials are not its business; throws Unauthorized when they are wrong.
 * What is known without waiting is answered without a promise: it is asked with every request.
 */
export interface Authenticator {
  authenticate(credentials: Credentials): Promise<UserInfo | undefined> | UserInfo | undefined;
}

/** One request as authorization sees it. */
export interface Attributes {
  readonly user: UserInfo;
  /** get, list, watch, create, update, patch, delete, deletecollection; for paths get, post, put... */
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** What every object has in common that the request can show or touch. */
  readonly fieldSelector?: readonly FieldTerm[];
  /** Set for requests that name no resource, such as /version; resource is then empty. */
  readonly path?: string;
}

export interface Decision {
  readonly verdict: 'allow' | 'deny' | 'no opinion';
  readonly reason: string;
}

export interface Authorizer {
  authorize(attributes: Attributes): Decision;
}
