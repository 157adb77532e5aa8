/** `/api/auth/…` of proofs: tokens and codes from mails, which prove an address, set a password, move an account or sign in. */
import {
  type Auth,
  readCode,
  readEmail,
  readOptionalPassword,
  readPassword,
  readText,
} from "../../../people/auth/index.ts";
import type { Exchange } from "../exchange.ts";
import type { RateLimiter } from "../rate-limiter.ts";
import type { Routes } from "../router.ts";

const purpose = "change the address of your account";

/** A token of a body, and the password beside the token, if the body has a password. */
function readShownProof(body: Record<string, unknown>): { token: string; password: string | null } {
  return { token: readText(body, "token"), password: readOptionalPassword(body) };
}

export function proofRoutes({ auth, rates }: { auth: Auth; rates: RateLimiter }): Routes {
  const { proofs } = auth;
  const proverOf = async (exchange: Exchange) => ({ principal: await exchange.session(), caller: exchange.waiter });
  return {
    "/api/auth/verify": rates.limit("login", {
      async POST(exchange) {
        const prover = await proverOf(exchange);
        await proofs.verify(readShownProof(await exchange.object()), prover);
        return exchange.empty();
      },
    }),
    "/api/auth/verify/request": rates.limit("mail", {
      async POST(exchange) {
        const principal = await exchange.session();
        const email =
          principal === null ? auth.users.readEmail(await exchange.object()) : auth.user(principal.userId).email;
        proofs.requestVerification(email, exchange.waiter);
        return exchange.json(202, {});
      },
    }),
    "/api/auth/password/forgot": rates.limit("mail", {
      async POST(exchange) {
        proofs.requestReset(auth.users.readEmail(await exchange.object()), exchange.waiter);
        return exchange.json(202, {});
      },
    }),
    "/api/auth/password/reset": rates.limit("login", {
      async POST(exchange) {
        const body = await exchange.object();
        await proofs.reset({ token: readText(body, "token"), password: readPassword(body) }, exchange.waiter);
        return exchange.empty();
      },
    }),
    "/api/auth/email": rates.limit("mail", {
      async POST(exchange) {
        await exchange.user(purpose);
        const body = await exchange.object();
        const change = { email: readEmail(body), password: readOptionalPassword(body) };
        // The session may have ended while the body came.
        const principal = await exchange.user(purpose);
        await proofs.requestEmail(change, { principal, caller: exchange.waiter });
        return exchange.json(202, {});
      },
    }),
    "/api/auth/email/confirm": rates.limit("login", {
      async POST(exchange) {
        const prover = await proverOf(exchange);
        await proofs.confirmEmail(readShownProof(await exchange.object()), prover);
        return exchange.empty();
      },
    }),
    "/api/auth/code/request": rates.limit("mail", {
      async POST(exchange) {
        const attempt = proofs.codes.request(auth.users.readEmail(await exchange.object()), exchange.waiter);
        return exchange.json(202, { attempt });
      },
    }),
    "/api/auth/code": rates.limit("login", {
      async POST(exchange) {
        const body = await exchange.object();
        const proof = { attempt: readText(body, "attempt"), code: readCode(body) };
        return exchange.json(200, await proofs.codes.signIn(proof, exchange.waiter));
      },
    }),
    "/api/auth/invitation": rates.limit("login", {
      async POST(exchange) {
        const body = await exchange.object();
        const proof = { token: readText(body, "token"), password: readText(body, "password") };
        return exchange.json(200, await proofs.invitations.accept(proof, exchange.waiter));
      },
    }),
  };
}
