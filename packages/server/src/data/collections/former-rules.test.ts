/** The upgrade of definitions of earlier versions: rules that were not named keep their meaning, in the stored definition. */
import { expect, test } from "bun:test";
import type { Permissions } from "@socle/protocol";
import { openApi, temporaryFolder } from "../../../test/kit.ts";

const fields = [{ name: "n", type: "integer" }];

/** Rules, and the rules of the stored definition after the upgrade. */
const upgrades: readonly [Permissions | undefined, Permissions | undefined][] = [
  [undefined, undefined],
  [{}, {}],
  [{ read: "public" }, { read: "public" }],
  [{ read: "owner" }, { read: "owner" }],
  [{ read: "admin" }, { read: "admin" }],
  [{ read: "n = 1" }, { read: "n = 1" }],
  [
    { read: "public", create: "admin" },
    { read: "public", create: "admin" },
  ],
  [{ update: "owner" }, { update: "owner" }],
  [{ read: "authenticated" }, { read: "authenticated", update: "authenticated", delete: "authenticated" }],
  [
    { read: "owner", create: "authenticated" },
    { read: "owner", create: "authenticated", update: "authenticated", delete: "authenticated" },
  ],
  [
    { read: "public", create: "authenticated", delete: "admin" },
    { read: "public", create: "authenticated", update: "authenticated", delete: "admin" },
  ],
  [
    { read: "admin", update: "public" },
    { read: "admin", update: "public", delete: "public" },
  ],
  [
    { read: "n = 1", create: "n = 2" },
    { read: "n = 1", create: "n = 2", update: "n = 2", delete: "n = 2" },
  ],
  [
    { read: "n = 1", create: "n = 2", update: "owner" },
    { read: "n = 1", create: "n = 2", update: "owner", delete: "owner" },
  ],
];
const users = { name: "users", fields: [], permissions: { read: "public" } };
const definitions = upgrades.map(([permissions], i) => ({
  name: `c${i}`,
  fields,
  ...(permissions && { permissions }),
}));

test("rules that were not named keep their meaning, and the log names the rules and the file", async () => {
  const folder = temporaryFolder();
  const first = await openApi({ folder, collections: [...definitions, users] });
  const usersBefore = first.service.collections.get("users")?.definition;
  await first.service.database.transact((tx) => tx.run("UPDATE _collections SET rules = NULL"));
  await first.close();

  const { service, log, request, register, close } = await openApi({ folder });
  for (const [i, [given, after]] of upgrades.entries()) {
    const stored = service.collections.get(`c${i}`)?.definition;
    // As the parser would make the definition: no later start finds a difference.
    expect(JSON.stringify(stored)).toBe(
      JSON.stringify({ name: `c${i}`, fields, ...(after && { permissions: after }) }),
    );
    const file = `${String(i).padStart(2, "0")}.json`;
    const told = log.filter((line) => line.includes(`The rules of "c${i}" `));
    expect(told.length).toBe(JSON.stringify(given) === JSON.stringify(after) ? 0 : 1);
    for (const line of told) expect(line).toContain(`Name the rules in ${file}, too`);
  }
  expect(log.join("\n")).toContain(
    'WARN The rules of "c8" that were not named keep their meaning: the stored definition names "update": "authenticated", "delete": "authenticated" now',
  );
  expect(service.collections.get("users")?.definition).toEqual(usersBefore);
  const [ann, bob] = [await register("ann@example.com"), await register("bob@example.com")];
  const { id } = (await request("POST", "/api/c9", { body: { n: 1 }, token: ann.accessToken })).body;
  expect((await request("GET", `/api/c9/${id}`, { token: bob.accessToken })).status).toBe(403);
  expect((await request("PUT", `/api/c9/${id}`, { body: { n: 2 }, token: bob.accessToken })).status).toBe(200);
  await close();

  const third = await openApi({ folder });
  expect(third.log.filter((line) => line.includes("not named"))).toEqual([]);
});
