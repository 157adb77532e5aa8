/** Requests to a bucket: errors of the store that pass, and errors that stay. */
import { expect, test } from "bun:test";
import { Secret } from "../../base/kernel/index.ts";
import { Bucket } from "./bucket.ts";

/** A store that answers with each status and code in turn, and then with an empty list. Counts the requests. */
function storeWith(...failures: [status: number, code: string][]) {
  let requests = 0;
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch() {
      const failure = failures[requests];
      requests += 1;
      if (failure !== undefined)
        return new Response(`<Error><Code>${failure[1]}</Code><Message>no</Message></Error>`, { status: failure[0] });
      return new Response("<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>");
    },
  });
  const bucket = new Bucket("s3://bucket/folder", {
    endpoint: server.url.origin,
    region: "eu-central-1",
    accessKeyId: "key",
    secretAccessKey: new Secret("secret"),
  });
  return {
    bucket,
    requests: () => requests,
    [Symbol.dispose]: () => {
      void server.stop(true);
    },
  };
}

test("a list is asked for again after an error that passes", async () => {
  using store = storeWith([500, "InternalError"], [503, "SlowDown"]);
  expect(await Array.fromAsync(store.bucket.list())).toEqual([]);
  expect(store.requests()).toBe(3);
});

test("a store that fails three times is told, with the code of the store", async () => {
  using store = storeWith(...Array.from({ length: 4 }, (): [number, string] => [503, "ServiceUnavailable"]));
  await expect(store.bucket.next("")).rejects.toMatchObject({ code: "ServiceUnavailable" });
  expect(store.requests()).toBe(3);
});

test("a refusal is not asked again", async () => {
  using store = storeWith([403, "AccessDenied"]);
  await expect(store.bucket.next("")).rejects.toMatchObject({ code: "AccessDenied" });
  expect(store.requests()).toBe(1);
});
