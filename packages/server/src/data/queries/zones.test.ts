/** The parameter `zone`: `@today` in filters and the units of groups by the clocks of a time zone, also on days of 23 and 25 hours. */
import { expect, setSystemTime, test } from "bun:test";
import type { RecordPage } from "@socle/protocol";
import { openApi } from "../../../test/kit.ts";
import { LiveClient } from "../../../test/live-client.ts";
import { randomNumbers, randomSeed } from "../../../test/random.ts";
import { openServer } from "../../../test/sockets.ts";
import { startOfToday, unitStart } from "../../base/kernel/index.ts";

const zones = ["Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "America/Havana", "UTC"];
const random = randomNumbers(randomSeed("zones"));
const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;

/** By zone: a format takes a hundred times as long to make as to use. */
const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(timeZone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat("en-US", {
    ...{
      timeZone,
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      hourCycle: "h23",
    },
  });
}

/** The date and the hour in a zone, as Intl tells, which does not share code with the service. */
function localOf(time: number, timeZone: string): { [part: string]: number } {
  const format = formats.getOrInsertComputed(timeZone, formatOf);
  return Object.fromEntries(format.formatToParts(time).map(({ type, value }) => [type, Number(value)]));
}

/** The times around a change of the clocks in each zone, and random times. */
const changes = ["2026-03-29", "2026-10-25", "2026-03-08", "2026-11-01", "2026-04-05", "2026-10-04"];
const times = Array.from({ length: 300 }, () => {
  const around = Date.parse(pick(changes)) + (random() - 0.5) * 3 * 86_400_000;
  return new Date(random() < 0.7 ? around : Date.UTC(1975, 0) + random() * 2e12).toISOString();
});

test("a unit begins at the first moment of the unit in the zone, as Intl tells", () => {
  const keys = {
    hour: ["year", "month", "day", "hour"],
    day: ["year", "month", "day"],
    month: ["year", "month"],
    year: ["year"],
  };
  for (const time of times)
    for (const zone of zones)
      for (const [unit, parts] of Object.entries(keys)) {
        const start = unitStart(unit as keyof typeof keys, time, zone);
        const of = (moment: number): unknown[] => parts.map((part) => localOf(moment, zone)[part]);
        const at = Date.parse(start);
        expect([time, zone, unit, at <= Date.parse(time)]).toEqual([time, zone, unit, true]);
        expect([time, zone, unit, of(at)]).toEqual([time, zone, unit, of(Date.parse(time))]);
        // An hour that comes twice begins once for each pass.
        if (unit !== "hour") expect([time, zone, unit, of(at - 1)]).not.toEqual([time, zone, unit, of(at)]);
      }
});

test("a week begins on Monday, days may have 23 and 25 hours, and whole days of a shift are days of the calendar", () => {
  expect(unitStart("week", "2026-03-29T23:30:00.000Z", "Europe/Berlin")).toBe("2026-03-29T22:00:00.000Z");
  expect(unitStart("week", "2026-03-29T21:30:00.000Z", "Europe/Berlin")).toBe("2026-03-22T23:00:00.000Z");
  expect(unitStart("day", "0000-01-01T00:30:00.000Z", "America/New_York")).toBe("0000-01-01T00:00:00.000Z");
  const [day, hour] = [86_400_000, 3_600_000];
  const berlin = (now: string, shift: number): string =>
    new Date(startOfToday(Date.parse(now), shift, "Europe/Berlin")).toISOString();
  const length = (now: string): number => (Date.parse(berlin(now, day)) - Date.parse(berlin(now, 0))) / hour;
  expect(["2026-03-29T12:00:00Z", "2026-10-25T12:00:00Z", "2026-06-01T12:00:00Z"].map(length)).toEqual([23, 25, 24]);
  expect(berlin("2026-03-30T12:00:00Z", -day)).toBe("2026-03-28T23:00:00.000Z");
  expect(berlin("2026-03-29T12:00:00Z", 9 * hour)).toBe("2026-03-29T08:00:00.000Z");
});

const collection = {
  name: "visits",
  fields: [
    { name: "at", type: "datetime" },
    { name: "n", type: "integer" },
  ],
  permissions: { read: "public", create: "public" },
};

test("lists, counts and groups ask by the zone; a wrong name is 400; cursors belong to a zone", async () => {
  const api = await openApi({
    collections: [
      collection,
      { ...collection, name: "ruled", permissions: { read: "at >= @today", create: "public" } },
      { name: "board", query: "SELECT id, at, n FROM visits" },
    ],
  });
  const add = (name: string, at: string | null) => api.request("POST", `/api/${name}`, { body: { at, n: 1 } });
  for (const time of [...times.slice(0, 100), null]) await add("visits", time);
  const ask = (name: string, parameters: Record<string, string>) =>
    api.request<RecordPage & { error?: { message: string } }>("GET", `/api/${name}?${new URLSearchParams(parameters)}`);
  for (const zone of zones)
    for (const unit of ["hour", "day", "week", "month", "year"] as const) {
      const counts = new Map<string | null, number>([[null, 1]]);
      for (const time of times.slice(0, 100)) {
        const start = unitStart(unit, time, zone);
        counts.set(start, (counts.get(start) ?? 0) + 1);
      }
      const wanted = [...counts].sort(([a], [b]) => ((a ?? "") < (b ?? "") ? -1 : 1));
      const { body } = await ask(pick(["visits", "board"]), { group: `at:${unit}`, aggregate: "count", zone });
      const found = body.items as unknown as { [column: string]: unknown }[];
      expect(found.map((group) => [group[`at:${unit}`], group["count"]])).toEqual(wanted);
    }

  setSystemTime(new Date("2026-03-29T22:30:00.000Z"));
  // In Berlin, the next day has begun, and the day before had 23 hours.
  for (const at of [
    "2026-03-28T22:59:59.999Z",
    "2026-03-28T23:00:00.000Z",
    "2026-03-29T21:59:59.999Z",
    "2026-03-29T22:10:00.000Z",
  ])
    for (const name of ["visits", "ruled"]) await add(name, at);
  const found = async (name: string, filter: string, zone?: string): Promise<unknown> =>
    (await ask(name, { filter, sort: "at", ...(zone && { zone }) })).body.items.map(({ at }) =>
      String(at).slice(5, 16),
    );
  const recent = (filter: string): string => `at > "2026-03-28T22:00:00Z" && at < "2026-03-30" && ${filter}`;
  expect(await found("ruled", "at < @today")).toEqual([]);
  expect(
    await found("visits", 'at >= @today && at < @today+1d && at > "2026-03-29T21:00:00Z"', "Europe/Berlin"),
  ).toEqual(expect.arrayContaining(["03-29T22:10"]));
  const yesterday = (await found("visits", recent("at >= @today-1d && at < @today"), "Europe/Berlin")) as string[];
  expect(yesterday).toEqual(expect.arrayContaining(["03-28T23:00", "03-29T21:59"]));
  expect(yesterday).not.toContain("03-28T22:59");
  expect(yesterday).not.toContain("03-29T22:10");
  // The rule stays in UTC: no zone opens the records that the rule hides.
  expect(await found("ruled", "n = 1", "Pacific/Honolulu")).toEqual(["03-29T21:59", "03-29T22:10"]);
  expect(await found("ruled", "n = 1")).toEqual(["03-29T21:59", "03-29T22:10"]);
  setSystemTime();

  for (const zone of ["Mars/Olympus", "+02:00", "2", "Europe/Berlin'", " "]) {
    const { status, body } = await ask("visits", { zone });
    expect([status, body.error?.message]).toEqual([
      400,
      `"zone": it must be the name of a time zone, such as Europe/Berlin, not ${JSON.stringify(zone)}.`,
    ]);
  }
  const page = await ask("visits", { limit: "1", filter: "at < @today", zone: "Europe/Berlin" });
  const cursor = String(page.body.nextCursor);
  const other = await ask("visits", { limit: "1", filter: "at < @today", cursor });
  expect([page.status, other.status]).toEqual([200, 400]);
  const posted = { body: { group: "at:day", aggregate: "count", zone: "Asia/Kathmandu", limit: 1 } };
  expect((await api.request("POST", "/api/visits/query", posted)).status).toBe(200);
});

test("a live query has a zone", async () => {
  const api = await openServer({ collections: [collection] });
  await api.request("POST", "/api/visits", { body: { at: "2026-03-29T22:10:00.000Z" } });
  const client = new LiveClient(api, {
    collection: "visits",
    group: "at:day",
    aggregate: "count",
    zone: "Europe/Berlin",
  });
  await client.connect(undefined);
  expect(client.items).toEqual([{ "at:day": "2026-03-29T22:00:00.000Z", count: 1 }]);
  client.break();
  const wrong = new LiveClient(api, { collection: "visits", zone: "nowhere" });
  await wrong.connect(undefined);
  expect(wrong.error).toContain('"zone": it must be the name of a time zone');
  wrong.break();
});
