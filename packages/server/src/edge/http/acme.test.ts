/** When a certificate is got, renewed and tried again: with an issuer and a clock of the test. */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { newCertificate } from "../../../test/certificates.ts";
import { quietLogger, temporaryFolder } from "../../../test/kit.ts";
import { Acme, type AcmeOptions, dueAt, pauseAfter } from "./acme.ts";
import { Certificate } from "./certificate.ts";

const minuteMs = 60_000;
const dayMs = 1_440 * minuteMs;

/** Runs until `steps` pauses were made; answers the lengths of the pauses, and the log. */
async function keep(steps: number, order: NonNullable<AcmeOptions["order"]>) {
  const log: string[] = [];
  const logger = quietLogger(log);
  const stopping = new AbortController();
  const pauses: number[] = [];
  const acme = await Acme.open({
    folder: join(temporaryFolder(), "tls"),
    domains: ["api.example.com"],
    email: undefined,
    directory: "https://issuer.example/directory",
    logger,
    order: async (asked) => {
      asked.answers.set("token", "answer");
      expect(acme.answerTo("token")).toBe("answer");
      return order(asked);
    },
    pause: async (ms) => {
      // Between two orders no token has an answer.
      expect(acme.answerTo("token")).toBeUndefined();
      pauses.push(ms);
      if (pauses.length === steps) stopping.abort();
    },
  });
  const certificate = await Certificate.open({ cert: acme.file, key: acme.file }, logger);
  const own = certificate.pair.cert;
  await acme.keep(certificate, stopping.signal);
  return { acme, certificate, own, pauses, log };
}

async function given(times: { from?: number; until?: number } = {}): Promise<string> {
  const { cert, key } = await newCertificate("issued", { ...times, issuer: "An issuer", names: ["api.example.com"] });
  return `${key}${cert}`;
}

test("the first certificate replaces the self-made certificate; then the next renewal waits a day at most", async () => {
  const pem = await given({ from: Date.now(), until: Date.now() + 90 * dayMs });
  const { acme, certificate, own, pauses, log } = await keep(3, async () => pem);
  expect(certificate.pair.cert).toBe(pem);
  expect(own).not.toBe(pem);
  expect(readFileSync(acme.file, "utf8")).toBe(pem);
  expect(pauses).toEqual([dayMs, dayMs, dayMs]);
  expect(log.filter((line) => line.includes("Ordering a certificate"))).toHaveLength(1);
  expect(log.filter((line) => line.startsWith("ERROR"))).toEqual([]);
});

test("the wait is less than a day if the renewal is nearer", async () => {
  const pem = await given({ from: Date.now() - 20 * dayMs, until: Date.now() + 10.5 * dayMs });
  const { pauses } = await keep(1, async () => pem);
  expect(pauses[0]).toBeGreaterThan(0.3 * dayMs);
  expect(pauses[0]).toBeLessThan(0.4 * dayMs);
});

test("failures are retried later and later, and a success ends the retries; the old certificate stays meanwhile", async () => {
  const pem = await given();
  let tries = 0;
  const { certificate, pauses, log } = await keep(4, async () => {
    tries += 1;
    if (tries < 4) throw new Error(`refused\nwith more lines`);
    return pem;
  });
  expect(pauses.slice(0, 3)).toEqual([5 * minuteMs, 10 * minuteMs, 20 * minuteMs]);
  expect(tries).toBe(4);
  expect(certificate.pair.cert).toBe(pem);
  expect(log.filter((line) => line.startsWith("ERROR"))).toEqual(
    [5, 10, 20].map((minutes) => `ERROR No certificate was issued; the next try is in ${minutes} minutes: refused`),
  );
});

test.each<[name: string, make: () => Promise<string>]>([
  ["has expired", () => given({ from: Date.now() - 2 * dayMs, until: Date.now() - dayMs })],
  [
    "is for another name",
    async () => {
      const { cert, key } = await newCertificate("issued", { issuer: "An issuer", names: ["other.example.com"] });
      return `${key}${cert}`;
    },
  ],
  ["cannot be served", async () => (await given()).slice(0, 200)],
])("an issuer whose certificate %s is not asked in a circle", async (_name, make) => {
  let tries = 0;
  const { acme, own, pauses } = await keep(2, () => {
    tries += 1;
    return make();
  });
  expect([tries, pauses]).toEqual([2, [5 * minuteMs, 10 * minuteMs]]);
  // The next start finds a certificate that can be served.
  expect(readFileSync(acme.file, "utf8")).toBe(own);
});

describe("the time of a renewal", () => {
  const names = ["a.example.com", "b.example.com"];
  test("is after two thirds of its life", async () => {
    const from = Date.UTC(2026, 0, 1);
    const { cert } = await newCertificate("x", { issuer: "An issuer", names, from, until: from + 90 * dayMs });
    expect(await dueAt(cert, names)).toBe(from + 60 * dayMs);
    expect(await dueAt(cert, ["b.example.com"])).toBe(from + 60 * dayMs);
    expect(await dueAt(cert, [...names, "c.example.com"])).toBe(0);
  });

  test("is now for a self-made certificate", async () => {
    const { cert } = await newCertificate("x", { names });
    expect(await dueAt(cert, names)).toBe(0);
  });

  test("returns after half a day at most", () => {
    expect([0, 1, 4, 100].map((failures) => pauseAfter(failures) / minuteMs)).toEqual([5, 10, 80, 720]);
  });
});
