// Runs oidc-provider, a complete provider of OpenID Connect, with its own login pages. Argument: the redirect address of
// the client; prints its address. Every login name is an account with the name as email.
import { createServer } from "node:http";
import Provider from "oidc-provider";

const [, , redirect] = process.argv;
const server = createServer();
server.listen(0, "localhost", () => {
  const issuer = `http://localhost:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [{ client_id: "app", client_secret: "a secret: +/%", redirect_uris: [redirect] }],
    claims: { openid: ["sub"], email: ["email", "email_verified"] },
    pkce: { required: () => true },
    findAccount: (_context, accountId) => ({
      accountId,
      claims: async () => ({ sub: `sub-of-${accountId}`, email: accountId, email_verified: true }),
    }),
  });
  server.on("request", provider.callback());
  console.log(issuer);
});
