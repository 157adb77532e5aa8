/** Forwarding of a replica: a request that may have been sent is never sent again, and a request that was not sent waits for a leader. */
import { afterAll, expect, test } from "bun:test";
import { createServer } from "node:net";
import { forwardBy } from "./forward.ts";
import type { ClusterMember } from "./member.ts";

const place = { index: 0, params: {} };

/** A leader that answers each `POST`, and breaks the connection at each other request. */
async function startLeader(): Promise<{ address: string; methods: string[] }> {
  const methods: string[] = [];
  const server = createServer((socket) => {
    socket.on("error", () => socket.destroy());
    socket.on("data", (bytes) => {
      const [method = ""] = String(bytes).split(" ", 1);
      methods.push(method);
      if (method === "POST") socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
      else socket.end();
    });
  });
  afterAll(() => server.close());
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  const at = server.address();
  return { address: `http://127.0.0.1:${typeof at === "object" && at !== null ? at.port : 0}`, methods };
}

/** Forwards requests to the leader that `addressOf` names at the moment; `isAway`: the replica cannot reach the engine of the journal. */
function forwarding(
  addressOf: () => string,
  { isAway = false, givenUp = new AbortController().signal }: { isAway?: boolean; givenUp?: AbortSignal } = {},
): (method: string, body?: string | ReadableStream) => Promise<Response> {
  const member = {
    address: "http://replica",
    leading: null,
    isAway,
    credentials: { "Socle-Instance-Secret": "secret" },
    onOtherLeader: () => () => undefined,
    get leader() {
      return { instance: addressOf(), address: addressOf(), term: 1, isLive: true };
    },
  };
  const passOn = forwardBy({
    member: member as Partial<ClusterMember> as ClusterMember,
    addressOf: () => "127.0.0.1",
    keepOpen: () => undefined,
    reached: async () => true,
    givenUp,
  });
  return (method, body = "{}") => {
    const headers: Record<string, string> = typeof body === "string" ? { "Content-Length": String(body.length) } : {};
    return passOn(new Request("http://replica/api/posts", { method, body, headers }), place);
  };
}

test.each(["PUT", "DELETE", "PATCH"])(
  "a %s whose cached connection breaks is sent once; the outcome is not known",
  async (method) => {
    const leader = await startLeader();
    const forward = forwarding(() => leader.address);
    expect((await forward("POST")).status).toBe(200);
    const answer = await forward(method);
    expect([answer.status, await answer.text()]).toEqual([503, expect.stringContaining("The outcome is not known")]);
    expect(leader.methods).toEqual(["POST", method]);
  },
);

test("a request that no leader has taken waits for the next leader", async () => {
  const leader = await startLeader();
  let asked = 0;
  // The port of the first leader is closed.
  const forward = forwarding(() => (asked++ < 4 ? "http://127.0.0.1:1" : leader.address));
  expect((await forward("POST")).status).toBe(200);
  expect(leader.methods).toEqual(["POST"]);
});

test("a request without a leader is refused at once while the engine is away: no instance can begin to lead", async () => {
  let asked = 0;
  const forward = forwarding(
    () => {
      asked += 1;
      return "http://127.0.0.1:1";
    },
    { isAway: true },
  );
  const answer = await forward("POST");
  expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "1"]);
  expect(await answer.text()).toContain("nothing was changed");
  // One look at the leader reads the name and the address.
  expect(asked).toBe(2);
});

test("a large body that no leader has taken is refused: nothing was changed", async () => {
  const forward = forwarding(() => "http://127.0.0.1:1");
  const answer = await forward("POST", new Blob(["{}"]).stream());
  expect([answer.status, await answer.text()]).toEqual([503, expect.stringContaining("nothing was changed")]);
});

test("this instance ends while a request waits for a leader: nothing was changed, and the request is not sent later", async () => {
  const leader = await startLeader();
  const ending = new AbortController();
  let asked = 0;
  // The instance ends as the request looks for a leader again, and would find a leader.
  const forward = forwarding(
    () => {
      asked += 1;
      if (asked <= 2) return "http://127.0.0.1:1";
      ending.abort();
      return leader.address;
    },
    { givenUp: ending.signal },
  );
  const answer = await forward("POST");
  expect([answer.status, await answer.text()]).toEqual([503, expect.stringContaining("nothing was changed")]);
  await Bun.sleep(300);
  expect(leader.methods).toEqual([]);
});

test("this instance ends while the leader has a request: the outcome is not known", async () => {
  const silent = createServer((socket) => socket.on("data", () => ending.abort()));
  afterAll(() => silent.close());
  const ending = new AbortController();
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const at = silent.address();
  const address = `http://127.0.0.1:${typeof at === "object" && at !== null ? at.port : 0}`;
  const answer = await forwarding(() => address, { givenUp: ending.signal })("POST");
  expect([answer.status, await answer.text()]).toEqual([503, expect.stringContaining("The outcome is not known")]);
});
