/** Tests of alarms: a message at the begin and a message at the end of a condition, over restarts, within bounds, signed, and never to a redirect. */
import { beforeEach, expect, test } from "bun:test";
import type { StatusItem } from "@socle/protocol";
import { openApi, quietLogger } from "../../../test/kit.ts";
import { Secret } from "../../base/kernel/index.ts";
import { Alerts, checkAlerts } from "./alerts.ts";

interface Post {
  readonly state: string;
  readonly condition: StatusItem;
}

/** The webhook: answers with the next status, then with 204. */
const webhook = {
  posts: [] as Post[],
  headers: [] as Headers[],
  bodies: [] as string[],
  /** The numbers of all attempts. */
  deliveries: [] as (string | null)[],
  answers: [] as (number | string)[],
  redirected: 0,
  onPost: (): void => undefined,
  /** An answer that does not come. */
  silent: null as Promise<Response> | null,
};
const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  async fetch(request) {
    if (new URL(request.url).pathname !== "/hook") {
      webhook.redirected += 1;
      return new Response();
    }
    webhook.deliveries.push(request.headers.get("socle-delivery"));
    webhook.onPost();
    if (webhook.silent !== null) return webhook.silent;
    const answer = webhook.answers.shift() ?? 204;
    if (typeof answer === "string") return new Response(null, { status: 307, headers: { Location: answer } });
    const body = await request.text();
    if (answer === 204) {
      webhook.bodies.push(body);
      webhook.headers.push(request.headers);
      webhook.posts.push(JSON.parse(body) as Post);
    }
    return new Response(null, { status: answer });
  },
});
const secret = "a secret of alarms";
const settings = { SERVICE_MAIL_FROM: "Shop <shop@example.com>" };
const api = await openApi({ settings });
const hour = 3_600_000;

const item = (more: Partial<StatusItem>): StatusItem => ({
  ...{ id: "disk_low", level: "warning", text: "The disk of /data has 5 MiB free", remedy: "Free space" },
  ...{ since: "2026-03-01T12:00:00.000Z", ...more },
});

/** The key of an item of the tests is the id with the last address of the text. */
const keyOf = ({ id, text }: StatusItem): string => `${id} ${/\S*\/\S+/.exec(text)?.[0] ?? ""}`;

/** A service with a status that the test changes. `restart` is the next start. */
function open(more: object = {}, log: string[] = []) {
  const state = { items: [] as StatusItem[], now: Date.now() };
  const config = {
    ...{ "alerts.mail": "ops@example.com", "alerts.webhook": new Secret(`${server.url}hook`) },
    ...{ "alerts.secret": new Secret(secret), "alerts.after": 0, publicUrl: "https://shop.example.com", ...more },
  };
  const { database, mails } = api.service;
  const status = { conditions: async () => state.items.map((each) => ({ key: keyOf(each), item: each })) };
  const clock = { now: () => state.now };
  const stop = new AbortController();
  const make = (): Alerts => {
    const options = { clock, config, database, mails, status, logger: quietLogger(log), version: "1", pauseFactor: 0 };
    const made = new Alerts(options);
    made.posts.start(stop.signal);
    return made;
  };
  let alerts = make();
  const look = async (): Promise<void> => {
    await alerts.look();
    await alerts.posts.settled();
  };
  const restart = (): void => {
    alerts = make();
  };
  return { alerts, state, look, log, restart, stop };
}

const mails = (): string[] =>
  api.service.mails
    .list({ status: null, to: null, search: null }, { limit: 100, offset: 0 })
    .items.map(({ subject }) => subject)
    .reverse();
const posts = (): string[] => webhook.posts.map(({ state, condition }) => `${state} ${condition.text}`);

beforeEach(async () => {
  await api.service.database.transact((tx) => {
    for (const table of ["_alerts", "_alert_posts", "_mails"]) tx.run(`DELETE FROM ${table}`);
  });
  Object.assign(webhook, {
    posts: [],
    headers: [],
    bodies: [],
    deliveries: [],
    answers: [],
    redirected: 0,
    onPost: () => undefined,
  });
});

