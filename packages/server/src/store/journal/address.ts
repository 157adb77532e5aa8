/** Address of an engine: the text of the configuration, read for the driver, and shown without the password. */

export interface Address {
  /** The address for the driver, with the password. */
  readonly url: string;
  /** The database; the driver would prefer the environment's to the address's. */
  readonly database: string | null;
  /** The address for messages: no password, no parameters. */
  readonly shown: string;
  /** Whether the engine stands behind a pooler in transaction mode: no named statements, and no parameters of a session. */
  readonly isPooled: boolean;
}

/** Null for a text that is no address of PostgreSQL. */
export function readAddress(text: string): Address | null {
  const url = URL.parse(text);
  if (url === null || !["postgres:", "postgresql:"].includes(url.protocol)) return null;
  const given = url.searchParams;
  // The driver's default is a connection without TLS, which hosted engines refuse.
  if (!["sslmode", "ssl", "tls", "sslrootcert"].some((name) => given.has(name))) given.set("sslmode", "prefer");
  const path = url.pathname.slice(1);
  const user = url.username === "" ? "" : `${url.username}@`;
  return {
    url: url.href,
    database: path === "" ? null : decodeURIComponent(path),
    shown: `postgres://${user}${url.host}/${path}`,
    isPooled: given.get("prepare") === "false",
  };
}
