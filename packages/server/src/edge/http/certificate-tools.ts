/** The library for certificates, loaded on demand. A module of its own for the reason that `form-parser.ts` gives. */
export { PemConverter, SubjectAlternativeNameExtension, X509CertificateGenerator } from "@peculiar/x509";
