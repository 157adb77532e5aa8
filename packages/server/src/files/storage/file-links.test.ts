/** Links to files: a link gives a single file, without a token, until the link expires. */
import { describe, expect, setSystemTime, test } from "bun:test";
import type { FileLink } from "@socle/protocol";
import { openFiles } from "../../../test/files.ts";
import { png } from "../../../test/images.ts";

const { adminToken, other, request, service, store, token } = await openFiles({ SERVICE_LINKS_TTL: "2m" });

async function linkOf(id: string, query = "", as = token): Promise<FileLink> {
  const { status, body } = await request<FileLink>("POST", `/api/storage/${id}/link${query}`, { token: as });
  expect(status).toBe(200);
  return body;
}

const status = async (url: string, options: { token?: string; method?: string } = {}): Promise<number> =>
  (await request(options.method ?? "GET", url, options.token === undefined ? {} : { token: options.token })).status;

describe("a link", () => {
  test("gives a protected file without a token, as a whole, in parts and as a head", async () => {
    const id = await store("content", "a.txt", "protected");
    const { url, expiresAt } = await linkOf(id);
    expect(url).toStartWith(`/api/storage/${id}?expires=`);
    const left = Date.parse(expiresAt) - Date.now();
    expect(left > 110_000 && left <= 121_000).toBe(true);
    const whole = await request("GET", url);
    expect([whole.status, new TextDecoder().decode(whole.bytes)]).toEqual([200, "content"]);
    expect(whole.headers.get("cache-control")).toBe("private, no-cache");
    expect(await status(url, { method: "HEAD" })).toBe(200);
    expect((await request("GET", url, { headers: { Range: "bytes=0-1" } })).status).toBe(206);
    // A link needs no token, and a wrong token does not weaken the link.
    expect([await status(url, { token: "nonsense" }), await status(url, { token: other.accessToken })]).toEqual([
      200, 200,
    ]);
    expect(await status(`/api/storage/${id}`)).toBe(401);
  });

  test("gives thumbnails, in the signed size or any other size", async () => {
    const id = await store(png(300, 300), "a.png", "protected");
    const { url } = await linkOf(id, "?thumb=90x90");
    expect(url).toEndWith("&thumb=96x96");
    const image = await request("GET", url);
    expect([image.status, image.headers.get("content-type")]).toEqual([200, "image/png"]);
    expect(await status(`${(await linkOf(id)).url}&thumb=16x16`)).toBe(200);
    expect((await request("POST", `/api/storage/${id}/link?thumb=huge`, { token })).status).toBe(400);
  });

  test("is for a single file, and for the signed parameters", async () => {
    const [id, another] = [await store("content", "a.txt", "protected"), await store("content", "b.txt", "protected")];
    const { url } = await linkOf(id);
    const query = new URLSearchParams(url.split("?")[1]);
    const expires = query.get("expires") ?? "";
    const signature = query.get("signature") ?? "";
    const flipped = `${signature.startsWith("A") ? "B" : "A"}${signature.slice(1)}`;
    const tampered = [
      `/api/storage/${another}?expires=${expires}&signature=${signature}`,
      `/api/storage/${id}?expires=${Number(expires) + 1}&signature=${signature}`,
      `/api/storage/${id}?expires=${expires}0&signature=${signature}`,
      `/api/storage/${id}?expires=0${expires}&signature=${flipped}`,
      `/api/storage/${id}?expires=0${expires}&signature=${signature}`,
      `/api/storage/${id}?expires=${expires}&signature=${flipped}`,
      `/api/storage/${id}?expires=${expires}&signature=${signature.slice(0, -1)}`,
      `/api/storage/${id}?expires=${expires}&signature=`,
      `/api/storage/${id}?expires=${expires}`,
      `/api/storage/${id}?signature=${signature}`,
      `/api/storage/${id}?expires=9e12&signature=${signature}`,
    ];
    for (const each of tampered) expect([each, await status(each)]).toEqual([each, 401]);
    // A caller that may download the file anyway may do so with any address.
    for (const each of tampered) expect([each, await status(each, { token: adminToken })]).toEqual([each, 200]);
    expect(await status(tampered[4] ?? "", { token: other.accessToken })).toBe(403);
    expect((await request("GET", tampered[4] ?? "")).body["error"]?.["message"] as unknown).toContain("link");
    // A link makes no link, and deletes nothing.
    expect(await status(`/api/storage/${id}/link?${query}`, { method: "POST" })).toBe(401);
    expect(await status(url, { method: "DELETE" })).toBe(401);
  });

  test("expires", async () => {
    const id = await store("content", "a.txt", "protected");
    const { url, expiresAt } = await linkOf(id);
    try {
      setSystemTime(Date.parse(expiresAt) - 1_000);
      expect(await status(url)).toBe(200);
      setSystemTime(Date.parse(expiresAt));
      expect(await status(url)).toBe(401);
    } finally {
      setSystemTime();
    }
  });

  test("ends by the clock of the leader of a cluster, which made the link", async () => {
    const { clock } = service;
    const { url, expiresAt } = await linkOf(await store("content", "a.txt", "protected"));
    try {
      clock.aheadMs = 7_200_000;
      setSystemTime(Date.parse(expiresAt) + clock.aheadMs - 1_000);
      expect(await status(url)).toBe(200);
      setSystemTime(Date.parse(expiresAt) + clock.aheadMs);
      expect(await status(url)).toBe(401);
    } finally {
      clock.aheadMs = 0;
      setSystemTime();
    }
  });

  test("ends with its file, and outlives the right of its maker", async () => {
    const id = await store("content", "a.txt", "public");
    const { url } = await linkOf(id, "", other.accessToken);
    const visibility = { visibility: "protected" };
    expect((await request("PATCH", `/api/admin/storage/${id}`, { token: adminToken, body: visibility })).status).toBe(
      200,
    );
    expect([await status(`/api/storage/${id}`, { token: other.accessToken }), await status(url)]).toEqual([403, 200]);
    expect((await request("DELETE", `/api/storage/${id}`, { token })).status).toBe(204);
    expect(await status(url)).toBe(404);
  });

  test("is made for callers who may download the file", async () => {
    const id = await store("content", "a.txt", "protected");
    const post = (as?: string): Promise<number> =>
      status(`/api/storage/${id}/link`, { method: "POST", ...(as !== undefined && { token: as }) });
    expect([await post(), await post(token), await post(other.accessToken), await post(adminToken)]).toEqual([
      401, 200, 403, 200,
    ]);
    expect(await status("/api/storage/fil_nothing/link", { method: "POST", token })).toBe(404);
    const wrong = await request("GET", `/api/storage/${id}/link`, { token });
    expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "POST, OPTIONS"]);
  });
});
