/** The public key that releases are signed with: Ed25519, 32 bytes in base64url. Written by `npm run release -- --new-key FILE`. */
export const releaseKey = "Q8El5bq3Bztz7Ar8OjMplSAMzljalFx9YBywKX2-zSE";
