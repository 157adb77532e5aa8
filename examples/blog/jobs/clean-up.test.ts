/** Drafts go after a year; published posts stay. */
import { expect, service, test } from "socle/test";

test("the nightly job deletes drafts without a change for a year", async () => {
  const ada = await service.client("ada@example.com");
  const { id: author } = await ada.collection("profiles").create({ name: "Ada" });
  const posts = ada.collection("posts");
  await posts.create({ title: "A draft", body: "…", author });
  const { id } = await posts.create({
    title: "A post",
    body: "…",
    author,
    publishedAt: service.clock.now().toISOString(),
  });
  // After this time, no user is signed in any more.
  const everybody = (await service.client()).collection("posts");
  await service.clock.advance("360d");
  expect(await everybody.list()).toHaveLength(2);
  await service.clock.advance("7d");
  expect((await everybody.list()).map((post) => post.id)).toEqual([id]);
});
