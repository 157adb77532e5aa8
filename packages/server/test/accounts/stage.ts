/** The services of the model of accounts: with and without `auth.requireVerified`. */
import { afterAll, setSystemTime, spyOn } from "bun:test";
import { Passwords } from "../../src/people/auth/passwords.ts";
import { monotonicClock } from "../clock.ts";
import { FakeProvider } from "../fake-provider.ts";
import { openWithProviders } from "../sign-in-world.ts";
import type { Stage } from "./world.ts";

/**
 * Hashes new passwords with little work: thousands of passwords take minutes otherwise. A hash names its parameters, so the
 * threads of the service compare each password as always.
 */
function hashFast(): void {
  const fast = { algorithm: "argon2id", memoryCost: 8, timeCost: 1 } as const;
  const hash = spyOn(Passwords.prototype, "hash").mockImplementation((password) => Bun.password.hash(password, fast));
  // Other test files share the process.
  afterAll(() => hash.mockRestore());
}

/** Opens the services for a file of tests, to be called outside of tests. Clocks and hashes are as before after the file. */
export async function openStages(): Promise<Stage[]> {
  hashFast();
  afterAll(() => void setSystemTime());
  const pass = monotonicClock();
  const fake = new FakeProvider();
  const rates = ["REGISTER", "LOGIN", "REFRESH", "MAIL", "RECIPIENT"].map((name) => [
    `SERVICE_LIMITS_RATE_${name}`,
    "off",
  ]);
  const stages: Stage[] = [];
  for (const needsProof of [false, true]) {
    const api = await openWithProviders(
      { one: fake },
      {
        ...Object.fromEntries(rates),
        SERVICE_MAIL_FROM: "shop@example.com",
        SERVICE_AUTH_CODES: "true",
        SERVICE_AUTH_REQUIRE_VERIFIED: String(needsProof),
      },
    );
    await api.admin();
    stages.push({ api, fake, needsProof, pass, strayCodes: [] });
  }
  return stages;
}
