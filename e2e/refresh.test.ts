/** Refreshes whose answer is lost, and stolen refresh tokens, with the executable: one process, and reader processes that see the uses. */
import { expect, test } from "bun:test";
import { post, project, serve, singleService } from "./kit.ts";

interface Tokens {
  readonly refreshToken: string;
  readonly accessToken: string;
}

/** Longer than the time within which a used token works again in any case. */
const laterMs = 11_000;

async function refresh(url: string, refreshToken: string): Promise<Tokens | number> {
  const answer = await post(`${url}/api/auth/refresh`, { refreshToken });
  return answer.ok ? ((await answer.json()) as Tokens) : answer.status;
}

async function me(url: string, { accessToken }: Tokens): Promise<number> {
  const headers = { Authorization: `Bearer ${accessToken}`, Connection: "close" };
  return (await fetch(`${url}/api/auth/me`, { headers })).status;
}

async function looksAt(url: string): Promise<void> {
  const session = async (email: string): Promise<Tokens> =>
    (await (await post(`${url}/api/auth/register`, { email, password: "correct horse" })).json()) as Tokens;
  const [lost, shown, read] = await Promise.all(["lost@a.example", "shown@a.example", "read@a.example"].map(session));
  if (lost === undefined || shown === undefined || read === undefined) throw new Error("Three sessions are open");
  const next = await Promise.all([lost, shown, read].map(({ refreshToken }) => refresh(url, refreshToken)));
  const [lostNext, shownNext, readNext] = next as Tokens[];
  if (lostNext === undefined || shownNext === undefined || readNext === undefined) throw new Error("Three successors");
  // Each process answers some of these requests.
  const statuses = await Promise.all(Array.from({ length: 12 }, () => me(url, readNext)));
  expect(new Set(statuses)).toEqual(new Set([200]));
  const third = (await refresh(url, shownNext.refreshToken)) as Tokens;
  await Bun.sleep(laterMs);

  // Nobody has seen the answer: the same successor, and both tabs get it.
  const again = await Promise.all([1, 2].map(() => refresh(url, lost.refreshToken)));
  for (const tokens of again) expect(tokens).toMatchObject({ refreshToken: lostNext.refreshToken });
  expect(await me(url, lostNext)).toBe(200);
  // The successor was used: by a refresh, or by an access token alone.
  expect(await refresh(url, shown.refreshToken)).toBe(401);
  expect(await refresh(url, third.refreshToken)).toBe(401);
  expect(await refresh(url, read.refreshToken)).toBe(401);
  expect(await me(url, readNext)).toBe(401);
  expect(await me(url, lostNext)).toBe(200);
}

test("a refresh whose response is lost works later, and the reuse of a token whose successor was used ends the session", async () => {
  const server = await serve(await project());
  await looksAt(server.url);
  await server.stop();
});

test("the same with three processes, each of which may see the use of an access token", async () => {
  singleService("processes");
  const server = await serve(await project(), { env: { SERVICE_PROCESSES: "3" } });
  await looksAt(server.url);
  await server.stop();
});
