/** `socle test`: the service of a test is the real service, with a clock that the test moves. */
import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { tested } from "./tested.ts";

describe("a service under test", () => {
  test("is the real service: hooks, functions, endpoints, queues, schedules, retries, rules and tokens by its clock", async () => {
    const { run } = await tested({
      "seed.json": JSON.stringify({
        users: [{ email: "seed@example.com", password: "a seed's password" }],
        notes: [{ text: "seeded", $owner: "seed@example.com" }],
      }),
      ".env": "SECRET=of the project\nOTHER=kept\n",
      ".env.test": "SECRET=of the tests\n",
      "functions/notes/guard.ts": `export const beforeCreate: BeforeCreate<"notes"> = ({ record }) => {
  if (record.text === "bad") throw new Refusal("Not that", { field: "text", status: 400 });
};
`,
      "functions/notes/flaky.ts": `export const options: FunctionOptions = { retries: 2 };
export const onCreate: OnCreate<"notes"> = async ({ record, attempt, db }) => {
  if (record.text !== "flaky") return;
  if (attempt < 3) throw new Error("try " + attempt);
  await db.collection("notes").create({ text: "third try" });
};
`,
      "jobs/tidy.ts": `export const schedule = "0 6 * * *";
// As libraries do, before the time is moved.
const { now } = Date;
const job: Job = async ({ db }) => {
  await db.collection("notes").create({ text: "tidy " + new Date(now()).toISOString().slice(0, 10) });
};
export default job;
`,
      "jobs/mail.ts": `export const queue = { concurrency: 2, retries: 3, backoff: "exponential" };
const job: QueueJob<{ to: string }> = async ({ payload, db }) => {
  await db.collection("notes").create({ text: "mail to " + payload.to });
};
export default job;
`,
      "endpoints/mail.ts": `export const POST: Endpoint = async (request, { jobs, user }) => {
  const { at } = (await request.json()) as { at?: string };
  await jobs.enqueue("mail", { to: user?.email ?? "" }, at === undefined ? {} : { at });
  return Response.json([process.env.SECRET, process.env.OTHER, process.env.SERVICE_ADMIN_PASSWORD ?? null]);
};
`,
      "endpoints/all.test.ts": `import { afterEach, expect, filter, service, SocleError, test } from "socle/test";

const texts = async () => {
  const admin = await service.client("admin");
  return (await admin.collection("notes").list()).map(({ text }) => text).sort();
};
const clear = async () => {
  const { collection } = await service.client("admin").then((client) => ({ collection: client.collection("notes") }));
  for (const { id } of await collection.list()) await collection.delete(id);
};
afterEach(clear);

test("a hook refuses", async () => {
  const ada = await service.client("ada@example.com");
  const refused = await ada.collection("notes").create({ text: "bad" }).catch((error) => error);
  expect(refused).toBeInstanceOf(SocleError);
  expect(refused).toMatchObject({ status: 400, details: [{ field: "text", message: "Not that" }] });
  expect(await texts()).toEqual([]);
});

test("an endpoint enqueues, and idle waits for the run", async () => {
  const ada = await service.client("ada@example.com");
  const answer = await ada.function("mail", { body: {} });
  expect(await answer.json()).toEqual(["of the tests", "kept", null]);
  await service.idle();
  expect(await texts()).toEqual(["mail to ada@example.com"]);
});

test("a delayed run waits for its time", async () => {
  const ada = await service.client({ email: "ada@example.com" });
  const at = new Date(service.clock.now().getTime() + 3_600_000).toISOString();
  await ada.function("mail", { body: { at } });
  await service.clock.advance("59m");
  expect(await texts()).not.toContain("mail to ada@example.com");
  await service.clock.advance("1m");
  expect(await texts()).toContain("mail to ada@example.com");
});

test("a job runs at each of its times, and sees them", async () => {
  const next = service.clock.now();
  next.setUTCHours(6, 0, 0, 0);
  if (next <= service.clock.now()) next.setUTCDate(next.getUTCDate() + 1);
  const untilThen = Math.floor((next.getTime() - service.clock.now().getTime()) / 1000);
  await service.clock.advance(untilThen - 5 + "s");
  expect(await texts()).toEqual([]);
  await service.clock.advance("2d");
  const days = [0, 1].map((n) => new Date(next.getTime() + n * 86_400_000).toISOString().slice(0, 10));
  expect(await texts()).toEqual(days.map((day) => "tidy " + day));
  const [note] = await (await service.client("admin")).collection("notes").list();
  expect(note?.createdAt).toStartWith(days[1] + "T06:00:0");
});

test("a function that throws is tried again when the time has come", async () => {
  const ada = await service.client("ada@example.com");
  await ada.collection("notes").create({ text: "flaky" });
  await service.idle();
  // The time of the job may come meanwhile.
  const own = async () => (await texts()).filter((text) => !text.startsWith("tidy"));
  expect(await own()).toEqual(["flaky"]);
  await service.clock.advance("5m");
  expect(await own()).toEqual(["flaky", "third try"]);
});

test("rules see the time of the service", async () => {
  const ada = await service.client("ada@example.com");
  const guest = await service.client();
  const until = new Date(service.clock.now().getTime() + 1_800_000).toISOString();
  const { id, createdAt } = await ada.collection("notes").create({ text: "for a while", until });
  expect(Math.abs(Date.parse(createdAt) - service.clock.now().getTime())).toBeLessThan(60_000);
  expect((await guest.collection("notes").get(id)).text).toBe("for a while");
  await service.clock.advance("31m");
  expect(await guest.collection("notes").get(id).catch(({ status }) => status)).toBe(404);
  const { items } = await ada.collection("notes").page({ filter: filter\`until < @now\` });
  expect(items).toHaveLength(1);
});

test("tokens and sessions expire", async () => {
  const ada = await service.client("ada@example.com");
  const token = ada.accessToken;
  const me = () => fetch(service.url + "/api/auth/me", { headers: { Authorization: "Bearer " + token } });
  expect((await me()).status).toBe(200);
  await service.clock.advance("2h");
  expect((await me()).status).toBe(401);
  // The client renews its token, while the session lasts.
  expect((await ada.me()).email).toBe("ada@example.com");
  await service.clock.advance("31d");
  expect(await ada.me().catch(({ status }) => status)).toBe(401);
  await clear();
});

test("seeds, roles and passwords", async () => {
  await service.seed();
  const user = await service.client({ email: "seed@example.com", password: "a seed's password" });
  expect((await user.collection("notes").list()).map(({ text }) => text)).toEqual(["seeded"]);
  const failure = (user: string | object) => service.client(user as string).then(String, ({ message }) => message);
  expect(await failure("seed@example.com")).toContain("say it in service.client({ email, password })");
  expect(await failure({ email: "seed@example.com", role: "admin" })).toBe(
    "seed@example.com is there already, with the role authenticated.",
  );
  expect((await (await service.client({ email: "root@example.com", role: "admin" })).me()).role).toBe("admin");
  expect((await (await service.client("ada@example.com")).me()).role).toBe("authenticated");
});
`,
    });
    const { code, stderr } = await run();
    expect(stderr).toContain("8 pass\n 0 fail");
    expect(code).toBe(0);
  });

  test("is idle when chains of functions and runs, full queues, hooks and streams of endpoints have come to their end", async () => {
    const { run } = await tested({
      // A run makes a note, and the function of a note enqueues the next run.
      "jobs/link.ts": `export const queue: QueueOptions = { concurrency: 1 };
const job: QueueJob<{ left: number }> = async ({ payload, db }) => {
  await db.collection("notes").create({ text: "link " + payload.left });
};
export default job;
`,
      "functions/notes/link.ts": `export const onCreate: OnCreate<"notes"> = async ({ record, jobs }) => {
  const left = Number(/^link (\\d+)$/.exec(record.text)?.[1] ?? 0);
  if (left > 1) await jobs.enqueue("link", { left: left - 1 });
};
`,
      "jobs/fill.ts": `export const queue: QueueOptions = { concurrency: 1 };
const job: QueueJob<number> = async ({ payload, db }) => {
  await db.collection("notes").create({ text: "fill " + payload });
};
export default job;
`,
      "endpoints/fill.ts": `export const POST: Endpoint = async (_request, { jobs }) => {
  for (let n = 0; n < 100; n++) await jobs.enqueue("fill", n);
  return new Response();
};
`,
      "endpoints/slow.ts": `export const POST: Endpoint = (_request, { db }) =>
  new Response(
    new ReadableStream({
      async start(controller) {
        controller.enqueue(new TextEncoder().encode("begun"));
        await Bun.sleep(200);
        await db.collection("notes").create({ text: "slow" });
        controller.close();
      },
    }),
  );
`,
      "functions/notes/wait.ts": `export const beforeCreate: BeforeCreate<"notes"> = async ({ record }) => {
  if (record.text !== "waits") return;
  await Bun.write("hook-began", "");
  await Bun.sleep(200);
};
`,
      "jobs/idle.test.ts": `import { expect, service, test } from "socle/test";

const admin = await service.client("admin");
const count = async (prefix: string) =>
  (await admin.collection("notes").list()).filter(({ text }) => text.startsWith(prefix)).length;

test("chains", async () => {
  await admin.collection("notes").create({ text: "link 12" });
  await service.idle();
  expect(await count("link")).toBe(12);
});

test("a queue that takes one run at a time", async () => {
  await admin.function("fill", { method: "POST" });
  await service.idle();
  expect(await count("fill")).toBe(100);
});

test("the stream of an endpoint", async () => {
  const reader = (await admin.function("slow", { method: "POST" })).body?.getReader();
  await reader?.read();
  const rest = reader?.read();
  await service.idle();
  expect(await count("slow")).toBe(1);
  await rest;
});

test("a hook", async () => {
  const creating = admin.collection("notes").create({ text: "waits" });
  // Requests of two connections may arrive in any order: the hook tells that the request is there.
  while (!(await Bun.file("hook-began").exists())) await Bun.sleep(1);
  await service.idle();
  expect(await count("waits")).toBe(1);
  await creating;
});
`,
    });
    const { code, stderr } = await run();
    expect(stderr).toContain("4 pass\n 0 fail");
    expect(code).toBe(0);
  });

  test("is for a single file, and the next service has no such data", async () => {
    const same = `import { expect, service, test } from "socle/test";
const ada = await service.client("ada@example.com");
test("first", async () => {
  expect(await ada.collection("notes").list()).toEqual([]);
  await ada.collection("notes").create({ text: "one" });
  await service.clock.advance("1d");
});
test("second", async () => {
  expect(await ada.collection("notes").list()).toHaveLength(1);
  await Bun.write("urls/" + service.url.replace(/\\D/g, "") + Date.now(), "");
});
`;
    const { run, cwd, folders } = await tested({ "jobs/a.test.ts": same, "jobs/b.test.ts": same });
    const { code, stderr } = await run();
    expect(stderr).toContain("4 pass\n 0 fail");
    expect([code, folders()]).toEqual([0, []]);
    expect(readdirSync(join(cwd, "urls"))).toHaveLength(2);
  });

  test("shows the errors of the code that a test has run", async () => {
    const { run } = await tested({
      "functions/notes/fails.ts": `export const onCreate: OnCreate<"notes"> = ({ logger }) => {
  logger.info("on the way");
  throw new Error("a mistake");
};
`,
      "functions/notes/fails.test.ts": `import { service, test } from "socle/test";
test("", async () => {
  await (await service.client("admin")).collection("notes").create({ text: "" + 1 });
  await service.idle();
});
`,
    });
    const quiet = await run();
    expect(quiet.stderr).toContain("a mistake (functions/notes/fails.ts:3:");
    expect(quiet.stderr).not.toContain("on the way");
    expect((await run("--log")).stderr).toContain("on the way");
  });
});