test("a condition is told once when it begins and once when it is over, by mail and by the webhook", async () => {
  const { state, look } = open();
  state.items = [item({}), item({ id: "backup_none", level: "note", text: "There is no backup" })];
  await look();
  await look();
  state.items = [item({ text: "The disk of /data has 4 MiB free" })];
  await look();
  expect(posts()).toEqual(["began The disk of /data has 5 MiB free"]);
  expect(mails()).toEqual(["Shop: Alarm: The disk of /data has 5 MiB free"]);
  state.items = [];
  await look();
  await look();
  expect(posts().slice(1)).toEqual(["ended The disk of /data has 5 MiB free"]);
  expect(mails().slice(1)).toEqual(["Shop: Over: The disk of /data has 5 MiB free"]);
  expect(webhook.posts[0]).toMatchObject({ condition: item({}), service: "https://shop.example.com", version: "1" });
});

test("a restart tells nothing again, and tells the end of a condition that was told before", async () => {
  const { state, look, restart } = open();
  state.items = [item({})];
  await look();
  restart();
  await look();
  expect([posts().length, mails().length]).toEqual([1, 1]);
  state.items = [];
  restart();
  await look();
  restart();
  await look();
  expect(posts()).toEqual([expect.stringContaining("began"), expect.stringContaining("ended")]);
});

test("conditions of two disks and of two instances are told each; another text with the same key is no other condition", async () => {
  const { state, look } = open();
  state.items = [
    item({}),
    item({ text: "The disk of /files has 5 MiB free" }),
    item({ id: "instance_away", text: "http://one:80 does not tell of itself" }),
    item({ id: "instance_away", text: "http://two:80 does not tell of itself" }),
    item({ id: "backup_failed", level: "error", text: "The last backup failed: no room" }),
    item({ id: "failures_open", text: "1 cause of failures is open" }),
  ];
  await look();
  expect(posts()).toHaveLength(6);
  state.items = state.items.with(
    4,
    item({ id: "backup_failed", level: "error", text: "The last backup failed: gone" }),
  );
  state.items = state.items.with(5, item({ id: "failures_open", text: "2 causes of failures are open" }));
  await look();
  expect(posts()).toHaveLength(6);
});

test("a condition that does not hold for alerts.after is not told, and neither is an end of a moment", async () => {
  const more = { "alerts.after": Number.MAX_SAFE_INTEGER };
  const short = open(more);
  short.state.items = [item({})];
  await short.look();
  await short.look();
  expect(posts()).toEqual([]);
  const { state, look } = open();
  state.items = [item({})];
  await look();
  short.state.items = [];
  await short.look();
  await short.look();
  expect(posts()).toEqual([expect.stringContaining("began")]);
});

test("a condition that comes and goes has six messages in an hour, and the state of the end is told after", async () => {
  const { state, look } = open();
  for (let n = 0; n < 41; n++) {
    state.items = n % 2 === 0 ? [item({})] : [];
    await look();
  }
  expect(webhook.posts.map((post) => post.state)).toEqual(["began", "ended", "began", "ended", "began", "ended"]);
  expect(mails()).toHaveLength(6);
  state.now += hour;
  await look();
  await look();
  expect(webhook.posts.map((post) => post.state).slice(6)).toEqual(["began"]);
  state.items = [];
  await look();
  await look();
  expect(webhook.posts.map((post) => post.state).slice(6)).toEqual(["began", "ended"]);
  state.now += hour;
  await look();
  expect(api.service.database.reader.all("SELECT key FROM _alerts")).toEqual([]);
});

test("a post is signed with the time, and another body has another signature", async () => {
  const { state, look } = open();
  state.items = [item({})];
  await look();
  const [, time = "", signature] =
    /^t=(\d+),v1=([0-9a-f]{64})$/.exec(webhook.headers[0]?.get("socle-signature") ?? "") ?? [];
  const sign = (text: string): string => new Bun.CryptoHasher("sha256", secret).update(text).digest("hex");
  expect(signature).toBe(sign(`${time}.${webhook.bodies[0]}`));
  expect(signature).not.toBe(sign(`${time}.${webhook.bodies[0]} `));
  expect(webhook.headers[0]?.get("content-type")).toBe("application/json");
  expect(webhook.bodies.join()).not.toContain(secret);
});

test("a post that fails is tried again, eight times at most, and never follows a redirect", async () => {
  const { state, look, log } = open();
  webhook.answers = [500, `${server.url}elsewhere`, 429];
  state.items = [item({})];
  await look();
  while (webhook.posts.length < 1) await look();
  expect(webhook.redirected).toBe(0);
  webhook.answers = Array(8).fill(503);
  state.items = [];
  await look();
  while (webhook.answers.length > 0) await look();
  await look();
  expect(posts()).toEqual([expect.stringContaining("began")]);
  expect(api.service.database.reader.all("SELECT id FROM _alert_posts")).toEqual([]);
  expect(log).toContain("ERROR The webhook of alarms did not take a post, after 8 attempts: HTTP 503");
  expect(log.filter((line) => line.includes("307"))).toHaveLength(1);
  expect(log.join()).not.toContain("/hook");
});

