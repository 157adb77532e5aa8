/**
 * Times of answers for known and for unknown addresses, over HTTP with the executable: a difference would tell a stranger who has
 * an account. The requests of both kinds take turns, for addresses of the same length. The medians are printed, not asserted.
 */
import { describe, expect, test } from "bun:test";
import { inParallel, post, project, type Running, serve } from "../kit.ts";

const count = 300;
const password = "correct horse";
const addresses = (kind: "known" | "newer" | "nobod"): string[] =>
  Array.from({ length: count }, (_, i) => `${kind}-${String(i).padStart(4, "0")}@example.com`);

let callers = 0;
/** Each request comes from an address of its own, so that no bound of an address counts. */
async function send(server: Running, route: string, body: object): Promise<number> {
  callers += 1;
  const from = { "X-Forwarded-For": `10.${callers >> 16}.${(callers >> 8) & 255}.${callers & 255}` };
  const answer = await post(`${server.url}/api/auth/${route}`, body, from);
  await answer.text();
  return answer.status;
}

function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN;
}

async function start(more: Record<string, unknown> = {}): Promise<Running> {
  const rates = Object.fromEntries(
    ["register", "login", "mail", "recipient"].map((name) => [`limits.rate.${name}`, "off"]),
  );
  const mail = { "mail.from": "shop@example.com", publicUrl: "https://shop.example.com" };
  return serve(await project({ config: { trustedProxies: 1, "log.level": "ERROR", ...rates, ...mail, ...more } }));
}

/** Requests in turns: for a known address, then for an unknown address. */
async function compare(server: Running, route: string, bodyOf: (email: string) => object): Promise<void> {
  const times: { readonly [kind in "known" | "unknown"]: number[] } = { known: [], unknown: [] };
  const statuses = new Set<number>();
  const unknown = addresses(route === "register" ? "newer" : "nobod");
  for (const [i, known] of addresses("known").entries())
    for (const [kind, email] of [
      ["known", known],
      ["unknown", unknown[i] ?? ""],
    ] as const) {
      const begin = performance.now();
      statuses.add(await send(server, route, bodyOf(email)));
      times[kind].push(performance.now() - begin);
    }
  expect(statuses.size).toBe(1);
  const [one, other] = [median(times.known), median(times.unknown)];
  console.log(
    `${route}: median ${one.toFixed(2)} ms for a known address, ${other.toFixed(2)} ms for an unknown address, ratio ${(one / other).toFixed(3)} (${count} each)`,
  );
}

describe("the time of an answer", () => {
  test("of forgot, verify, code and login, for known and unknown addresses", async () => {
    const server = await start({ "auth.codes": true });
    await inParallel(addresses("known"), 4, async (email) => {
      expect(await send(server, "register", { email, password })).toBe(201);
    });
    await compare(server, "password/forgot", (email) => ({ email }));
    await compare(server, "verify/request", (email) => ({ email }));
    await compare(server, "code/request", (email) => ({ email }));
    await compare(server, "login", (email) => ({ email, password: "wrong guess" }));
  });

  test("of a registration that waits for a proof, for known and unknown addresses", async () => {
    const server = await start({ "auth.requireVerified": true });
    await inParallel(addresses("known"), 4, async (email) => {
      expect(await send(server, "register", { email, password })).toBe(202);
    });
    await compare(server, "register", (email) => ({ email, password }));
  });
});
