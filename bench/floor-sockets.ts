/**
 * The floor for realtime: Bun's `server.publish` alone. A request's body is read, made an event and published;
 * nothing is stored, and no rights are checked.
 */
const headers = { "Content-Type": "application/json" };

const server = Bun.serve({
  port: 0,
  routes: {
    "/health": new Response("ok"),
    "/api/realtime": (request, upgrading) => {
      const user = new URL(request.url).searchParams.get("token") ?? "";
      return upgrading.upgrade(request, { data: user }) ? undefined : new Response("not a socket", { status: 426 });
    },
    "/api/items": {
      async POST(request) {
        const body = (await request.json()) as object;
        const timestamp = new Date().toISOString();
        const id = `rec_${Bun.randomUUIDv7()}`;
        const record = { id, createdAt: timestamp, updatedAt: timestamp, ...body };
        const event = { id: `evt_${Bun.randomUUIDv7()}`, type: "items.created", timestamp, source: "collections" };
        const frame = JSON.stringify({ type: "event", event: { ...event, payload: record } });
        const user = request.headers.get("authorization")?.slice(7) ?? "";
        server.publish(`items.created ${user}`, frame);
        return new Response(JSON.stringify(record), { status: 201, headers });
      },
    },
  },
  websocket: {
    data: "" as string,
    message(socket, text) {
      const { channel } = JSON.parse(String(text)) as { channel: string };
      socket.subscribe(`${channel} ${socket.data}`);
      socket.send(JSON.stringify({ type: "subscribed", channel }));
    },
  },
});
console.log(`Listening on http://localhost:${server.port}`);
