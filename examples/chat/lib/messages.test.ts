/** `socle test` runs this file against a service of its own, which is gone afterwards. */
import { expect, service, test } from "socle/test";

test("everybody reads a message, and only the author changes the message", async () => {
  const [ada, bob] = [await service.client("ada@example.com"), await service.client("bob@example.com")];
  const room = await ada.collection("rooms").create({ name: "Garden" });
  const { id } = await ada.collection("messages").create({ room: room.id, text: "Hello" });
  const guest = await service.client();
  expect(await guest.collection("messages").list()).toMatchObject([{ id, text: "Hello" }]);
  const refused = await bob
    .collection("messages")
    .update(id, { text: "Changed" })
    .catch((error) => error);
  expect(refused).toMatchObject({ status: 403 });
  const unknown = await guest
    .collection("messages")
    .create({ room: room.id, text: "Nobody" })
    .catch((error) => error);
  expect(unknown).toMatchObject({ status: 401 });
});
