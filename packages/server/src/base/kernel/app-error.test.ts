/** Messages of errors, as logs and answers show the messages. */
import { expect, test } from "bun:test";
import { messageOf } from "./app-error.ts";

test("the message of a broken connection has no advice for callers of fetch", async () => {
  const socket = { data: (one: { end(): void }) => one.end() };
  const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket });
  try {
    const thrown: unknown = await fetch(`http://127.0.0.1:${listener.port}`).catch((error: unknown) => error);
    expect(String(thrown)).toContain("verbose: true");
    expect(messageOf(thrown)).toMatch(/closed unexpectedly\.$/);
  } finally {
    listener.stop(true);
  }
});
