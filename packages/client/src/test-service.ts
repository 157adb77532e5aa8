/**
 * `socle/test`, the module that files of `socle test` import: a separate service, and everything of Bun's test runner.
 * Each file loads the module anew, and each load starts a service; the service ends with the tests of the file.
 */
import { afterAll } from "bun:test";
import {
  type Credentials,
  type TestCall,
  type TestMail,
  type TestRequest,
  type TestServiceAddress,
  type TestUser,
  testHostVariable,
  testTokenVariable,
} from "@socle/protocol";
import { SocleError } from "./error.ts";
import { SocleClient } from "./socle-client.ts";
import { TestFetch } from "./test-fetch.ts";

export * from "bun:test";
export { filter } from "@socle/protocol/query";
export { SocleError };

const host = process.env[testHostVariable] ?? "";
const headers = { Authorization: process.env[testTokenVariable] ?? "", "Content-Type": "application/json" };

/** @throws Error with the reason of the service or of the command. */
async function ask(request: TestRequest): Promise<unknown> {
  const response = await fetch(host, { method: "POST", headers, body: JSON.stringify(request) });
  // The command is of the same executable.
  const answer = (await response.json()) as { value: unknown } | { error: string };
  if ("error" in answer) throw new Error(answer.error);
  return answer.value;
}

const { service: id, url, endpointsPrefix } = (await ask({ kind: "open" })) as TestServiceAddress;
const clients: SocleClient[] = [];
const testFetch = new TestFetch((mocks) => call({ name: "fetch", mocks }));
let offset = 0;

let isOver = false;

afterAll(async () => {
  isOver = true;
  for (const client of clients) client.close();
  await ask({ kind: "close", service: id });
  testFetch.stop();
});

async function call(asked: TestCall): Promise<unknown> {
  try {
    return await ask({ kind: "call", service: id, call: asked });
  } catch (thrown) {
    // The test that asked has failed by the timeout, so no handler would catch this error.
    if (isOver) return new Promise(() => undefined);
    throw thrown;
  }
}

/** A client of the service. See `TestService` in `packages/server/src/code/script-host/test-types.txt`. */
async function signIn(user: string | TestUser): Promise<SocleClient> {
  const client = new SocleClient({ baseUrl: url, endpointsPrefix });
  clients.push(client);
  const asked = typeof user === "string" ? userNamed(user) : user;
  const credentials = (await call({ name: "user", user: asked })) as Credentials;
  await client.login(credentials).catch((thrown: unknown) => {
    if (!(thrown instanceof SocleError) || thrown.status !== 401 || asked.password !== undefined) throw thrown;
    throw new Error(`${asked.email} has a password of their own: say it in service.client({ email, password })`);
  });
  return client;
}

function userNamed(name: string): TestUser {
  return name === "admin" ? { email: "admin@example.com", role: "admin" } : { email: name };
}

export const service = {
  url,
  async client(user?: string | TestUser): Promise<SocleClient> {
    if (user !== undefined) return signIn(user);
    const client = new SocleClient({ baseUrl: url, endpointsPrefix });
    clients.push(client);
    return client;
  },
  clock: {
    now: (): Date => new Date(Date.now() + offset),
    async advance(duration: string): Promise<void> {
      offset = (await call({ name: "advance", duration })) as number;
    },
  },
  fetch: testFetch.answer.bind(testFetch),
  async idle(): Promise<void> {
    await call({ name: "idle" });
  },
  async mails(): Promise<TestMail[]> {
    return (await call({ name: "mails" })) as TestMail[];
  },
  async seed(file = "seed.json"): Promise<void> {
    await call({ name: "seed", file });
  },
};
