/** `socle test` runs this file against a service of its own, which is gone afterwards. */
import { expect, service, test } from "socle/test";

test("a user sees and changes only the own tasks", async () => {
  const [ada, bob] = [await service.client("ada@example.com"), await service.client("bob@example.com")];
  const { id } = await ada.collection("tasks").create({ title: "Water the plants" });
  expect(await ada.collection("tasks").list()).toMatchObject([{ id, done: false }]);
  expect(await bob.collection("tasks").list()).toEqual([]);
  const refused = await bob
    .collection("tasks")
    .update(id, { done: true })
    .catch((error) => error);
  expect(refused).toMatchObject({ status: 403 });
});
