/** Certificates for tests, in PEM. */
import { SubjectAlternativeNameExtension, X509CertificateGenerator } from "@peculiar/x509";

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const hourMs = 3_600_000;

interface CertificateOptions {
  /** The name of the signer in the certificate; by default its own. The signature is its own in any case. */
  issuer?: string;
  /** The hosts of the certificate, in place of this machine. */
  names?: readonly string[];
  from?: number;
  until?: number;
}

async function pemOf(key: CryptoKey): Promise<string> {
  const bytes = Buffer.from(await crypto.subtle.exportKey("pkcs8", key)).toString("base64");
  return `-----BEGIN PRIVATE KEY-----\n${bytes.replace(/.{64}/g, "$&\n").trim()}\n-----END PRIVATE KEY-----\n`;
}

/** A certificate and its key. */
export async function newCertificate(
  name: string,
  { issuer = name, names, from = Date.now() - hourMs, until = Date.now() + 24 * hourMs }: CertificateOptions = {},
): Promise<{ cert: string; key: string }> {
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const forThisMachine = [
    { type: "dns", value: "localhost" },
    { type: "ip", value: "127.0.0.1" },
  ] as const;
  const certificate = await X509CertificateGenerator.create({
    subject: `CN=${name}`,
    issuer: `CN=${issuer}`,
    publicKey: keys.publicKey,
    signingKey: keys.privateKey,
    signingAlgorithm: algorithm,
    notBefore: new Date(from),
    notAfter: new Date(until),
    serialNumber: Buffer.from(crypto.getRandomValues(new Uint8Array(8))).toString("hex"),
    extensions: [
      new SubjectAlternativeNameExtension(names?.map((value) => ({ type: "dns", value })) ?? [...forThisMachine]),
    ],
  });
  return { cert: `${certificate.toString("pem")}\n`, key: await pemOf(keys.privateKey) };
}
