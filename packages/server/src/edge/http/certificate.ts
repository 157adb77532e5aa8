/** The certificate of HTTPS: read from two files, checked together, and read again when the files change. */
import { readFile } from "node:fs/promises";
import { messageOf, SetupError } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";

/** The time between two looks at the files. */
const lookMs = 5_000;

/** The certificate with the certificates of the issuers, and the key: the PEM, or the files that hold the PEM. */
interface Pair {
  readonly cert: string;
  readonly key: string;
}

export class Certificate {
  readonly #files: Pair;
  readonly #logger: Logger;
  #pair: Pair;
  /** Why the last look did not take the files. */
  #problem: string | null = null;
  #hasTold = false;
  #onChange: () => unknown = () => undefined;

  private constructor(files: Pair, pair: Pair, logger: Logger) {
    this.#files = files;
    this.#pair = pair;
    this.#logger = logger;
  }

  /** @throws SetupError for files that cannot be read or do not belong together. */
  static async open(files: Pair, logger: Logger): Promise<Certificate> {
    const pair = await read(files).catch((thrown) => {
      throw new SetupError(messageOf(thrown));
    });
    const certificate = new Certificate(files, pair, logger);
    await certificate.#tell("HTTPS with the certificate");
    return certificate;
  }

  get pair(): Pair {
    return this.#pair;
  }

  /** Looks at the files every few seconds, and calls `onChange` once other files are to be served. The log tells the change when `onChange` is done. */
  watch(onChange: () => unknown, signal: AbortSignal): void {
    this.#onChange = onChange;
    const timer = setInterval(() => void this.look(), lookMs).unref();
    signal.addEventListener("abort", () => clearInterval(timer), { once: true });
  }

  /**
   * Reads the files now. A pair that cannot be served is not used: the old pair stays. The failure is logged as an ERROR
   * the second time, because a file is written before the other, or at once when an operator asked for the check.
   */
  async look(isAsked = false): Promise<void> {
    try {
      const pair = await read(this.#files);
      this.#problem = null;
      this.#hasTold = false;
      if (pair.cert === this.#pair.cert && pair.key === this.#pair.key) return;
      this.#pair = pair;
      await this.#onChange();
      await this.#tell("The certificate was replaced");
    } catch (thrown) {
      const problem = messageOf(thrown);
      const isKnown = problem === this.#problem;
      if (!isKnown) this.#hasTold = false;
      this.#problem = problem;
      if (this.#hasTold || !(isKnown || isAsked)) return;
      this.#hasTold = true;
      this.#logger.error(`The old certificate stays in use: ${problem}`);
    }
  }

  async #tell(message: string): Promise<void> {
    const { X509Certificate } = await import("node:crypto");
    const { subjectAltName, validFromDate, validToDate } = new X509Certificate(this.#pair.cert);
    const fields = { file: this.#files.cert, names: subjectAltName, until: validToDate.toISOString() };
    this.#logger.info(message, fields);
    const now = Date.now();
    if (now > validToDate.getTime()) this.#logger.warn("The certificate has expired", fields);
    if (now < validFromDate.getTime()) this.#logger.warn("The certificate is not valid yet", fields);
  }
}

/** @throws Error with one line for files that cannot be read or do not belong together. */
async function read(files: Pair): Promise<Pair> {
  // One after the other: of two missing files, the error always names the certificate.
  const cert = await textOf("tls.cert", files.cert);
  const key = await textOf("tls.key", files.key);
  // Loaded only with HTTPS.
  const { createPrivateKey, X509Certificate } = await import("node:crypto");
  const { createSecureContext } = await import("node:tls");
  const certificate = parsed(`tls.cert ${files.cert}: is no certificate in PEM`, () => new X509Certificate(cert));
  const privateKey = parsed(`tls.key ${files.key}: is no private key in PEM without a password`, () =>
    createPrivateKey(key),
  );
  if (!certificate.checkPrivateKey(privateKey))
    throw new Error(`tls.key ${files.key}: is not the key of the certificate in ${files.cert}`);
  parsed(`tls.cert ${files.cert}: cannot be served`, () => createSecureContext({ cert, key }));
  return { cert, key };
}

function textOf(name: string, file: string): Promise<string> {
  return readFile(file, "utf8").catch((thrown) => {
    throw new Error(`${name} ${file}: cannot be read: ${messageOf(thrown)}`);
  });
}

/** The result of `parse`. Of an error of OpenSSL only the reason, which stands last, is for people. */
function parsed<T>(problem: string, parse: () => T): T {
  try {
    return parse();
  } catch (thrown) {
    throw new Error(`${problem} (${messageOf(thrown).split(":").at(-1)})`);
  }
}
