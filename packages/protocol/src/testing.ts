/** Requests of test files to `socle test`, over HTTP on the loopback address. */

/** A user whom a test signs in as. */
export interface TestUser {
  readonly email: string;
  /** The role of a new user; `authenticated` by default. */
  readonly role?: "admin" | "authenticated";
  /** By default, the password of all users that tests make. */
  readonly password?: string;
}

/** A mail of the service under test. */
export interface TestMail {
  /** The name of a built-in text, such as `verify`; `custom` for a mail of the code. */
  readonly kind: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string | null;
  /** The link of the mail; null for a mail without a link. */
  readonly link: string | null;
  /** The code of the mail; null for a mail without a code. */
  readonly code: string | null;
}

/** Something that a test asks of the service. */
export type TestCall =
  /** Moves the time. Answers the milliseconds by which the service is ahead of the machine's clock. */
  | { readonly name: "advance"; readonly duration: string }
  /** Answers when no run is due or under way. */
  | { readonly name: "idle" }
  /** Makes a user, unless a user has the address. Answers the credentials. */
  | { readonly name: "user"; readonly user: TestUser }
  /** Answers the mails of the outbox, oldest first. */
  | { readonly name: "mails" }
  /** Reads a file of `socle seed`. */
  | { readonly name: "seed"; readonly file: string }
  /** Has the test answer the `fetch` of the code, for some origins. */
  | { readonly name: "fetch"; readonly mocks: FetchMocks };

/** The server of a test that answers the `fetch` of the code under test. */
export interface FetchMocks {
  readonly address: string;
  /** Sent with each request. */
  readonly token: string;
  /** The origins whose requests go to the server, such as `https://mail.example.com`. */
  readonly origins: readonly string[];
}

/** Headers of a request to the server of a test: the address that the code asked for, and the token. */
export const mockUrlHeader = "x-socle-test-url";
export const mockTokenHeader = "x-socle-test-token";
/** A header of the response: why `fetch` rejects, as a component of an address. */
export const mockRefusalHeader = "x-socle-test-refusal";

/** A request of a test file, as JSON. The answer is `{ value }` or `{ error }`. */
export type TestRequest =
  /** Starts a service. Answers a `TestServiceAddress`. */
  | { readonly kind: "open" }
  | { readonly kind: "call"; readonly service: number; readonly call: TestCall }
  | { readonly kind: "close"; readonly service: number };

export interface TestServiceAddress {
  readonly service: number;
  readonly url: string;
  readonly endpointsPrefix: string;
}

/** The variables that give a test file the address of `socle test`, and the token that `socle test` expects. */
export const testHostVariable = "SOCLE_TEST_HOST";
export const testTokenVariable = "SOCLE_TEST_TOKEN";