test("posts keep the order of the alarms while the first post fails, and each attempt of a post has the same number", async () => {
  const { state, look } = open();
  webhook.answers = [503, 503];
  state.items = [item({}), item({ id: "log_not_copied", text: "The log is long" })];
  while (webhook.posts.length < 2) await look();
  expect(posts()).toEqual(["began The disk of /data has 5 MiB free", "began The log is long"]);
  const [first, ...others] = webhook.deliveries;
  expect(others.map((number) => Number(number) - Number(first))).toEqual([0, 0, 1]);
});

test("a stop during a post waits for the answer, and the next start does not send the post again", async () => {
  const { state, look, stop, alerts } = open();
  webhook.onPost = () => stop.abort();
  state.items = [item({}), item({ id: "log_not_copied", text: "The log is long" })];
  await look();
  await alerts.posts.settled();
  expect(posts()).toEqual(["began The disk of /data has 5 MiB free"]);
  webhook.onPost = () => undefined;
  const next = open();
  next.state.items = state.items;
  await next.look();
  await next.alerts.posts.settled();
  expect(posts().slice(1)).toEqual(["began The log is long"]);
});

test("a stop ends a post that has no answer, and the next start sends the post again", async () => {
  const { state, look, stop } = open();
  const never = Promise.withResolvers<Response>();
  webhook.silent = never.promise;
  webhook.onPost = () => stop.abort();
  state.items = [item({})];
  await look();
  Object.assign(webhook, { silent: null, onPost: () => undefined });
  const next = open();
  next.state.items = state.items;
  await next.look();
  expect(posts()).toEqual(["began The disk of /data has 5 MiB free"]);
  const [first, second] = webhook.deliveries;
  expect([webhook.deliveries.length, second]).toEqual([2, first ?? ""]);
});

test("a thousand posts wait for the webhook, and the oldest go beyond", async () => {
  const { alerts, stop } = open();
  stop.abort();
  await api.service.database.transact((tx) => {
    for (let n = 0; n < 1_003; n++) alerts.posts.add(tx, { n });
  });
  const waiting = api.service.database.reader.all<{ body: string }>("SELECT body FROM _alert_posts ORDER BY id");
  expect([waiting.length, waiting[0]?.body, waiting.at(-1)?.body]).toEqual([1_000, '{"n":3}', '{"n":1002}']);
});

test("at most 200 conditions are open, and a further condition is told in the place of a condition that is over", async () => {
  const { state, look } = open({ "alerts.mail": undefined });
  const disks = Array.from({ length: 201 }, (_, n) => item({ text: `The disk of /${n} has 5 MiB free` }));
  state.items = disks;
  await look();
  await look();
  expect(posts()).toEqual(disks.slice(0, 200).map(({ text }) => `began ${text}`));
  state.items = disks.slice(1);
  await look();
  expect(posts().slice(200)).toEqual(["ended The disk of /0 has 5 MiB free", "began The disk of /200 has 5 MiB free"]);
});

test("without an address of mail, the webhook alone is told; without mail and webhook, nobody is told", async () => {
  const alone = open({ "alerts.mail": undefined });
  alone.state.items = [item({})];
  await alone.look();
  expect([posts().length, mails().length]).toEqual([1, 0]);
  const nobody = open({ "alerts.mail": undefined, "alerts.webhook": undefined });
  nobody.state.items = [item({ id: "log_not_copied" })];
  await nobody.look();
  expect([posts().length, mails().length]).toEqual([1, 0]);
  expect(api.service.database.reader.all("SELECT id FROM _alert_posts")).toEqual([]);
});

test.each([
  [{ "alerts.mail": "ops@example.com" }, "alerts.mail: needs mail.from"],
  [{ "alerts.webhook": new Secret("https://a.example") }, "alerts.webhook: needs alerts.secret"],
])("%j is refused", (config, message) => {
  const whole = { ...api.config, "mail.from": undefined, ...config };
  expect(() => checkAlerts(whole)).toThrow(message);
  expect(() => checkAlerts(api.config)).not.toThrow();
});
