/** The position of an answer: an instance with the position that the answer to a write names has each event of the write. */
import { expect, test } from "bun:test";
import { openApi } from "../../../test/kit.ts";

test("the position of a batch covers the last event, also while a slow listener delays the publishing", async () => {
  const permissions = { read: "public", create: "public" };
  const collections = [{ name: "notes", fields: [{ name: "n", type: "integer" }], permissions }];
  const { request, service } = await openApi({ collections });
  const { promise: told, resolve: tell } = Promise.withResolvers<void>();
  const stop = service.events.listen(() => told);
  const operations = [1, 2, 3].map((n) => ({ method: "create", collection: "notes", body: { n } }));
  const { status, headers } = await request("POST", "/api/batch", { body: { operations } });
  const position = Number(headers.get("socle-position"));
  expect([status, position]).toEqual([200, service.events.committedSeq]);
  // The listener has not taken the first event, and the others were not told.
  expect(service.events.flushedSeq).toBeLessThan(position);
  tell();
  stop();
});
