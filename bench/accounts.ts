/** Benchmark of accounts: logins, and requests with an API key against the same requests with an access token. */
import { mkdir } from "node:fs/promises";
import { executable } from "./executable.ts";
import { type LoadRequest, type LoadResult, runLoad } from "./load/index.ts";
import { median } from "./median.ts";
import { startServer } from "./server.ts";

interface Options {
  readonly folder: string;
  readonly rounds: number;
  readonly seconds: number;
}

const users = 20;
const credentialsOf = (n: number): string =>
  JSON.stringify({ email: `u${n}@example.com`, password: "a long password" });
const written = (value: number): string => Math.round(value).toLocaleString("en");

/** Sends JSON; answers a text of the answer. */
async function post(url: string, body: string, { member, token }: { member: string; token?: string }): Promise<string> {
  const headers = {
    "Content-Type": "application/json",
    ...(token !== undefined && { Authorization: `Bearer ${token}` }),
  };
  const response = await fetch(url, { method: "POST", headers, body });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  return String(Reflect.get(Object(await response.json()), member));
}

export async function measureAccounts({ folder, rounds, seconds }: Options): Promise<void> {
  const project = `${folder}/accounts`;
  await mkdir(`${project}/collections`, { recursive: true });
  const items = { name: "items", fields: [{ name: "title", type: "string" }] };
  await Bun.write(`${project}/collections/items.json`, JSON.stringify(items));
  const limits = { "limits.rate.login": "off", "limits.rate.register": "off" };
  await Bun.write(`${project}/config.json`, JSON.stringify({ port: 0, ...limits }));
  const server = await startServer([executable], project, { SERVICE_LOG_LEVEL: "INFO" });
  const { url } = server;
  const run = async (requests: readonly LoadRequest[], connections: number): Promise<LoadResult> => {
    const result = await runLoad({ url, connections, seconds, requests }, folder);
    if (result.errors > 0) throw new Error(`accounts: ${result.errors} errors`);
    return result;
  };
  try {
    const tokens: string[] = [];
    for (let n = 0; n < users; n++)
      tokens.push(await post(`${url}/api/auth/register`, credentialsOf(n), { member: "accessToken" }));
    const [token = ""] = tokens;
    const scopes = JSON.stringify({ name: "bench", scopes: ["items:read"] });
    const key = await post(`${url}/api/auth/keys`, scopes, { member: "key", token });
    const id = await post(`${url}/api/items`, JSON.stringify({ title: "An item" }), { member: "id" });

    const logins = Array.from({ length: users }, (_, n): LoadRequest => {
      return { method: "POST", path: "/api/auth/login", body: credentialsOf(n) };
    });
    await run(logins, 8);
    const results: LoadResult[] = [];
    for (let round = 0; round < rounds; round++) results.push(await run(logins, 8));
    const [rate, p50, p99] = [
      median(results.map((each) => each.requestsPerSecond)),
      median(results.map((each) => each.p50)),
      median(results.map((each) => each.p99)),
    ];
    console.log(`Logins, 8 connections: ${rate.toFixed(1)}/s, p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms.`);

    const get = (bearer: string): LoadRequest[] => [
      { method: "GET", path: `/api/items/${id}`, headers: { Authorization: `Bearer ${bearer}` } },
    ];
    const pairs: [key: number, token: number][] = [];
    for (let round = -1; round < rounds; round++) {
      const pair: [number, number] = [
        (await run(get(key), 32)).requestsPerSecond,
        (await run(get(token), 32)).requestsPerSecond,
      ];
      if (round >= 0) pairs.push(pair);
    }
    const [withKey, withToken] = [median(pairs.map(([one]) => one)), median(pairs.map(([, other]) => other))];
    const ratio = median(pairs.map(([one, other]) => one / other)).toFixed(2);
    console.log(
      `Get one, 32 connections: with an API key ${written(withKey)}/s, with a token ${written(withToken)}/s; ratio ${ratio} (aim ≥ 0.90).`,
    );
  } finally {
    await server.stop();
  }
}
