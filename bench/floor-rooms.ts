/** The floor for rooms: Bun's `socket.publish` alone. A message is parsed and published; there are no rights, bounds or members. */
const server = Bun.serve({
  port: 0,
  routes: {
    "/health": new Response("ok"),
    "/api/realtime": (request, upgrading) =>
      upgrading.upgrade(request, { data: crypto.randomUUID() })
        ? undefined
        : new Response("not a socket", { status: 426 }),
  },
  websocket: {
    data: "" as string,
    message(socket, text) {
      const { action, room, key, event, payload, state } = JSON.parse(String(text)) as { [name: string]: unknown };
      const topic = `${room} ${key}`;
      if (action === "join") {
        socket.subscribe(topic);
        socket.send(JSON.stringify({ type: "joined", room, key, id: socket.data, members: [] }));
      } else if (action === "send")
        socket.publish(topic, JSON.stringify({ type: "message", room, key, event, payload, from: socket.data }));
      else {
        const changed = [{ id: socket.data, userId: null, state }];
        server.publish(topic, JSON.stringify({ type: "presence", room, key, changed }));
      }
    },
  },
});
console.log(`Listening on http://localhost:${server.port}`);
