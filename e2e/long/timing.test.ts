/**
 * Times of answers for known and for unknown addresses, over HTTP with the executable: a difference would tell a stranger who has
 * an account. The requests take turns in a random order, for addresses of the same length. A control, a second group of unknown
 * addresses, shows the noise of the machine. The figures are printed, not asserted.
 */
// Promises: A2.
import { describe, expect, test } from "bun:test";
import { randomNumbers, randomSeed } from "../../packages/server/test/random.ts";
import { inParallel, post, project, type Running, serve } from "../kit.ts";

const count = 300;
const password = "correct horse";
const random = randomNumbers(randomSeed("timing"));
const kinds = ["known", "unknown", "control"] as const;
type Kind = (typeof kinds)[number];

/** The addresses of a kind have the same length as the addresses of another kind. */
function addressesOf(kind: Kind): string[] {
  return Array.from({ length: count }, (_, i) => `${kind.padEnd(7, "x")}-${String(i).padStart(4, "0")}@example.com`);
}

let callers = 0;
/** Each request comes from an address of its own, so that no bound of an address counts. */
async function send(server: Running, route: string, body: object): Promise<number> {
  callers += 1;
  const from = { "X-Forwarded-For": `10.${callers >> 16}.${(callers >> 8) & 255}.${callers & 255}` };
  const answer = await post(`${server.url}/api/auth/${route}`, body, from);
  await answer.text();
  return answer.status;
}

async function start(more: Record<string, unknown> = {}): Promise<Running> {
  const names = ["register", "login", "mail", "recipient"];
  const rates = Object.fromEntries(names.map((name) => [`limits.rate.${name}`, "off"]));
  const mail = { "mail.from": "shop@example.com", publicUrl: "https://shop.example.com" };
  return serve(await project({ config: { trustedProxies: 1, "log.level": "ERROR", ...rates, ...mail, ...more } }));
}

/** Registers the known addresses. */
async function fill(server: Running): Promise<void> {
  await inParallel(addressesOf("known"), 4, async (email) => {
    expect([201, 202]).toContain(await send(server, "register", { email, password }));
  });
}

interface Question {
  readonly route: string;
  readonly bodyOf: (email: string) => object;
  /** How often each address is asked. */
  readonly rounds?: number;
}

async function compare(server: Running, { route, bodyOf, rounds = 1 }: Question): Promise<void> {
  const times: { readonly [kind in Kind]: number[] } = { known: [], unknown: [], control: [] };
  const statuses = new Set<number>();
  const addresses = { known: addressesOf("known"), unknown: addressesOf("unknown"), control: addressesOf("control") };
  for (let i = 0; i < count * rounds; i++)
    for (const kind of kinds.toSorted(() => random() - 0.5)) {
      // The work of the request before, which follows the answer, is no part of the time.
      await Bun.sleep(4);
      const begin = performance.now();
      statuses.add(await send(server, route, bodyOf(addresses[kind][i % count] ?? "")));
      times[kind].push(performance.now() - begin);
    }
  expect(statuses.size).toBe(1);
  const part = (kind: Kind, share: number): number =>
    times[kind].toSorted((a, b) => a - b)[Math.floor(times[kind].length * share)] ?? Number.NaN;
  const line = (name: string, share: number): string => {
    const [known, unknown, control] = [part("known", share), part("unknown", share), part("control", share)];
    const ratios = `ratio ${(known / unknown).toFixed(3)}, of the control ${(control / unknown).toFixed(3)}`;
    return `${name} ${known.toFixed(2)} ms for a known, ${unknown.toFixed(2)} ms for an unknown address, ${ratios}`;
  };
  console.log(`${route}, ${count * rounds} each: ${line("median", 0.5)}; ${line("lower quartile", 0.25)}`);
}

describe("the time of a response", () => {
  test("to forgot, verify, code and login, for known and unknown addresses", async () => {
    const server = await start({ "auth.codes": true });
    await fill(server);
    const bodyOf = (email: string): object => ({ email });
    for (const route of ["password/forgot", "verify/request", "code/request"])
      await compare(server, { route, bodyOf, rounds: 5 });
    await compare(server, { route: "login", bodyOf: (email) => ({ email, password: "wrong guess" }) });
  });

  test("to a registration that waits for a proof, for known and unknown addresses", async () => {
    const server = await start({ "auth.requireVerified": true });
    await fill(server);
    await compare(server, { route: "register", bodyOf: (email) => ({ email, password }) });
  });
});
