/** Tests of the hooks of anonymous users: each way to become a full user asks the hooks, and is made by the present reads of the hooks. */
import { beforeEach, describe, expect, test } from "bun:test";
import type { TokenResponse } from "@socle/protocol";
import { FakeProvider } from "../../../test/fake-provider.ts";
import { type Answer, openApi } from "../../../test/kit.ts";
import { Mailbox } from "../../../test/mailbox.ts";
import { fragmentOf, home, passProvider, publicUrl, TestApp } from "../../../test/sign-in-world.ts";
import { AppError } from "../../base/kernel/index.ts";

const provider = new FakeProvider();
const api = await openApi({
  settings: {
    SERVICE_AUTH_ANONYMOUS: "true",
    SERVICE_AUTH_CODES: "true",
    SERVICE_AUTH_PROVIDERS: JSON.stringify({ one: provider.settings }),
    SERVICE_MAIL_FROM: "shop@example.com",
    SERVICE_PUBLIC_URL: publicUrl,
    ...Object.fromEntries(
      ["MAIL", "LOGIN", "REGISTER", "RECIPIENT"].map((group) => [`SERVICE_LIMITS_RATE_${group}`, "off"]),
    ),
  },
});
const { auth, database } = api.service;
const mailbox = new Mailbox(api.service);

/** The steps that the hooks were asked about, with the users. */
const asked: [step: string, user: object][] = [];
/** The number of looks at the reads of hooks that still find a change. */
let changes = 0;
/** The number of questions that the hooks let pass. */
let passes = Number.POSITIVE_INFINITY;
/** Runs while the hooks are asked. */
let meanwhile = async (): Promise<void> => undefined;
auth.signIns.hookWith({
  async before(step, user) {
    asked.push([step, user]);
    await meanwhile();
    if (asked.length > passes) throw new AppError("forbidden", "The hook says no.");
    return {
      async changed() {
        changes -= 1;
        return changes >= 0 ? "plans/one" : null;
      },
    };
  },
});
beforeEach(() => {
  changes = 0;
  passes = Number.POSITIVE_INFINITY;
  meanwhile = async () => undefined;
  asked.length = 0;
});

let people = 0;
const newEmail = (): string => `person-${++people}@example.com`;
const password = "correct horse";
const post = (path: string, body?: object, token?: string): Promise<Answer> =>
  api.request("POST", `/api/auth/${path}`, { ...(body && { body }), ...(token !== undefined && { token }) });
const users = (): number => database.reader.get<{ n: number }>("SELECT count(*) AS n FROM _users")?.n ?? -1;
const mails = async (): Promise<number> => {
  await mailbox.written();
  return database.reader.get<{ n: number }>("SELECT count(*) AS n FROM _mails")?.n ?? -1;
};
const links = (): number => database.reader.get<{ n: number }>("SELECT count(*) AS n FROM _links")?.n ?? -1;

async function anonymous(): Promise<TokenResponse> {
  const answer = await api.request<TokenResponse>("POST", "/api/auth/anonymous");
  asked.length = 0;
  return answer.body;
}

async function codeOf(app: TestApp, address: string, email: string): Promise<object> {
  const person = { sub: email, email, email_verified: true };
  const { code } = fragmentOf(await passProvider({ api, fake: provider }, address, person));
  return { code, verifier: app.verifier };
}

interface Way {
  readonly name: string;
  /** The path and the body of the request that makes the claim. */
  prepare(token: string, email: string): Promise<readonly [path: string, body: object]>;
  /** The steps whose hooks are asked. */
  readonly steps: readonly string[];
  /** Whether the user has the address after the answer. */
  readonly isProven: boolean;
}

const ways: readonly Way[] = [
  {
    name: "a claim with a password",
    prepare: async (_token, email) => ["anonymous/claim", { email, password }],
    steps: ["register"],
    isProven: false,
  },
  {
    name: "a claim with a code",
    async prepare(token, email) {
      const { body } = await post("code/request", { email }, token);
      return ["code", { attempt: body["attempt"], code: await mailbox.secret(email, "code") }];
    },
    steps: ["register", "login"],
    isProven: true,
  },
  {
    name: "a claim by a sign-in at a provider",
    async prepare(_token, email) {
      const app = new TestApp();
      return ["oauth/token", await codeOf(app, app.begin("one"), email)];
    },
    steps: ["register", "login"],
    isProven: true,
  },
  {
    name: "a claim by a link to a provider",
    async prepare(token, email) {
      const app = new TestApp();
      const begun = await post("links/one", { redirect: home, challenge: app.challenge }, token);
      return ["oauth/token", await codeOf(app, String(begun.body["url"]), email)];
    },
    steps: ["register"],
    isProven: true,
  },
];

test("a new anonymous user asks the hooks of a registration alone, again after a change of their reads, and is not made by a refusal", async () => {
  changes = 1;
  expect((await post("anonymous")).status).toBe(200);
  expect(asked).toEqual(Array(2).fill(["register", { email: null, role: "authenticated" }]));
  const before = users();
  passes = 0;
  expect((await post("anonymous")).status).toBe(403);
  expect(users()).toBe(before);
});

describe.each(ways)("$name", ({ prepare, steps, isProven }) => {
  test("asks the hooks, which see the user with the address", async () => {
    const { user, accessToken: token } = await anonymous();
    const email = newEmail();
    const [path, body] = await prepare(token, email);
    expect((await post(path, body, token)).status).toBeOneOf([200, 202]);
    const full = { ...user, email, anonymous: false, verified: true };
    const seen = { register: { email, role: "authenticated" }, login: full };
    expect(asked).toEqual(steps.map((step) => [step, seen[step as keyof typeof seen]]));
    expect(auth.users.find(user.id)).toEqual(isProven ? full : user);
  });

  test("asks the hooks again when their reads have changed, and is refused by the later answer", async () => {
    const { user, accessToken: token } = await anonymous();
    const [path, body] = await prepare(token, newEmail());
    const before = [links(), await mails()];
    changes = 1;
    passes = steps.length;
    expect((await post(path, body, token)).status).toBe(403);
    expect(asked.map(([step]) => step)).toEqual([...steps, "register"]);
    expect(auth.users.find(user.id)).toEqual(user);
    expect([links(), await mails()]).toEqual(before);
  });

  test("is made after the second answer of the hooks", async () => {
    const { user, accessToken: token } = await anonymous();
    const email = newEmail();
    const [path, body] = await prepare(token, email);
    changes = 1;
    expect((await post(path, body, token)).status).toBeOneOf([200, 202]);
    expect(asked.map(([step]) => step)).toEqual([...steps, ...steps]);
    expect(auth.users.find(user.id)?.email).toBe(isProven ? email : null);
  });
});

test.each(ways.filter(({ steps }) => steps.length === 1))(
  "$name is refused for a session that ends while the hooks are asked",
  async ({ prepare }) => {
    const { user, accessToken: token } = await anonymous();
    const [path, body] = await prepare(token, newEmail());
    meanwhile = () => database.transact((tx) => auth.sessions.endAll(tx, user.id));
    expect((await post(path, body, token)).status).toBe(401);
    expect(auth.users.find(user.id)).toEqual(user);
  },
);
