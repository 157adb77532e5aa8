/** Upserts against the executable with two processes: many callers at once, from the client, from a batch and from endpoints; and a page of another origin. */
// Promises: W4.
import { expect, test } from "bun:test";
import { join } from "node:path";
import { SocleClient, SocleError } from "../packages/client/src/index.ts";
import { randomNumbers, randomSeed } from "../packages/server/test/random.ts";
import { inParallel, post, project, serve } from "./kit.ts";

const pages = {
  name: "pages",
  fields: [
    { name: "path", type: "string", required: true, unique: true },
    { name: "views", type: "integer" },
    { name: "text", type: "text" },
  ],
  permissions: { read: "public", create: "public", update: "public" },
};

test("many callers at once make a single record for each value, and no change is lost", async () => {
  const random = randomNumbers(randomSeed("upserts"));
  const cwd = await project({
    collections: [pages],
    config: { processes: 2, cors: { origins: ["https://app.example.com"] } },
  });
  await Bun.write(
    join(cwd, "endpoints/view.ts"),
    `
        export const access = "public";
        export const POST = async (request, { db }) => {
          const { path, isGrouped } = await request.json();
          const values = { path, views: { $increment: 1 } };
          if (isGrouped) await db.transaction((tx) => tx.collection("pages").upsert(values, { by: "path" }));
          else await db.collection("pages").upsert(values, { by: "path" });
          return new Response(null, { status: 204 });
        };`,
  );
  const { url } = await serve(cwd);
  const client = new SocleClient({ baseUrl: url });
  const page = client.collection<{ id: string; createdAt: string; updatedAt: string; path: string; views: number }>(
    "pages",
  );
  const expected = new Map<string, number>();
  const view = async (n: number): Promise<void> => {
    const path = `/${Math.floor(random() * 12)}`;
    expected.set(path, (expected.get(path) ?? 0) + 1);
    const values = { path, views: { $increment: 1 } };
    if (n % 4 === 0) await client.batch([{ method: "upsert", collection: "pages", by: "path", body: values }]);
    else if (n % 4 === 1) {
      const answer = await post(`${url}/api/function/view`, { path, isGrouped: n % 8 === 1 });
      expect(answer.status).toBe(204);
    }
    // A body of more than 16 KiB goes to the leader as a request.
    else await page.upsert({ ...values, ...(n % 12 === 2 && { text: "x".repeat(20_000) }) }, { by: "path" });
  };
  await inParallel(Array(240).keys(), 12, view);
  const found = (await page.list()).sort((a, b) => (a.path < b.path ? -1 : 1));
  expect(found.map(({ path, views }) => [path, views])).toEqual([...expected].sort(([a], [b]) => (a < b ? -1 : 1)));
  const refused = await page.upsert({ path: "/", views: 1 }, { by: "views" }).catch((thrown: unknown) => thrown);
  expect(SocleError.is(refused, "bad_request")).toBeTrue();
  const [first] = found;
  const late = await page
    .upsert(
      { path: String(first?.path), views: 0 },
      { by: "path", ifMatch: { id: String(first?.id), updatedAt: "2020-01-01T00:00:00.000Z" } },
    )
    .catch((thrown: unknown) => thrown);
  expect(late instanceof SocleError && late.status).toBe(412);
  const preflight = await fetch(`${url}/api/pages?by=path`, {
    method: "OPTIONS",
    headers: { Origin: "https://app.example.com", "Access-Control-Request-Method": "PUT" },
  });
  expect(preflight.headers.get("access-control-allow-methods")).toContain("PUT");
});
