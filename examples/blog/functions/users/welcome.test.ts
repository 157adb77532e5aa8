/** The welcome: each user who registers finds a single message, which no other user reads. */
import { expect, service, test } from "socle/test";

test("a single message waits for each user", async () => {
  const guest = await service.client();
  await guest.register({ email: "ada@example.com", password: "ada's password" });
  const bob = await service.client("bob@example.com");
  await service.idle();
  for (const user of [guest, bob]) {
    const messages = await user.collection("messages").list();
    expect(messages).toHaveLength(1);
    expect(messages[0]?.text).toStartWith("Welcome!");
  }
});
