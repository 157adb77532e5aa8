/**
 * A certificate by ACME (RFC 8555): got with the first start, kept beside the database, and renewed after two thirds of
 * the life. Before the first certificate of the issuer the service has a self-signed certificate.
 */
import { existsSync } from "node:fs";
import { mkdir, open, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { messageOf, SetupError } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import type { Certificate } from "./certificate.ts";

/** Between two questions whether the issuer is done, at least. */
const backoffMin = 1_000;
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
/** Issuers count failures: Let's Encrypt takes five an hour. */
const firstPauseMs = 5 * minuteMs;
const longestPauseMs = 12 * hourMs;
/** The part of the life after which a certificate is renewed. */
const renewedAfter = 2 / 3;
const ownLifeMs = 90 * dayMs;

interface Order extends Pick<AcmeOptions, "domains" | "email" | "directory"> {
  /** In PEM. */
  readonly accountKey: string;
  /** Filled with the answers to challenges, by the token, as long as the issuer may ask. */
  readonly answers: Map<string, string>;
}

export interface AcmeOptions {
  /** The folder of keys and certificates. */
  readonly folder: string;
  readonly domains: readonly string[];
  readonly email: string | undefined;
  readonly directory: string;
  readonly logger: Logger;
  /** Gets a certificate; a stub for tests. */
  readonly order?: (order: Order) => Promise<string>;
  /** Waits, until the service stops at most; a stub for tests. */
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<void>;
}

export class Acme {
  /** The key and the certificate, in a single file: both are replaced together. */
  readonly file: string;
  readonly #options: AcmeOptions;
  /** Answers to challenges, by the token. */
  readonly #answers = new Map<string, string>();
  readonly #folder: string;

  private constructor(options: AcmeOptions, folder: string) {
    this.#options = options;
    this.#folder = folder;
    this.file = join(folder, "certificate.pem");
  }

  /** @throws SetupError for names that no certificate can be got for. */
  static async open(options: AcmeOptions): Promise<Acme> {
    const { folder, domains, directory, logger } = options;
    const bad = domains.find((domain) => !/^[a-z0-9-]+(\.[a-z0-9-]+)+$/i.test(domain));
    if (bad !== undefined || domains.length === 0)
      throw new SetupError(`tls.acme.domains: ${JSON.stringify(bad ?? "")} is no full name such as api.example.com`);
    // Each issuer has a folder, so that a certificate of a test issuer is not used for the real issuer.
    const acme = new Acme(options, join(folder, new URL(directory).host.replace(/[^\w.-]/g, "_")));
    await mkdir(acme.#folder, { recursive: true, mode: 0o700 });
    if (existsSync(acme.file)) return acme;
    await replaceFile(acme.file, await ownCertificate(domains));
    logger.info("A self-signed certificate is used until the issuer has given a certificate", { domains });
    return acme;
  }

  /** The text that the issuer expects at the token's address; undefined for a token that is foreign. */
  answerTo(token: string): string | undefined {
    return this.#answers.get(token);
  }

  /** Gets and renews the certificate until the service stops. The port of the challenges has to be open. */
  async keep(certificate: Certificate, signal: AbortSignal): Promise<void> {
    const { domains, pause = wait } = this.#options;
    let failures = 0;
    while (!signal.aborted) {
      const restMs = (await dueAt(certificate.pair.cert, domains)) - Date.now();
      // Looked at each day: a machine that sleeps, or a clock that is corrected, makes no difference then.
      if (restMs > 0) await pause(Math.min(restMs, dayMs), signal);
      else if (await this.#obtain(certificate, failures)) failures = 0;
      else {
        await pause(pauseAfter(failures), signal);
        failures += 1;
      }
    }
  }

  async #obtain(certificate: Certificate, failures: number): Promise<boolean> {
    const { domains, email, directory, logger, order = orderCertificate } = this.#options;
    logger.info("Ordering a certificate", { domains, directory });
    try {
      const accountKey = await this.#accountKey();
      const given = await order({ directory, accountKey, email, domains, answers: this.#answers });
      await this.#refuseUseless(given);
      await replaceFile(this.file, given);
      await certificate.look(true);
      // Otherwise the issuer would be asked again and again.
      await this.#refuseUseless(certificate.pair.cert);
      return true;
    } catch (thrown) {
      const [reason] = messageOf(thrown).split("\n");
      const minutes = Math.round(pauseAfter(failures) / minuteMs);
      logger.error(`No certificate was issued; the next try is in ${minutes} minutes: ${reason}`, { domains });
      return false;
    } finally {
      this.#answers.clear();
    }
  }

  /** @throws Error for a certificate that would have to be replaced at once. */
  async #refuseUseless(cert: string): Promise<void> {
    if ((await dueAt(cert, this.#options.domains)) > Date.now()) return;
    throw new Error("the issued certificate is not for all names, has expired, or cannot be served");
  }

  /** Made once: the key by which the issuer knows the account. */
  async #accountKey(): Promise<string> {
    const file = join(this.#folder, "account.pem");
    if (existsSync(file)) return readFile(file, "utf8");
    const { crypto } = await import("acme-client");
    const key = String(await crypto.createPrivateEcdsaKey());
    await replaceFile(file, key);
    return key;
  }
}

/** The time to the next try, after so many failures. */
export function pauseAfter(failures: number): number {
  return Math.min(firstPauseMs * 2 ** failures, longestPauseMs);
}

/** When a certificate has to be replaced: at once for a self-signed certificate, or without some name. */
export async function dueAt(cert: string, domains: readonly string[]): Promise<number> {
  const { X509Certificate } = await import("node:crypto");
  const certificate = new X509Certificate(cert);
  const isComplete = domains.every((domain) => certificate.checkHost(domain) !== undefined);
  if (certificate.issuer === certificate.subject || !isComplete) return 0;
  const [from, until] = [certificate.validFromDate.getTime(), certificate.validToDate.getTime()];
  return from + (until - from) * renewedAfter;
}

/**
 * Answers a new key, the certificate and the certificates of the issuers, in PEM.
 * @throws Error with the reason of the issuer.
 */
async function orderCertificate({ directory, accountKey, email, domains, answers }: Order): Promise<string> {
  // Loaded with an order, not with the service: the library is large and rarely needed.
  const { Client, crypto } = await import("acme-client");
  const client = new Client({ directoryUrl: directory, accountKey, backoffMin });
  const [key, csr] = await crypto.createCsr({ altNames: [...domains] }, await crypto.createPrivateEcdsaKey());
  const chain = await client.auto({
    csr,
    ...(email === undefined ? {} : { email }),
    termsOfServiceAgreed: true,
    challengePriority: ["http-01"],
    // From inside, the name may lead to another host than from outside: only the issuer's look counts.
    skipChallengeVerification: true,
    async challengeCreateFn(_authorization, { token }, answer) {
      answers.set(token, answer);
    },
    async challengeRemoveFn(_authorization, { token }) {
      answers.delete(token);
    },
  });
  return `${key.toString().trim()}\n${chain.trim()}\n`;
}

/** Writes a file for this user alone, as a whole or not at all. */
async function replaceFile(file: string, content: string): Promise<void> {
  const draft = `${file}.new`;
  const handle = await open(draft, "w", 0o600);
  try {
    await handle.chmod(0o600);
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(draft, file);
}

/** A self-signed certificate, and the key of the certificate. */
async function ownCertificate(domains: readonly string[]): Promise<string> {
  // Loaded here alone: the library is large, and needed once.
  const { PemConverter, SubjectAlternativeNameExtension, X509CertificateGenerator } = await import(
    "./certificate-tools.ts"
  );
  const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const now = Date.now();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: "CN=Socle",
    keys,
    signingAlgorithm: algorithm,
    notBefore: new Date(now - hourMs),
    notAfter: new Date(now + ownLifeMs),
    serialNumber: "01",
    extensions: [new SubjectAlternativeNameExtension(domains.map((value) => ({ type: "dns", value })))],
  });
  const key = PemConverter.encode(await crypto.subtle.exportKey("pkcs8", keys.privateKey), "PRIVATE KEY");
  return `${key}\n${certificate.toString("pem")}\n`;
}

/** Ends with the signal, too. */
async function wait(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal, ref: false }).catch(() => undefined);
}
