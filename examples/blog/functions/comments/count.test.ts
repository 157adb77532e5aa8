/** A post knows the number of its comments. */
import { expect, service, test } from "socle/test";

test("comments are counted, also when many arrive at once and when comments move", async () => {
  const ada = await service.client("ada@example.com");
  const { id: author } = await ada.collection("profiles").create({ name: "Ada" });
  const posts = ada.collection("posts");
  const [one, other] = await Promise.all(["One", "Other"].map((title) => posts.create({ title, body: "…", author })));
  if (one === undefined || other === undefined) throw new Error("There are two posts");
  const comments = ada.collection("comments");
  const [first, second] = await Promise.all(
    Array.from({ length: 10 }, (_, n) => comments.create({ post: one.id, text: `Comment ${n}` })),
  );
  await service.idle();
  expect((await posts.get(one.id)).commentCount).toBe(10);

  await comments.update(first?.id ?? "", { post: other.id });
  await comments.delete(second?.id ?? "");
  await service.idle();
  expect((await posts.get(one.id)).commentCount).toBe(8);
  expect((await posts.get(other.id)).commentCount).toBe(1);
});
