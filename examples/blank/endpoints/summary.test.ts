/** `socle test` runs this file against a service of its own, which is gone afterwards. */
import { expect, service, test } from "socle/test";

test("everybody sees how many notes are done", async () => {
  const ada = await service.client("ada@example.com");
  await ada.collection("notes").create({ title: "Buy milk", done: true });
  await ada.collection("notes").create({ title: "Call Bob" });
  const guest = await service.client();
  expect(await (await guest.function("summary")).json()).toEqual({ notes: 2, done: 1 });
});

test("only the author changes a note", async () => {
  const [ada, bob] = [await service.client("ada@example.com"), await service.client("bob@example.com")];
  const { id } = await ada.collection("notes").create({ title: "Mine" });
  const refused = await bob
    .collection("notes")
    .update(id, { done: true })
    .catch((error) => error);
  expect(refused).toMatchObject({ status: 403 });
});
