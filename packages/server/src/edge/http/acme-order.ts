/** An order of a certificate, by the HTTP-01 challenge of RFC 8555: the only place that knows the ACME library. */

/** The library is large and rarely needed: the library is loaded with an order, not with the service. */
const library = (): Promise<typeof import("acme-client")> => import("acme-client");

/** Between two questions whether the issuer is done, at least. */
const backoffMin = 1_000;

export interface Order {
  readonly directory: string;
  /** In PEM. */
  readonly accountKey: string;
  readonly email: string | undefined;
  readonly domains: readonly string[];
  /** Filled with the answers to challenges, by their token, as long as the issuer may ask. */
  readonly answers: Map<string, string>;
}

export async function newAccountKey(): Promise<string> {
  const { crypto } = await library();
  return (await crypto.createPrivateEcdsaKey()).toString();
}

/**
 * Answers a new key, its certificate and the certificates of the issuers, in PEM.
 * @throws Error with the reason of the issuer.
 */
export async function orderCertificate({ directory, accountKey, email, domains, answers }: Order): Promise<string> {
  const { Client, crypto } = await library();
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
