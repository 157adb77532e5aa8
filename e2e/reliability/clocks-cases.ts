/**
 * The faults of a clock: the clock is far ahead at a start, is set back, steps back and forth under load, repeats a second.
 */
import { expect } from "bun:test";
import { ClockWorld, dayMs, hourMs, type Item, minuteMs, secondMs, yearMs } from "./clocks-world.ts";
import { Caller, password, type Tokens } from "./kills-caller.ts";

const warning = "The machine's clock was set back";

/** An offset near `wanted` with which a minute begins soon. */
function beforeMinute(wanted: number): number {
  const soon = 3 * secondMs;
  return wanted + minuteMs - ((Date.now() + wanted) % minuteMs) - soon;
}

async function runsAgain(world: ClockWorld): Promise<void> {
  const before = await world.runs();
  while ((await world.runs()) === before) await Bun.sleep(50);
}

/** Writes enough events for the log to be trimmed at once, if trimming found old events. */
async function grow(world: ClockWorld): Promise<void> {
  for (let n = 0; n < 6; n++) await world.create("x".repeat(300_000));
}

/**
 * The clock is a year ahead at a start, and right at the next. @param settleMs the time in which the retention could fail.
 * Answers the number of clock steps.
 */
export async function yearAhead(settleMs: number): Promise<number> {
  const world = await ClockWorld.open();
  world.offset = beforeMinute(yearMs);
  await world.start();
  const first = await world.create();
  for (let n = 0; n < 5; n++) await world.create();
  const ahead = await world.update(first);
  await runsAgain(world);
  const [since] = await world.events("items.created");
  await world.stop();

  world.offset = beforeMinute(0);
  await world.start();
  await world.create();
  await runsAgain(world);
  // `updatedAt` never falls, so the time stays ahead.
  const risen = await world.update(await world.update(ahead));
  expect(Date.parse(risen.updatedAt)).toBeGreaterThan(Date.now() + yearMs / 2);
  await grow(world);
  await Bun.sleep(settleMs);
  await world.expectOrder();
  expect(since).toBeDefined();
  if (since !== undefined) await world.expectReplay({ id: since.id, n: since.payload.n });
  expect(await world.stop()).toContain(warning);

  // A third start finds times of both clocks: with a stored time of next year, the time follows even a small correction back. Ten
  // seconds are more than a correction, so that the checks expect no correction.
  world.offset = -10_000;
  await world.start();
  await world.create();
  await world.expectOrder();
  await world.stop();
  return 2;
}

/** The clock is right again at runtime after a year ahead: jobs notice within a minute. Answers the number of clock steps. */
export async function yearAheadUnderWay(): Promise<number> {
  const world = await ClockWorld.open("7d");
  world.offset = beforeMinute(yearMs);
  await world.start();
  await world.create();
  await runsAgain(world);
  world.offset = 0;
  // Signed in by the time of next year: still in force.
  await world.create();
  await runsAgain(world);
  await world.expectOrder();
  expect(await world.stop()).toContain(warning);
  return 1;
}

/** The clock is set an hour back, and to and fro: tokens, throttle and places in lists. Answers the steps. */
export async function hourBack(): Promise<number> {
  const world = await ClockWorld.open();
  await world.start();
  for (let n = 0; n < 6; n++) await world.create();
  const [since] = await world.events("items.created");
  const page = await world.admin.ask<{ items: { n: number }[]; nextCursor: string }>("GET", "/api/items?limit=3");
  const me = async (): Promise<number> => (await world.admin.ask("GET", "/api/auth/me")).status;

  world.offset = -hourMs;
  await world.create();
  expect(await me()).toBe(200);
  expect(since).toBeDefined();
  if (since !== undefined) await world.expectReplay({ id: since.id, n: since.payload.n });
  await world.expectRest(page.body.nextCursor, page.body.items.at(-1)?.n ?? 0);
  expect(world.server.output()).toContain(warning);

  const nobody = new Caller(() => world.server.url);
  const credentials = { email: "admin@example.com", password };
  const { body: tokens } = await nobody.ask<Tokens>("POST", "/api/auth/login", credentials);

  // A token lasts an hour by the clock, and its session longer.
  world.offset = hourMs - 2 * minuteMs;
  expect(await me()).toBe(200);
  world.offset = hourMs + 2 * minuteMs;
  expect(await me()).toBe(401);
  const { refreshToken } = tokens;
  expect((await nobody.ask<Tokens>("POST", "/api/auth/refresh", { refreshToken })).status).toBe(200);
  world.offset = 0;
  expect(await me()).toBe(200);

  // Failed logins are counted by the time that passes, not by the clock.
  const login = async (email: string, secret: string): Promise<number> =>
    (await nobody.ask("POST", "/api/auth/login", { email, password: secret })).status;
  for (let n = 0; n < 10; n++) expect(await login("locked@example.com", "wrong password")).toBe(401);
  for (const offset of [0, hourMs / 2, -hourMs, 0]) {
    world.offset = offset;
    expect(await login("locked@example.com", "wrong password")).toBe(429);
    expect(await login("admin@example.com", password)).toBe(200);
  }
  await world.create();
  await world.expectOrder();
  await world.stop();
  return 8;
}

/**
 * A second repeats again and again, as corrections of a clock do: no time falls, and the log reports no step. Answers the
 * number of clock steps.
 */
export async function repeatedSecond(times: number): Promise<number> {
  const world = await ClockWorld.open();
  await world.start();
  let item = await world.create();
  for (let n = 0; n < times; n++) {
    world.offset = n % 2 === 0 ? -secondMs : 0;
    await world.create();
    item = await world.update(item);
  }
  await world.expectOrder();
  expect(await world.stop()).not.toContain(warning);
  return times;
}

const sizes = [secondMs, 4 * secondMs, 10 * secondMs, minuteMs, hourMs, dayMs];
const clients = 4;

/** The clock steps to and fro while records are created, updated and read. Answers the steps. */
export async function steps(random: () => number, count: number): Promise<number> {
  // The clock is two days ahead at most.
  const world = await ClockWorld.open("7d");
  await world.start();
  let isRunning = true;
  const admin = (): Caller => world.admin;
  const change = async (before: Item | null): Promise<Item> => {
    const body = { text: String(random()) };
    const reply =
      before === null
        ? await admin().ask<Item>("POST", "/api/load", body)
        : await admin().ask<Item>("PUT", `/api/load/${before.id}`, body);
    expect(reply.status).toBe(before === null ? 201 : 200);
    if (before !== null) expect(Date.parse(reply.body.updatedAt)).toBeGreaterThan(Date.parse(before.updatedAt));
    return reply.body;
  };
  const client = async (): Promise<void> => {
    for (let item: Item | null = null; isRunning; ) item = await change(item);
  };
  const load = Promise.all(Array.from({ length: clients }, client));
  let item = await world.create();
  const [since] = await world.events("items.created");
  for (let step = 0; step < count; step++) {
    const size = sizes[Math.floor(random() * sizes.length)] ?? 0;
    world.offset = (random() < 0.5 ? -1 : 1) * Math.floor(size * (0.5 + random()));
    await world.create();
    item = await world.update(item);
    if (step % 20 !== 0) continue;
    await world.expectOrder();
    if (since !== undefined) await world.expectReplay({ id: since.id, n: since.payload.n });
  }
  isRunning = false;
  await load;
  world.offset = -hourMs;
  await world.create();
  await grow(world);
  await world.expectOrder();
  expect(await world.stop()).toContain(warning);
  return count;
}
