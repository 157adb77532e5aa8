/** The client's secret at Apple: a JWT for each request, signed with the key of the team ("Creating a client secret"). */
import type { ClientAuth } from "openid-client";
import type { ProviderSettings } from "../../../base/config/index.ts";

/** Apple allows half a year; a secret is used once. */
const lifetime = "5m";

export function appleSecret(clientId: string, key: NonNullable<ProviderSettings["appleKey"]>): ClientAuth {
  return async ({ issuer }, _client, body) => {
    const { importPKCS8, SignJWT } = await import("jose");
    const secret = await new SignJWT()
      .setProtectedHeader({ alg: "ES256", kid: key.keyId })
      .setIssuer(key.teamId)
      .setSubject(clientId)
      .setAudience(issuer)
      .setIssuedAt()
      .setExpirationTime(lifetime)
      .sign(await importPKCS8(key.privateKey.reveal(), "ES256"));
    body.set("client_id", clientId);
    body.set("client_secret", secret);
  };
}
