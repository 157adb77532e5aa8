/** The services of the model of accounts: with and without `auth.requireVerified`. */
import { afterAll, setSystemTime } from "bun:test";
import { monotonicClock } from "../clock.ts";
import { FakeProvider } from "../fake-provider.ts";
import { openWithProviders } from "../sign-in-world.ts";
import type { Stage } from "./world.ts";

/** Opens the services for a file of tests, to be called outside of tests. The clock is as before after the file. */
export async function openStages(): Promise<Stage[]> {
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
