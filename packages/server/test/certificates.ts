/** Certificates for tests, in PEM: each is its own issuer. */
import { SubjectAlternativeNameExtension, X509CertificateGenerator } from "@peculiar/x509";

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const hourMs = 3_600_000;

export function newKeys(): Promise<CryptoKeyPair> {
  return crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
}

export async function pemOf(key: CryptoKey): Promise<string> {
  const bytes = Buffer.from(await crypto.subtle.exportKey("pkcs8", key)).toString("base64");
  return `-----BEGIN PRIVATE KEY-----\n${bytes.replace(/.{64}/g, "$&\n").trim()}\n-----END PRIVATE KEY-----\n`;
}

/** A certificate for this machine, and its key. */
export async function newCertificate(
  name: string,
  { from = Date.now() - hourMs, until = Date.now() + 24 * hourMs }: { from?: number; until?: number } = {},
): Promise<{ cert: string; key: string }> {
  const keys = await newKeys();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: `CN=${name}`,
    keys,
    signingAlgorithm: algorithm,
    notBefore: new Date(from),
    notAfter: new Date(until),
    serialNumber: Buffer.from(crypto.getRandomValues(new Uint8Array(8))).toString("hex"),
    extensions: [
      new SubjectAlternativeNameExtension([
        { type: "dns", value: "localhost" },
        { type: "ip", value: "127.0.0.1" },
      ]),
    ],
  });
  return { cert: `${certificate.toString("pem")}\n`, key: await pemOf(keys.privateKey) };
}
